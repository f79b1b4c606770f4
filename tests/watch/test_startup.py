"""A server of one codebase does not start on the vectors of another model; others are served, and say what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cairn.ask.allowed import Allowed
from cairn.ask.refusing import refuse_other_model
from cairn.errors import EmbeddingModelChangedError
from cairn.store.registry import read_registry
from cairn.sync import run
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.inventory import at_home
from cairn.sync.report import RunOptions
from cairn.watch.watcher import WatchedWorkspace
from tests.conformance import conforms
from tests.support.servers import Agent
from tests.support.waiting import PATIENCE
from tests.sync.desk import Model, silent

pytestmark = pytest.mark.usefixtures("parsed_here")

OTHER = (
    '[embedding]\nprovider = "http"\nurl = "http://127.0.0.1:9/v1/embeddings"\nmodel = "other-model"\ndimension = 8\n'
)


def codebase_of(agent: Agent) -> Codebase:
    return open_codebase(str(agent.tree), agent.environ)


@conforms("004.MD2")
def test_the_same_model_may_start(indexed: Agent) -> None:
    refuse_other_model(codebase_of(indexed), str(indexed.home))


def test_without_any_index_any_model_may_start(agent: Agent) -> None:
    refuse_other_model(codebase_of(agent), str(agent.home))


@conforms("004.MD3", "004.MD4")
def test_another_model_is_refused_with_both_names_and_the_place(indexed: Agent) -> None:
    stored = indexed.ask("index_status", path=str(indexed.tree))["embedding_model"]
    place = place_of(codebase_of(indexed), str(indexed.home))
    indexed.settings(OTHER)
    with pytest.raises(EmbeddingModelChangedError) as caught:
        refuse_other_model(codebase_of(indexed), str(indexed.home))
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.exit_status == 1
    for part in (stored, "other-model", place.path):
        assert part in caught.value.sentence
    assert "cairn reindex" in caught.value.advice


@conforms("004.MD3")
@pytest.mark.parametrize("command", [["watch"], ["mcp"]])
def test_a_server_of_one_codebase_ends_with_status_one(indexed: Agent, command: list[str]) -> None:
    indexed.settings(OTHER)
    answer = subprocess.run(
        [sys.executable, "-m", "cairn", *command, "--root", str(indexed.tree)],
        env={**os.environ, **indexed.environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert answer.returncode == 1
    assert "Embedding model changed from" in answer.stderr
    assert "other-model" in answer.stderr


def test_a_server_of_many_answers_for_that_one_that_it_must_be_built_anew(indexed: Agent) -> None:
    indexed.settings(OTHER)
    answer = indexed.ask("search_codebase", path=str(indexed.tree), query="lease")
    assert answer["status"] == "requires_reindex"


@conforms("004.MD1")
def test_the_model_is_written_down_before_any_work(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """As a kill ends a process: nothing is tidied up."""

    def killed(*_: object) -> object:
        raise Killed

    monkeypatch.setattr("cairn.sync.catchup.CatchUp.go", killed)
    monkeypatch.setattr("cairn.sync.tracking._ended", killed)
    options = RunOptions(str(agent.home), embedder=Model())
    with pytest.raises(Killed):
        run.sync(codebase_of(agent), options, silent)
    with at_home(str(agent.home), "") as disk:
        (entry,) = read_registry(disk)
    assert entry.embedding_model == Model().identity.model
    assert entry.last_run_outcome == "begun"


@conforms("004.MD5")
def test_the_model_is_remembered_when_the_index_is_cleared(indexed: Agent) -> None:
    def remembered() -> str | None:
        with at_home(str(indexed.home), "") as disk:
            (entry,) = read_registry(disk)
        return entry.embedding_model

    before = remembered()
    indexed.ask("manage_index", action="clear", path=str(indexed.tree))
    assert before is not None
    assert remembered() == before


@conforms("004.CU15")
def test_a_watched_desk_begins_with_what_it_serves(indexed: Agent) -> None:
    (indexed.tree / "missed.py").write_text("def missed(): ...\n")
    root = str(indexed.tree)
    desk = WatchedWorkspace(indexed.environ, Allowed(indexed.environ, [root]), roots=[root])
    try:
        assert desk.watching.caught_up(root, PATIENCE)
        assert desk.watching.state()[root]["mode"] == "watching"
        indexed.desk.close()
        indexed.desk = desk
        answer = indexed.ask("file_outline", path=root, file="missed.py")
        assert answer["status"] == "ok"
    finally:
        desk.close()
