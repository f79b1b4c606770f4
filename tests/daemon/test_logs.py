"""The daemon's log: bounded, turned over in a fixed order, and never in anybody's way."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from cairn.daemon.client import log_of
from cairn.daemon.logs import Line, Log
from cairn.store import disk
from tests.conformance import conforms


class Clock:
    """Always the same second."""

    def wall_ns(self) -> int:
        return 1_800_000_000_000_000_000


def made(folder: Path, **bounds: int) -> Log:
    return Log(str(folder / "home"), {"HOME": str(folder)}, Clock(), **bounds)  # type: ignore[arg-type]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def test_a_line_says_when_who_and_what_and_only_what_it_has(tmp_path: Path) -> None:
    log = made(tmp_path)
    log.write(Line("run", str(tmp_path / "code" / "übung"), "store", "create", "done", ms=1.5))
    log.write(Line("daemon", action="leave", outcome="drained", code="idle"))
    log.close()
    path = tmp_path / "home" / "logs" / "daemon.log"
    first, second = lines(path)
    assert {**first, "pid": 0} == {
        "at": "2027-01-15T08:00:00Z",
        "pid": 0,
        "event": "run",
        "root": "~/code/übung",
        "store": "store",
        "action": "create",
        "outcome": "done",
        "ms": 1.5,
    }
    assert set(second) == {"at", "pid", "event", "action", "outcome", "code"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("root", "shown"),
    [("{home}", "~"), ("{home}/a", "~/a"), ("{home}er/a", "{home}er/a"), ("/srv/a\nb", "/srv/a\\x0ab")],
)
def test_the_users_home_is_shortened_and_nothing_else(tmp_path: Path, root: str, shown: str) -> None:
    home = str(tmp_path)
    assert made(tmp_path).shown(root.format(home=home)) == shown.format(home=home)


@conforms("003.LOG2")
def test_a_full_file_is_turned_over_and_only_so_many_are_kept(tmp_path: Path) -> None:
    log = made(tmp_path, most_bytes=400, most_files=3)
    for number in range(40):
        log.write(Line("request", action="x" * 20, number=number))
    log.close()
    folder = tmp_path / "home" / "logs"
    kept = ["daemon.log.2", "daemon.log.1", "daemon.log"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(kept)
    assert all((folder / name).stat().st_size <= 400 for name in kept)
    # The newest lines, whole and in order, are those that are left.
    numbers = [line["number"] for name in kept for line in lines(folder / name)]
    assert numbers == list(range(40 - len(numbers), 40))
    # The next process goes on where this one has ended.
    again = made(tmp_path, most_bytes=400, most_files=3)
    for number in range(40, 44):
        again.write(Line("request", action="x" * 20, number=number))
    again.close()
    numbers = [line["number"] for name in kept for line in lines(folder / name)]
    assert numbers == list(range(44 - len(numbers), 44))
    assert again.lost == log.lost == 0


def test_a_line_that_is_longer_than_a_file_is_written_all_the_same(tmp_path: Path) -> None:
    log = made(tmp_path, most_bytes=10, most_files=2)
    log.write(Line("a"))
    log.write(Line("b"))
    log.close()
    folder = tmp_path / "home" / "logs"
    assert [lines(folder / name)[0]["event"] for name in ("daemon.log.1", "daemon.log")] == ["a", "b"]


@conforms("003.LOG3")
def test_a_disk_that_fails_costs_lines_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = made(tmp_path)
    log.write(Line("first"))
    with monkeypatch.context() as broken:

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        broken.setattr(disk.os, "write", full)
        log.write(Line("lost"))
        log.write(Line("lost"))
    log.write(Line("last"))
    log.close()
    assert log.lost == 2
    assert [line["event"] for line in lines(tmp_path / "home" / "logs" / "daemon.log")] == ["first", "last"]


def test_what_is_in_the_way_of_the_log_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "logs"
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    (tmp_path / "precious").write_text("precious\n")
    (folder / "daemon.log").symlink_to(tmp_path / "precious")
    log = made(tmp_path)
    log.write(Line("lost"))
    log.close()
    assert log.lost == 1
    assert (tmp_path / "precious").read_text() == "precious\n"


def test_in_the_home_of_a_group_each_daemon_has_a_log_where_people_are_sent_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o2770)
    log = made(tmp_path)
    log.write(Line("daemon", action="start"))
    log.close()
    assert log.lost == 0
    (line,) = lines(Path(log_of(str(home))))
    assert line["action"] == "start"
    assert stat.S_IMODE((home / "logs").stat().st_mode) == 0o2770
