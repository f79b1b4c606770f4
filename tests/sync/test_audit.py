"""Audits of real indexes over real trees: what the files say, the index says, or the audit tells."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

import cairn.sync.health as audit_module
import cairn.sync.pool as extract_module
import cairn.sync.pool as pool_module
from cairn.core.limits import AUDIT_SAMPLE_MIN
from cairn.core.types import Candidate, FileStat, ReadOutcome, SourceFile
from cairn.errors import NotIndexed
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable
from cairn.store.format import manifest as manifests
from cairn.store.format.document import MANIFEST, seal
from cairn.sync.health import AuditReport, audit, sampled
from cairn.sync.report import HealthFinding, Severity
from tests.conformance import conforms
from tests.sync.desk import Desk


class Audited(Desk):
    """Five files, one of them no text, indexed long after they were written."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for number in range(4):
            self.put(f"f{number}.py", f"def f{number}():\n    return {number}\n")
        self.put("logo.txt", b"\0\1\2")

    def audit(self, **chosen: object) -> AuditReport:
        with patch.object(audit_module, "place_of", lambda *_: self.place):
            return audit(self.codebase, str(self.home), lambda *_: None, clock=self.clock, **chosen)  # type: ignore[arg-type]

    def codes(self, **chosen: object) -> list[tuple[str, str | None]]:
        return [(finding.code, finding.path) for finding in self.audit(**chosen).findings]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Audited]:
    yield Audited(tmp_path)
    subprocess.run(["chmod", "-R", "u+rwX", tmp_path], check=True)


def test_an_index_that_is_what_the_files_are_has_no_findings_and_its_sums_are_those_of_the_tree(desk: Audited) -> None:
    desk.index()
    report = desk.audit()
    assert report == AuditReport((), desk.manifest().snapshot_id, walked=5, indexed=4, skipped=1, hashed=5)
    assert not report.damaged


def test_nothing_is_changed_by_it(desk: Audited) -> None:
    desk.index()
    before = desk.store()
    desk.audit(full=True)
    assert desk.store() == before


@pytest.mark.parametrize("indexed", [False, True])
def test_what_is_not_indexed_cannot_be_audited(desk: Audited, indexed: bool) -> None:
    if indexed:
        desk.index()
        desk.clear()
    with pytest.raises(NotIndexed, match="cleared" if indexed else "never"):
        desk.audit()


# --- the tree has moved on --------------------------------------------------------------------------------------------


def test_files_that_came_went_and_changed_are_drift_in_a_fixed_order(desk: Audited) -> None:
    desk.index()
    (desk.tree / "f0.py").unlink()
    desk.put("f1.py", "def other():\n    return 1\n")
    desk.put("new.py", "x = 1\n")
    desk.put("more.bin", b"\0")
    report = desk.audit()
    assert [(finding.code, finding.path) for finding in report.findings] == [
        ("file_changed", "f1.py"),
        ("file_gone", "f0.py"),
        ("file_not_indexed", "new.py"),
    ]
    assert {finding.severity for finding in report.findings} == {Severity.WARNING}
    assert {finding.advice for finding in report.findings} == {"Run `cairn sync` to catch up."}
    assert (report.drifted, report.damaged) == (3, False)
    assert report.walked == report.indexed + report.skipped + report.missing
    assert desk.audit() == report
    desk.sync()
    assert desk.codes() == []


def test_a_file_that_a_rule_leaves_out_now_and_one_that_became_text_are_drift(desk: Audited) -> None:
    desk.index()
    desk.put(".cairnignore", "f0.py\n")
    desk.put("logo.txt", "text\n")
    assert desk.codes() == [("file_changed", "logo.txt"), ("file_gone", "f0.py"), ("file_not_indexed", ".cairnignore")]


def test_a_file_that_was_only_touched_is_no_finding(desk: Audited) -> None:
    desk.index()
    os.utime(desk.tree / "f0.py")
    os.utime(desk.tree / "logo.txt")
    assert desk.codes() == []


def test_an_edit_that_keeps_size_and_time_is_found(desk: Audited) -> None:
    place = desk.tree / "f0.py"
    before = place.stat()
    desk.index()
    place.write_bytes(place.read_bytes().replace(b"return 0", b"return 9"))
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert desk.codes(full=True) == [("file_changed", "f0.py")]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_counted_as_left_out(desk: Audited) -> None:
    (desk.tree / "f0.py").chmod(0)
    desk.index()
    report = desk.audit()
    assert (report.findings, report.indexed, report.skipped) == ((), 3, 2)


def test_a_file_that_a_run_went_on_without_is_counted_and_no_drift(desk: Audited) -> None:
    desk.model.poison = b"return 0"
    desk.index(allow_degraded=True)
    report = desk.audit()
    assert (report.findings, report.indexed, report.skipped) == ((), 3, 2)


