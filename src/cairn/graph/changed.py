"""Say which definitions differ between two versions of a file: added, removed, renamed, by signature or body only.

What a definition says is its own text, without that of the definitions inside it: an edit of a method changes the
method, and not its class. Space at the ends of lines and between them does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from cairn.core.types import Symbol

# So alike are a definition that is gone and a new one beside it when the one was renamed.
_ALIKE = 0.6
_MOST_COMPARED = 20_000


class ChangeKind(StrEnum):
    """How a definition differs from that of before."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    SIGNATURE = "signature"
    BODY = "body"


class FileVersion(NamedTuple):
    """A file at one time: its text and its definitions."""

    text: bytes
    symbols: Sequence[Symbol]


class ChangedSymbol(NamedTuple):
    """A definition that differs. `number` is that in the new version, in the old one for what was removed."""

    kind: ChangeKind
    number: int
    name: str
    old_name: str = ""


class _Told(NamedTuple):
    """A definition as it is compared."""

    number: int
    symbol: Symbol
    said: bytes


_Key = tuple[str, str, str]


def changed_symbols(old: FileVersion, new: FileVersion) -> list[ChangedSymbol]:
    """Return the definitions that differ, in the order of the new file, those that were removed last."""
    before, after = _by_key(old), _by_key(new)
    found: list[ChangedSymbol] = []
    gone: list[_Told] = []
    fresh: list[_Told] = []
    for key in dict.fromkeys((*after, *before)):
        was, now = before.get(key, []), after.get(key, [])
        # Overloads and the like are told apart by what they say: of two that stay the same neither has changed.
        same = [one.said for one in now if any(one.said == other.said for other in was)]
        was = [one for one in was if one.said not in same]
        now = [one for one in now if one.said not in same]
        for one, other in zip(was, now, strict=False):
            kind = ChangeKind.BODY if _flat(one.symbol) == _flat(other.symbol) else ChangeKind.SIGNATURE
            found.append(ChangedSymbol(kind, other.number, other.symbol.name))
        gone += was[len(now) :]
        fresh += now[len(was) :]
    for one in list(fresh):
        for other in gone:
            if _is_renamed(other, one):
                found.append(ChangedSymbol(ChangeKind.RENAMED, one.number, one.symbol.name, other.symbol.name))
                fresh.remove(one)
                gone.remove(other)
                break
    found += (ChangedSymbol(ChangeKind.ADDED, one.number, one.symbol.name) for one in fresh)
    found.sort(key=lambda one: one.number)
    return [*found, *(ChangedSymbol(ChangeKind.REMOVED, one.number, one.symbol.name) for one in gone)]


def differs_outside(old: FileVersion, new: FileVersion) -> bool:
    """Whether code outside of all definitions differs."""
    return _outside(old) != _outside(new)


def _by_key(version: FileVersion) -> dict[_Key, list[_Told]]:
    inside: dict[int, list[Symbol]] = {}
    for symbol in version.symbols:
        inside.setdefault(symbol.parent, []).append(symbol)
    found: dict[_Key, list[_Told]] = {}
    for number, symbol in enumerate(version.symbols):
        said = _own(version.text, symbol.start_byte, symbol.end_byte, inside.get(number, ()))
        found.setdefault((symbol.container, symbol.kind, symbol.name), []).append(_Told(number, symbol, said))
    return found


def _outside(version: FileVersion) -> bytes:
    return _own(version.text, 0, len(version.text), [one for one in version.symbols if one.parent < 0])


def _own(text: bytes, start: int, end: int, inside: Sequence[Symbol]) -> bytes:
    """Return a part of a text without what is in these definitions, each run of space as one blank."""
    return b" ".join(b" ".join(_pieces(text, start, end, inside)).split())


def _pieces(text: bytes, start: int, end: int, inside: Sequence[Symbol]) -> Iterator[bytes]:
    for one in sorted(inside, key=lambda each: each.start_byte):
        yield text[start : max(start, one.start_byte)]
        start = max(start, one.end_byte)
    yield text[start:end]


def _flat(symbol: Symbol) -> str:
    return " ".join(symbol.signature.split())


def _is_renamed(old: _Told, new: _Told) -> bool:
    if (old.symbol.kind, old.symbol.container) != (new.symbol.kind, new.symbol.container):
        return False
    was = old.said.replace(old.symbol.name.encode("utf-8", "surrogateescape"), b"\0")
    now = new.said.replace(new.symbol.name.encode("utf-8", "surrogateescape"), b"\0")
    if was == now:
        return True
    if len(was) + len(now) > _MOST_COMPARED:
        return False
    return SequenceMatcher(None, was.split(), now.split(), autojunk=False).ratio() >= _ALIKE
