"""Candidate → FileFacts: read once, hash, parse, chunk. The same function runs here and in the workers."""

from __future__ import annotations

from cairn.core.config import LimitConfig
from cairn.core.filetypes import language_of
from cairn.core.types import Candidate, ExtractOutcome, FileFacts, Skip, SkipReason, SourceFile
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable
from cairn.syntax.analyze import analyze, cut_by_lines

HEAD_BYTES = 4_096


def extract(tree: Tree, candidate: Candidate, limits: LimitConfig, *, plain: bool = False) -> ExtractOutcome:
    """Everything about one file, or why not. `plain` leaves the grammar out, for a file that killed a parser."""
    outcome = read_stable(tree, candidate, max_bytes=limits.max_file_bytes)
    if not isinstance(outcome, SourceFile):
        return outcome
    name = candidate.raw.rpartition(b"/")[2]
    language = language_of(name, outcome.data[:HEAD_BYTES])
    syntax, chunks = (cut_by_lines if plain else analyze)(outcome.data, language)
    if len(chunks) > limits.max_chunks_per_file:
        detail = f"{len(chunks):,} chunks, the limit is {limits.max_chunks_per_file:,}"
        return Skip(candidate.raw, SkipReason.TOO_MANY_CHUNKS, detail)
    return FileFacts(outcome, syntax, chunks)
