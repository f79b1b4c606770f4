"""Whether an index is proven to be complete: every outcome and every reason, from what is really on the disk."""

from __future__ import annotations

import ast
import errno
import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import cairn
import cairn.sync.run as run_module
from cairn.core.fingerprint import IndexFingerprint, canonical_json, fingerprint_of
from cairn.errors import Incompatible, NotIndexed
from cairn.store.disk import Disk
from cairn.sync.proof import PROVEN, UNPROVEN, Proof, ProofOutcome, ProofReason, validate_completion_proof
from cairn.sync.run import NOT_COMPARED, STALE_LOCAL
from cairn.sync.status import State, stand
from tests.conformance import conforms
from tests.support.faults import Faults
from tests.sync.desk import Desk, Model, extract_here

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", "x = 1\n")
    return desk


def proof(desk: Desk) -> Proof:
    return validate_completion_proof(desk.place)


def stale(reason: ProofReason) -> Proof:
    return Proof(ProofOutcome.STALE_LOCAL, reason)


def rewrite(desk: Desk, change: Change, *, seal: bool = True) -> None:
    """Change the manifest of the newest snapshot under both of its names; with `seal` its digest is right again."""
    store = Path(desk.place.path)
    found = sorted(store.glob("snapshots/*/manifest.json"))[-1]
    document = json.loads(found.read_bytes())
    generation = store / "generations" / str(document["generation"])
    change(document)
    if seal:
        del document["manifest_sha256"]
        digest = sha256((canonical_json(document) + "\n").encode()).hexdigest()
        document["manifest_sha256"] = digest
    for path in (found, generation):
        os.chmod(path, 0o600)
        path.write_text(canonical_json(document) + "\n")


def of_another_kind(document: dict[str, Any]) -> None:
    document["completion"]["kind"] = "satori_index_completion_v1"


def of_another_folder(document: dict[str, Any]) -> None:
    document["canonical_root"] = document["completion"]["codebasePath"] = "/somewhere/else"


def of_another_count(document: dict[str, Any]) -> None:
    document["completion"]["indexedFiles"] += 1


@conforms("001.VAL1", "001.VAL2", "001.VAL7", "000.PRF7", "001.INV6")
def test_without_a_snapshot_the_marker_is_missing_whatever_else_is_there(desk: Desk) -> None:
    assert proof(desk) == UNPROVEN
    assert not desk.home.exists()
    with desk.place.make_disk():
        pass
    assert proof(desk) == UNPROVEN == stale(ProofReason.MISSING_MARKER_DOC)
    desk.index()
    assert proof(desk) == PROVEN
    desk.clear()
    assert proof(desk) == UNPROVEN


@conforms("001.VAL2", "001.VAL3", "001.VAL4", "001.VAL5", "000.PRF3")
@pytest.mark.parametrize(
    ("change", "seal", "reason"),
    [
        (of_another_kind, True, ProofReason.INVALID_MARKER_KIND),
        (of_another_folder, True, ProofReason.PATH_MISMATCH),
        (of_another_count, True, ProofReason.INVALID_PAYLOAD),
        (of_another_count, False, ProofReason.INVALID_PAYLOAD),
        (of_another_kind, False, ProofReason.INVALID_PAYLOAD),
    ],
)
def test_a_marker_that_was_read_and_is_wrong_proves_nothing(
    desk: Desk, change: Change, seal: bool, reason: ProofReason
) -> None:
    desk.index()
    rewrite(desk, change, seal=seal)
    assert proof(desk) == stale(reason)
    standing = stand(desk.place)
    assert (standing.view, standing.stale, standing.proof) == (None, True, stale(reason))


@conforms("001.VAL4")
def test_a_marker_of_a_link_to_this_folder_is_one_of_this_folder(desk: Desk, tmp_path: Path) -> None:
    desk.index()
    link = tmp_path / "link"
    link.symlink_to(desk.tree)
    assert validate_completion_proof(desk.place._replace(root=str(link))) == PROVEN
    assert validate_completion_proof(desk.place._replace(root=f"{desk.tree}/")) == PROVEN
    assert validate_completion_proof(desk.place._replace(root=f"{desk.tree}-evil")).reason is ProofReason.PATH_MISMATCH
    assert desk.manifest().completion is not None
    assert desk.manifest().canonical_root == str(desk.tree)


def test_a_damaged_snapshot_is_passed_over_for_an_older_one_that_is_proven(desk: Desk) -> None:
    desk.index()
    desk.put("a.py", "x = 2\n")
    desk.sync()
    rewrite(desk, of_another_kind)
    assert proof(desk) == PROVEN


@conforms("001.VAL6", "001.AC8")
def test_an_index_of_another_fingerprint_is_a_mismatch_that_names_the_fields(desk: Desk) -> None:
    desk.index()
    desk.model = Model(dimension=16)
    differs = ("embeddingDimension",)
    assert proof(desk) == Proof(ProofOutcome.FINGERPRINT_MISMATCH, ProofReason.FINGERPRINT_MISMATCH, differs)
    desk.index()
    assert proof(desk) == PROVEN


