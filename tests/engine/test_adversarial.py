"""A search server that lies, fails and comes back: what is told of an index is what this machine knows, and stays so.

The letters are those of the plan that these tests answer to: A no reconcile on the way of an answer, B create repairs,
C status says what is wrong, D lists are stable, E outages. F and G are in `test_adversarial_proofs`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import cairn.engine.milvus_rows as milvus_rows_module
import cairn.sync.reconcile as reconcile_module
from cairn.engine.milvus_rows import MilvusRows
from cairn.errors import EngineUnreachable
from cairn.sync.codebase import open_codebase
from cairn.sync.proof import PROVEN, ProofReason
from cairn.sync.remote.copy import engine_standing, validate_remote_proof
from cairn.sync.run import STALE_LOCAL
from tests.conformance import conforms
from tests.engine.cloud import FAULTS, READS, WRITES, Cloud, facts
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.faults import Faults

pytestmark = [needs_milvus, pytest.mark.long, pytest.mark.usefixtures("impatient")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


# --- A: what answers never reconciles, and never writes ---------------------------------------------------------------


@conforms("001.FG1", "001.AC3", "001.REC3", "001.RD1", "001.INV1", "001.INV2", "001.INV5")
def test_a_no_answer_reconciles_prunes_or_writes_whatever_the_server_says(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(reconcile_module, "reconcile_non_destructive", lambda *_: called.append("reconcile"))
    monkeypatch.setattr(reconcile_module, "prune", lambda *_: called.append("prune"))
    before, runs = cloud.kept(), cloud.newest()
    for fields in ({"kind": "cairn_index_completion_v1"}, {"codebasePath": "/elsewhere"}, {}):
        cloud.says(**fields)
        cloud.proxy.calls.clear()
        for fault in (None, "refuse", "empty"):
            cloud.proxy.heal()
            cloud.proxy.fault = lambda _, fault=fault: fault  # type: ignore[misc]
            for tool, _ in READS:
                assert cloud.read(tool)["status"] == "ok", (tool, fault)
        cloud.proxy.heal()
        assert not WRITES & set(cloud.proxy.calls)
    assert called == []
    assert cloud.kept() == before
    assert cloud.newest() == runs


# --- B: a create repairs ----------------------------------------------------------------------------------------------


@conforms("001.CRE1", "001.CRE4", "001.AC2", "001.INV3", "000.PRF1")
def test_b_a_create_where_only_the_server_has_the_proof_builds_the_index_again(cloud: Cloud) -> None:
    first = cloud.newest().snapshot_id
    cloud.loses_its_store()
    assert cloud.read("search_codebase")["status"] == "not_indexed"
    made = cloud.ask("manage_index", action="create", path=str(cloud.tree))
    assert made["status"] == "ok"
    assert STALE_LOCAL in made["warnings"]
    assert cloud.newest().snapshot_id != first
    assert cloud.proof() == PROVEN
    assert cloud.read("search_codebase")["status"] == "ok"


@conforms("001.CRE2", "001.AC2", "000.PRF1")
@pytest.mark.parametrize("fields", [{}, {"fingerprint": "b" * 64}, {"kind": "other"}])
def test_b_a_create_over_a_copy_without_proof_sends_the_proof_and_builds_nothing(
    cloud: Cloud, fields: dict[str, object]
) -> None:
    before = cloud.newest()
    cloud.says(**fields)
    assert cloud.proof() != PROVEN
    assert cloud.ask("manage_index", action="create", path=str(cloud.tree))["status"] == "ok"
    assert cloud.proof() == PROVEN
    assert cloud.newest() == before


@conforms("000.PRF1", "000.LIFE3", "000.LIFE4", "001.CRE3")
@pytest.mark.parametrize("struck", ["Upsert", "Flush"])
def test_b_a_create_that_the_server_fails_leaves_no_index_and_no_proof(
    empty: Cloud, struck: str, faults: Faults
) -> None:
    faults.limit(milvus_rows_module, ENGINE_WRITE_SECONDS=1.0, ENGINE_FLUSH_SECONDS=1.0)
    empty.proxy.fault = lambda name: "refuse" if name == struck else None
    empty.ask("manage_index", action="create", path=str(empty.tree))
    empty.ended()
    last = empty.desk.runs.last(str(empty.tree))
    assert last is not None
    assert isinstance(last.error, EngineUnreachable)
    faults.end()
    empty.proxy.heal()
    assert empty.read("manage_index")["status"] == "not_indexed"
    rows = empty.rows()
    assert rows.runs() == []
    rows.close()
    empty.index()
    assert empty.proof() == PROVEN


# --- C: status says what is wrong, and what to do ---------------------------------------------------------------------


@conforms("001.ST1", "001.AC4", "001.VAL7", "001.RD2")
def test_c_what_is_wrong_is_said_with_the_command_that_helps(cloud: Cloud) -> None:
    for fields, reason in (
        ({"indexedFiles": 99}, ProofReason.INVALID_PAYLOAD),
        ({"kind": "other"}, ProofReason.INVALID_MARKER_KIND),
        ({"codebasePath": "/elsewhere"}, ProofReason.PATH_MISMATCH),
        ({"fingerprint": "b" * 64}, ProofReason.FINGERPRINT_MISMATCH),
        ({}, ProofReason.MISSING_MARKER_DOC),
    ):
        cloud.says(**fields)
        cloud.reopened()
        found = engine_standing(open_codebase(str(cloud.tree), cloud.environ), str(cloud.home), cloud.environ)
        assert found.health == "ok"
        assert found.proof is not None
        assert found.proof.reason is reason
        answer = cloud.read("search_codebase")
        assert answer["status"] == "ok"
        hint = {"completionProof": reason.value, "recommendedAction": "cairn engine push"}
        assert answer["hints"]["engine"] == hint
        assert "debugProofCheck" not in answer["hints"]
        [said] = [one for one in answer["warnings"] if "search server" in one]
        assert reason.value in said
        assert "`cairn engine push`" in said
    cloud.loses_its_store()
    status = cloud.read("manage_index")
    assert (status["status"], status["reason"]) == ("not_indexed", "not_indexed")
    assert status["hints"]["staleLocal"]["completionProof"] == "missing_marker_doc"
    assert status["hints"]["next"]


# --- D: lists ---------------------------------------------------------------------------------------------------------


@conforms("001.INV7", "001.AC5")
def test_d_a_list_never_asks_the_server_and_never_loses_a_member(cloud: Cloud) -> None:
    wanted = facts(cloud.read("list_codebases"))
    assert [path for path, _ in wanted["results"]] == [str(cloud.tree)]
    chance = random.Random(2)
    for _ in range(50):
        cloud.proxy.heal()
        fault = chance.choice(FAULTS)
        cloud.proxy.fault = lambda _, fault=fault: fault  # type: ignore[misc]
        assert facts(cloud.read("list_codebases")) == wanted
    assert not cloud.proxy.calls


# --- E: outages -------------------------------------------------------------------------------------------------------


@conforms("001.INV2", "001.INV6", "001.INV7", "001.AC1", "001.AC5", "001.DR1", "001.RD4")
def test_e_a_server_that_fails_or_says_nothing_changes_nothing_that_is_told(cloud: Cloud) -> None:
    wanted = {tool: facts(cloud.read(tool)) for tool, _ in READS}
    assert {one["status"] for one in wanted.values()} == {"ok"}
    before = cloud.kept()
    for fault in FAULTS:
        for struck in (None, "Query", "Search", "HasCollection", "DescribeCollection"):
            cloud.proxy.heal()
            cloud.proxy.fault = lambda name, fault=fault, struck=struck: fault if struck in (None, name) else None  # type: ignore[misc]
            for tool in ("search_codebase", "manage_index", "list_codebases", "index_status"):
                assert facts(cloud.read(tool)) == wanted[tool], (fault, struck, tool)
    cloud.proxy.heal()
    assert cloud.kept() == before
    assert facts(cloud.read("search_codebase")) == wanted["search_codebase"]
    assert cloud.proof() == PROVEN


@conforms("001.AC5", "000.LIFE3")
def test_e_a_server_that_is_killed_right_after_the_last_flush_of_a_run_has_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "own") as server:
        one = Cloud(tmp_path, server)
        flush, flushes = MilvusRows.flush, 0

        def flush_and_die(rows: MilvusRows) -> None:
            nonlocal flushes
            flush(rows)
            flushes += 1
            if flushes == 2:
                server.kill()

        monkeypatch.setattr(MilvusRows, "flush", flush_and_die)
        one.index()
        assert (flushes, server.process) == (2, None)
        monkeypatch.setattr(MilvusRows, "flush", flush)
        away = one.read("search_codebase")
        assert away["status"] == "ok"
        assert away["hints"]["engine"]["completionProof"] == "probe_failed"
        server.start()
        rows = one.rows()
        manifest = one.newest()
        assert validate_remote_proof(rows, manifest, one.place) == PROVEN
        assert set(rows.receipts(counted=True)) == {ref.name for ref in manifest.segments}
        rows.close()
        back = one.read("search_codebase")
        assert "engine" not in back["hints"]
        assert facts(back) == facts(away)
        one.close()
