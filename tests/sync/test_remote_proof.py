"""What the marker on a real search server proves, one reason after the other, and how the server stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import cairn.engine.milvus_rows as milvus_rows_module
from cairn.store.format.manifest import Completion, Manifest, encode_completion
from cairn.store.publish.generations import published, read_claims
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.proof import PROVEN, UNPROVEN, Proof, ProofOutcome, ProofReason
from cairn.sync.remote.copy import EngineStanding, engine_standing, validate_remote_proof
from tests.conformance import conforms
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.faults import Faults
from tests.sync.team import FILES, Person, person

STALE = ProofOutcome.STALE_LOCAL
FAILED = Proof(ProofOutcome.PROBE_FAILED, ProofReason.PROBE_FAILED)
NOBODY = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@pytest.fixture(scope="module")
def me(tmp_path_factory: pytest.TempPathFactory, server: RealServer) -> Person:
    one = person(tmp_path_factory.mktemp("me"), "me", server.uri)
    one.write(FILES)
    one.index()
    return one


def newest(one: Person) -> Manifest:
    with one.disk() as disk:
        return next(published(disk, read_claims(disk), []))


def marker_of(one: Person) -> Completion:
    marker = newest(one).completion
    assert marker is not None
    return marker


def standing(one: Person) -> EngineStanding:
    return engine_standing(one.codebase, str(one.home), one.environ)


def changed(marker: Completion, **fields: object) -> bytes:
    return json.dumps({**json.loads(encode_completion(marker)), **fields}).encode()


@needs_milvus
@pytest.mark.long
@conforms("001.VAL1", "001.VAL2", "001.VAL3", "001.VAL4", "001.VAL5", "001.VAL6", "001.VAL7", "000.PRF3", "000.PRF7")
@pytest.mark.parametrize(
    ("reason", "outcome", "fields"),
    [
        (None, ProofOutcome.VALID, {}),
        (ProofReason.MISSING_MARKER_DOC, STALE, None),
        (ProofReason.INVALID_MARKER_KIND, STALE, {"kind": "cairn_index_completion_v9"}),
        (ProofReason.INVALID_MARKER_KIND, STALE, {"kind": "other"}),
        (ProofReason.PATH_MISMATCH, STALE, {"codebasePath": "/elsewhere"}),
        (ProofReason.INVALID_PAYLOAD, STALE, {"indexedFiles": 99}),
        (ProofReason.INVALID_PAYLOAD, STALE, {"totalChunks": "many"}),
        (ProofReason.INVALID_PAYLOAD, STALE, {"more": 1}),
        (ProofReason.FINGERPRINT_MISMATCH, ProofOutcome.FINGERPRINT_MISMATCH, {"fingerprint": "b" * 64}),
    ],
)
def test_every_way_in_which_a_marker_proves_nothing_has_its_reason(
    me: Person, reason: ProofReason | None, outcome: ProofOutcome, fields: dict[str, object] | None
) -> None:
    marker = marker_of(me)
    with me.rows() as rows:
        if fields is None:
            rows.clear_marker(marker.run_id)
            # The collection is still there, with all of its rows: that proves nothing.
            assert rows.receipts()
        else:
            rows._put(3, marker.run_id, changed(marker, **fields).decode())
        assert validate_remote_proof(rows, newest(me), me.place) == Proof(outcome, reason)
    found = standing(me)
    assert (found.kind, found.health, found.proof) == ("milvus", "ok", Proof(outcome, reason))


@needs_milvus
@pytest.mark.long
@conforms("001.VAL4")
def test_a_path_is_compared_after_its_links_are_resolved(me: Person) -> None:
    marker = marker_of(me)
    link = me.home / "another way"
    link.symlink_to(me.tree)
    with me.rows() as rows:
        rows._put(3, marker.run_id, changed(marker, codebasePath=f"{link}/").decode())
        proof = validate_remote_proof(rows, newest(me), me.place)
        # It is the same folder; what the writer stores is its one name, so the two markers still differ.
        assert proof == Proof(STALE, ProofReason.INVALID_PAYLOAD)


@needs_milvus
@pytest.mark.long
@conforms("001.VAL7", "001.VAL8")
@pytest.mark.parametrize("fault", ["refuse", "drop", "truncate", "delay", "cut after"])
def test_a_question_that_was_not_answered_proves_nothing_either_way(
    me: Person, server: RealServer, fault: str, faults: Faults
) -> None:
    from tests.engine.proxy import between

    faults.limit(milvus_rows_module, ENGINE_WRITE_SECONDS=0.5)
    manifest, place = newest(me), me.place
    marker = marker_of(me)
    with between(server.uri) as proxy:
        me.names(proxy.uri)
        for there in (True, False):
            with me.rows() as rows:
                if there:
                    rows._put(3, marker.run_id, encode_completion(marker).decode())
                else:
                    rows.clear_marker(marker.run_id)
                proxy.fault = lambda name: fault if name == "Query" else None
                assert validate_remote_proof(rows, manifest, place) == FAILED
                proxy.heal()
        # Once it is answered, it is.
        with me.rows() as rows:
            assert validate_remote_proof(rows, manifest, place) == UNPROVEN
            rows._put(3, marker.run_id, encode_completion(marker).decode())
            assert validate_remote_proof(rows, manifest, place) == PROVEN
    me.names(server.uri)


@needs_milvus
@pytest.mark.long
@conforms("001.VAL8")
def test_a_token_that_is_wrong_is_a_probe_that_failed(
    me: Person, server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.engine.proxy import between

    monkeypatch.setenv("A_TOKEN", "root:wrong")
    with between(server.uri, "root:right") as proxy:
        me.names(proxy.uri, 'token_env = "A_TOKEN"\n')
        found = engine_standing(me.codebase, str(me.home), {**me.environ, "A_TOKEN": "root:wrong"})
        assert (found.health, found.proof) == ("engine_refused", FAILED)
    me.names(server.uri)


@needs_milvus
@pytest.mark.long
@conforms("000.LIFE1", "000.LIFE2")
@pytest.mark.parametrize("kind", [RunKind.CREATE, RunKind.REINDEX])
def test_while_an_index_is_made_anew_no_marker_counts(me: Person, kind: RunKind) -> None:
    marker = marker_of(me)
    with me.rows() as rows:
        rows._put(3, marker.run_id, encode_completion(marker).decode())
    assert standing(me).proof == PROVEN
    with me.disk() as disk, open_writer(disk, "here", kind, rebuild=True):
        found = standing(me)
        assert (found.health, found.proof) == ("ok", None)
    assert standing(me).proof == PROVEN


# --- without a server -------------------------------------------------------------------------------------------------


def test_a_server_that_is_away_is_said_and_never_raised(tmp_path: Path) -> None:
    one = person(tmp_path, "one", "")
    one.write({"a.py": "def a(): pass\n"})
    assert standing(one) == EngineStanding()
    one.index()
    one.names(NOBODY, 'token_env = "NOT_SET_ANYWHERE"\n')
    found = standing(one)
    assert (found.kind, found.uri, found.health, found.proof) == ("milvus", NOBODY, "config_invalid", FAILED)


class _Says:
    """A place that gives one marker, or says that there is none."""

    def __init__(self, marker: Completion | None) -> None:
        self.marker = marker

    def get_marker(self, _: str) -> Completion | None:
        return self.marker


def test_a_snapshot_that_was_cleared_has_no_proof_anywhere(tmp_path: Path) -> None:
    one = person(tmp_path, "one", "")
    one.write({"a.py": "def a(): pass\n"})
    one.index()
    manifest = newest(one)
    assert validate_remote_proof(_Says(manifest.completion), manifest, one.place) == PROVEN  # type: ignore[arg-type]
    cleared = replace(manifest, completion=None)
    assert validate_remote_proof(_Says(manifest.completion), cleared, one.place) == UNPROVEN  # type: ignore[arg-type]
