"""The `cairn` command before anything is loaded: a daemon that answers to the end is believed, and no other."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cairn
from cairn import thin
from cairn.daemon.address import RUN, SOCKET
from cairn.daemon.frames import encode, receive, settings_digest
from tests.support.waiting import PATIENCE

LOADED = 77
ASK = ["search", "l\udcffease"]

Behave = Callable[[socket.socket, dict[str, Any]], None]


def hello(wire: socket.socket, **other: Any) -> None:
    ours = {"protocol": 1, "version": cairn.__version__, "pid": 1, "settings": settings_digest(os.environ)}
    wire.sendall(encode({"hello": ours | other}))


def says(*messages: dict[str, Any] | bytes) -> Behave:
    """Greets, takes the command, and says these."""

    def behave(wire: socket.socket, _: dict[str, Any]) -> None:
        hello(wire)
        told = receive(wire)
        assert told is not None
        heard.append(told)
        for message in messages:
            wire.sendall(message if isinstance(message, bytes) else encode({"id": 1, **message}))

    return behave


heard: list[dict[str, Any]] = []


@contextmanager
def daemon(behave: Behave) -> Iterator[None]:
    """Somebody who listens where the daemon does, and behaves so to the first who comes."""
    heard.clear()
    folder = Path(os.environ["CAIRN_HOME"], RUN)
    folder.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(folder, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{here}/{SOCKET}")
    os.close(here)
    listener.listen()

    def serve() -> None:
        wire, _ = listener.accept()
        with wire:
            greeting = receive(wire)
            if greeting is not None:
                heard.append(greeting)
                behave(wire, greeting)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(thin, "run_here", lambda: LOADED)
    return tmp_path / "home"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["cairn", *(arguments or ASK)])
    return thin.main()


def test_without_a_daemon_the_program_does_it(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert run(monkeypatch) == LOADED
    (home / RUN).mkdir(parents=True)
    (home / RUN / SOCKET).write_text("no socket")
    assert run(monkeypatch) == LOADED
    monkeypatch.setenv("CAIRN_HOME", "relative")
    assert run(monkeypatch) == LOADED


def test_what_the_daemon_says_is_printed_and_its_status_is_ours(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("SECRET", "2")
    with daemon(
        says({"err": "half way\n"}, {"out": "lease.py:1 \u00e4\n"}, {"out": "more\n"}, {"err": "a note\n"}, {"exit": 3})
    ):
        assert run(monkeypatch) == 3
    assert capfd.readouterr() == ("lease.py:1 \u00e4\nmore\n", "half way\na note\n")
    greeting, told = heard
    assert greeting["hello"]["face"] == "cli"
    assert told["command"]["argv"] == ASK
    assert told["command"]["cwd"] == os.getcwd()
    assert told["command"]["environ"]["NO_COLOR"] == "1"
    assert "SECRET" not in json.dumps(told)
    assert told["command"]["terminal"] == {"stdout": False, "stderr": False, "columns": 0}


def test_a_home_with_a_long_name_has_a_daemon_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / ("x" * 200)))
    with daemon(says({"out": "found\n"}, {"exit": 0})):
        assert run(monkeypatch) == 0
    assert capfd.readouterr().out == "found\n"


BROKEN: dict[str, Behave] = {
    "hands it back": says({"out": "half"}, {"direct": "not indexed"}),
    "is busy": says({"error": {"code": "busy", "message": "Too many."}}),
    "goes before the end": says({"out": "half"}),
    "breaks off in a frame": says({"out": "half"}, b"\0\0\0\x09{"),
    "says too much": says(b"\xff\xff\xff\xff"),
    "talks nonsense": says(b"\0\0\0\x02no"),
    "says a list": says(b"\0\0\0\x02[]"),
    "says something behind it": says(b"\0\0\0\x03{}x"),
    "ends with a word": says({"exit": "well"}),
    "is of another version": lambda wire, _: hello(wire, version="9.9.9"),
    "has other settings": lambda wire, _: hello(wire, settings="other"),
    "speaks another protocol": lambda wire, _: hello(wire, protocol=2),
    "refuses": lambda wire, _: wire.sendall(encode({"refused": {"code": "busy", "message": "Full."}})),
    "says nothing": lambda _wire, _greeting: None,
}


@pytest.mark.parametrize("behave", BROKEN.values(), ids=BROKEN)
def test_a_daemon_that_has_not_answered_to_the_end_has_not_answered(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], behave: Behave
) -> None:
    with daemon(behave):
        assert run(monkeypatch) == LOADED
    assert capfd.readouterr().out == ""


def test_an_older_daemon_is_asked_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_old(wire: socket.socket, _: dict[str, Any]) -> None:
        hello(wire, version="0.0.9")
        heard.append(receive(wire) or {})

    with daemon(is_old):
        assert run(monkeypatch) == LOADED
    assert heard[-1] == {"id": 0, "leave": {}}


def test_a_daemon_that_stands_still_is_asked_once_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin, "_QUIET_SECONDS", 0.05)

    def stands_still(wire: socket.socket, greeting: dict[str, Any]) -> None:
        says()(wire, greeting)
        heard.append(receive(wire) or {})
        assert receive(wire) is None

    with daemon(stands_still):
        assert run(monkeypatch) == LOADED
    assert heard[-1] == {"ping": 1}


def test_a_daemon_that_works_for_long_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(thin, "_QUIET_SECONDS", 0.05)

    def works(wire: socket.socket, greeting: dict[str, Any]) -> None:
        says()(wire, greeting)
        for _ in range(4):
            assert receive(wire) == {"ping": 1}
            wire.sendall(encode({"pong": 1}))
        wire.sendall(encode({"id": 1, "out": "found\n"}) + encode({"id": 1, "exit": 0}))

    with daemon(works):
        assert run(monkeypatch) == 0
    assert capfd.readouterr().out == "found\n"


def test_the_daemon_of_another_user_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4_711)
    with daemon(says({"exit": 0})):
        assert run(monkeypatch) == LOADED
    assert heard == []


def test_ctrl_c_cancels_the_request_and_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    receiving = thin._Wire.receive

    def interrupted(wire: thin._Wire, seconds: float, *, ping: int | None = None) -> dict[str, Any]:
        if ping is not None:
            raise KeyboardInterrupt
        return receiving(wire, seconds)

    def listens(wire: socket.socket, greeting: dict[str, Any]) -> None:
        says()(wire, greeting)
        heard.append(receive(wire) or {})

    monkeypatch.setattr(thin._Wire, "receive", interrupted)
    with daemon(listens):
        assert run(monkeypatch) == 130
    assert heard[-1] == {"cancel": 1}
    assert "Stopped by you" in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["sync"], ["search", "x", "--offline"], ["search", "--batch", "-"], ["search", "--batch=-"]],
    ids=" ".join,
)
def test_nobody_is_asked_about_what_the_program_has_to_do_itself(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(thin, "_asked", lambda _: pytest.fail("somebody was asked"))
    assert run(monkeypatch, *arguments) == LOADED


def test_a_command_that_is_answered_loads_next_to_nothing(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom cairn.thin import main\nstatus = main()\n"
        "heavy = {'json', 'socket', 're', 'struct', 'hashlib', 'argparse', 'numpy', 'typing', 'dataclasses'}\n"
        "ours = sorted(name for name in sys.modules if name.startswith('cairn'))\n"
        "print(status, sorted(heavy & set(sys.modules)), ours)\n"
    )
    environ = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    with daemon(says({"out": "found\n"}, {"exit": 0})):
        # -S: what a test environment loads at its start is not ours.
        found = subprocess.run(
            [sys.executable, "-S", "-c", script, *ASK],
            env=environ | {"PYTHONPATH": os.path.dirname(cairn.__path__[0])},
            capture_output=True,
            text=True,
            check=False,
        )
    assert found.stderr == ""
    ours = ["cairn", "cairn.core", "cairn.core.limits", "cairn.daemon", "cairn.daemon.frames", "cairn.thin"]
    assert found.stdout == f"found\n0 [] {ours}\n"


def test_the_reader_of_a_pipe_may_leave_early(tmp_path: Path) -> None:
    with daemon(says({"out": "found\n" * 100_000}, {"exit": 0})):
        process = subprocess.Popen(
            [sys.executable, "-m", "cairn", *ASK], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        assert (process.wait(PATIENCE), said) == (0, b"")


@pytest.mark.parametrize("gone", [True, False])
def test_notes_that_nobody_can_read_change_nothing_of_the_answer(gone: bool) -> None:
    notes = os.open("/dev/full", os.O_WRONLY)
    if gone:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, notes)
        os.close(writer)
    with daemon(says({"err": "half way\n"}, {"out": "found\n"}, {"err": "a note\n"}, {"out": "more\n"}, {"exit": 3})):
        command = [sys.executable, "-m", "cairn", *ASK]
        found = subprocess.run(command, stdout=subprocess.PIPE, stderr=notes, text=True, check=False)
    os.close(notes)
    assert (found.returncode, found.stdout) == (3, "found\nmore\n")


def test_the_script_that_is_installed_is_this_one() -> None:
    top = Path(__file__).resolve().parent.parent
    settings = tomllib.loads((top / "pyproject.toml").read_text("utf-8"))
    assert "scripts" not in settings["project"]
    [(source, name)] = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-scripts"].items()
    assert name == "cairn"
    script = top / source
    # Installers put the interpreter of the environment in the place of this first line.
    assert script.read_text("utf-8").startswith("#!python\n")
    with daemon(says({"out": "found\n"}, {"exit": 5})):
        command = [sys.executable, str(script), *ASK]
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert (found.returncode, found.stdout, found.stderr) == (5, "found\n", "")
