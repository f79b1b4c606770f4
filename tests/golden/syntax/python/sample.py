"""A tide table: when may a boat of a given draught pass the bar?"""

from __future__ import annotations

import asyncio
import collections.abc as cabc, json
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import cached_property as cached
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from . import harbours
from ..almanac.moon import (
    Phase,  # new, full and between
    phase_at as moon_phase,
)
from .formats import *

if TYPE_CHECKING:
    from asyncio import Task
    Hook: TypeAlias = cabc.Callable[["Tide"], None]

try:
    import orjson
except ImportError:
    orjson = None
    if TYPE_CHECKING:
        decoder = None
    else:
        decoder = object()

__all__ = ["Tide", "Table", "passable"]
__all__ += ["load_table"]

T = TypeVar("T", bound="Tide")
# Metres of water that must stay under the keel.
CLEARANCE: float = 0.5
LOW, HIGH = 0.0, 12.5
first = last = None
_cache: dict[str, Table] = {}
type Hours[N] = list[tuple[N, Tide]]
metres = lambda feet: feet * 0.3048


@unique
class Kind(Enum):
    """Which way the water goes."""

    EBB = "ebb"
    FLOOD = "flood"

    @property
    def rising(self) -> bool:
        """True while the water comes in."""
        return self is Kind.FLOOD


class TideError(ValueError, metaclass=harbours.Registered):
    # No doc string here, and this comment is not one either.
    code = 7


@dataclass(frozen=True, slots=True)
class Tide:
    """One turn of the tide."""

    height: float
    kind: Kind = Kind.EBB
    #: Free text of the harbour master.
    notes: list[str] = field(default_factory=list)
    unit, symbol = "metre", "m"
    if orjson:
        packed = True

    def __init_subclass__(cls, /, **options: object) -> None:
        super().__init_subclass__(**options)

    def __lt__(self, other: Tide) -> bool:
        return self.height < other.height


class Table(Generic[T], cabc.Iterable[T]):
    class Row:
        """Nested, as rows live and die with their table."""

        def cells(self): return []

    def __init__(self, tides: list[T] | None = None, /, *, port: harbours.Port) -> None:
        """Keep the tides in the order of their hours."""
        self.tides = sorted(tides or [], key=lambda tide: tide.height)
        self._port = port

    @cached
    def highest(self) -> T:
        return max(self.tides)

    @property
    def port(self) -> harbours.Port:
        return self._port

    @port.setter
    def port(self, port: harbours.Port) -> None:
        self._port = port

    @staticmethod
    @harbours.audited(level=2)
    def parse(
        text: str,
        # `strict` refuses a table with a gap of more than 13 hours.
        strict: bool = True,
    ) -> Table[Tide]:
        rows = [row.split("\t") for row in text.splitlines()]
        try:
            return Table([Tide(float(cell)) for cell, *_ in rows], port=harbours.home())
        except (ValueError, json.JSONDecodeError) as why:
            raise TideError(text) from why

    def __iter__(self) -> cabc.Iterator[T]:
        yield from self.tides

    def _forget(self) -> None:
        _cache.pop(self._port.name, None)


async def load_table(name: str, *hooks: Hook, retry: int = 3, **options: harbours.Option[int]) -> Table[Tide]:
    """The table of a harbour, from the cache when it is there.

    Hooks run in the order in which they were given.
    """

    async def attempt() -> str:
        return await harbours.fetch(name, phase=moon_phase())

    text: Task[str] = asyncio.ensure_future(attempt())
    table = _cache.setdefault(name, Table.parse(await text))
    for hook in hooks:
        hook(table.highest)
    return table


def passable(draught: float, tide: Tide) -> bool:
    match tide:
        case harbours.Closed():
            return False
        case Tide(height=height):
            return height - draught > CLEARANCE
    return False


def Größe(tide): return (tide.height
    - LOW)
