"""Patches are what git takes, whatever the file and its name look like."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cairn.semantic.patch import Replacement, file_patch


def applied(tmp_path: Path, path: str, old: bytes, patch: bytes) -> bytes:
    """What git makes of the file."""
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(old)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=tmp_path, check=True)
    return file.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"foo()\n", b"bar()\n"),
        (b"foo()", b"bar()"),
        (b"a\r\nfoo()\r\nb\r\n", b"a\r\nbar()\r\nb\r\n"),
        (b"1\n2\n3\n4\nfoo\n6\n7\n8\n9\n10\n11\n12\n13\nfoo", b"1\n2\n3\n4\nbar\n6\n7\n8\n9\n10\n11\n12\n13\nbar"),
        (b"foo\nfoo\nx\nfoo\n", b"bar\nbar\nx\nbar\n"),
        ("é foo\n".encode(), "é bar\n".encode()),
    ],
)
@pytest.mark.parametrize("path", ["a.py", "deep/er/a b.py", "é.py", 'quo"te\\.py', "tab\there.py"])
def test_git_takes_the_patch_and_makes_of_the_file_what_was_meant(
    tmp_path: Path, path: str, old: bytes, new: bytes
) -> None:
    patch = file_patch(path, old, _each(old, b"foo", b"bar"))
    assert applied(tmp_path, path, old, patch) == new


@settings(derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from([b"", b"foo", b"x foo y foo", b"\xc3\xa9foo", b"other", b"foo\r"]), max_size=30),
    whole=st.booleans(),
    new=st.sampled_from([b"b", b"longer_name", b""]),
)
def test_patches_of_random_files_are_taken(tmp_path: Path, lines: list[bytes], whole: bool, new: bytes) -> None:
    old = b"\n".join(lines) + (b"\n" if whole and lines else b"")
    patch = file_patch("a.txt", old, _each(old, b"foo", new))
    if not patch:
        assert b"foo" not in old
        return
    assert applied(tmp_path, "a.txt", old, patch) == old.replace(b"foo", new)


def test_a_name_that_stays_makes_no_patch() -> None:
    assert file_patch("a.py", b"foo\n", [Replacement(1, 0, 3, b"foo")]) == b""


@pytest.mark.parametrize(
    "bad",
    [
        [Replacement(2, 0, 1, b"x")],
        [Replacement(0, 0, 1, b"x")],
        [Replacement(1, 2, 9, b"x")],
        [Replacement(1, 0, 1, b"x\ny")],
        [Replacement(1, 0, 2, b"x"), Replacement(1, 1, 3, b"y")],
    ],
)
def test_what_is_not_on_its_line_is_refused(bad: list[Replacement]) -> None:
    with pytest.raises(ValueError, match="replacement"):
        file_patch("a.py", b"foo\n", bad)


def _each(old: bytes, word: bytes, new: bytes) -> list[Replacement]:
    found = []
    for number, line in enumerate(old.split(b"\n"), 1):
        at = line.find(word)
        while at >= 0:
            found.append(Replacement(number, at, at + len(word), new))
            at = line.find(word, at + len(word))
    return found
