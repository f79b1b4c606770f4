"""Proofs on a search server that are stale, cannot be read or cannot be asked for: what answers then, and what is kept.

The letters go on from `test_adversarial`: F stale answers are final, G probes that fail. Then what a proof is good for:
nothing while an index is made anew, a member of the list, and never a result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

import cairn.sync.remote.copy as remote_view_module
import cairn.sync.tracking as tracking_module
from cairn.store.publish.lease import RunKind
from cairn.sync.reconcile import prune, reconcile_non_destructive
from cairn.sync.tracking import change
from tests.conformance import conforms
from tests.engine.cloud import FAULTS, WRITES, Cloud, facts
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.faults import Faults

pytestmark = [needs_milvus, pytest.mark.long, pytest.mark.usefixtures("impatient")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


# --- F: a stale answer is final ---------------------------------------------------------------------------------------


@conforms("001.RD2", "001.STL", "001.AC6", "001.RETRY")
def test_f_a_stale_answer_is_one_envelope_changes_nothing_and_is_not_asked_for_twice(cloud: Cloud) -> None:
    cloud.loses_its_store()
    first = cloud.read("search_codebase")
    before = cloud.kept()
    cloud.proxy.calls.clear()
    for tool in ("search_codebase", "file_outline", "call_graph"):
        answer = cloud.read(tool)
        assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
        stale = answer["hints"]["staleLocal"]
        assert stale["completionProof"] == "missing_marker_doc"
        wanted = {"tool": "manage_index", "args": {"action": "create", "path": str(cloud.tree)}}
        assert stale["recommendedAction"] == wanted
    assert facts(cloud.read("search_codebase")) == facts(first)
    assert not cloud.proxy.calls, "what this machine does not have, no server is asked about"
    assert cloud.kept() == before


@conforms("001.AC6", "001.RETRY")
def test_f_a_marker_that_is_missing_or_wrong_is_an_answer_and_is_not_asked_for_again(
    cloud: Cloud, faults: Faults
) -> None:
    faults.limit(remote_view_module, ENGINE_REST_SECONDS=60.0)
    cloud.read("search_codebase")
    proven = cloud.proxy.calls["Query"]
    for fields in ({}, {"kind": "other"}):
        cloud.says(**fields)
        cloud.reopened()
        cloud.proxy.calls.clear()
        for _ in range(3):
            assert "engine" in cloud.read("search_codebase")["hints"]
        assert 1 <= cloud.proxy.calls["Query"] <= proven
        assert cloud.proxy.calls["Search"] == 0


# --- G: probes that fail ----------------------------------------------------------------------------------------------


@conforms("001.VAL8", "001.RD4", "001.AC7", "001.ST3")
def test_g_a_probe_that_fails_now_and_then_never_flips_an_index(cloud: Cloud) -> None:
    wanted = facts(cloud.read("search_codebase"))
    seen = set()
    for number in range(16):
        cloud.reopened()
        cloud.proxy.heal()
        cloud.proxy.fault = lambda name, number=number: "refuse" if number % 2 and name == "Query" else None  # type: ignore[misc]
        answer = cloud.read("search_codebase")
        assert facts(answer) == wanted
        check = answer["hints"].get("debugProofCheck")
        assert (check is not None) == bool(number % 2)
        assert ("engine" in answer["hints"]) == bool(number % 2)
        assert cloud.read("manage_index")["status"] == "ok"
        seen.add(answer["hints"].get("engine", {}).get("recommendedAction"))
    assert seen == {None, "cairn engine status"}


@conforms("001.RD4")
def test_g_a_probe_that_fails_makes_no_index_out_of_nothing(empty: Cloud) -> None:
    empty.proxy.fault = lambda _: "refuse"
    for tool in ("file_outline", "manage_index"):
        assert empty.read(tool)["status"] == "not_indexed"


@conforms("001.RD3", "001.AC8", "001.ST2")
def test_g_an_index_of_other_settings_is_to_be_made_anew_whatever_the_server_has(cloud: Cloud) -> None:
    text = (cloud.home / "config.toml").read_text()
    cloud.settings(f"{text}[limits]\nmax_file_bytes = 4096\n")
    cloud.reopened()
    for fault in (None, "refuse", "empty"):
        cloud.proxy.heal()
        cloud.proxy.fault = lambda _, fault=fault: fault  # type: ignore[misc]
        for tool in ("search_codebase", "file_outline", "manage_index"):
            answer = cloud.read(tool)
            assert (answer["status"], answer["reason"]) == ("requires_reindex", "requires_reindex"), (tool, fault)


@conforms("001.VAL7", "001.VAL8")
def test_g_an_answer_that_says_nothing_at_all_is_no_answer_and_one_that_says_there_is_none_is(cloud: Cloud) -> None:
    cloud.proxy.fault = lambda name: "empty" if name == "Query" else None
    nothing = cloud.read("search_codebase")["hints"]
    assert nothing["engine"]["completionProof"] == "probe_failed"
    assert nothing["debugProofCheck"] == {"ok": False, "reason": "probe_failed"}
    cloud.proxy.heal()
    cloud.says()
    missing = cloud.read("search_codebase")["hints"]
    assert missing["engine"]["completionProof"] == "missing_marker_doc"
    assert "debugProofCheck" not in missing


# --- while an index is made anew --------------------------------------------------------------------------------------


@conforms("000.LIFE1", "000.LIFE2", "001.INV4")
def test_while_an_index_is_made_anew_nobody_asks_the_server_for_its_proof(cloud: Cloud) -> None:
    with cloud.writing(RunKind.REINDEX):
        for tool in ("search_codebase", "file_outline", "call_graph"):
            answer = cloud.read(tool)
            assert (answer["status"], answer["reason"]) == ("not_ready", "indexing")
        assert not cloud.proxy.calls
    assert cloud.read("search_codebase")["status"] == "ok"
    assert cloud.proxy.calls["Query"]


# --- reconcile --------------------------------------------------------------------------------------------------------


@conforms("001.REC1", "001.REC2", "001.REC3", "000.SM3", "001.INV6")
def test_a_root_is_added_only_when_its_marker_on_the_server_is_valid_and_none_is_removed(
    cloud: Cloud, faults: Faults
) -> None:
    faults.answer(tracking_module, "from_stores", [])
    root = str(cloud.tree)

    def tracked() -> list[str]:
        found: list[str] = []
        change(str(cloud.home), lambda registry: found.extend(one.root for one in registry.entries()))
        return found

    def reconciled() -> list[str]:
        return reconcile_non_destructive(cloud.environ)

    assert tracked() == [root]
    for fault in FAULTS:
        cloud.proxy.heal()
        cloud.proxy.fault = lambda _, fault=fault: fault  # type: ignore[misc]
        assert reconciled() == []
        assert prune(str(cloud.home)) == []
        assert tracked() == [root], "what is known stays"
    change(str(cloud.home), lambda registry: registry.forget(root))
    assert reconciled() == []
    cloud.proxy.heal()
    cloud.says()
    assert reconciled() == [], "a collection with all rows and without a marker proves nothing"
    cloud.says(kind="other")
    assert reconciled() == []
    cloud.says(kind="cairn_index_completion_v1")
    with cloud.writing(RunKind.REINDEX):
        cloud.proxy.calls.clear()
        assert reconciled() == []
        assert not cloud.proxy.calls
    assert tracked() == []
    cloud.proxy.calls.clear()
    assert reconciled() == [root]
    assert not WRITES & set(cloud.proxy.calls)
    assert tracked() == [root]
    assert reconciled() == []


# --- the marker among the rows ----------------------------------------------------------------------------------------


@conforms("000.PRF2", "000.PRF4", "000.PRF5", "000.PRF6", "000.PRF7")
def test_markers_are_never_among_the_answers_however_many_there_are(cloud: Cloud) -> None:
    wanted = facts(cloud.read("search_codebase"))
    marker = cloud.newest().completion
    assert marker is not None
    rows = cloud.rows()
    stored = json.loads(dict(rows._documents(3))[marker.run_id])
    assert set(stored) == {
        "kind", "codebasePath", "fingerprint", "indexedFiles", "totalChunks", "completedAt", "runId"
    }  # fmt: skip
    for number in range(20):
        rows.put_marker(replace(marker, run_id=f"01JC0000000000000000000{number:03d}"), b"who steals a lease", {})
    rows.close()
    cloud.reopened()
    assert facts(cloud.read("search_codebase")) == wanted
    assert cloud.proxy.calls["Search"]
