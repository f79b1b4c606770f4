"""The four runs as a person meets them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.cli.index import notes, summary
from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.core.clock import SYSTEM_CLOCK, SYSTEM_PROCESSES, SystemClock
from cairn.core.types import SkipReason
from cairn.store.publish.lease import RunKind, acquire
from cairn.sync.codebase import open_codebase, place_of
from cairn.sync.report import Changes, FailedFile, RunReport
from tests.schemas import check
from tests.support.commands import Person

REPORT = RunReport(
    kind="sync",
    published=True,
    snapshot_id="01KA3M7Q2W0000000000000000",
    generation=2,
    changes=Changes(added=12, modified=3, deleted=1),
    files_indexed=1_298,
    chunks_live=18_234,
    skipped=((SkipReason.BINARY, 7), (SkipReason.IGNORED, 30)),
    failed=(),
    adopted=0,
    store_bytes=9_100_000,
    source_bytes=6_500_000,
    seconds=4.2,
)


# --- the one line -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "report", "line"),
    [
        (
            "sync",
            REPORT,
            "Indexed 1,298 files (18,234 chunks) in 4.2 s: 12 added, 3 changed, 1 removed."
            " Left out 37: 30 ignored, 7 binary. The index takes 9.1 MB on disk (1.4 times the source).",
        ),
        (
            "sync",
            replace(REPORT, published=False, changes=Changes(), skipped=()),
            "Nothing has changed: 1,298 files (18,234 chunks). The index takes 9.1 MB on disk (1.4 times the source).",
        ),
        (
            "index",
            replace(REPORT, published=False, files_indexed=1, chunks_live=1, skipped=()),
            "Already indexed: 1 file (1 chunk). The index takes 9.1 MB on disk (1.4 times the source).",
        ),
        (
            "index",
            replace(
                REPORT, files_indexed=0, chunks_live=0, changes=Changes(), skipped=(), source_bytes=0, store_bytes=1
            ),
            "Indexed 0 files (0 chunks) in 4.2 s. The index takes 1 byte on disk.",
        ),
        (
            "reindex",
            replace(REPORT, changes=Changes(renamed=2), skipped=((SkipReason.TOO_MANY_CHUNKS, 1),)),
            "Indexed 1,298 files (18,234 chunks) in 4.2 s: 2 renamed."
            " Left out 1: 1 too many chunks. The index takes 9.1 MB on disk (1.4 times the source).",
        ),
        ("clear", REPORT, "Cleared; `cairn index` fills the index again."),
        ("clear", replace(REPORT, published=False), "There was nothing to clear; `cairn index` fills the index again."),
    ],
)
def test_one_line_says_what_was_done_what_is_left_out_and_what_it_takes(
    command: str, report: RunReport, line: str
) -> None:
    assert summary(report, command) == line


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_an_index_is_made_kept_up_to_date_built_again_and_emptied(me: Person) -> None:
    made = me.cairn("index")
    assert (made.status, made.stderr) == (0, "")
    assert made.stdout.startswith("Indexed 3 files (3 chunks) in ")
    assert (
        ": 3 added. Left out 4: 1 binary, 1 ignored, 1 sensitive name, 1 vcs internal. The index takes " in made.stdout
    )
    assert me.cairn("index").stdout.startswith("Already indexed: 3 files (3 chunks).")
    (me.tree / "src" / "lease.py").write_text("x = 1\n")
    (me.tree / "new.py").write_text("y = 2\n")
    (me.tree / "README.md").unlink()
    synced = me.cairn("sync")
    assert synced.stdout.startswith("Indexed 3 files (3 chunks) in ")
    assert ": 1 added, 1 changed, 1 removed. " in synced.stdout
    assert me.cairn("sync").stdout.startswith("Nothing has changed: 3 files (3 chunks). Left out 4: ")
    assert me.cairn("reindex").stdout.startswith("Indexed 3 files (3 chunks) in ")
    assert me.cairn("clear").stdout == "Cleared; `cairn index` fills the index again.\n"
    assert me.cairn("clear").stdout.startswith("There was nothing to clear")
    assert me.cairn("index").stdout.startswith("Indexed 3 files")


def test_json_is_one_envelope_of_the_published_schema(me: Person) -> None:
    for command, kind, published in (
        ("index", "create", True),
        ("index", "create", False),
        ("sync", "sync", False),
        ("reindex", "reindex", True),
        ("clear", "clear", True),
        ("clear", "clear", False),
    ):
        found = me.cairn(command, "--json", "--root", "src")
        assert (found.status, found.stderr) == (0, "")
        answer = json.loads(found.stdout)
        check(answer, "cairn.run/1")
        assert (answer["kind"], answer["published"]) == (kind, published)
        assert (answer["path"], answer["codebaseRoot"]) == ("src", str(me.tree))


def test_nothing_is_written_into_the_tree(me: Person) -> None:
    before = {path: path.stat().st_mtime_ns for path in me.tree.rglob("*")}
    for command in ("index", "sync", "reindex", "clear"):
        assert me.cairn(command).status == 0
    assert {path: path.stat().st_mtime_ns for path in me.tree.rglob("*")} == before


def test_twins_stop_a_run_before_anything_is_published_where_somebody_refuses_them(me: Person) -> None:
    me.home.mkdir(mode=0o700)
    (me.home / "config.toml").write_text('[index]\ncollisions = "refuse"\n')
    (me.tree / "src" / "Lease.py").write_text("x = 1\n")
    found = me.cairn("index")
    assert (found.status, found.stdout) == (33, "")
    assert "src/Lease.py" in found.stderr
    assert me.cairn("status").status == 10


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["index", "--root", "nowhere"], 21, "There is no folder at nowhere."),
        (["clear", "--allow-degraded"], 2, "Unrecognized arguments: --allow-degraded."),
    ],
)
def test_a_mistake_is_told_and_no_store_is_made(me: Person, arguments: list[str], status: int, sentence: str) -> None:
    found = me.cairn(*arguments)
    assert (found.status, found.stdout) == (status, "")
    assert sentence in found.stderr
    assert not me.home.exists()


# --- while another run is at work -------------------------------------------------------------------------------------


@contextlib.contextmanager
def another_run(me: Person) -> Iterator[None]:
    """Hold the lease of the person's index, as a run in this process."""
    place = place_of(open_codebase(str(me.tree), me.environment), str(me.home))
    with (
        place.make_disk() as disk,
        acquire(
            disk,
            run_id="01KA3M7Q2W0000000000000000",
            kind=RunKind.SYNC,
            floor_epoch=1_000,
            clock=SYSTEM_CLOCK,
            processes=SYSTEM_PROCESSES,
        ),
    ):
        yield


