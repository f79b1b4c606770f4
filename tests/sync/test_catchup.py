"""A run in a world that does not hold still: files that fail, trees that move, runs that are stopped and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cairn.source.changes as changes_module
import cairn.store.publish.publish as publish_module
import cairn.sync.batches as batches_module
import cairn.sync.catchup as catchup_module
import cairn.sync.pool as extract_module
from cairn.core.config import LimitConfig
from cairn.core.limits import BATCH_BYTES, MAX_BYTES_PER_BATCH, PUBLISH_ROUNDS
from cairn.core.progress import Phase, Progress
from cairn.core.types import Candidate, ReadOutcome, Skip, SkipReason, Unstable, Vanished
from cairn.errors import FilesFailed, PublishRefused, TreeMoving
from cairn.source.fresh import still
from cairn.sync.catchup import batch_bytes
from cairn.sync.report import Changes
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, extract_here

ONE, TWO, THREE = b"def one():\n    return 1\n", b"def two():\n    return 2\n", b"def three():\n    return 3\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Three files, no git, parsed in this process."""
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    for name, text in (("a.py", ONE), ("b.py", TWO), ("c.py", THREE)):
        desk.put(name, text)
    return desk


def reading(monkeypatch: pytest.MonkeyPatch, name: str, becomes: Callable[[Candidate], ReadOutcome | None]) -> None:
    """Let this be what reading one file gives, wherever it is read; None: what it really gives."""
    for module in (catchup_module, extract_module):
        real = vars(module)["read_stable"]

        def read(tree: object, candidate: Candidate, real: Callable[..., ReadOutcome] = real, **more: object) -> object:
            found = becomes(candidate) if candidate.key == name else None
            return found or real(tree, candidate, **more)

        monkeypatch.setattr(module, "read_stable", read)


# --- files that fail --------------------------------------------------------------------------------------------------


@conforms("003.SR2", "003.STR1", "003.PG5", "004.CU16")
def test_an_endless_writer_costs_its_own_file_and_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.sync()
    desk.put("a.py", ONE + b"# more\n")
    desk.put("d.py", b"d = 1\n")
    with monkeypatch.context() as context:
        reading(context, "a.py", lambda candidate: Unstable(candidate.raw, 5))
        report = desk.sync()
        assert [failed.path for failed in report.failed] == ["a.py"]
        manifest = desk.manifest()
        assert manifest.degraded
        assert [(error.path_key, error.code) for error in manifest.errors] == [("a.py", "unstable")]
        # Its old rows are gone with it, and the others are all there.
        assert desk.texts() == {"b.py": TWO, "c.py": THREE, "d.py": b"d = 1\n"}
        # It is tried again each time, and as long as it fails alike there is nothing new to say.
        again = desk.sync()
        assert (again.published, again.failed) == (False, report.failed)
    report = desk.sync()
    assert (report.published, report.failed) == (True, ())
    assert not desk.manifest().degraded
    assert desk.texts()["a.py"] == ONE + b"# more\n"


@conforms("003.STR1", "003.PG5", "004.CU16")
def test_a_text_that_cannot_be_embedded_fails_its_file_and_no_other(desk: Desk) -> None:
    desk.model.poison = b"two"
    with pytest.raises(FilesFailed, match=r"b\.py"):
        desk.sync()
    # The other files were done all the same, and are not done again.
    assert desk.model.texts == [ONE, THREE]
    report = desk.sync(allow_degraded=True)
    assert (report.adopted, desk.model.texts) == (2, [ONE, THREE])
    assert [(failed.path, failed.code) for failed in report.failed] == [("b.py", "embedding_failed")]
    assert desk.texts() == {"a.py": ONE, "c.py": THREE}
    desk.model.poison = None
    desk.sync()
    assert desk.texts() == {"a.py": ONE, "b.py": TWO, "c.py": THREE}
    assert not desk.manifest().degraded


def test_a_degraded_sync_drops_the_old_rows_of_a_file_that_cannot_be_embedded(desk: Desk) -> None:
    desk.sync()
    desk.put("b.py", b"def poison(): ...\n")
    desk.model.poison = b"poison"
    desk.sync(allow_degraded=True)
    assert desk.texts() == {"a.py": ONE, "c.py": THREE}