# --- the index lies ---------------------------------------------------------------------------------------------------


def indexed_wrongly(desk: Audited) -> None:
    """An index that holds other bytes of a file than its stat stands for, as after an edit that left no trace."""

    def read(tree: Tree, candidate: Candidate, **chosen: int) -> ReadOutcome:
        found = read_stable(tree, candidate, clock=desk.clock, **chosen)
        if isinstance(found, SourceFile) and candidate.key == "f2.py":
            wrong = b"def f2():\n    return 8\n"
            return replace(found, data=wrong, file_hash=sha256(wrong).hexdigest())
        return found

    # A worker that is spawned, as beside gRPC, would know nothing of it.
    with patch.object(extract_module, "read_stable", read), patch.object(pool_module, "_is_alone", lambda: True):
        desk.index()


def test_bytes_that_differ_although_nothing_shows_it_are_an_error_of_the_index(desk: Audited) -> None:
    indexed_wrongly(desk)
    report = desk.audit(full=True)
    assert [(finding.code, finding.path) for finding in report.findings] == [("hash_differs", "f2.py")]
    assert report.damaged
    assert report.drifted == 0
    assert "cairn reindex" in report.findings[0].advice
    desk.reindex()
    assert desk.codes(full=True) == []


def test_a_sample_reads_as_many_as_it_says_and_a_full_audit_all(desk: Audited) -> None:
    indexed_wrongly(desk)
    assert desk.audit(sample=0).hashed == 0
    assert desk.audit(sample=2).hashed == 2
    assert desk.audit(full=True).hashed == 5
    found = {count: bool(desk.codes(sample=count)) for count in range(6)}
    assert found[0] is False
    assert found[5] is True
    assert sorted(found.values()) == list(found.values()), "a larger sample holds the smaller one"


def test_the_sample_depends_on_the_snapshot_and_on_nothing_else() -> None:
    stat = FileStat(1, 1, 1, 1)
    tree = [Candidate(f"f{n}.py", f"f{n}.py".encode(), stat, False) for n in range(30_000)]
    one = sampled(tree, "A" * 26, None)
    assert len(one) == 300
    assert one == sampled(list(reversed(tree)), "A" * 26, None)
    assert one != sampled(tree, "B" * 26, None)
    assert len(sampled(tree[:500], "A" * 26, None)) == AUDIT_SAMPLE_MIN
    assert len(sampled(tree[:50], "A" * 26, None)) == 50


@conforms("003.AUD1", "003.AUD2")
@pytest.mark.parametrize("count", ["chunks_indexed", "chunks_live", "files_indexed"])
def test_a_manifest_whose_counts_were_tampered_with_is_an_error_with_advice(desk: Audited, count: str) -> None:
    desk.index()
    desk.put("f0.py", "def changed():\n    return 0\n")
    desk.sync()
    tamper(desk, count)
    report = desk.audit()
    assert report.damaged
    codes = {finding.code for finding in report.findings if finding.severity is Severity.ERROR}
    assert codes & {"generation_damaged", "counts_wrong"}
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            assert "cairn repair" in finding.advice
    if count == "chunks_indexed":
        assert "chunks_indexed is not the sum of the rows" in " ".join(finding.message for finding in report.findings)


def tamper(desk: Audited, count: str) -> None:
    """Raise a count by one and sign it anew, as far as a digest goes."""
    manifest = desk.manifest()
    counts = replace(manifest.counts, **{count: getattr(manifest.counts, count) + 1})
    completion = manifest.completion
    assert completion is not None
    proof = replace(completion, indexed_files=counts.files_indexed, total_chunks=counts.chunks_live)
    fields = asdict(replace(manifest, counts=counts)) | {
        "completion": manifests._completion_fields(proof),
        "config_fields": dict(manifest.config_fields),
        "skipped": dict(manifest.skipped),
    }
    place = Path(desk.place.path) / "generations" / str(manifest.generation)
    place.write_bytes(seal(MANIFEST, "manifest_sha256", fields))


def test_a_store_without_a_whole_snapshot_is_told_and_not_compared(desk: Audited) -> None:
    desk.index()
    for place in (Path(desk.place.path) / "generations").iterdir():
        place.write_bytes(b"rubbish")
    report = desk.audit()
    assert report.damaged
    assert (report.snapshot_id, report.walked) == (None, 0)


def test_sums_that_do_not_come_out_are_an_error(desk: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.index()
    monkeypatch.setattr(audit_module._Comparison, "gone", lambda self: setattr(self, "walked", 99))
    (found,) = desk.audit().findings
    assert isinstance(found, HealthFinding)
    assert (found.code, found.severity) == ("coverage_wrong", Severity.ERROR)
