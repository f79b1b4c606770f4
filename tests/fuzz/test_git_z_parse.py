"""git's NUL-separated lists: what is not a whole entry is refused, what is comes back byte for byte."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.types import Root
from cairn.source.git import Git, GitChange, parse_index, parse_name_status
from tests.support.repos import run_git

NAMES = st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name)
SOUP = st.lists(
    st.sampled_from([b"A", b"M", b"D", b"T", b"R100", b"\0", b"\n", b"\t", b"a", b"160000 ", b"\xff", b"/"])
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(st.builds(GitChange, st.sampled_from("AMDT"), NAMES), max_size=20))
def test_changes_survive_the_round_trip(changes: list[GitChange]) -> None:
    printed = b"".join(change.status.encode() + b"\0" + change.raw + b"\0" for change in changes)
    assert parse_name_status(printed) == tuple(changes)


@settings(derandomize=True, max_examples=600, deadline=None)
@given(st.one_of(st.binary(max_size=200), SOUP.map(b"".join)))
def test_any_other_bytes_are_refused_whole(printed: bytes) -> None:
    try:
        changes = parse_name_status(printed)
    except ValueError:
        return
    assert b"".join(change.status.encode() + b"\0" + change.raw + b"\0" for change in changes) == printed


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([b"100644", b"100755", b"120000", b"160000"]), NAMES), max_size=20))
def test_the_index_gives_every_path_but_submodules(entries: list[tuple[bytes, bytes]]) -> None:
    printed = b"".join(mode + b" " + b"0" * 40 + b" 0\t" + name + b"\0" for mode, name in entries)
    assert parse_index(printed) == {name for mode, name in entries if mode != b"160000"}


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=200), SOUP.map(b"".join)))
def test_no_bytes_make_the_index_reader_stumble(printed: bytes) -> None:
    assert all(raw and b"\0" not in raw for raw in parse_index(printed))


@pytest.mark.parametrize("seed", range(3))
def test_git_itself_agrees_on_hundreds_of_random_names(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = {bytes(chance.choice(range(1, 256)) for _ in range(chance.randint(1, 30))) for _ in range(400)}
    names = {b"d/" + name.replace(b"/", b"_") for name in names}
    names -= {b"d/.", b"d/.."}
    run_git(tmp_path, "init", "-q")
    blob = run_git(tmp_path, "hash-object", "-w", "--stdin")
    git = Git(Root(str(tmp_path), is_git=True))

    def commit_index(chosen: set[bytes]) -> str:
        lines = b"".join(f"100644 {blob} 0\t".encode() + name + b"\0" for name in chosen)
        run_git(tmp_path, "read-tree", "--empty")
        run_git(tmp_path, "update-index", "-z", "--index-info", data=lines)
        return run_git(tmp_path, "commit-tree", run_git(tmp_path, "write-tree"), "-m", "x")

    old = commit_index(set())
    new = commit_index(names)
    assert git.tracked() == names
    assert set(git.changed_between(old, new)) == {GitChange("A", name) for name in names}
    assert set(git.changed_between(new, old)) == {GitChange("D", name) for name in names}
