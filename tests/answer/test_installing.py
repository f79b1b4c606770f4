"""The envelope of an install against its schema."""

from __future__ import annotations

from cairn.answer.machine import FileChange, install_report
from tests.answer.test_envelope import valid


def test_an_install_is_told_in_its_schema() -> None:
    changes = [
        FileChange("/h/.claude.json", ("claude",), "server", "user", "added", diff=["--- /h\u202e", "+x"]),
        FileChange("/r/AGENTS.md", ("codex", "cursor"), "instructions", "project", "refused", "it is\nread-only"),
    ]
    told = valid(install_report(path=".", root=None, action="install", changes=changes, dry_run=True, snippet="{}"))
    assert [row["message"] for row in told["results"]] == [None, "it is\\x0aread-only"]
    assert told["codebaseRoot"] is None


def test_a_report_is_bounded() -> None:
    many = [FileChange("/f", ("claude",), "server", "user", "added", diff=["x" * 200] * 200)] * 100
    told = valid(install_report(path=".", root="/r", action="uninstall", changes=many, dry_run=False))
    assert told["limitsHit"][0]["left"] > 0
