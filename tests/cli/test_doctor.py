"""`cairn doctor`: what is there, what is not, and how to get it; nothing is changed or started by it."""

from __future__ import annotations

import io
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from cairn import __version__
from cairn.cli.main import main
from cairn.cli.output import Output, Surroundings
from tests.answer.test_envelope import VALIDATORS
from tests.support.commands import Person


def asked(home: Path, *options: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    around = Surroundings({"CAIRN_HOME": str(home), "HOME": str(home), "PATH": "/nonexistent"})
    status = main(["doctor", *options], Output(out, err, {}, around=around))
    return status, out.getvalue(), err.getvalue()


def answer(home: Path) -> tuple[int, dict[str, Any]]:
    status, out, _ = asked(home, "--json")
    found: dict[str, Any] = json.loads(out)
    VALIDATORS["cairn.doctor/1"].validate(found)
    return status, found


def test_every_missing_tool_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    status, found = answer(tmp_path / "home")
    assert (status, found["healthy"]) == (0, True)
    assert [row["name"] for row in found["indexers"]][:2] == ["scip-python", "scip-typescript"]
    for row in found["indexers"]:
        assert row["program"] is None
        assert row["trouble"]
        assert row["install"]
    assert {row["tested"] for row in found["indexers"]} == {True, False}
    _, out, err = asked(tmp_path / "home")
    assert "(untested)" in out
    assert all(row["install"] in err for row in found["indexers"])
    assert not (tmp_path / "home").exists()


def test_settings_that_cannot_be_read_are_an_error_and_the_rest_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[search\n")
    status, found = answer(home)
    assert (status, found["healthy"]) == (1, False)
    assert {row["name"] for row in found["results"] if row["severity"] == "error"} == {"settings"}
    assert found["indexers"]


def test_a_compiler_that_could_judge_renames_comes_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _, found = answer(tmp_path / "home")
    rows = {row["name"]: row for row in found["results"]}
    assert "Renames of python are not checked by it" in rows["pyright"]["message"]
    assert "npm install" in rows["pyright"]["advice"]
    assert {"tsc", "go"} <= rows.keys()


def test_an_extra_that_is_not_installed_comes_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    _, found = answer(tmp_path / "home")
    advice = {row["name"]: row["advice"] for row in found["results"]}
    assert "codecairn[mcp]" in advice["mcp"]
    assert "codecairn[milvus]" in advice["milvus"]


@pytest.mark.parametrize(
    ("says", "severity", "words"),
    [
        ({"hello": {"version": __version__}}, "ok", __version__),
        ({"hello": {"version": "99.0.0"}}, "note", "another version"),
        ({"refused": {"code": "version"}}, "note", "another version"),
        (None, "warning", "does not answer"),
    ],
)
def test_a_daemon_is_only_greeted(tmp_path: Path, says: dict[str, Any] | None, severity: str, words: str) -> None:
    home = tmp_path / "home"
    (home / "run").mkdir(parents=True, mode=0o700)
    home.chmod(0o700)
    got: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home / "run" / "daemon.sock"))
        listening.listen(1)
        there = threading.Thread(target=_greeted, args=(listening, says, got))
        there.start()
        _, found = answer(home)
        there.join()
    row = next(row for row in found["results"] if row["name"] == "daemon")
    assert row["severity"] == severity
    assert words in row["message"]
    assert [list(one) for one in got] == [["hello"]]


def _greeted(listening: socket.socket, says: dict[str, Any] | None, got: list[dict[str, Any]]) -> None:
    wire, _ = listening.accept()
    with wire:
        while said := _received(wire):
            got.append(said)
            if says is None:
                return
            body = json.dumps(says).encode()
            wire.sendall(len(body).to_bytes(4, "big") + body)


def _received(wire: socket.socket) -> dict[str, Any] | None:
    head = wire.recv(4)
    if not head:
        return None
    found: dict[str, Any] = json.loads(wire.recv(int.from_bytes(head, "big")))
    return found


def test_a_person_gets_lines_and_an_exit_status(tmp_path: Path) -> None:
    done = Person(tmp_path).cairn("doctor")
    assert done.status == 0
    assert done.stdout.startswith("ok: python: Python 3")
