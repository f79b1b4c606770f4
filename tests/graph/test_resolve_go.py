"""Packages of Go are folders below a module; what `go.mod` does not say is somebody else's."""

from __future__ import annotations

import pytest

from cairn.syntax.resolver import EXTERNAL, MOST_FILES, UNRESOLVED
from tests.graph.test_modules import files, lead, modules_of

CODE = {"b/one.go": "", "b/two.go": "", "b/two_test.go": "", "b/c/deep.go": "", "b/read.me": ""}


def test_all_files_of_the_folder_are_the_package_but_not_its_tests_and_not_the_folders_in_it() -> None:
    found = lead({**CODE, "go.mod": "module m\n"}, "a.go", "m/b", "Name")
    assert (found.files, found.name) == (("b/one.go", "b/two.go"), "Name")


@pytest.mark.parametrize(
    "text",
    [
        "module example.com/m\n",
        'module "example.com/m" // quoted\n',
        "// a comment\n\n  module\texample.com/m\n",
        "module example.com/m\r\ngo 1.22\r\n",
    ],
)
def test_a_module_says_its_path_in_any_of_the_ways_that_go_reads(text: str) -> None:
    assert files({**CODE, "go.mod": text}, "a.go", "example.com/m/b") == ("b/one.go", "b/two.go")


@pytest.mark.parametrize("text", ["", "modules m\n", "go 1.22\n// module m\n", "module\nm\n", "\x00\xff" * 1_000])
def test_without_a_module_in_go_mod_every_path_is_somebody_elses(text: str) -> None:
    assert lead({**CODE, "go.mod": text}, "a.go", "m/b") == EXTERNAL
    assert lead(CODE, "a.go", "m/b") == EXTERNAL


def test_a_go_mod_that_is_too_large_to_be_one_is_not_read() -> None:
    assert lead({**CODE, "go.mod": "module m\n" + "//" * 40_000}, "a.go", "m/b") == EXTERNAL


def test_the_longest_module_around_a_path_is_meant() -> None:
    both = {"go.mod": "module m\n", "b/go.mod": "module m/b\n", "elsewhere/go.mod": "module m/c\n"}
    code = {**both, "b/x.go": "", "elsewhere/y.go": "", "c/z.go": ""}
    assert files(code, "a.go", "m/b") == ("b/x.go",)
    assert files(code, "a.go", "m/c") == ("elsewhere/y.go",)


def test_of_two_modules_of_one_path_the_first_in_order_of_place_is_meant() -> None:
    code = {"y/go.mod": "module m\n", "x/go.mod": "module m\n", "x/a.go": "", "y/a.go": ""}
    assert files(code, "z.go", "m") == ("x/a.go",)


def test_a_path_of_the_own_module_that_is_not_there_is_missing_and_not_somebody_elses() -> None:
    assert lead({"go.mod": "module m\n"}, "a.go", "m/gone") == UNRESOLVED
    assert lead({"go.mod": "module m\n"}, "a.go", "mm/gone") == EXTERNAL


def test_what_is_vendored_is_found_with_and_without_a_module() -> None:
    code = {"vendor/example.org/log/log.go": "", "vendor/example.org/log/log_test.go": ""}
    for settings in ({}, {"go.mod": "module m\n"}):
        assert files({**code, **settings}, "a.go", "example.org/log") == ("vendor/example.org/log/log.go",)


def test_a_path_that_is_relative_or_empty_leads_nowhere_that_can_be_shown() -> None:
    assert lead({**CODE, "go.mod": "module m\n"}, "a.go", "./b") == UNRESOLVED
    assert lead({**CODE, "go.mod": "module m\n"}, "a.go", "") == EXTERNAL


def test_a_package_of_endless_files_is_cut() -> None:
    code = {f"b/f{number}.go": "" for number in range(MOST_FILES + 50)}
    assert len(lead({**code, "go.mod": "module m\n"}, "a.go", "m/b").files) == MOST_FILES


def test_the_files_of_a_folder_see_each_other_tests_and_all() -> None:
    modules = modules_of(CODE)
    assert modules.beside("b/one.go") == {"b/one.go", "b/two.go", "b/two_test.go"}
    assert modules.beside("b/one.go") is modules.beside("b/two.go")
    assert modules.beside("nowhere/x.go") == {"nowhere/x.go"}


def test_no_package_is_the_child_of_a_file() -> None:
    assert modules_of(CODE).child("b/one.go", "c") == ()
