"""Vectors of a model that costs more than looking one up are kept for all stores; those of a cheap one are not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conformance import conforms
from tests.sync.desk import Desk, Model, extract_here
from tests.sync.test_run import ONE, TWO, desk, reads

__all__ = ["desk", "reads"]


@conforms("003.SID1")
def test_another_worktree_has_its_own_store_and_takes_its_vectors_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, with_git=True, model=Model(cheap=False))
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", ONE)
    desk.put("b.py", TWO)
    desk.commit()
    desk.sync()
    assert len(desk.model.texts) == 2
    subprocess.run(
        ["git", "worktree", "add", "-q", str(tmp_path / "linked"), "HEAD", "--detach"],
        cwd=desk.tree,
        check=True,
        capture_output=True,
    )
    first = desk.place
    desk.tree = (tmp_path / "linked").resolve()
    assert desk.place.store_id != first.store_id
    desk.sync()
    assert len(desk.model.texts) == 2
    assert desk.texts() == {"a.py": ONE, "b.py": TWO}


def test_a_cheap_model_needs_no_cache(desk: Desk, reads: list[str]) -> None:
    desk.sync()
    assert reads
    assert not (desk.home / "cache").exists()
