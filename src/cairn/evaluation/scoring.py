"""Ask a codebase questions whose answers are known, and score the results: NDCG and recall, by question and group.

For each right place the rank of the first result that shows it counts, and every rank once; the ideal has all right
places at the top. A second result of a file that was already right costs a rank like any wrong one.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cairn.ask.gate import gate_error
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, Target
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.config import cairn_home
from cairn.core.progress import Tell
from cairn.core.types import Root
from cairn.errors import InvalidQuery
from cairn.search.types import Mode, SearchRequest
from cairn.source.root import printable
from cairn.sync.codebase import Codebase, codebase_at
from cairn.sync.report import RunOptions
from cairn.sync.run import sync


class Lines(NamedTuple):
    """A place in a file; without lines it is the whole file."""

    path: str
    start: int | None = None
    end: int | None = None


class JudgedQuestion(NamedTuple):
    """A query, the places that answer it, and the groups in which it is counted."""

    repository: str
    language: str
    category: str
    text: str
    targets: tuple[Lines, ...]


class Scored(NamedTuple):
    """The scores of a question, by the files that were found; `ndcg_lines` wants the right lines to be shown too.

    `is_valid` is False when the question cannot be asked as a query, which scores 0.
    """

    question: JudgedQuestion
    ndcg: float
    recall: float
    ndcg_lines: float
    seconds: float
    is_valid: bool = True


class Mean(NamedTuple):
    """The mean over the questions of a group; `error` is its standard error, None for fewer than two questions."""

    name: str
    questions: int
    ndcg: float
    recall: float
    ndcg_lines: float
    error: float | None = None


def shows(found: Lines, target: Lines) -> bool:
    """Whether a result is a right place: the same file, and common lines where both have lines.

    One path may begin further up than the other, at the border of a folder.
    """
    if not _same_file(found.path, target.path):
        return False
    if found.start is None or found.end is None or target.start is None or target.end is None:
        return True
    return found.start <= target.end and found.end >= target.start


def ndcg(found: Sequence[Lines], targets: Sequence[Lines], k: int) -> float:
    """Return how near to the top of the first `k` results the right places stand, from 0 to 1."""
    ranks = {next((rank for rank, one in enumerate(found[:k]) if shows(one, target)), None) for target in targets}
    gain = sum(_gain(rank) for rank in ranks if rank is not None)
    ideal = sum(_gain(rank) for rank in range(min(k, len(targets))))
    return gain / ideal if ideal else 0.0


def recall(found: Sequence[Lines], targets: Sequence[Lines], k: int) -> float:
    """Return the share of the right places that the first `k` results show."""
    if not targets:
        return 0.0
    return sum(any(shows(one, target) for one in found[:k]) for target in targets) / len(targets)


def mean_of(name: str, scored: Sequence[Scored]) -> Mean:
    """Return the mean over these scores, of which there is at least one."""
    values = [one.ndcg for one in scored]
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    recalls = statistics.fmean(one.recall for one in scored)
    with_lines = statistics.fmean(one.ndcg_lines for one in scored)
    return Mean(name, len(scored), statistics.fmean(values), recalls, with_lines, error)


def grouped(scored: Iterable[Scored], key: Callable[[JudgedQuestion], str]) -> list[Mean]:
    """Return the mean of each group, in the order of their names."""
    groups: dict[str, list[Scored]] = {}
    for one in scored:
        groups.setdefault(key(one.question), []).append(one)
    return [mean_of(name, groups[name]) for name in sorted(groups)]


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 2)


def _same_file(one: str, other: str) -> bool:
    one, other = one.replace("\\", "/"), other.replace("\\", "/")
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


# --- asking -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskingWay:
    """How questions are asked: the number of results, the mode, and the signals that are switched off."""

    k: int
    mode: Mode = Mode.HYBRID
    without: frozenset[str] = frozenset()


def folder_as_codebase(folder: str, environ: Mapping[str, str]) -> Codebase:
    """Return the folder as a codebase of its own, whatever repository it lies in."""
    return codebase_at(Root(os.path.realpath(folder), is_git=False), environ)


def ask(
    codebase: Codebase,
    environ: Mapping[str, str],
    questions: Iterable[JudgedQuestion],
    way: AskingWay,
    *,
    tell: Tell = lambda _: None,
    asked: Callable[[JudgedQuestion], None] = lambda _: None,
) -> list[Scored]:
    """Return the score of every question, in order; indexes the codebase first, or brings its index up to date."""
    # The user has named this folder, so it is not refused like a folder that is only searched.
    sync(codebase, RunOptions(cairn_home(environ)), tell)
    with Session(Target(codebase.root.path, codebase), environ) as session:
        prepare(session, Policy(create=False, sync=False))
        if not session.gate.is_open:
            raise gate_error(session.gate, printable(os.fsencode(codebase.root.path)))
        scored = []
        for question in questions:
            asked(question)
            scored.append(_scored(session, question, way))
        return scored


def _scored(session: Session, question: JudgedQuestion, way: AskingWay) -> Scored:
    began = SYSTEM_CLOCK.monotonic()
    try:
        request = SearchRequest(question.text, way.mode, limit=way.k, without=way.without)
        found = session.ask(request).found
    except InvalidQuery:
        # A commit subject may look like an operator that there is not; a person would get no result either.
        return Scored(question, 0.0, 0.0, 0.0, SYSTEM_CLOCK.monotonic() - began, is_valid=False)
    seconds = SYSTEM_CLOCK.monotonic() - began
    assert found is not None, "the gate is open"
    files = [Lines(hit.path) for hit in found.hits]
    shown = [Lines(hit.path, hit.start_line, hit.end_line) for hit in found.hits]
    targets, k = question.targets, way.k
    return Scored(question, ndcg(files, targets, k), recall(files, targets, k), ndcg(shown, targets, k), seconds)
