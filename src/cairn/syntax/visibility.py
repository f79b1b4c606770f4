"""Which definitions can other files see? Rules that languages share; a rule of one alone stands in its folder.

The rule decides what enters the interface hash, so when in doubt it says yes: a hash that changes too often costs a
second look, one that changes too seldom hides a broken caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from cairn.core.types import Symbol

# Kinds as plain text here and below: looking up the member of an Enum costs more than the comparison.
CALLABLE = frozenset({"function", "method", "constructor"})
_WORDS = re.compile(r"[A-Za-z_]+")
# `private(set) var` is read by everybody, `private[http] def` by a whole package.
_HALF_HIDDEN = re.compile(r"\b(?:file)?private\s*(?:\(set\)|\[[^\]]*\])")


class OwnExports(Protocol):
    """What a file says itself of its exports."""

    exports: set[str]
    exported: set[str]


class Visibility(NamedTuple):
    """A rule: of a kind, a name, what stands before it, the definition around it and the file's own exports.

    `by_name`: the rule needs no look at what stands before the name. `by_owner`: it asks for the type that the name
    says it belongs to, in place of the name.
    """

    rule: Callable[[str, str, str, Symbol | None, OwnExports], bool]
    by_name: bool = False
    by_owner: bool = False


def is_exported(
    visibility: Visibility, kind: str, name: str, before: str, above: Symbol | None, owner: str, found: OwnExports
) -> bool:
    """Can a definition of this name, below `above`, be named from another file?

    `before` is what stands before the name; `owner` is the type that it says it belongs to, though it stands outside.
    """
    if above is not None and (not above.exported or above.kind in CALLABLE):
        return False
    return visibility.rule(kind, owner or name if visibility.by_owner else name, before, above, found)


def _all(_kind: str, _name: str, _before: str, _above: Symbol | None, _found: OwnExports) -> bool:
    return True


def _underscore(_kind: str, name: str, _before: str, _above: Symbol | None, found: OwnExports) -> bool:
    return not name.startswith("_") or name in found.exports or (name.startswith("__") and name.endswith("__"))


def _capital(kind: str, name: str, _before: str, _above: Symbol | None, _found: OwnExports) -> bool:
    return name[:1].isupper() or kind == "module"


def _export_statement(_kind: str, name: str, before: str, above: Symbol | None, found: OwnExports) -> bool:
    if above is not None:
        return not name.startswith("#") and not has_word(before, "private")
    # What is declared to be somewhere else can be named from anywhere.
    return name in found.exports or name in found.exported or has_word(before, "declare")


def _not_static(_kind: str, _name: str, before: str, above: Symbol | None, _found: OwnExports) -> bool:
    return (above is not None and above.kind != "namespace") or not has_word(before, "static")


def _not_private(_kind: str, _name: str, before: str, _above: Symbol | None, _found: OwnExports) -> bool:
    return not has_word(before, "private", "fileprivate")


def _not_local(_kind: str, name: str, before: str, _above: Symbol | None, found: OwnExports) -> bool:
    return name in found.exports or not has_word(before, "local")


def has_word(before: str, *words: str) -> bool:
    """Is one of these words in front of the name, where every modifier stands?"""
    # Nearly always the letters alone are not there; only then the words are looked at one by one.
    return any(word in before and word in _WORDS.findall(_HALF_HIDDEN.sub("", before)) for word in words)


ALL = Visibility(_all, by_name=True)
CAPITAL = Visibility(_capital, by_name=True)
EXPORT_STATEMENT = Visibility(_export_statement, by_owner=True)
NOT_LOCAL = Visibility(_not_local)
NOT_PRIVATE = Visibility(_not_private)
NOT_STATIC = Visibility(_not_static)
UNDERSCORE = Visibility(_underscore, by_name=True)
