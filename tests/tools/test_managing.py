"""The tool that manages an index: it starts, reports, and says who is in the way."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from cairn.ask import runs as module
from cairn.ask.runs import Action, Patience
from cairn.store.publish.lease import RunKind
from tests.conformance import conforms
from tests.support.servers import AT_ONCE, Agent
from tests.support.waiting import PATIENCE


def manage(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    return agent.ask("manage_index", action=action, **({"force": True} if action == "clear" else {}) | more)


@conforms("001.CRE2")
def test_an_index_that_is_there_is_not_made_again_unless_that_is_wanted(indexed: Agent) -> None:
    before = indexed.stored()
    answer = manage(indexed, "create")
    assert (answer["kind"], answer["published"]) == ("create", False)
    assert indexed.stored() == before
    forced = manage(indexed, "create", force=True)
    assert (forced["kind"], forced["published"]) == ("reindex", True)
    assert forced["snapshot"]["id"] != answer["snapshot"]["id"]


def test_an_index_lives_from_create_to_clear(agent: Agent) -> None:
    assert manage(agent, "status")["state"] == "not_indexed"
    assert manage(agent, "create")["coverage"]["indexed"] == 1
    (agent.tree / "b.py").write_text("def b(): ...\n")
    assert manage(agent, "sync")["changes"]["added"] == 1
    assert manage(agent, "repair")["done"]["sound"]
    assert manage(agent, "clear")["changes"]["deleted"] == 2
    assert manage(agent, "status")["state"] == "cleared"
    # Only a create or a reindex fills it again.
    refused = manage(agent, "sync")
    assert (refused["status"], refused["state"]) == ("not_indexed", "cleared")
    assert manage(agent, "create")["coverage"]["indexed"] == 2


@conforms("001.INV5")
def test_a_sync_makes_no_index_where_there_is_none_and_says_what_does(agent: Agent) -> None:
    answer = manage(agent, "sync")
    assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert answer["hints"]["recommendedAction"]["args"] == {"action": "create", "path": str(agent.tree)}
    assert not agent.home.exists()


@conforms("001.INV4")
def test_a_sync_builds_nothing_with_other_settings_or_in_the_place_of_what_is_lost(indexed: Agent) -> None:
    before = indexed.stored()
    indexed.settings("[limits]\nmax_file_bytes = 1000\n")
    assert manage(indexed, "sync")["hints"]["recommendedAction"]["args"]["action"] == "reindex"
    (indexed.home / "config.toml").unlink()
    [store] = (indexed.home / "data").iterdir()
    store.rename(indexed.home / "away")
    lost = manage(indexed, "sync")
    assert lost["hints"]["staleLocal"]["recommendedAction"]["args"]["action"] == "create"
    (indexed.home / "away").rename(store)
    assert indexed.stored() == before


@conforms("000.OBS3")
def test_a_full_run_of_another_process_refuses_everything_with_not_ready(indexed: Agent) -> None:
    for kind in (RunKind.CREATE, RunKind.REINDEX):
        with indexed.writing(kind):
            for action in ("create", "reindex", "sync", "clear", "repair"):
                answer = manage(indexed, action)
                assert (answer["status"], answer["reason"]) == ("not_ready", "indexing")
                assert answer["hints"]["retryAfterMs"] > 0
                assert answer["hints"]["status"]["tool"] == "manage_index"


def test_another_writer_refuses_everything_with_busy(indexed: Agent) -> None:
    with indexed.writing(RunKind.SYNC):
        for action in ("create", "reindex", "sync", "clear", "repair"):
            answer = manage(indexed, action)
            assert (answer["status"], answer["error"]["code"]) == ("error", "busy")
            assert answer["error"]["retryable"]
            assert answer["hints"]["retryAfterMs"] > 0
            assert answer["hints"]["status"]["args"] == {"action": "status", "path": str(indexed.tree)}


@pytest.mark.parametrize(("action", "status"), [(Action.REINDEX, "not_ready"), (Action.SYNC, "ok")])
def test_a_run_that_takes_long_is_told_while_it_goes_on_and_polled(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch, action: Action, status: str
) -> None:
    go = threading.Event()
    real = module._ENGINES[action]

    def slow(*given: Any, **more: Any) -> Any:
        assert go.wait(PATIENCE)
        return real(*given, **more)

    monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, action: slow})
    begun = indexed.ask("manage_index", action=action.value, patience=AT_ONCE)
    assert (begun["schema"], begun["status"]) == ("cairn.status/1", status)
    second = indexed.ask("manage_index", action="reindex", patience=AT_ONCE)
    assert second["status"] == ("not_ready" if status == "not_ready" else "error")
    run = indexed.desk.runs.active(str(indexed.tree))
    go.set()
    assert run is not None
    assert run.wait(PATIENCE)
    assert run.report is not None
    assert manage(indexed, "status")["state"] == "indexed"


def test_a_sync_of_our_own_before_a_search_is_waited_for_and_not_in_the_way(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, real = threading.Event(), module._ENGINES[Action.SYNC]

    def slow(*given: Any, **more: Any) -> Any:
        assert go.wait(PATIENCE)
        return real(*given, **more)

    monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.SYNC: slow})
    found = indexed.ask("search_codebase", query="lease", patience=AT_ONCE)
    assert found["freshness"]["mode"] == "skipped_indexing"
    threading.Timer(0.1, go.set).start()
    assert manage(indexed, "reindex")["kind"] == "reindex"


def test_a_call_that_is_cancelled_stops_the_run_that_it_started(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, go = module._ENGINES[Action.REINDEX], threading.Event()

    def slow(*given: Any, **more: Any) -> Any:
        assert go.wait(PATIENCE)
        return real(*given, **more)

    monkeypatch.setattr(module, "_ENGINES", {**module._ENGINES, Action.REINDEX: slow})
    before = manage(indexed, "status")["snapshot"]["id"]
    answer = indexed.ask("manage_index", action="reindex", patience=Patience(cancelled=lambda: True))
    assert answer["error"]["code"] == "cancelled"
    run = indexed.desk.runs.active(str(indexed.tree))
    go.set()
    assert run is None or run.wait(PATIENCE)
    assert manage(indexed, "status")["snapshot"]["id"] == before


def test_a_run_that_fails_says_why_and_how_to_look_further(indexed: Agent) -> None:
    (indexed.home / "config.toml").write_text('[index]\ncollisions = "refuse"\n')
    (indexed.tree / "A.py").write_text("x = 1\n")
    (indexed.tree / "a.py").write_text("x = 1\n")
    answer = manage(indexed, "sync")
    assert (answer["status"], answer["error"]["code"]) == ("error", "name_collision")
    assert answer["hints"]["status"]["tool"] == "manage_index"
    assert manage(indexed, "status")["state"] == "indexed"
