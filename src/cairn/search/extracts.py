"""Choose the definition that answers a question, and the few lines of it that show why, from anywhere in it.

A reader learns which definition is meant and what speaks for it, without the lines around that say nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cairn.core.limits import SNIPPET_LINES
from cairn.core.types import Symbol
from cairn.engine.local import LocalEngine
from cairn.search.lexical import idf
from cairn.search.rank import Ranked
from cairn.search.snippets import Excerpts, Snippets
from cairn.search.types import Extract, FileMatches, Hit

# The first results are shown with more lines than those behind them, and a short definition is shown as a whole.
_LINES = (6, 4, 4)
_WHOLE = 8
# A line that adds less than this share of what the best one says is left out; a word said again adds little.
_LEAST_GAIN = 0.2
_AGAIN = 0.1
# Of a long definition these lines before and after the row that was found are looked at.
_REACH = 200


class Meant(NamedTuple):
    """The definition that a row was found for, or None outside of all, and the lines of it that were found there."""

    around: Symbol | None
    first: int
    last: int


class Extracts:
    """The extracts of the answers to one question."""

    def __init__(self, engine: LocalEngine, snippets: Snippets, excerpts: Excerpts, terms: Sequence[str]) -> None:
        self._engine, self._snippets, self._excerpts, self._terms = engine, snippets, excerpts, terms
        held = [max((len(one.rows) for one in fields.values()), default=0) for fields in engine.matches(terms)]
        self._weights = [float(idf(engine.rows, count)) for count in held]
        self._known: dict[int, Meant] = {}

    def told(self, one: Ranked) -> Meant:
        """Return the definition in a row of which the row says most: each line counts for the innermost around it.

        A comment counts for the definition that it stands above, also with a blank line between them.
        """
        found = self._known.get(one.row)
        if found is None:
            found = self._known[one.row] = self._look(one)
        return found

    def hit(self, one: Ranked, base: Hit, number: int) -> Hit:
        """Return a hit for the definition of a row, with fewer lines the further down the list it stands."""
        around, first, last = self.told(one)
        most = _LINES[number] if number < len(_LINES) else 0
        span = None
        if around is not None:
            span = (around.start_line, around.end_line, around.signature)
            first, last = max(around.start_line, first - _REACH), min(around.end_line, last + _REACH)
        first, lines = self._excerpts.lines(one_path(self._engine, one), first, last)
        matched = self._snippets.matched(lines, self._terms)
        signature = around.signature if around else ""
        own = {at: held for at, held in matched.items() if lines[at].strip() not in signature}
        shown: Sequence[int] = ()
        if most and len(lines) <= _WHOLE:
            shown = range(len(lines))
        elif most or around is None:
            shown = _telling(own, self._weights, max(1, most)) or [_first_line(lines, signature)]
        best = min(_telling(matched, self._weights, 1), default=0)
        text = lines[best : best + SNIPPET_LINES]
        return replace(
            base,
            start_line=first + best,
            end_line=first + best + len(text) - 1,
            text="\n".join(text),
            match_lines=tuple(first + at for at in matched if best <= at < best + len(text)),
            marks=(),
            extracts=_joined(first, lines, shown),
            definition=span,
            kind=around.kind if around else base.kind,
            symbol=_name(around) if around else "",
        )

    def _look(self, one: Ranked) -> Meant:
        path, chunk = one_path(self._engine, one), self._engine.chunk(one.row)
        first, lines = self._excerpts.lines(path, chunk.start_line, chunk.end_line)
        symbols = [each for each in self._excerpts.symbols(path) if each.end_line >= first]
        owners = _owners(first, lines, [each for each in symbols if each.start_line < first + len(lines)])
        held: dict[int, list[int]] = {}
        for at, bits in sorted(self._snippets.matched(lines, self._terms).items()):
            held.setdefault(owners[at], []).append(bits)
        worth = {owner: _worth(bits, self._weights) for owner, bits in held.items()}
        best = max(worth, key=lambda owner: worth[owner], default=-1)
        around = next((each for each in symbols if each.start_byte == best), None)
        return Meant(around, first, first + len(lines) - 1)


def one_path(engine: LocalEngine, one: Ranked) -> str:
    """Return the path of the file that was found."""
    return engine.paths[one.place]


def of_definition(hit: Hit, symbol: Symbol) -> Hit:
    """Return the hit of a definition that was found by its name: what it is says its signature."""
    return replace(hit, definition=(symbol.start_line, symbol.end_line, symbol.signature))


def of_matches(hit: Hit, file: FileMatches) -> Hit:
    """Return the hit of a file with all its lines that match."""
    return replace(hit, extracts=tuple(Extract(line.line, line.text) for line in file.lines))


def shortened(hit: Hit, fits: Callable[[Hit], bool]) -> Hit:
    """Return a hit with as many of its first extracts as fit."""
    low, high = 0, len(hit.extracts)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(replace(hit, extracts=hit.extracts[:middle])) else (low, middle - 1)
    return replace(hit, extracts=hit.extracts[:low])


def _name(symbol: Symbol) -> str:
    return f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name


def _owners(first: int, lines: Sequence[str], symbols: Iterable[Symbol]) -> list[int]:
    """Return for each line the first byte of the innermost definition around it, or of the one it is a comment of."""
    owners = [-1] * len(lines)
    starts = {}
    # Those around come before those inside of them.
    for one in symbols:
        begin, end = max(0, one.start_line - first), min(len(lines), one.end_line - first + 1)
        owners[begin:end] = [one.start_byte] * (end - begin)
        starts[begin] = one
    outside = list(owners)
    for begin, one in starts.items():
        at, blank = begin - 1, 0
        around = outside[at] if at >= 0 else None
        # What is directly above belongs to it, up to the next code or the second blank line.
        while at >= 0 and outside[at] == around and blank < 2 and _is_comment(lines[at]):
            owners[at] = one.start_byte
            blank += not lines[at].strip()
            at -= 1
    return owners


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith(("/", "*", "#", "--", '"""', "@"))


