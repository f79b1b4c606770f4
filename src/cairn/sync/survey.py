"""What would be indexed here? The walk, then one look at the content of every candidate.

The walk judges names and sizes; whether a file is text shows only when it is read. So a survey reads the tree once,
and what it calls eligible is what an index would hold, file for file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cairn.config import LimitConfig
from cairn.filetypes import language_of
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.ignore import GlobSet, parse_rules
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.sync.codebase import Codebase
from cairn.sync.extract import HEAD_BYTES, extract
from cairn.types import Candidate, FileFacts, Skip, SourceFile, Unstable, WalkResult

# A file below this cannot fall into too many pieces: a chunk is never smaller than a line, and seldom than this.
_BYTES_PER_SMALL_CHUNK = 64

Progress = Callable[[str, int, int], None]


class EligibleFile(NamedTuple):
    """A file that an index of this tree would hold."""

    key: str
    size: int
    language: str


@dataclass(frozen=True, slots=True)
class Survey:
    """Every name of the tree with its outcome. `hidden` counts what rules that we do not honour would have left out."""

    eligible: tuple[EligibleFile, ...]
    skips: tuple[Skip, ...]
    unstable: tuple[Unstable, ...]
    hidden: tuple[tuple[str, int], ...]
    walked: WalkResult


def survey(codebase: Codebase, progress: Progress) -> Survey:
    """Walk and read the whole tree. A file that vanishes on the way was never there."""
    eligible: list[EligibleFile] = []
    late: list[Skip] = []
    unstable: list[Unstable] = []
    with Tree(codebase.root) as tree:
        walked = walk(
            tree,
            codebase.config,
            tracked=codebase.tracked,
            progress=lambda names: progress("walking", names, 0),
        )
        total = len(walked.candidates)
        for done, candidate in enumerate(walked.candidates):
            if not done % 256:
                progress("reading", done, total)
            found = look(tree, candidate, codebase.config.limits)
            if isinstance(found, EligibleFile):
                eligible.append(found)
            elif isinstance(found, Skip):
                late.append(found)
            elif isinstance(found, Unstable):
                unstable.append(found)
    skips = tuple(sorted((*walked.skips, *late), key=lambda skip: skip.raw))
    return Survey(tuple(eligible), skips, tuple(unstable), _hidden_elsewhere(codebase, walked), walked)


def look(tree: Tree, candidate: Candidate, limits: LimitConfig) -> EligibleFile | Skip | Unstable | None:
    """Is this candidate text, and not too much of it? None when it has vanished."""
    if candidate.stat.size > limits.max_chunks_per_file * _BYTES_PER_SMALL_CHUNK:
        facts = extract(tree, candidate, limits)
        if isinstance(facts, FileFacts):
            return EligibleFile(candidate.key, len(facts.source.data), facts.syntax.language)
        return facts if isinstance(facts, Skip | Unstable) else None
    outcome = read_stable(tree, candidate, max_bytes=limits.max_file_bytes)
    if isinstance(outcome, SourceFile):
        name = candidate.raw.rpartition(b"/")[2]
        return EligibleFile(candidate.key, len(outcome.data), language_of(name, outcome.data[:HEAD_BYTES]))
    return outcome if isinstance(outcome, Skip | Unstable) else None


def _hidden_elsewhere(codebase: Codebase, walked: WalkResult) -> tuple[tuple[str, int], ...]:
    """How many candidates the person's own git rules would hide: rules that differ from one person to the next."""
    if not codebase.root.is_git:
        return ()
    counted = []
    for label, data in Git(codebase.root).global_excludes():
        globs = GlobSet(parse_rules(data, label))
        count = sum(1 for c in walked.candidates if (rule := globs.matches(c.raw)) is not None and not rule.negated)
        if count:
            counted.append((label, count))
    return tuple(counted)
