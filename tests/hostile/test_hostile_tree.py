"""The hostile tree, walked and read: zero escapes, zero executions, every name accounted for by an outcome."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.core.config import Config, LimitConfig
from cairn.core.types import FileFacts, Root, Skip, SourceFile, WalkResult
from cairn.source.beneath import Tree
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.sync.pool import extract
from tests.hostile.shapes import SHAPES, SOURCE, Shape, uproot

KERNELS = pytest.mark.parametrize("openat2", [True, False], ids=["openat2", "fallback"])


@pytest.fixture
def planted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Shape, Root, Path]]:
    shape: Shape = request.param
    folder = tmp_path / "root" / "shape"
    folder.mkdir(parents=True)
    shape.plant(folder)
    yield shape, Root(str((tmp_path / "root").resolve()), is_git=False), folder
    uproot(folder)


def outcomes(result: WalkResult) -> dict[bytes, str]:
    found = {candidate.raw: "candidate" for candidate in result.candidates}
    assert not found.keys() & {skip.raw for skip in result.skips}, "a name has two outcomes"
    return found | {skip.raw: skip.reason.value for skip in result.skips}


def accounted_for(raw: bytes, found: dict[bytes, str], result: WalkResult) -> bool:
    """Has this name an outcome, or is it below a folder that was skipped as a whole?"""
    if raw in found or raw in result.folders:
        return True
    return any(raw.startswith(skip.raw + b"/") for skip in result.skips if skip.folder)


@KERNELS
@pytest.mark.parametrize("planted", SHAPES, ids=lambda shape: shape.name, indirect=True)
def test_a_hostile_shape_ends_as_it_must(planted: tuple[Shape, Root, Path], openat2: bool) -> None:
    shape, root, folder = planted
    with Tree(root, openat2=openat2) as tree:
        result = walk(tree, Config())
        found = outcomes(result)
        for name, expected in shape.expected_in(folder).items():
            assert found.get(b"shape/" + name) == expected, name
        for name in everything_below(folder):
            assert accounted_for(b"shape/" + name, found, result), name
        for candidate in result.candidates:
            outcome = read_stable(tree, candidate)
            expected = shape.reads.get(candidate.raw.removeprefix(b"shape/"))
            if expected == SOURCE:
                assert isinstance(outcome, SourceFile), candidate.raw
            elif expected is not None:
                assert isinstance(outcome, Skip), candidate.raw
                assert outcome.reason == expected
            facts = extract(tree, candidate, LimitConfig())
            if isinstance(facts, FileFacts):
                spans = [(chunk.start_byte, chunk.end_byte) for chunk in facts.chunks]
                assert b"".join(facts.source.data[a:b] for a, b in spans) == facts.source.data


def everything_below(folder: Path) -> list[bytes]:
    """Every name the system shows, by a walk that knows nothing of ours."""
    top = os.fsencode(folder)
    found = []
    pending = [top]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            found.append(entry.path[len(top) + 1 :])
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
    return found


@KERNELS
def test_all_shapes_together_are_one_tree_without_an_escape(tmp_path: Path, openat2: bool) -> None:
    top = tmp_path / "root"
    canary = tmp_path / "outside"
    canary.mkdir()
    (canary / "canary.py").write_text("CANARY = 'the outside was read'\n")
    for number, shape in enumerate(SHAPES):
        folder = top / f"{number:03d}"
        folder.mkdir(parents=True)
        shape.plant(folder)
        (folder / "to_the_canary.py").symlink_to(canary / "canary.py")
    with Tree(Root(str(top.resolve()), is_git=False), openat2=openat2) as tree:
        result = walk(tree, Config())
        assert result == walk(tree, Config()), "the same tree must give the same list"
        real_top = os.fsencode(top.resolve())
        for candidate in result.candidates:
            assert os.path.realpath(real_top + b"/" + candidate.raw).startswith(real_top + b"/")
            outcome = read_stable(tree, candidate)
            assert not (isinstance(outcome, SourceFile) and b"CANARY" in outcome.data)
    links = [skip for skip in result.skips if skip.raw.endswith(b"to_the_canary.py")]
    refused = {skip.reason.value for skip in links}
    assert refused == {"outside_root"}
    for number, _ in enumerate(SHAPES):
        uproot(top / f"{number:03d}")


def test_indexing_a_hostile_repository_starts_nothing_but_git(tmp_path: Path) -> None:
    """Every program a repository can name leaves a mark when it runs: none may appear."""
    mark = tmp_path / "mark"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
    script.chmod(0o755)
    top = tmp_path / "repo"
    top.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    (top / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (top / "a.py").write_text("x = 1\n")
    settings = [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "core.pager",
        "alias.ls-files",
    ]
    for key in settings:
        subprocess.run(["git", "config", key, str(script)], cwd=top, check=True)
    (top / ".cairn.toml").write_text("[index]\nuntracked = false\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for arguments in (["files"], ["files", "--skipped"], ["why", "a.py"]):
        subprocess.run([sys.executable, "-m", "cairn", *arguments], cwd=top, env=env, check=True, capture_output=True)
    assert not mark.exists()
    subprocess.run(["git", "add", "a.py"], cwd=top, check=False, capture_output=True)
    assert mark.exists(), "plain git runs them, so the test can tell"