def test_stopping_a_run_changes_nothing_and_says_so(me: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    me.cairn("index")
    (me.tree / "new.py").write_text("y = 2\n")
    monkeypatch.setenv("CAIRN_HOME", str(me.home))
    before = me.cairn("snapshots").stdout
    with another_run(me):
        # It waits ten seconds for the other one; Ctrl-C comes while it does.
        monkeypatch.setattr(SystemClock, "sleep", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        stdout, stderr = io.StringIO(), io.StringIO()
        status = main(["sync", "--root", str(me.tree)], Output(stdout, stderr, {}))
    assert (status, stdout.getvalue()) == (130, "")
    assert "Nothing is lost" in stderr.getvalue()
    assert me.cairn("snapshots").stdout == before


@pytest.mark.long
def test_a_second_writer_waits_and_is_then_told_who_is_at_work(me: Person) -> None:
    me.cairn("index")
    (me.tree / "new.py").write_text("y = 2\n")
    with another_run(me):
        found = me.cairn("sync")
        assert (found.status, found.stdout) == (13, "")
        assert f"Another run (sync, process {os.getpid()}) is writing this index." in found.stderr
        shown = me.cairn("status").stdout
        assert f"sync, process {os.getpid()}, at work, since " in shown
    assert me.cairn("sync").status == 0


# --- what is said beside the line -------------------------------------------------------------------------------------


def test_files_that_failed_are_named_and_so_is_what_was_taken_over() -> None:
    failed = tuple(FailedFile(f"src/{n}\x1b.py", "unstable", "It would not\nhold still.") for n in range(12))
    report = replace(REPORT, failed=failed, adopted=3, warnings=("A warning.",))
    stderr = io.StringIO()
    notes(report, ("A setting does nothing.",), Output(io.StringIO(), stderr, {}))
    assert stderr.getvalue().splitlines() == [
        "3 files had been prepared by a run that was stopped.",
        "note: 12 files could not be indexed:",
        *(f"  src/{n}\\x1b.py: It would not\\x0ahold still." for n in range(10)),
        "  and 2 more; --json lists them.",
        "note: A setting does nothing.",
        "note: A warning.",
    ]
