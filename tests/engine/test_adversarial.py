"""A search server that lies, fails and comes back: what is told of an index is what this machine knows, and stays so.

The letters are those of the plan that these tests answer to: A no reconcile on the way of an answer, B create repairs,
C status says what is wrong, D lists are stable, E outages, F stale answers are final, G probes that fail.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.engine.milvus_rows import MilvusRows
from cairn.errors import EngineUnreachable
from cairn.serve.desk import Desk
from cairn.serve.guard import Allowed
from cairn.store.generations import published, read_claims
from cairn.store.lease import RunKind
from cairn.store.manifest import Manifest, encode_completion
from cairn.store.standing import PROVEN, ProofReason
from cairn.sync.codebase import open_codebase
from cairn.sync.place import Place, place_of
from cairn.sync.reconcile import prune, reconcile_non_destructive
from cairn.sync.remote import remote_rows
from cairn.sync.remote_proof import engine_standing, validate_remote_proof
from cairn.sync.run import STALE_LOCAL
from cairn.sync.tracking import change
from tests.conformance import conforms
from tests.engine.servers import RealServer, needs_milvus, running
from tests.serve.conftest import AT_ONCE, Agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.engine.proxy import Proxy

pytestmark = [needs_milvus, pytest.mark.long]

READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_codebase", {"query": "who steals a lease"}),
    ("file_outline", {"file": "lease.py"}),
    ("call_graph", {"symbol": "take"}),
    ("read_file", {"file": "lease.py"}),
    ("index_status", {}),
    ("manage_index", {"action": "status"}),
    ("list_codebases", {}),
)
FAULTS = ("refuse", "drop", "truncate", "cut after", "empty")
# Every call by which something on a server changes.
WRITES = {"Insert", "Upsert", "Delete", "Flush", "CreateCollection", "DropCollection", "CreateIndex", "DropIndex"}


class Cloud(Agent):
    """An agent whose settings name a server, mostly with the proxy between the two."""

    proxy: Proxy

    def __init__(self, folder: Path, server: Proxy | RealServer) -> None:
        super().__init__(folder)
        self.settings(f'[engine]\nkind = "milvus"\nuri = "{server.uri}"\n')

    def loses_its_store(self) -> None:
        """Somebody removed the folder of the index; the registry and the server still know of it."""
        self.ended()
        shutil.rmtree(self.place.path)
        self.reopened()

    def ended(self) -> None:
        """The run that is at work has come to its end."""
        until = time.monotonic() + 60.0
        while self.desk.runs.active(str(self.tree)) is not None and time.monotonic() < until:
            time.sleep(0.05)

    def reopened(self) -> None:
        """As another process would find it: nothing is remembered of the server."""
        self.desk.close()
        self.desk = Desk(self.environ, Allowed(self.environ, [str(self.tree)]))

    def read(self, tool: str) -> dict[str, Any]:
        path = {} if tool == "list_codebases" else {"path": str(self.tree)}
        return self.ask(tool, patience=AT_ONCE, **path, **dict(READS)[tool])

    @property
    def place(self) -> Place:
        return place_of(open_codebase(str(self.tree), self.environ), str(self.home))

    def rows(self) -> MilvusRows:
        rows = remote_rows(open_codebase(str(self.tree), self.environ).config, self.place, self.environ)
        assert rows is not None
        return rows

    def newest(self) -> Manifest:
        disk = self.place.disk()
        assert disk is not None
        with disk:
            return next(published(disk, read_claims(disk), []))

    def says(self, **fields: object) -> None:
        """Let the marker on the server say something else; with nothing, let it be gone."""
        marker = self.newest().completion
        assert marker is not None
        rows = self.rows()
        if fields:
            rows._put(3, marker.run_id, json.dumps({**json.loads(encode_completion(marker)), **fields}))
        else:
            rows.clear_marker(marker.run_id)
        rows.close()

    def proof(self) -> object:
        rows = self.rows()
        try:
            return validate_remote_proof(rows, self.newest(), self.place)
        finally:
            rows.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture
def empty(tmp_path: Path, server: RealServer) -> Iterator[Cloud]:
    """Nothing is indexed yet."""
    from tests.engine.proxy import between

    with between(server.uri) as proxy:
        one = Cloud(tmp_path, proxy)
        one.proxy = proxy
        yield one
        proxy.heal()
        one.desk.close()


@pytest.fixture
def cloud(empty: Cloud) -> Cloud:
    """Indexed, complete on the server, and nobody has asked anything yet."""
    empty.index()
    assert empty.proof() == PROVEN
    empty.reopened()
    empty.proxy.calls.clear()
    return empty


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No rest after trouble: every question asks the server anew."""
    for module in ("cairn.engine.candidates", "cairn.sync.remote_view"):
        monkeypatch.setattr(f"{module}.ENGINE_REST_SECONDS", 0.0)
    monkeypatch.setattr("cairn.engine.milvus.ENGINE_BACKOFF_SECONDS", 0.001)
    monkeypatch.setattr("cairn.sync.remote_view.ENGINE_SEARCH_SECONDS", 0.5)


def facts(answer: dict[str, Any]) -> dict[str, Any]:
    """What is told of the index: all but what is said of the server, and times."""
    shown = ("schema", "status", "reason", "message", "state", "results", "snapshot", "fingerprints")
    found = {name: answer[name] for name in (*shown, "codebases", "coverage", "files_indexed") if name in answer}
    if answer["schema"] == "cairn.list/1":
        found["results"] = sorted((one["root"], one["state"]) for one in answer["results"])
    return found


# --- A: what answers never reconciles, and never writes ---------------------------------------------------------------


@conforms("001.FG1", "001.AC3", "001.REC3", "001.RD1", "001.INV1", "001.INV2", "001.INV5")
def test_a_no_answer_reconciles_prunes_or_writes_whatever_the_server_says(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr("cairn.sync.reconcile.reconcile_non_destructive", lambda *_: called.append("reconcile"))
    monkeypatch.setattr("cairn.sync.reconcile.prune", lambda *_: called.append("prune"))
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
    empty: Cloud, struck: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ENGINE_WRITE_SECONDS", "ENGINE_FLUSH_SECONDS"):
        monkeypatch.setattr(f"cairn.engine.milvus_rows.{name}", 1.0)
    empty.proxy.fault = lambda name: "refuse" if name == struck else None
    empty.ask("manage_index", action="create", path=str(empty.tree))
    empty.ended()
    last = empty.desk.runs.last(str(empty.tree))
    assert last is not None
    assert isinstance(last.error, EngineUnreachable)
    monkeypatch.undo()
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
        one.desk.close()


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
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.sync.remote_view.ENGINE_REST_SECONDS", 60.0)
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
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.sync.tracking.from_stores", lambda *_: [])
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