@conforms("001.VAL6", "001.AC8")
@pytest.mark.parametrize(
    "field", ["embeddingProvider", "embeddingModel", "embeddingDimension", "vectorStoreProvider", "schemaVersion"]
)
def test_each_of_the_five_fields_alone_makes_a_proof_one_of_something_else(desk: Desk, field: str) -> None:
    desk.index()
    place = desk.place
    fields = dict(place.fingerprint.fields) | {field: '"another"'}
    wanted = IndexFingerprint(tuple(sorted(fields.items())), fingerprint_of(fields))
    mismatch = Proof(ProofOutcome.FINGERPRINT_MISMATCH, ProofReason.FINGERPRINT_MISMATCH, (field,))
    assert validate_completion_proof(place._replace(fingerprint=wanted)) == mismatch
    assert validate_completion_proof(place) == PROVEN


def test_a_store_under_the_name_of_another_fingerprint_is_a_mismatch_too(desk: Desk) -> None:
    desk.index()
    first = desk.place.path
    desk.model = Model(dimension=16)
    shutil.move(first, desk.place.path)
    assert proof(desk).outcome is ProofOutcome.FINGERPRINT_MISMATCH
    standing = stand(desk.place)
    assert (standing.view, standing.differs) == (None, ("embeddingDimension",))


FAULTS = [
    (errno.EIO, ProofOutcome.PROBE_FAILED),
    (errno.EACCES, ProofOutcome.PROBE_FAILED),
    (errno.ETIMEDOUT, ProofOutcome.PROBE_FAILED),
    (errno.EMFILE, ProofOutcome.PROBE_FAILED),
]


@conforms("001.VAL7", "001.VAL8")
@pytest.mark.parametrize(
    ("door", "number", "outcome"),
    [
        *(("read", *fault) for fault in FAULTS),
        *(("open_map", *fault) for fault in FAULTS[:2]),
        ("read", errno.ENOENT, ProofOutcome.STALE_LOCAL),
    ],
    ids=str,
)
def test_only_what_was_read_can_be_missing_and_all_other_trouble_says_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, door: str, number: int, outcome: ProofOutcome
) -> None:
    desk.index()

    def fail(_: Disk, path: str, *__: object) -> object:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(Disk, door, fail)
    assert proof(desk).outcome is outcome
    monkeypatch.undo()
    assert proof(desk) == PROVEN


def test_an_index_of_a_later_format_cannot_be_read_and_is_not_missing(desk: Desk) -> None:
    desk.index()
    rewrite(desk, lambda document: document.update(schema_version=99))
    assert proof(desk).outcome is ProofOutcome.PROBE_FAILED
    with pytest.raises(Incompatible):
        desk.index()


# --- what create and sync make of it ----------------------------------------------------------------------------------


@conforms("001.CRE2", "001.INV3")
def test_a_create_over_a_valid_proof_writes_nothing(desk: Desk) -> None:
    desk.index()
    before = desk.store()
    report = desk.index()
    assert (report.published, report.warnings) == (False, (NOT_COMPARED,))
    assert desk.store() == before


@conforms("001.CRE1", "001.CRE4", "001.AC2", "001.AC4")
@pytest.mark.parametrize("change", [of_another_kind, of_another_folder, of_another_count])
def test_a_create_over_a_bad_proof_goes_on_and_says_so(desk: Desk, change: Change) -> None:
    desk.index()
    rewrite(desk, change)
    report = desk.index()
    assert report.published
    assert report.warnings == (STALE_LOCAL,)
    assert proof(desk) == PROVEN
    assert desk.index().published is False


@conforms("001.CRE1", "001.CRE4")
def test_a_create_where_the_registry_remembers_an_index_that_is_gone_says_so(desk: Desk) -> None:
    assert desk.index().warnings == ()
    shutil.rmtree(desk.place.path)
    assert desk.index().warnings == (STALE_LOCAL,)


@conforms("001.CRE3", "001.AC2")
def test_a_create_that_cannot_read_the_proof_does_not_say_already_indexed(desk: Desk, faults: Faults) -> None:
    desk.index()
    desk.put("a.py", "x = 2\n")
    assert not desk.index().published

    faults.fail(run_module, "examine", OSError(errno.EIO, "broken"))
    assert desk.index().published


def test_a_sync_builds_nothing_on_the_index_of_another_folder(desk: Desk) -> None:
    desk.index()
    rewrite(desk, of_another_folder)
    assert desk.sync().kind == "create"
    assert (proof(desk), stand_and_close(desk)) == (PROVEN, State.INDEXED)


def test_a_sync_fills_nothing_that_was_cleared(desk: Desk) -> None:
    desk.index()
    desk.clear()
    with pytest.raises(NotIndexed):
        desk.sync()


def stand_and_close(desk: Desk) -> State:
    standing = stand(desk.place)
    if standing.view is not None:
        standing.view.close()
    return standing.state


# --- one truth --------------------------------------------------------------------------------------------------------


@conforms("000.D6", "000.SM2")
def test_only_one_place_says_that_an_index_is_proven() -> None:
    """Nobody else can: `PROVEN` is given out by the judge of manifests, and by that of the markers on a server."""
    package = Path(cairn.__file__).parent
    users: dict[str, set[str]] = {"PROVEN": set(), "completion": set()}
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        file = str(path.relative_to(package))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        taken = {alias.name for node in imports if node.module == "cairn.sync.proof" for alias in node.names}
        users["PROVEN"] |= {file} if "PROVEN" in taken else set()
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        users["completion"] |= {file} if "completion" in used else set()
    assert users["PROVEN"] <= {
        "sync/proof.py",
        "sync/status.py",
        "sync/remote/copy.py",
        "sync/remote/pull.py",
    }
    # Who answers does not even see the marker.
    assert {file.partition("/")[0] for file in users["completion"]} <= {"store", "sync", "engine"}
