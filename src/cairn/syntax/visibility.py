"""The rules for which definitions other files can see; a rule of a single language is in that language's folder.

A rule decides what enters the interface hash, so in doubt a definition counts as visible: a hash that changes too often
costs a second look, and one that changes too seldom hides a broken caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from cairn.core.types import Symbol

# Kinds are plain text here, because looking up the member of an Enum costs more than the comparison.
CALLABLE = frozenset({"function", "method", "constructor"})
_WORDS = re.compile(r"[A-Za-z_]+")
# Not private to readers: `private(set) var` of Swift is readable everywhere, `private[http] def` of Scala in a package.
_HALF_HIDDEN = re.compile(r"\b(?:file)?private\s*(?:\(set\)|\[[^\]]*\])")


class OwnExports(Protocol):
    """The exports that a file declares itself."""

    exports: set[str]
    exported: set[str]


class Visibility(NamedTuple):
    """A visibility rule.

    `rule` gets the kind, the name, the text before the name, the definition around it and the file's own exports.
    `by_name` says that the rule does not need the text before the name. `by_owner` says that a method that is written
    outside of its type is judged by the name of the type.
    """

    rule: Callable[[str, str, str, Symbol | None, OwnExports], bool]
    by_name: bool = False
    by_owner: bool = False


def is_exported(
    visibility: Visibility, kind: str, name: str, before: str, above: Symbol | None, owner: str, found: OwnExports
) -> bool:
    """Whether other files can name a definition that is inside the definition `above`.

    `before` is the text before the name; `owner` is the type of a method that is written outside of its type.
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
    # `declare` announces something that is defined elsewhere, which every file can name.
    return name in found.exports or name in found.exported or has_word(before, "declare")


def _not_static(_kind: str, _name: str, before: str, above: Symbol | None, _found: OwnExports) -> bool:
    return (above is not None and above.kind != "namespace") or not has_word(before, "static")


def _not_private(_kind: str, _name: str, before: str, _above: Symbol | None, _found: OwnExports) -> bool:
    return not has_word(before, "private", "fileprivate")


def _not_local(_kind: str, name: str, before: str, _above: Symbol | None, found: OwnExports) -> bool:
    return name in found.exports or not has_word(before, "local")


def has_word(before: str, *words: str) -> bool:
    """Whether one of these words is among the modifiers before a name."""
    # The substring test is cheap and nearly always false; only then the text is split into words.
    return any(word in before and word in _WORDS.findall(_HALF_HIDDEN.sub("", before)) for word in words)


ALL = Visibility(_all, by_name=True)
CAPITAL = Visibility(_capital, by_name=True)
EXPORT_STATEMENT = Visibility(_export_statement, by_owner=True)
NOT_LOCAL = Visibility(_not_local)
NOT_PRIVATE = Visibility(_not_private)
NOT_STATIC = Visibility(_not_static)
UNDERSCORE = Visibility(_underscore, by_name=True)
