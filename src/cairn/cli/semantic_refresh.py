"""`cairn semantic refresh`: run the indexers over what has changed, and take in what they say."""

from __future__ import annotations

import argparse
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cairn.answer.envelope import plain
from cairn.answer.jobs import ContextRefresh, refresh_report
from cairn.cli.output import Output, counted
from cairn.cli.semantic_jobs import job_row
from cairn.cli.surroundings import prepare
from cairn.errors import NoContext
from cairn.limits import MAX_ENVELOPE_BYTES
from cairn.semantic.scopes import FULL, NOTHING, Scope, of_files
from cairn.source.root import path_key, printable, relative_to_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cairn.refreshing import Refreshed, Watcher, Wish
    from cairn.semantic.model import Job
    from cairn.semantic.running import Beat
    from cairn.semantic.worker import Step
    from cairn.session import Session, Target

_CHANGED, _FULL = "changed", "full"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn semantic refresh`."""
    parser.add_argument(
        "--scope",
        metavar="WHAT",
        action="append",
        help="changed (default), full, or a file or folder; again for more",
    )
    parser.add_argument(
        "--context",
        metavar="NAME",
        action="append",
        default=[],
        help="only this context, or those of this language; again for more",
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Refresh in the foreground; Ctrl-C ends the indexer and leaves what was known as it was."""
    from cairn.refreshing import refresh, trouble_of  # noqa: PLC0415 - numpy takes a tenth of a second

    # Indexers may take minutes: they are run where the person sits, and never by a server in their stead.
    output.around.only_where_typed()
    target = output.around.target(options.root)
    shown = _Shown(output)
    try:
        found = refresh(
            lambda: _opened(target, output), _wish(options, target, output), output.around.environ, shown.watcher()
        )
    finally:
        shown.done()
    trouble = trouble_of(found)
    if options.json:
        rows = [_row(one) for one in found]
        root = target.codebase.root.path
        output.line(refresh_report(rows, path=options.root, root=root, budget=MAX_ENVELOPE_BYTES).to_json())
    else:
        for one in found:
            _show(one, output)
    return trouble.exit_status if trouble is not None else 0


@contextmanager
def _opened(target: Target, output: Output) -> Iterator[Session]:
    """The codebase at its files as they are."""
    from cairn.session import Session, Steps  # noqa: PLC0415

    with Session(target, output.around.environ) as session:
        prepare([session], Steps(), output)
        yield session


def _wish(options: argparse.Namespace, target: Target, output: Output) -> Wish:
    from cairn.refreshing import Wish  # noqa: PLC0415

    asked = options.scope or [_CHANGED]
    if _FULL in asked:
        return Wish(FULL, tuple(options.context))
    named = [one for one in asked if one != _CHANGED]
    if not named:
        return Wish(None, tuple(options.context))
    scope = NOTHING
    for one in named:
        scope = scope.join(_scope(one, target, output))
    return Wish(scope, tuple(options.context))


def _scope(typed: str, target: Target, output: Output) -> Scope:
    """The file or folder that was typed, from where the person stands."""
    base = output.around.base(".")
    key = relative_to_root(target.codebase.root, typed, base)
    if not key:
        return Scope(packages=frozenset({""}))
    path = path_key(key)
    if os.path.isdir(os.path.join(target.codebase.root.path, path)):
        return Scope(packages=frozenset({path}))
    if not os.path.lexists(os.path.join(target.codebase.root.path, path)):
        raise NoContext(why=f"there is no {printable(typed.encode('utf-8', 'surrogateescape'))} here")
    return of_files([path])


class _Shown:
    """Says on stderr how it goes."""

    def __init__(self, output: Output) -> None:
        self._progress = output.progress()
        self._context = ""

    def watcher(self) -> Watcher:
        from cairn.refreshing import Watcher  # noqa: PLC0415

        return Watcher(self._step, self._beat)

    def _step(self, step: Step, job: Job) -> None:
        self._context = printable(job.context.encode())
        self._progress(f"{self._context}: {step.value}, job", job.id, 0)

    def _beat(self, beat: Beat) -> None:
        memory = beat.peak_bytes // 1_000_000
        self._progress(f"{self._context}: the indexer runs, {memory:,} MB, seconds", int(beat.seconds), 0)

    def done(self) -> None:
        self._progress.done()


def _row(one: Refreshed) -> ContextRefresh:
    ended = one.ended
    job = ended.job if ended is not None else one.job
    taken = ended.imported if ended is not None else None
    return ContextRefresh(
        one.context.id,
        one.context.family.value,
        one.outcome.value,
        None if job is None else job_row(job),
        len(taken.files) if taken else 0,
        len(taken.changed) if taken else 0,
        taken.occurrences if taken else 0,
        ended.trouble.code if ended is not None and ended.trouble is not None else None,
    )


def _show(one: Refreshed, output: Output) -> None:
    row = _row(one)
    name = output.styled(printable(row.context.encode()), "cyan")
    if row.outcome == "completed":
        output.line(f"{name}  {counted(row.files, 'file')}, {counted(row.occurrences, 'occurrence')}.")
        if row.changed:
            output.note(f"  {counted(row.changed, 'file')} changed while it ran; run it again for them.")
        return
    sentences = {
        "unchanged": "nothing has changed.",
        "superseded": "the commit changed again and again; run it again when it stays.",
        "elsewhere": "another process is at it; `cairn semantic jobs` shows how far.",
    }
    output.line(f"{name}  {sentences.get(row.outcome, 'failed.')}")
    if one.ended is not None and one.ended.trouble is not None:
        output.note(f"  {plain(one.ended.trouble.sentence)}")
        output.note(f"  {plain(one.ended.trouble.advice)}")
    elif row.outcome == "failed" and row.job is not None and row.job.error:
        output.note(f"  {plain(row.job.error)}")
