"""Facts on their way from a worker: column by column, which takes half the time that pickling each of them would.

A pickle writes the class of every value beside it. Here a kind of fact is a few lists of plain values, and the classes
are put around them again where they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from cairn.core.types import Chunk, ExtractOutcome, FileFacts, Import, Reference, SourceFile, Symbol, Syntax

Columns = list[tuple[Any, ...]]
T = TypeVar("T", bound=tuple[Any, ...])


class Parcel(NamedTuple):
    """What is known of one file; `told` is the rest of its syntax."""

    source: SourceFile
    symbols: Columns
    references: Columns
    imports: Columns
    chunks: Columns
    told: Syntax


def pack(outcomes: Iterable[ExtractOutcome]) -> list[Any]:
    """The outcomes as they travel."""
    return [_packed(outcome) if isinstance(outcome, FileFacts) else outcome for outcome in outcomes]


def unpack(parcels: Iterable[Any]) -> list[ExtractOutcome]:
    """The outcomes as they were packed."""
    return [_unpacked(parcel) if isinstance(parcel, Parcel) else parcel for parcel in parcels]


def _packed(facts: FileFacts) -> Parcel:
    syntax = facts.syntax
    rest = Syntax(
        syntax.language,
        syntax.state,
        exports=syntax.exports,
        partial=syntax.partial,
        interface_hash=syntax.interface_hash,
    )
    return Parcel(
        facts.source,
        _columns(syntax.symbols),
        _columns(syntax.references),
        _columns(syntax.imports),
        _columns(facts.chunks),
        rest,
    )


def _columns(rows: Sequence[tuple[Any, ...]]) -> Columns:
    return list(zip(*rows, strict=True))


def _unpacked(parcel: Parcel) -> FileFacts:
    told = parcel.told
    syntax = Syntax(
        told.language,
        told.state,
        _rows(Symbol, parcel.symbols),
        _rows(Reference, parcel.references),
        _rows(Import, parcel.imports),
        told.exports,
        told.partial,
        told.interface_hash,
    )
    return FileFacts(parcel.source, syntax, _rows(Chunk, parcel.chunks))


def _rows(kind: type[T], columns: Sequence[tuple[Any, ...]]) -> tuple[T, ...]:
    # What the constructor of a NamedTuple does, less a frame for each.
    return tuple(map(partial(tuple.__new__, kind), zip(*columns, strict=True)))
