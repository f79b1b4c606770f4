"""A command that is run in a fork finds nothing of what ran before it in the process of the tests."""

from __future__ import annotations

import os
from multiprocessing import resource_tracker
from pathlib import Path

from cairn.core.config import Config, LimitConfig
from cairn.source import git, programs
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.walk import walk
from cairn.sync import pool
from tests.support.commands import forked, notes_of


def test_a_fork_begins_as_a_process_does(tmp_path: Path) -> None:
    """An agent's index was refused in a fork when an earlier test had started a worker beside a thread."""
    (tmp_path / "lease.py").write_text("def take():\n    return 1\n")
    before = dict(programs._opened)
    programs.bar_programs_of(str(tmp_path))
    git._patience[str(tmp_path)] = git._Patience()
    duty = pool._Duty(find_root(str(tmp_path)), LimitConfig(), 60.0, 60.0)
    pool._SPARES.put(duty, pool._Worker(duty, forked=False))
    try:
        done = forked(lambda: _indexed(str(tmp_path)), ["-c", "-"], tmp_path, os.environ)
    finally:
        pool.dismiss()
        del git._patience[str(tmp_path)]
        programs._opened.clear()
        programs._opened.update(before)
    assert (done.status, done.stdout) == (0, "['FileFacts'] {'_opened': {}} {'_patience': {}}\n"), done.stderr


def _indexed(folder: str) -> int:
    resource_tracker.ensure_running()
    root = find_root(folder)
    with Tree(root) as tree:
        candidates = walk(tree, Config()).candidates
    found = pool.extract_all(root, candidates, LimitConfig(), cpu_seconds=60.0, keep=True)
    print([type(one).__name__ for one in found], notes_of(programs), notes_of(git))
    pool.dismiss()
    return 0
