"""Which definitions can other files see? One small rule per family of languages.

The rule decides what enters the interface hash, so when in doubt it says yes: a hash that changes too often costs a
second look, one that changes too seldom hides a broken caller.
"""

from __future__ import annotations

import re
from typing import Protocol

from cairn.types import Symbol, SymbolKind

CALLABLE = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.CONSTRUCTOR})
_WORDS = re.compile(r"[A-Za-z_]+")
# `private(set) var` is read by everybody, `private[http] def` by a whole package.
_HALF_HIDDEN = re.compile(r"\b(?:file)?private\s*(?:\(set\)|\[[^\]]*\])")


class _Found(Protocol):
    exports: set[str]
    exported: set[str]


def is_exported(rule: str, kind: str, name: str, before: str, above: Symbol | None, owner: str, found: _Found) -> bool:
    """Can a definition of this name, below `above`, be named from another file?

    `before` is what stands before the name; `owner` is the type that it says it belongs to, though it stands outside.
    """
    if above is not None and (not above.exported or above.kind in CALLABLE):
        return False
    if rule == "all":
        return True
    if rule == "export":
        return _exported_by_statement(owner or name, before, above, found)
    if rule == "underscore":
        return name in found.exports or not name.startswith("_") or (name.startswith("__") and name.endswith("__"))
    if rule == "haskell":
        return _in_export_list(kind, name, above, found)
    if rule == "not_local" and name in found.exports:
        return True
    if rule == "capital":
        return name[:1].isupper() or kind == SymbolKind.MODULE
    return not _hidden_by_modifier(rule, kind, before, above)


def _exported_by_statement(name: str, before: str, above: Symbol | None, found: _Found) -> bool:
    if above is not None:
        return not name.startswith("#") and "private" not in _header(before)
    # What is declared to be somewhere else can be named from anywhere.
    return name in found.exports or name in found.exported or "declare" in _header(before)


def _in_export_list(kind: str, name: str, above: Symbol | None, found: _Found) -> bool:
    """Instances have no name to hide; what is inside a type goes with its type."""
    inside = above is not None and above.kind != SymbolKind.MODULE
    if not found.exports or inside or kind in (SymbolKind.IMPL, SymbolKind.MODULE):
        return True
    return name in found.exports or (above is not None and above.name in found.exports)


def _hidden_by_modifier(rule: str, kind: str, before: str, above: Symbol | None) -> bool:
    words = _header(before)
    if rule == "pub":
        # A module without `pub` is closed to other crates only.
        always = (SymbolKind.IMPL, SymbolKind.MACRO, SymbolKind.MODULE)
        return "pub" not in words and kind not in always and not _bare_in_rust(above)
    if rule == "zig":
        return kind not in (SymbolKind.FIELD, SymbolKind.ENUM_MEMBER) and not words & {"pub", "export"}
    if rule == "csharp":
        open_by_default = (SymbolKind.INTERFACE, SymbolKind.ENUM, SymbolKind.NAMESPACE)
        # The properties of `record Point(int X)` carry no modifier and are public.
        is_open = above is None or above.kind in open_by_default or " record " in f" {above.signature}"
        return bool(words & {"private", "file"}) if is_open else not words & {"public", "protected", "internal"}
    if rule == "not_static" and above is not None and above.kind != SymbolKind.NAMESPACE:
        return False
    hidden = {"not_private": {"private", "fileprivate"}, "not_static": {"static"}, "not_local": {"local"}}
    if rule == "elixir":
        return bool(words & {"defp", "defmacrop", "defguardp", "typep"})
    return bool(words & hidden.get(rule, set()))


def _bare_in_rust(above: Symbol | None) -> bool:
    """Members of a trait, an enum or an impl of a trait carry no `pub` of their own."""
    needs_pub = (SymbolKind.MODULE, SymbolKind.STRUCT, SymbolKind.UNION, SymbolKind.IMPL)
    return above is not None and (above.kind not in needs_pub or " for " in above.signature)


def _header(before: str) -> set[str]:
    """The words in front of a name, where every modifier stands."""
    return set(_WORDS.findall(_HALF_HIDDEN.sub("", before)))