@conforms("003.SR3")
@pytest.mark.parametrize("edited", [True, False])
def test_a_file_that_vanishes_while_it_is_read_is_gone_and_no_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, edited: bool
) -> None:
    desk.sync()
    desk.put("b.py", THREE if edited else TWO)
    desk.put("new.py", ONE)

    def vanish(candidate: Candidate) -> ReadOutcome:
        (desk.tree / "b.py").unlink(missing_ok=True)
        return Vanished(candidate.raw)

    reading(monkeypatch, "b.py", vanish)
    report = desk.sync()
    assert (report.published, report.failed) == (True, ())
    assert desk.texts() == {"a.py": ONE, "c.py": THREE, "new.py": ONE}
    assert desk.manifest().counts.tombstones_added == 1


@conforms("003.SR3")
def test_a_file_that_vanishes_between_comparing_and_parsing_is_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.sync()
    desk.put("b.py", THREE)
    real: Callable[..., ReadOutcome] = vars(extract_module)["read_stable"]

    def read(tree: object, candidate: Candidate, **more: object) -> ReadOutcome:
        (desk.tree / "b.py").unlink()
        return real(tree, candidate, **more)

    monkeypatch.setattr(extract_module, "read_stable", read)
    assert desk.sync().published
    assert desk.texts() == {"a.py": ONE, "c.py": THREE}


@conforms("003.STR2b")
def test_an_unchanged_file_that_may_not_be_read_for_a_while_is_left_out_told_and_tried_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.sync()
    (desk.tree / "b.py").chmod(0o600)
    with monkeypatch.context() as context:
        reading(context, "b.py", lambda candidate: Skip(candidate.raw, SkipReason.UNREADABLE, "Permission denied"))
        report = desk.sync()
        assert report.published
        assert dict(report.skipped) == dict(desk.status().skipped) == {SkipReason.UNREADABLE: 1}
        assert desk.texts() == {"a.py": ONE, "c.py": THREE}
        # It is tried each time, and as long as it stays so there is nothing new to say.
        again = desk.sync()
        assert (again.published, again.changes, dict(again.skipped)) == (False, Changes(), {SkipReason.UNREADABLE: 1})
    assert desk.sync().published
    assert desk.texts()["b.py"] == TWO
    assert desk.status().skipped == ()


# --- trees that move --------------------------------------------------------------------------------------------------


def moving(monkeypatch: pytest.MonkeyPatch, *moves: Callable[[], object]) -> list[bool]:
    """Do these, one before each fresh look; gives the list of what the looks said."""
    said: list[bool] = []
    waiting = list(moves)

    def look(*arguments: object) -> bool:
        if waiting:
            waiting.pop(0)()
        said.append(still(*arguments))  # type: ignore[arg-type]
        return said[-1]

    monkeypatch.setattr(catchup_module, "still", look)
    return said


