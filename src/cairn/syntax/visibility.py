"""Which definitions can other files see? One small rule per family of languages.

The rule decides what enters the interface hash, so when in doubt it says yes: a hash that changes too often costs a
second look, one that changes too seldom hides a broken caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from cairn.core.types import Symbol

# Kinds as plain text here and below: looking up the member of an Enum costs more than the comparison.
CALLABLE = frozenset({"function", "method", "constructor"})
# The rules that need no look at what stands before a name.
DECIDED_BY_NAME = frozenset({"all", "underscore", "haskell", "capital"})
_WORDS = re.compile(r"[A-Za-z_]+")
# `private(set) var` is read by everybody, `private[http] def` by a whole package.
_HALF_HIDDEN = re.compile(r"\b(?:file)?private\s*(?:\(set\)|\[[^\]]*\])")

_OPEN_IN_RUST = frozenset({"impl", "macro", "module"})
_CLOSED_IN_RUST = frozenset({"module", "struct", "union", "impl"})
_OPEN_IN_CSHARP = frozenset({"interface", "enum", "namespace"})


class _Found(Protocol):
    exports: set[str]
    exported: set[str]


def is_exported(rule: str, kind: str, name: str, before: str, above: Symbol | None, owner: str, found: _Found) -> bool:
    """Can a definition of this name, below `above`, be named from another file?

    `before` is what stands before the name; `owner` is the type that it says it belongs to, though it stands outside.
    """
    if above is not None and (not above.exported or above.kind in CALLABLE):
        return False
    return _RULES[rule](kind, owner or name if rule == "export" else name, before, above, found)


def _all(_kind: str, _name: str, _before: str, _above: Symbol | None, _found: _Found) -> bool:
    return True


def _underscore(_kind: str, name: str, _before: str, _above: Symbol | None, found: _Found) -> bool:
    return not name.startswith("_") or name in found.exports or (name.startswith("__") and name.endswith("__"))


def _capital(kind: str, name: str, _before: str, _above: Symbol | None, _found: _Found) -> bool:
    return name[:1].isupper() or kind == "module"


def _export_statement(_kind: str, name: str, before: str, above: Symbol | None, found: _Found) -> bool:
    if above is not None:
        return not name.startswith("#") and not _has_word(before, "private")
    # What is declared to be somewhere else can be named from anywhere.
    return name in found.exports or name in found.exported or _has_word(before, "declare")


def _export_list(kind: str, name: str, _before: str, above: Symbol | None, found: _Found) -> bool:
    """Instances have no name to hide; what is inside a type goes with its type."""
    inside = above is not None and above.kind != "module"
    if not found.exports or inside or kind in ("impl", "module"):
        return True
    return name in found.exports or (above is not None and above.name in found.exports)


def _pub(kind: str, _name: str, before: str, above: Symbol | None, _found: _Found) -> bool:
    # A module without `pub` is closed to other crates only.
    if kind in _OPEN_IN_RUST or _has_word(before, "pub"):
        return True
    # Members of a trait, an enum or an impl of a trait carry no `pub` of their own.
    return above is not None and (above.kind not in _CLOSED_IN_RUST or " for " in above.signature)


def _zig(kind: str, _name: str, before: str, _above: Symbol | None, _found: _Found) -> bool:
    return kind in ("field", "enum_member") or _has_word(before, "pub", "export")


def _csharp(_kind: str, _name: str, before: str, above: Symbol | None, _found: _Found) -> bool:
    # The properties of `record Point(int X)` carry no modifier and are public.
    if above is None or above.kind in _OPEN_IN_CSHARP or " record " in f" {above.signature}":
        return not _has_word(before, "private", "file")
    return _has_word(before, "public", "protected", "internal")


def _not_static(_kind: str, _name: str, before: str, above: Symbol | None, _found: _Found) -> bool:
    return (above is not None and above.kind != "namespace") or not _has_word(before, "static")


def _not_private(_kind: str, _name: str, before: str, _above: Symbol | None, _found: _Found) -> bool:
    return not _has_word(before, "private", "fileprivate")


def _not_local(_kind: str, name: str, before: str, _above: Symbol | None, found: _Found) -> bool:
    return name in found.exports or not _has_word(before, "local")


def _elixir(_kind: str, _name: str, before: str, _above: Symbol | None, _found: _Found) -> bool:
    return not _has_word(before, "defp", "defmacrop", "defguardp", "typep")


_RULES: dict[str, Callable[[str, str, str, Symbol | None, _Found], bool]] = {
    "all": _all,
    "capital": _capital,
    "csharp": _csharp,
    "elixir": _elixir,
    "export": _export_statement,
    "haskell": _export_list,
    "not_local": _not_local,
    "not_private": _not_private,
    "not_static": _not_static,
    "pub": _pub,
    "underscore": _underscore,
    "zig": _zig,
}


def _has_word(before: str, *words: str) -> bool:
    """Is one of these words in front of the name, where every modifier stands?"""
    # Nearly always the letters alone are not there; only then the words are looked at one by one.
    return any(word in before and word in _WORDS.findall(_HALF_HIDDEN.sub("", before)) for word in words)
