"""A codebase kept warm: when it looks at its files again, and what it does when its store or a neighbour fails."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from cairn.answer.search import search_answer
from cairn.ask.gate import Status
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, ask_all, find_targets, hold_page, whole
from cairn.core.limits import LAST_USED_SECONDS, MAX_CODEBASES, RECENT_SYNC_SECONDS
from cairn.errors import BadContinuation, NotIndexed, StoreError, UsageError
from cairn.search.types import Mode, SearchRequest
from cairn.store import WriterInfo
from cairn.store.disk import Disk
from cairn.sync.report import Freshness
from tests.conformance import conforms
from tests.support.clock import ManualClock
from tests.support.faults import Faults

LEASE = SearchRequest("Lease", Mode.SYMBOL)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"CAIRN_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "me")}


def tree(tmp_path: Path, name: str = "tree") -> Path:
    folder = (tmp_path / name).resolve()
    folder.mkdir()
    (folder / "lease.py").write_text("class Lease:\n    def steal(self): ...\n")
    return folder


def mode_of(session: Session) -> str:
    source = session.ask(LEASE).source
    assert source is not None
    return source.freshness.mode


def test_files_are_looked_at_before_every_question(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tree(tmp_path)
    with Session(whole(str(folder), environ), environ) as session:
        prepare(session, Policy())
        assert mode_of(session) == "synced"
        first = session.snapshot
        (folder / "b.py").write_text("class Lease: ...\n")
        prepare(session, Policy())
        assert mode_of(session) == "synced"
        assert session.snapshot != first


@conforms("003.SL3")
def test_a_thousand_questions_note_the_use_of_a_store_at_most_once_in_an_hour(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    folder, clock = tree(tmp_path), ManualClock.over_system()
    with Session(whole(str(folder), environ), environ, clock) as session:
        prepare(session, Policy())
        (noted,) = (tmp_path / "home" / "data").glob("*/last_used")

        def ask(times: int, seconds: float) -> int:
            """Ask so often over so long a time; how often the file was written anew."""
            written = {noted.stat().st_ino, noted.stat().st_mtime_ns}
            count = 0
            for _ in range(times):
                assert session.ask(LEASE).found is not None
                clock.advance(seconds / times)
                now = {noted.stat().st_ino, noted.stat().st_mtime_ns}
                count, written = count + (now != written), now
            return count

        # The publish has noted it a moment ago.
        assert ask(100, LAST_USED_SECONDS * 0.99) == 0
        assert ask(1_000, LAST_USED_SECONDS * 0.9) == 1
        assert ask(100, 3 * LAST_USED_SECONDS) in (2, 3)
    # A process that begins finds it noted.
    with Session(whole(str(folder), environ), environ, clock) as session:
        prepare(session, Policy(sync=False))
        before = noted.stat()
        session.ask(LEASE)
        after = noted.stat()
        # Not the time of the last access, which a look at it moves.
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_store_that_cannot_be_written_answers_all_the_same(tmp_path: Path, environ: dict[str, str]) -> None:
    folder, clock = tree(tmp_path), ManualClock.over_system()
    with Session(whole(str(folder), environ), environ, clock) as session:
        prepare(session, Policy())
        (store,) = (tmp_path / "home" / "data").iterdir()
        (store / "last_used").unlink()
        (store / "last_used").mkdir()
        assert session.ask(LEASE).found is not None
        store.chmod(0o777)
        clock.advance(2 * LAST_USED_SECONDS)
        assert session.ask(LEASE).found is not None
        store.rename(store.with_name("elsewhere"))
        clock.advance(2 * LAST_USED_SECONDS)
        assert session.ask(LEASE).found is not None


def test_a_session_that_only_reads_does_not_note_that_it_did(tmp_path: Path, environ: dict[str, str]) -> None:
    folder, clock = tree(tmp_path), ManualClock.over_system()
    with Session(whole(str(folder), environ), environ, clock) as session:
        prepare(session, Policy())
    (noted,) = (tmp_path / "home" / "data").glob("*/last_used")
    noted.write_text("2020-01-01T00:00:00Z\n")
    with Session(whole(str(folder), environ), environ, clock, read_only=True) as session:
        prepare(session, Policy())
        assert session.ask(LEASE).found is not None
    assert noted.read_text() == "2020-01-01T00:00:00Z\n"


def test_a_change_of_the_ignore_rules_is_told(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tree(tmp_path)
    for text, mode in (("", "synced"), ("*.log\n", "reconciled_ignore_change")):
        (folder / ".cairnignore").write_text(text)
        with Session(whole(str(folder), environ), environ) as session:
            prepare(session, Policy())
            assert mode_of(session) == mode


def test_what_is_open_answers_when_the_store_can_no_longer_be_read(tmp_path: Path, environ: dict[str, str]) -> None:
    folder, clock = tree(tmp_path), ManualClock.over_system()
    with Session(whole(str(folder), environ), environ, clock) as session:
        prepare(session, Policy())
        (tmp_path / "home" / "data").rename(tmp_path / "home" / "away")
        (tmp_path / "home" / "data").write_bytes(b"no folder")
        clock.advance(RECENT_SYNC_SECONDS + 1)
        prepare(session, Policy())
        answer = session.ask(LEASE)
        assert answer.found is not None
        assert [hit.path for hit in answer.found.hits] == ["lease.py"]
        assert mode_of(session) == "sync_failed"
    with Session(whole(str(folder), environ), environ) as session, pytest.raises(StoreError):
        prepare(session, Policy())


@conforms("001.RD4", "001.AC7", "001.AC5")
def test_a_proof_that_cannot_be_read_now_and_then_never_closes_an_open_gate(
    tmp_path: Path, environ: dict[str, str], faults: Faults
) -> None:
    folder = tree(tmp_path)
    clock = ManualClock.over_system()
    draw = Random(11)

    def flaky(read: Callable[..., bytes], self: Disk, path: str, cap: int) -> bytes:
        if draw.random() < 0.3:
            raise OSError(draw.choice([errno.EIO, errno.EACCES]), "injected", path)
        return read(self, path, cap)

    with Session(whole(str(folder), environ), environ, clock) as session:
        prepare(session, Policy())
        faults.around(Disk, "read", flaky)
        failed = 0
        for _ in range(30):
            clock.advance(RECENT_SYNC_SECONDS + 1)
            session.look()
            assert session.gate.is_open
            answers, page = ask_all([session], LEASE)
            hints = dict(search_answer(answers, page).body)["hints"]
            assert hints in ({}, {"debugProofCheck": {"ok": False, "reason": "probe_failed"}})
            failed += bool(hints)
        assert 0 < failed < 30
        faults.end()
        session.look()
        assert dict(search_answer(*ask_all([session], LEASE)).body)["hints"] == {}


def test_one_codebase_in_trouble_does_not_fail_the_others(tmp_path: Path, environ: dict[str, str]) -> None:
    folders = [tree(tmp_path, name) for name in ("one", "two")]
    first, second = (Session(target, environ) for target in find_targets([str(one) for one in folders], environ))
    with first, second:
        prepare(first, Policy())
        second.trouble = NotIndexed(path="two", why="of trouble")
        answers, page = ask_all([first, second], LEASE)
        assert [answer.status.value for answer in answers] == ["ok", "error"]
        assert [(number, hit.path) for number, hit in page.hits] == [(0, "lease.py")]
        prepare(second, Policy())
        _, page = ask_all([first, second], LEASE)
        assert [number for number, _ in page.hits] == [0, 1]
        _, less = ask_all([first, second], SearchRequest("Lease", Mode.SYMBOL, max_tokens=20))
        assert less.hits == page.hits[:1]


def test_a_page_of_other_codebases_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    folders = [str(tree(tmp_path, name)) for name in ("one", "two")]
    one, two = (Session(target, environ) for target in find_targets(folders, environ))
    with one, two, pytest.raises(BadContinuation):
        hold_page([one, two], "AAAA")


def test_there_is_a_most_of_codebases(tmp_path: Path, environ: dict[str, str]) -> None:
    folders = [str(tree(tmp_path, f"t{number}")) for number in range(MAX_CODEBASES + 1)]
    assert len(find_targets(folders[:-1], environ)) == MAX_CODEBASES
    with pytest.raises(UsageError, match=f"{MAX_CODEBASES} are the most"):
        find_targets(folders, environ)


# --- for a server -----------------------------------------------------------------------------------------------------


def test_a_look_holds_the_newest_snapshot_and_does_nothing_else(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tree(tmp_path)
    with Session(whole(str(folder), environ), environ) as session:
        session.look()
        assert session.gate.status is Status.NOT_INDEXED
        assert not (tmp_path / "home").exists()
        with Session(whole(str(folder), environ), environ) as other:
            prepare(other, Policy())
        (folder / "lease.py").write_text("class Another: ...\n")
        for fresh in (Freshness("synced", 1), Freshness("skipped_busy")):
            session.look(fresh)
            assert (mode_of(session), session.snapshot) == (fresh.mode, other_snapshot(session))
        session.look()
        assert mode_of(session) == "not_checked"


def other_snapshot(session: Session) -> str:
    opened = session.opened()
    assert opened is not None
    return opened[0].view.manifest.snapshot_id


def test_a_full_run_that_begins_closes_the_gate_before_it_has_its_lease(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    folder = tree(tmp_path)
    beginning = WriterInfo(1, "reindex", "2026-01-01T00:00:00Z", "", alive=True)
    with Session(whole(str(folder), environ), environ) as session:
        session.look(starting=beginning)
        assert session.gate.status is Status.NOT_READY
        prepare(session, Policy())
        session.look(starting=beginning)
        assert session.gate.status is Status.NOT_READY
        session.look(starting=beginning, stale_ok=True)
        assert mode_of(session) == "stale_ok"
        session.look()
        assert session.gate.is_open
