"""Includes lead to the file beside, else to the one that fits; which of many is never guessed."""

from __future__ import annotations

import pytest

from cairn.syntax.resolver import EXTERNAL, MOST_FILES, UNRESOLVED
from tests.graph.test_modules import files, lead, modules_of


def tree(*paths: str) -> dict[str, str]:
    return dict.fromkeys(paths, "")


def test_the_file_beside_goes_before_every_other() -> None:
    assert files(tree("src/a.h", "include/a.h", "a.h"), "src/x.c", "a.h") == ("src/a.h",)
    assert files(tree("a.h", "include/a.h"), "src/x.c", "../a.h") == ("a.h",)


def test_an_include_brings_everything() -> None:
    assert lead(tree("a.h"), "x.c", "a.h").name == "*"


def test_the_one_file_whose_path_ends_like_the_include_is_meant() -> None:
    assert files(tree("lib/net/a.h", "lib/disk/a.h"), "src/x.c", "net/a.h") == ("lib/net/a.h",)
    assert lead(tree("lib/subnet/a.h"), "src/x.c", "net/a.h") == EXTERNAL


@pytest.mark.parametrize("folder", ["include", "src", "inc", "."])
def test_of_several_that_fit_the_one_of_the_same_project_is_meant(folder: str) -> None:
    inner = "" if folder == "." else f"{folder}/"
    code = tree(f"one/{inner}a.h", f"two/{inner}a.h")
    assert files(code, "two/code/x.c", "a.h") == (f"two/{inner}a.h",)
    assert lead(code, "three/x.c", "a.h") == UNRESOLVED


def test_the_nearest_include_folder_goes_before_those_around_it() -> None:
    code = tree("include/a.h", "lib/include/a.h", "lib/part/include/a.h")
    assert files(code, "lib/part/src/x.c", "a.h") == ("lib/part/include/a.h",)
    assert files(code, "lib/other/src/x.c", "a.h") == ("lib/include/a.h",)
    assert files(code, "other/x.c", "a.h") == ("include/a.h",)


def test_what_fits_no_file_is_somebody_elses() -> None:
    assert lead({}, "x.c", "stdio.h") == EXTERNAL


@pytest.mark.parametrize("words", ["/etc/passwd", "../../../a.h", "/a.h"])
def test_an_include_that_leads_out_of_the_repository_leads_nowhere(words: str) -> None:
    assert lead(tree("a.h", "etc/passwd"), "src/x.c", words) == UNRESOLVED


@pytest.mark.parametrize("words", ["", ".", "..", "//", "a.h/", "\x00", "a" * 4_000])
def test_words_that_name_no_file_lead_to_none(words: str) -> None:
    assert lead(tree("b/a.hh"), "src/x.c", words).files == ()


def test_a_name_that_thousands_of_files_have_is_not_looked_for() -> None:
    many = tree(*(f"d{number}/x/a.h" for number in range(MOST_FILES)))
    assert files({**many, "own/a.h": ""}, "own/x.c", "a.h") == ("own/a.h",)
    assert files(many, "src/x.c", "d7/x/a.h") == ("d7/x/a.h",)
    assert lead({**many, "z/x/a.h": ""}, "src/x.c", "d7/x/a.h") == UNRESOLVED


def test_a_using_declaration_leads_to_no_file_by_itself() -> None:
    assert lead(tree("a"), "x.cpp", "a", "b") == UNRESOLVED


def test_files_hold_no_modules_and_share_no_names() -> None:
    modules = modules_of(tree("a.c", "b.c"))
    assert modules.child("a.c", "b") == ()
    assert modules.beside("a.c") == {"a.c"}
