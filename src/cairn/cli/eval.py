"""Measure how good the answers are, on judged questions or on the history of a repository (`cairn eval`)."""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from cairn.answer.envelope import MAX_WARNINGS, Envelope, cut, fit, ok
from cairn.cli.output import Output, ProgressBar, counted
from cairn.core.limits import DEFAULT_RESULTS, MAX_ENVELOPE_BYTES, MAX_RESULTS
from cairn.core.text import plain
from cairn.errors import UsageError
from cairn.source.git import GitHistory
from cairn.source.root import printable
from cairn.sync.codebase import open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.evaluation.scoring import AskingWay, Mean, Scored

SCHEMA = "cairn.eval/1"
_DIGITS = 4


class Measured(NamedTuple):
    """The result of a measurement: sets of questions with their scores, the root where there is one, and warnings."""

    sets: tuple[tuple[str, list[Scored]], ...]
    root: str | None = None
    base: str | None = None
    warnings: tuple[str, ...] = ()


def configure_eval(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn eval`."""
    add = parser.add_argument
    add("data", metavar="DATA", nargs="?", help="a folder with repos.json and annotations/NAME.json")
    add("--repos", metavar="FOLDER", help="where the repositories of DATA lie (default: DATA/repos)")
    add("--half", metavar="NAME", help="only the repositories that split.json lists under this name")
    add("--from-git", action="store_true", help="ask with the commit subjects of your own repository instead")
    add("--commits", metavar="N", type=int, help="with --from-git: how many commits back the tree lies (default 400)")
    add(
        "-k",
        metavar="N",
        type=int,
        default=DEFAULT_RESULTS,
        help=f"results that count (default 10, most {MAX_RESULTS})",
    )
    add("--no-signal", metavar="NAME", action="append", default=[], help="rank without this signal")


def run_eval(options: argparse.Namespace, output: Output) -> int:
    """Ask all questions, and print the means."""
    way = _way(options)
    progress = output.progress()
    try:
        measured = _from_git(options, way, progress) if options.from_git else _judged(options, way, progress)
    finally:
        progress.done()
    if options.json:
        output.line(_envelope(options, way, measured).to_json())
        return 0
    for name, scored in measured.sets:
        _show(name, scored, way.k, output)
    for warning in measured.warnings:
        output.note(output.styled("note: ", "yellow", output.stderr) + plain(warning))
    return 0


def _way(options: argparse.Namespace) -> AskingWay:
    """Return how to ask; raises what is wrong with the command before anything is indexed."""
    from cairn.evaluation.scoring import AskingWay  # noqa: PLC0415 - numpy takes a tenth of a second
    from cairn.search.searcher import check  # noqa: PLC0415
    from cairn.search.types import SearchRequest  # noqa: PLC0415

    if options.from_git == (options.data is not None):
        raise UsageError(problem="Name one of two: a folder with judged questions, or --from-git.")
    if options.from_git and (options.repos is not None or options.half is not None):
        raise UsageError(problem="--repos and --half belong to a folder with judged questions, not to --from-git.")
    if options.commits is not None and not (options.from_git and options.commits > 0):
        raise UsageError(problem="--commits is a number above 0, and goes with --from-git.")
    way = AskingWay(options.k, without=frozenset(options.no_signal))
    check(SearchRequest("x", limit=way.k, without=way.without))
    return way


# --- measuring --------------------------------------------------------------------------------------------------------


def _judged(options: argparse.Namespace, way: AskingWay, progress: ProgressBar) -> Measured:
    from cairn.evaluation.judged import load  # noqa: PLC0415
    from cairn.evaluation.scoring import ask, folder_as_codebase  # noqa: PLC0415

    judged = load(options.data, options.repos or os.path.join(options.data, "repos"), options.half)
    total = sum(len(repository.questions) for repository in judged.repositories)
    scored: list[Scored] = []
    for name, folder, questions in judged.repositories:
        progress("asking", len(scored), total, current=name)
        codebase = folder_as_codebase(folder, os.environ)
        scored += ask(codebase, os.environ, questions, way, tell=progress.tell)
    warnings = [f"There is no folder for {name}, so it was not asked." for name in judged.missing]
    return Measured((("judged", scored),), warnings=(*warnings, *_invalid(scored)))


def _from_git(options: argparse.Namespace, way: AskingWay, progress: ProgressBar) -> Measured:
    from cairn.evaluation.history import (  # noqa: PLC0415
        DEFAULT_COMMITS,
        exported,
        history_of,
    )
    from cairn.evaluation.scoring import ask, folder_as_codebase  # noqa: PLC0415

    here = open_codebase(options.root, os.environ)
    git = GitHistory(here.root)
    name = printable(os.fsencode(os.path.basename(here.root.path)))
    history = history_of(git, name, options.commits or DEFAULT_COMMITS, here.config.limits.max_file_bytes)
    files = len(history.files)
    with exported(git, history.files, lambda done: progress("reading", done, files)) as (tree, home):
        # The user's settings apply to the exported tree as well; only its index goes to a scratch folder.
        codebase = folder_as_codebase(tree, os.environ)
        scratch = {**os.environ, "CAIRN_HOME": home}
        scored = ask(codebase, scratch, (*history.plain, *history.masked), way, tell=progress.tell)
    plain_ones, masked = scored[: len(history.plain)], scored[len(history.plain) :]
    sets = (("plain", plain_ones), *((("masked", masked),) if masked else ()))
    return Measured(sets, here.root.path, history.base, tuple(_invalid(scored)))


def _invalid(scored: Sequence[Scored]) -> list[str]:
    invalid = sum(not one.is_valid for one in scored)
    return [f"{counted(invalid, 'question')} cannot be asked as a query and counts 0."] if invalid else []


# --- telling ----------------------------------------------------------------------------------------------------------

_TITLES = {
    "judged": "Judged questions",
    "plain": "Commit subjects",
    "masked": "Commit subjects without the words of the right file's name",
}


def _show(name: str, scored: Sequence[Scored], k: int, output: Output) -> None:
    from cairn.evaluation.scoring import mean_of  # noqa: PLC0415

    whole = mean_of("", scored)
    error = f" ± {1.96 * whole.error:.3f}" if whole.error is not None else ""
    about = len({one.question.repository for one in scored})
    where = f" about {about} repositories" if about > 1 else ""
    output.line(output.styled(f"{_TITLES[name]}: {counted(len(scored), 'question')}{where}", "bold"))
    output.line(
        f"  NDCG@{k} {whole.ndcg:.4f}{error}   recall@{k} {whole.recall:.4f}   {_median_ms(scored):.1f} ms each"
    )
    if any(target.start is not None for one in scored for target in one.question.targets):
        output.line(f"  NDCG@{k} {whole.ndcg_lines:.4f} where the right lines have to be shown too")
    groups = _groups(scored)
    width = max(len(mean.name) for means in groups.values() for mean in means)
    for title, means in groups.items():
        if title == "repository" and output.verbosity < 1:
            continue
        output.line(output.styled(f"  {'by ' + title:<{width + 2}}  questions  NDCG@{k}  recall@{k}", "dim"))
        for mean in means:
            shown = plain(mean.name)
            output.line(f"    {shown:<{width}}  {mean.questions:>9,}  {mean.ndcg:>7.3f}  {mean.recall:>9.3f}")


def _groups(scored: Sequence[Scored]) -> dict[str, list[Mean]]:
    from cairn.evaluation.scoring import grouped  # noqa: PLC0415

    return {
        "category": grouped(scored, lambda question: question.category),
        "language": grouped(scored, lambda question: question.language),
        "repository": grouped(scored, lambda question: question.repository),
    }


def _median_ms(scored: Sequence[Scored]) -> float:
    return 1000 * statistics.median(one.seconds for one in scored)


def _envelope(options: argparse.Namespace, way: AskingWay, measured: Measured) -> Envelope:
    limits_hit: list[dict[str, Any]] = []
    results = [_result(name, scored, limits_hit) for name, scored in measured.sets]
    hit = cut("warnings", min(len(measured.warnings), MAX_WARNINGS), len(measured.warnings))
    return ok(
        SCHEMA,
        path=options.root if options.from_git else options.data,
        root=measured.root,
        body=[
            ("k", way.k),
            ("without", sorted(way.without)),
            ("base", measured.base),
            ("results", results),
            ("limitsHit", [*limits_hit, *([hit] if hit else [])]),
            ("warnings", [plain(warning) for warning in measured.warnings[:MAX_WARNINGS]]),
            ("hints", {}),
        ],
    )


def _result(name: str, scored: Sequence[Scored], limits_hit: list[dict[str, Any]]) -> dict[str, Any]:
    from cairn.evaluation.scoring import mean_of  # noqa: PLC0415

    whole = mean_of("", scored)
    found: dict[str, Any] = {"set": name, **_mean(whole)}
    del found["name"]
    found["ndcgLines"] = round(whole.ndcg_lines, _DIGITS)
    found["standardError"] = None if whole.error is None else round(whole.error, _DIGITS)
    found["medianMs"] = round(_median_ms(scored), 3)
    for title, means in _groups(scored).items():
        # Two sets of three lists: all of them together stay far below the largest envelope.
        rows = fit([_mean(mean) for mean in means], MAX_ENVELOPE_BYTES // 8)
        found[f"by{title.capitalize()}"] = rows
        hit = cut(f"{name}.by{title.capitalize()}", len(rows), len(means))
        limits_hit += [hit] if hit else []
    return found


def _mean(mean: Mean) -> dict[str, Any]:
    return {
        "name": plain(mean.name),
        "questions": mean.questions,
        "ndcg": round(mean.ndcg, _DIGITS),
        "recall": round(mean.recall, _DIGITS),
    }
