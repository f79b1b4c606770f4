"""Patches as git writes them: new bytes for ranges of lines, as the differences that `git apply` takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

_AROUND = 3
_NO_NEWLINE = b"\\ No newline at end of file\n"
_PLAIN = frozenset(range(0x20, 0x7F)) - set(b'"\\')
_ESCAPES = {0x07: b"a", 0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0B: b"v", 0x0C: b"f", 0x0D: b"r", 0x22: b'"', 0x5C: b"\\"}


class EditRule(StrEnum):
    """Why a place of a plan is edited: what proves that it means the symbol."""

    SYMBOL = "symbol"
    """An indexer says that the symbol stands there."""
    DECISION = "decision"
    """Somebody has decided that the symbol is meant."""
    EXPORTED = "exported"
    """`__all__` of Python names it."""
    EXAMPLE = "example"
    """`go vet` takes the function for an example of it."""


class Replacement(NamedTuple):
    """New bytes for a half-open range of byte columns of one line (lines from 1), and the rule that asks for them."""

    line: int
    start: int
    end: int
    new: bytes
    rule: EditRule = EditRule.SYMBOL


def file_patch(path: str, old: bytes, replacements: Iterable[Replacement]) -> bytes:
    """Return the patch of one file, empty when nothing changes; raises ValueError when replacements overlap."""
    lines = old.split(b"\n")
    ends_whole = lines[-1] == b""
    if ends_whole:
        lines.pop()
    changed = _changed(lines, replacements)
    if not changed:
        return b""
    before, after = _name(b"a/", path), _name(b"b/", path)
    parts = [b"diff --git %s %s\n--- %s\n+++ %s\n" % (before, after, _field(before), _field(after))]
    for first, last in _spans(sorted(changed), len(lines)):
        parts.append(b"@@ -%d,%d +%d,%d @@\n" % (first, last - first + 1, first, last - first + 1))
        parts += _hunk(lines, changed, first, last, ends_whole=ends_whole)
    return b"".join(parts)


def replaced(old: bytes, replacements: Iterable[Replacement]) -> bytes:
    """Return the text of a file after the replacements; raises ValueError when they overlap."""
    lines = old.split(b"\n")
    for number, text in _changed(lines, replacements).items():
        lines[number - 1] = text
    return b"\n".join(lines)


def _changed(lines: Sequence[bytes], replacements: Iterable[Replacement]) -> dict[int, bytes]:
    """Return the new lines by number."""
    changed: dict[int, bytes] = {}
    before: tuple[int, int] | None = None
    # From the end of each line, so that earlier columns stay valid.
    for line, start, end, new, _ in sorted(replacements, reverse=True):
        if not 1 <= line <= len(lines) or not 0 <= start <= end <= len(lines[line - 1]) or b"\n" in new:
            raise ValueError("a replacement is not on its line")
        if before is not None and before[0] == line and end > before[1]:
            raise ValueError("two replacements touch the same bytes")
        before = line, start
        text = changed.get(line, lines[line - 1])
        changed[line] = text[:start] + new + text[end:]
    return {line: text for line, text in changed.items() if text != lines[line - 1]}


def _spans(numbers: Sequence[int], last: int) -> list[tuple[int, int]]:
    """Return the ranges of lines to show, with the lines around them; ranges that meet are joined."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        first, end = max(1, number - _AROUND), min(last, number + _AROUND)
        if spans and first <= spans[-1][1] + 1:
            first = spans.pop()[0]
        spans.append((first, end))
    return spans


def _hunk(lines: Sequence[bytes], changed: dict[int, bytes], first: int, last: int, *, ends_whole: bool) -> list[bytes]:
    shown: list[bytes] = []
    removed: list[bytes] = []
    added: list[bytes] = []
    for number in range(first, last + 1):
        end = b"\n" if ends_whole or number < len(lines) else b"\n" + _NO_NEWLINE
        text = lines[number - 1]
        if number in changed:
            removed.append(b"-" + text + end)
            added.append(b"+" + changed[number] + end)
            continue
        shown += [*removed, *added, b" " + text + end]
        removed, added = [], []
    return [*shown, *removed, *added]


def _name(prefix: bytes, path: str) -> bytes:
    """Return a path as git writes it: in quotes and with escapes when it is not plain."""
    raw = prefix + path.encode("utf-8", "surrogateescape")
    if all(byte in _PLAIN for byte in raw):
        return raw
    return b'"' + b"".join(_escaped(byte) for byte in raw) + b'"'


def _field(name: bytes) -> bytes:
    """Return a name for a header line of a patch; a tab follows a name with a space in it."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _escaped(byte: int) -> bytes:
    if byte in _PLAIN:
        return bytes([byte])
    return b"\\" + _ESCAPES[byte] if byte in _ESCAPES else b"\\%03o" % byte
