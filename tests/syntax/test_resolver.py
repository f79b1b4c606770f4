from __future__ import annotations

import pytest

from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.graph.modules import files_of
from cairn.syntax.resolver import MOST_FILES, UNRESOLVED, Lead, SnapshotFiles, above, below, inside, normal, parent
from tests.graph.code import code_view

TEXTS = {"a/b/x.py": b"one\ntwo\n", "a/y.py": b"", "z.toml": b"k = 1\n", "c/big.json": b" " * (MAX_CONFIG_BYTES + 1)}


def files(order: list[str] | None = None) -> SnapshotFiles:
    return SnapshotFiles(dict.fromkeys(order or list(TEXTS), "python"), TEXTS.get)


@pytest.mark.parametrize(
    ("folder", "relative", "meant"),
    [
        ("a/b", "./x", "a/b/x"),
        ("a/b", "../x", "a/x"),
        ("a/b", "../../x//y/", "x/y"),
        ("", "x", "x"),
        ("a", "..", ""),
        ("a", "../..", None),
        ("", "../x", None),
    ],
)
def test_a_relative_path_means_a_path_below_the_root_or_none(folder: str, relative: str, meant: str | None) -> None:
    assert normal(folder, relative) == meant


def test_the_folders_around_a_path_end_at_the_root() -> None:
    assert above("a/b") == ["a/b", "a", ""]
    assert above("") == [""]
    assert (parent("a/b"), parent("a")) == ("a", "")


def test_what_is_in_the_root_has_no_slash_before_it() -> None:
    assert (below("", "x"), below("a", "x"), below("a", ""), below("", "")) == ("x", "a/x", "a", "")


def test_every_folder_is_known_with_what_stands_right_in_it() -> None:
    assert files().folders == {
        "": ("z.toml",),
        "a": ("a/y.py",),
        "a/b": ("a/b/x.py",),
        "c": ("c/big.json",),
    }


def test_the_order_in_which_files_were_given_changes_nothing() -> None:
    one, other = files(), files(list(reversed(TEXTS)))
    assert list(one.languages) == list(other.languages)
    assert list(one.folders.items()) != []
    assert (one.folders, one.by_name) == (other.folders, other.by_name)


def test_settings_are_read_only_when_they_are_there_and_not_too_large() -> None:
    assert files().settings("z.toml") == "k = 1\n"
    assert files().settings("c/big.json") is None
    assert files().settings("nobody.toml") is None


def test_the_head_of_a_file_is_no_longer_than_asked_for() -> None:
    assert files().head("a/b/x.py", 5) == "one\nt"
    assert files().head("nobody.py", 5) == ""


def test_an_import_of_nothing_is_unresolved_and_one_of_very_many_files_is_cut() -> None:
    assert inside(()) is UNRESOLVED
    many = tuple(f"{number}.py" for number in range(MOST_FILES + 5))
    assert len(inside(many, "name").files) == MOST_FILES
    assert inside((), "name", ("a.py",)).lead is Lead.INSIDE


def test_a_file_that_is_hidden_or_skipped_is_not_there() -> None:
    with code_view({"a.py": "x = 1\n", "b.py": "y = 1\n"}, {"b.py": "y = 2\n"}) as view:
        found = files_of(view)
        assert list(found.languages) == ["b.py"]
        assert ("b.py" in found, "a.py" in found) == (True, False)
        assert found.head("b.py", 100) == "y = 2\n"
