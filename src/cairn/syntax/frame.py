"""Tell the frame of a file, which decides what other code can mean, from its comments and the bodies of its functions.

An edit of a comment moves code and changes nothing. In a language whose definitions say in their heads all that others
can see of them (the trait `heads_say_all`), an edit inside the body of a function changes nothing outside that body.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from cairn.core.types import Symbol, SymbolKind
from cairn.syntax.lexis import Lexis, Quiet

_FUNCTIONS = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.CONSTRUCTOR})


def code_lines(text: bytes, lexis: Lexis) -> list[bytes]:
    """Return the lines of a text without their comments and the blanks at their ends; an empty line holds no code.

    A comment that tools read, such as `//go:build` or `# type:`, counts as code.
    """
    code = Quiet(text, lexis).without_comments(0, len(text), keep=lexis.directives)
    return [line.rstrip() for line in code.split(b"\n")]


def body_lines(code: Sequence[bytes], symbols: Sequence[Symbol]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line (from 1) of the body of each function, in order and without overlaps.

    A body begins behind the line that ends with the brace after the head. What shares a line with the head or with the
    end of a function belongs to the frame, and so does a function in which something else is defined.
    """
    starts = sorted(symbol.start_byte for symbol in symbols)
    taken = 0
    for symbol in sorted(symbols, key=lambda one: one.start_byte):
        inside = bisect_right(starts, symbol.end_byte - 1) - bisect_right(starts, symbol.start_byte)
        if symbol.kind not in _FUNCTIONS or inside or symbol.start_line <= taken:
            continue
        first = _behind_head(code, symbol)
        if first is not None and first < symbol.end_line:
            yield first, symbol.end_line - 1
            taken = symbol.end_line - 1


def _behind_head(code: Sequence[bytes], symbol: Symbol) -> int | None:
    open_brackets = 0
    for line in range(symbol.start_line, min(symbol.end_line, len(code) + 1)):
        text = code[line - 1]
        open_brackets += text.count(b"(") - text.count(b")")
        if text.endswith(b"{") and open_brackets == 0:
            return line + 1
    return None
