"""Modules of Python are found as the interpreter would, and never beyond what lies in the snapshot."""

from __future__ import annotations

import pytest

from cairn.syntax.resolver import EXTERNAL, UNRESOLVED
from tests.graph.test_modules import files, lead, modules_of


def tree(*paths: str) -> dict[str, str]:
    return dict.fromkeys(paths, "")


def test_a_package_goes_before_a_file_of_its_name_and_sources_before_stubs() -> None:
    assert files(tree("a.py", "a.pyi", "a/__init__.py"), "x.py", "a") == ("a/__init__.py",)
    assert files(tree("a.py", "a.pyi", "a/__init__.pyi"), "x.py", "a") == ("a/__init__.pyi",)
    assert files(tree("a.py", "a.pyi"), "x.py", "a") == ("a.py",)


def test_a_name_may_be_a_module_and_what_the_package_defines_and_both_are_told() -> None:
    found = lead(tree("p/__init__.py", "p/m.py"), "x.py", "p", "m")
    assert (found.files, found.name, found.module) == (("p/__init__.py",), "m", ("p/m.py",))


def test_everything_of_a_package_is_never_one_of_its_modules() -> None:
    found = lead(tree("p/__init__.py", "p/*.py"), "x.py", "p", "*")
    assert (found.files, found.name, found.module) == (("p/__init__.py",), "*", ())


def test_a_package_without_a_file_of_its_own_gives_its_modules_and_nothing_else() -> None:
    space = tree("p/m.py")
    assert files(space, "x.py", "p", "m") == ("p/m.py",)
    assert lead(space, "x.py", "p", "value") == EXTERNAL
    assert lead(space, "p/x.py", ".", "value") == UNRESOLVED
    assert lead(space, "p/x.py", ".", "*") == UNRESOLVED


def test_the_nearest_folder_goes_first_and_each_before_the_src_in_it() -> None:
    many = ("app/lib/a.py", "app/lib/src/a.py", "app/a.py", "app/src/a.py", "a.py", "src/a.py")
    for size in range(len(many)):
        assert files(tree(*many[size:]), "app/lib/x.py", "a") == (many[size],)


def test_the_root_of_a_file_is_outside_of_every_package_around_it() -> None:
    inner = tree("src/p/__init__.py", "src/p/q/__init__.py", "src/p/q/near.py", "src/far.py")
    assert files(inner, "src/p/q/x.py", "far") == ("src/far.py",)
    assert lead(inner, "src/p/q/x.py", "near") == EXTERNAL


def test_only_a_file_right_beside_a_script_goes_before_the_standard_library() -> None:
    assert files(tree("json.py"), "x.py", "json") == ("json.py",)
    assert lead(tree("json.py", "sub/src/json.py"), "sub/x.py", "json") == EXTERNAL
    assert lead(tree("vendored/json/__init__.py"), "x.py", "json") == EXTERNAL


def test_a_module_that_a_known_package_does_not_have_is_missing_and_not_somebody_elses() -> None:
    assert lead(tree("p/__init__.py"), "x.py", "p.gone.deep", "value") == UNRESOLVED


@pytest.mark.parametrize("dots", [1, 2, 3, 4, 1_000])
def test_more_dots_than_folders_lead_nowhere(dots: int) -> None:
    found = files(tree("v.py", "a/v.py", "a/b/v.py"), "a/b/x.py", "." * dots, "v")
    assert found == {1: ("a/b/v.py",), 2: ("a/v.py",), 3: ("v.py",)}.get(dots, "unresolved")


def test_a_name_with_dots_in_odd_places_leads_nowhere() -> None:
    for words in ("p..m", "p.", "..p..m", ".p."):
        assert not isinstance(files(tree("p/m.txt"), "x.py", words), tuple)


def test_a_file_that_stands_a_thousand_folders_deep_looks_in_so_many_places_only() -> None:
    deep = "/".join(["d"] * 1_000)
    near, far, top = f"{deep}/near.py", "d/d/far.py", "top.py"
    modules = tree(near, far, top)
    assert files(modules, f"{deep}/x.py", "near") == (near,)
    assert files(modules, f"{deep}/x.py", "far") == "external"
    assert files(modules, f"{deep}/x.py", "top") == (top,)


def test_the_module_of_a_package_is_found_from_the_packages_own_file_only() -> None:
    modules = modules_of(tree("p/__init__.py", "p/m.py", "p/q/__init__.py", "one.py", "m.py"))
    assert modules.child("p/__init__.py", "m") == ("p/m.py",)
    assert modules.child("p/__init__.py", "q") == ("p/q/__init__.py",)
    assert modules.child("p/__init__.py", "gone") == ()
    assert modules.child("one.py", "m") == ()
