"""Find what would be indexed here: walk the tree, then look at the content of every candidate.

The walk judges names and sizes; whether a file is text shows only when it is read. So a survey reads the tree once, and
what it calls eligible is what an index would hold, file for file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cairn.core.filetypes import language_of
from cairn.core.types import Candidate, FileFacts, Skip, SourceFile, Unstable, Vanished, WalkResult
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.ignore import GlobSet, parse_rules
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.sync.codebase import Codebase
from cairn.sync.pool import HEAD_BYTES, extract_all

# A file with fewer bytes than this per permitted chunk cannot have too many: a chunk is small only where it and the
# next would not fit into one, so two neighbours together weigh well above a thousand bytes.
_BYTES_PER_SMALL_CHUNK = 200

Progress = Callable[[str, int, int], None]


class EligibleFile(NamedTuple):
    """A file that an index of this tree would hold."""

    key: str
    size: int
    language: str


@dataclass(frozen=True, slots=True)
class Survey:
    """Every name of the tree with its outcome. `hidden` counts what the user's own git rules would hide as well."""

    eligible: tuple[EligibleFile, ...]
    skips: tuple[Skip, ...]
    unstable: tuple[Unstable, ...]
    hidden: tuple[tuple[str, int], ...]
    walked: WalkResult


def survey(codebase: Codebase, progress: Progress) -> Survey:
    """Walk and read the whole tree; a file that vanishes meanwhile is not reported."""
    with Tree(codebase.root) as tree:
        walked = walk(
            tree,
            codebase.config,
            tracked=codebase.tracked,
            progress=lambda names: progress("walking", names, 0),
        )
        found = _look(tree, walked, codebase, progress)
    eligible = sorted((file for file in found if isinstance(file, EligibleFile)), key=lambda file: file.key)
    late = [skip for skip in found if isinstance(skip, Skip)]
    skips = tuple(sorted((*walked.skips, *late), key=lambda skip: skip.raw))
    unstable = tuple(file for file in found if isinstance(file, Unstable))
    return Survey(tuple(eligible), skips, unstable, _hidden_elsewhere(codebase, walked), walked)


def _look(
    tree: Tree, walked: WalkResult, codebase: Codebase, progress: Progress
) -> list[EligibleFile | Skip | Unstable]:
    """Return what reading every candidate gives: whether it is text, and not too much of it."""
    limits = codebase.config.limits
    found: list[EligibleFile | Skip | Unstable] = []
    large: list[Candidate] = []
    for done, candidate in enumerate(walked.candidates):
        if not done % 256:
            progress("reading", done, len(walked.candidates))
        if candidate.stat.size > limits.max_chunks_per_file * _BYTES_PER_SMALL_CHUNK:
            large.append(candidate)
            continue
        outcome = read_stable(tree, candidate, max_bytes=limits.max_file_bytes)
        if isinstance(outcome, SourceFile):
            language = language_of(candidate.raw.rpartition(b"/")[2], outcome.data[:HEAD_BYTES])
            found.append(EligibleFile(candidate.key, len(outcome.data), language))
        elif not isinstance(outcome, Vanished):
            found.append(outcome)
    # Only cutting a large file shows how many chunks it has.
    for done, facts in enumerate(extract_all(codebase.root, large, limits)):
        progress("cutting large files", done, len(large))
        if isinstance(facts, FileFacts):
            found.append(EligibleFile(facts.source.key, len(facts.source.data), facts.syntax.language))
        elif not isinstance(facts, Vanished):
            found.append(facts)
    return found


def _hidden_elsewhere(codebase: Codebase, walked: WalkResult) -> tuple[tuple[str, int], ...]:
    """Count the candidates that the user's own git rules would hide: rules that differ from one person to the next."""
    if not codebase.root.is_git:
        return ()
    counted = []
    try:
        rules = Git(codebase.root).global_excludes()
    except GitFailed:
        # Whoever lists the files is told.
        return ()
    for label, data in rules:
        globs = GlobSet(parse_rules(data, label))
        count = sum(1 for c in walked.candidates if (rule := globs.matches(c.raw)) is not None and not rule.negated)
        if count:
            counted.append((label, count))
    return tuple(counted)