def _worth(bits: Sequence[int], weights: Sequence[float]) -> float:
    """Return what lines say together: each word that they hold, and a little for each time that it is said again."""
    every = 0
    for held in bits:
        every |= held
    again = sum(weight for held in bits for bit, weight in enumerate(weights) if held >> bit & 1)
    once = sum(weight for bit, weight in enumerate(weights) if every >> bit & 1)
    return once + _AGAIN * (again - once)


def _telling(matched: Mapping[int, int], weights: Sequence[float], most: int) -> list[int]:
    """Return the lines that together hold the rarest words of the query, each adding something to those before it."""
    left, held, chosen = dict(matched), 0, list[int]()
    least = 0.0

    def gain(at: int) -> float:
        new = sum(weight for bit, weight in enumerate(weights) if left[at] >> bit & 1 and not held >> bit & 1)
        return new + _AGAIN * sum(weight for bit, weight in enumerate(weights) if left[at] & held & 1 << bit)

    while left and len(chosen) < most:
        best = max(left, key=lambda at: (gain(at), -at))
        if gain(best) <= least:
            break
        least = least or _LEAST_GAIN * gain(best)
        chosen.append(best)
        held |= left.pop(best)
    return sorted(chosen)


def _first_line(lines: Sequence[str], signature: str) -> int:
    """Return the first line that says something and is no part of the signature."""
    return next((at for at, line in enumerate(lines) if line.strip() and line.strip() not in signature), 0)


def _joined(first: int, lines: Sequence[str], shown: Iterable[int]) -> tuple[Extract, ...]:
    """Return the lines with these positions, those that follow each other as one."""
    found: list[Extract] = []
    before = None
    for at in shown:
        if found and before == at - 1:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{lines[at]}")
        else:
            found.append(Extract(first + at, lines[at]))
        before = at
    return tuple(found)
