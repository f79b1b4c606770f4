"""`cairn engine`: what it says, and with which exit status it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.servers import needs_milvus
from tests.schemas import check
from tests.support.commands import Person


def test_without_a_server_it_says_that_this_machine_searches(tmp_path: Path) -> None:
    person = Person(tmp_path)
    done = person.cairn("engine", "status")
    assert done.status == 0
    assert done.stdout.startswith("Rows are searched on this machine")
    told = json.loads(person.cairn("engine", "status", "--json").stdout)
    check(told, "cairn.engine/1")
    assert (told["engine"]["kind"], told["engine"]["health"], told["engine"]["proof"]) == ("local", "ok", None)
    status = json.loads(person.cairn("status", "--json").stdout)
    check(status, "cairn.status/1")
    assert status["engine"] == {"kind": "local", "health": "ok", "proof": None}
    assert person.cairn("engine", "push").status == 10


@needs_milvus
@pytest.mark.long
def test_a_server_that_does_not_answer_is_one_sentence_and_an_exit_status(tmp_path: Path) -> None:
    person = Person(tmp_path)
    settings = person.home
    settings.mkdir(mode=0o700, exist_ok=True)
    (settings / "config.toml").write_text('[engine]\nkind = "milvus"\nuri = "http://127.0.0.1:1"\n')
    done = person.cairn("engine", "status", "--json")
    assert done.status == 54
    told = json.loads(done.stdout)
    check(told, "cairn.engine/1")
    assert told["engine"]["trouble"]["code"] == "engine_unreachable"
    assert not told["engine"]["healthy"]
    assert (told["engine"]["health"], told["engine"]["proof"]) == ("engine_unreachable", None)
    status = json.loads(person.cairn("status", "--json").stdout)
    check(status, "cairn.status/1")
    assert status["engine"] == {"kind": "milvus", "health": "engine_unreachable", "proof": None}
    line = "engine     milvus at http://127.0.0.1:1: engine_unreachable; this machine answers alone"
    assert line in person.cairn("status").stdout


@pytest.mark.parametrize("text", ['kind = "milvus"\n', 'token = "x"\n'])
def test_half_an_order_of_a_server_is_refused(text: str, tmp_path: Path) -> None:
    person = Person(tmp_path)
    settings = person.home
    settings.mkdir(mode=0o700, exist_ok=True)
    (settings / "config.toml").write_text(f"[engine]\n{text}")
    done = person.cairn("engine", "status")
    assert done.status in range(30, 40)
    assert "[engine]" in done.stderr