def test_a_tree_that_moves_under_the_publish_extends_the_draft(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.sync()
    desk.put("a.py", TWO)
    desk.put("new.py", b"new = 1\n")

    def move() -> None:
        desk.put("new.py", b"new = 22\n")
        (desk.tree / "a.py").unlink()
        desk.put("c.py", ONE)

    said = moving(monkeypatch, move)
    desk.model.texts.clear()
    report = desk.sync()
    assert said == [False, True]
    assert desk.texts() == {"b.py": TWO, "c.py": ONE, "new.py": b"new = 22\n"}
    assert desk.model.texts == [TWO, b"new = 1\n", ONE, b"new = 22\n"]
    # One publish, of two layers.
    assert report.generation == 2
    manifest = desk.manifest()
    assert len({ref.sequence for ref in manifest.segments}) == len(manifest.segments) == 3
    assert len(manifest.tombstones) == 2


def test_only_what_moved_is_read_again(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = extract_here(monkeypatch, desk.clock)
    said = moving(monkeypatch, lambda: desk.put("a.py", TWO))
    desk.sync()
    assert said == [False, True]
    assert sorted(reads) == ["a.py", "a.py", "a.py", "b.py", "c.py"]


@pytest.mark.parametrize("name", ["b.py", "cafe\u0301.py"])
def test_a_file_that_goes_after_it_was_indexed_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # Also when its name is spelled in another way than its key.
    desk.put(name, TWO)
    said = moving(monkeypatch, (desk.tree / name).unlink)
    desk.sync()
    assert said == [False, True]
    assert desk.texts().keys() == {"a.py", "b.py", "c.py"} - {name}


@pytest.mark.parametrize("edit", ["a.py", ".gitignore"])
def test_a_tree_that_never_stands_still_is_given_up_and_the_last_good_stays(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    first = desk.sync()
    desk.put("a.py", THREE)
    moves = [lambda n=n: desk.put(edit, f"# {n:99}\n") for n in range(PUBLISH_ROUNDS)]
    said = moving(monkeypatch, *moves)
    with pytest.raises(TreeMoving):
        desk.sync()
    assert said == [False] * PUBLISH_ROUNDS
    assert [seconds for seconds in desk.clock.slept if seconds] == pytest.approx([0.1, 0.3, 0.7, 1.5])
    assert desk.manifest().snapshot_id == first.snapshot_id
    assert desk.texts() == {"a.py": ONE, "b.py": TWO, "c.py": THREE}
    desk.sync()
    assert desk.texts().keys() == {"a.py", "b.py", "c.py", edit}


def test_a_commit_under_the_publish_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, with_git=True)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", ONE)
    desk.commit()
    said = moving(monkeypatch, desk.commit)
    desk.sync()
    assert said == [False, True]
    assert desk.manifest().git.head_sha == desk.git("rev-parse", "HEAD")


def test_failures_of_an_earlier_look_are_forgotten_when_the_file_goes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading(monkeypatch, "b.py", lambda candidate: Unstable(candidate.raw, 5))
    reading(monkeypatch, "c.py", lambda candidate: Skip(candidate.raw, SkipReason.UNREADABLE))

    def move() -> None:
        (desk.tree / "b.py").unlink()
        desk.put("a.py", TWO)

    said = moving(monkeypatch, move)
    report = desk.sync(allow_degraded=True)
    assert said == [False, True]
    assert report.failed == ()
    assert not desk.manifest().degraded
    assert dict(report.skipped) == {SkipReason.UNREADABLE: 1}


def test_a_gate_that_refuses_publishes_nothing_and_keeps_the_work(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first = desk.sync()
    desk.put("a.py", THREE + ONE)
    with monkeypatch.context() as context:
        context.setattr(publish_module, "segment_problems", lambda _: iter(["something"]))
        with pytest.raises(PublishRefused):
            desk.sync()
    assert desk.manifest().snapshot_id == first.snapshot_id
    desk.model.texts.clear()
    assert desk.sync().adopted == 1
    assert (desk.texts()["a.py"], desk.model.texts) == (THREE + ONE, [])


# --- runs that are stopped --------------------------------------------------------------------------------------------


@pytest.fixture
def small_batches(faults: Faults) -> None:
    """One file, one batch."""
    faults.limit(batches_module, EMBED_GROUP_BYTES=1)
    faults.limit(catchup_module, BATCH_BYTES=1)


def many(desk: Desk, count: int = 12) -> dict[str, bytes]:
    texts = {f"f{number:02}.py": b"def f%02d(): ...\n" % number for number in range(count)}
    for name, text in texts.items():
        desk.put(name, text)
    return {**texts, "a.py": ONE, "b.py": TWO, "c.py": THREE}


@conforms("004.CU17")
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("at", [1, 5, 15])
def test_a_run_that_is_stopped_publishes_nothing_and_loses_nothing(desk: Desk, at: int) -> None:
    expected = many(desk)

    def stop(progress: Progress) -> None:
        if progress.phase is Phase.INDEXING and progress.done == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.sync(stop)
    assert desk.status().writer is None
    done = list(desk.model.texts)
    assert len(done) == at
    report = desk.sync()
    assert (report.published, report.generation, report.adopted) == (True, 1, at)
    assert desk.texts() == expected
    # No text was embedded twice.
    assert sorted(desk.model.texts) == sorted(expected.values())
    assert desk.staged() == []
    assert not desk.sync().published


@pytest.mark.usefixtures("small_batches")
def test_what_changed_since_a_run_was_stopped_is_done_again(desk: Desk) -> None:
    expected = many(desk)

    def stop(progress: Progress) -> None:
        if progress.phase is Phase.PUBLISHING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.sync(stop)
    desk.put("f03.py", b"changed = 1\n")
    (desk.tree / "f04.py").unlink()
    (desk.tree / "f05.py").rename(desk.tree / "moved.py")
    desk.model.texts.clear()
    desk.sync()
    del expected["f04.py"]
    expected |= {"f03.py": b"changed = 1\n", "moved.py": expected.pop("f05.py")}
    assert desk.texts() == expected
    assert sorted(desk.model.texts) == sorted([b"changed = 1\n", expected["moved.py"]])


@pytest.mark.usefixtures("small_batches")
def test_a_stopped_sync_is_taken_over_on_top_of_the_last_snapshot(desk: Desk) -> None:
    desk.sync()
    desk.put("a.py", TWO + ONE)
    desk.put("image.dat2", b"\0\1")
    (desk.tree / "c.py").unlink()

    def stop(progress: Progress) -> None:
        if progress.phase is Phase.PUBLISHING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.sync(stop)
    assert desk.texts() == {"a.py": ONE, "b.py": TWO, "c.py": THREE}
    desk.model.texts.clear()
    desk.sync()
    assert desk.texts() == {"a.py": TWO + ONE, "b.py": TWO}
    assert desk.model.texts == []
    assert dict(desk.manifest().skipped) == {SkipReason.BINARY: 1}


KILLED = """
    import sys, time
    import cairn.sync.batches, cairn.sync.catchup
    from pathlib import Path
    from tests.sync.desk import Desk, Model, silent
    from cairn.sync import run

    cairn.sync.batches.EMBED_GROUP_BYTES = cairn.sync.catchup.BATCH_BYTES = 1

    class Slow(Model):
        def embed(self, texts):
            if len(self.texts) == 6:
                print("ready", flush=True)
                time.sleep(60)
            return super().embed(texts)

    desk = Desk.__new__(Desk)
    desk.tree, desk.home, desk.model = Path(sys.argv[1]), Path(sys.argv[2]), Slow()
    run.sync(desk.codebase, desk.options(), silent)
"""


@conforms("004.CU17")
@pytest.mark.usefixtures("small_batches")
def test_a_run_that_is_killed_is_finished_by_the_next_which_embeds_only_what_was_lost(desk: Desk) -> None:
    expected = many(desk)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(desk.tree), str(desk.home)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert len(desk.staged()) == 1
    report = desk.sync()
    assert (report.published, report.adopted) == (True, 6)
    assert desk.texts() == expected
    assert len(desk.model.texts) == len(expected) - 6
    assert desk.staged() == []


# --- small things -----------------------------------------------------------------------------------------------------


@conforms("003.LIM1")
@pytest.mark.parametrize("total", [0, BATCH_BYTES, 40 * BATCH_BYTES, 10**15])
@pytest.mark.parametrize("limit", [1_000_000, MAX_BYTES_PER_BATCH])
def test_a_batch_is_never_larger_than_the_limit(total: int, limit: int) -> None:
    assert 0 < batch_bytes(total, LimitConfig(max_bytes_per_batch=limit)) <= limit
    assert batch_bytes(10**15, LimitConfig()) == MAX_BYTES_PER_BATCH


def test_progress_tells_every_file_and_the_phases_in_order(desk: Desk) -> None:
    told: list[Progress] = []
    desk.sync(told.append)
    phases = list(dict.fromkeys(progress.phase for progress in told))
    assert phases == [Phase.WALKING, Phase.INDEXING, Phase.PUBLISHING]
    done = [(one.done, one.total, one.current_file) for one in told if one.phase is Phase.INDEXING]
    assert done == [(0, 3, None), (1, 3, "a.py"), (2, 3, "b.py"), (3, 3, "c.py")]


def test_a_rotating_sample_is_read_again_whatever_the_stat_says(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    desk.sync()
    reads = extract_here(monkeypatch, desk.clock)
    desk.put("new.py", ONE + TWO)
    faults.limit(changes_module, REHASH_FRACTION=1)
    desk.sync()
    assert {"a.py", "b.py", "c.py"} <= set(reads)


# --- catching up ------------------------------------------------------------------------------------------------------


@conforms("004.CU10")
def test_progress_goes_from_nothing_to_all_of_what_is_missing_and_modified(desk: Desk) -> None:
    desk.sync()
    desk.put("a.py", b"a = 1\n")
    desk.put("d.py", b"d = 1\n")
    desk.put("e.py", b"e = 1\n")
    (desk.tree / "b.py").unlink()
    told: list[Progress] = []
    desk.sync(told.append)
    indexing = [at for at in told if at.phase is Phase.INDEXING]
    assert {at.total for at in indexing} == {3}
    fractions = [at.fraction for at in indexing]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)


@conforms("004.CU13")
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/St_Johns"])
def test_the_zone_of_the_machine_changes_nothing_in_what_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        desk = Desk(tmp_path)
        reads = extract_here(monkeypatch, desk.clock)
        for name in ("same.py", "touched.py", "older.py"):
            desk.put(name, ONE)
        desk.sync()
        reads.clear()
        # A time stamp is a hint: one that is new proves no change, and one that is old hides none.
        os.utime(desk.tree / "touched.py", (desk.clock.wall_ns() / 1e9 + 86_400, 2**31))
        desk.put("older.py", TWO)
        os.utime(desk.tree / "older.py", (1, 1))
        report = desk.sync()
        assert report.changes == Changes(modified=1)
        assert desk.texts()["older.py"] == TWO
        assert set(reads) >= {"touched.py", "older.py"}
    finally:
        monkeypatch.undo()
        time.tzset()
