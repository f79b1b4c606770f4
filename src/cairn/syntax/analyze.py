"""Read the facts and chunks of one file from its bytes; the syntax tree is made once and not kept."""

from __future__ import annotations

from cairn.core.collector import no_cycle_collection
from cairn.core.types import Chunk, ParseState, Syntax
from cairn.syntax.chunks import line_starts, split
from cairn.syntax.identity import interface_hash
from cairn.syntax.languages import load
from cairn.syntax.parse import broken_lines, parse
from cairn.syntax.symbols import extract


def analyze(data: bytes, language: str) -> tuple[Syntax, tuple[Chunk, ...]]:
    """Return the facts and chunks of a file. A file that cannot be parsed is cut by lines, and `state` says so."""
    grammar = load(language)
    tree = parse(data, grammar) if grammar is not None else None
    if grammar is None or tree is None:
        return cut_by_lines(data, language)
    root = tree.root_node
    with no_cycle_collection():
        lines = line_starts(data)
        symbols, references, imports, exports = extract(data, root, grammar, lines)
        partial = broken_lines(data, root, lines)
        syntax = Syntax(
            language,
            ParseState.PARTIAL if partial else ParseState.PARSED,
            symbols,
            references,
            imports,
            exports,
            partial,
            interface_hash(symbols, imports, exports),
        )
        return syntax, split(data, root, symbols, lines)


def cut_by_lines(data: bytes, language: str) -> tuple[Syntax, tuple[Chunk, ...]]:
    """Return no facts, and chunks at line borders; also used for a file whose parse killed a worker."""
    return Syntax(language, ParseState.LINES), split(data, None, ())
