"""What project files say, whoever wrote them."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_PROJECT_FILE_BYTES
from cairn.semantic.fences import Mark, Members, mark_of
from cairn.semantic.model import Family

FILES = (
    "pyproject.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "go.work",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "settings.gradle",
)


def read(name: str, text: str) -> Mark:
    found = mark_of(f"some/folder/{name}", lambda path: text.encode() if path.endswith(name) else None)
    assert found is not None
    return found


def test_a_project_begins_a_package_and_settings_of_a_linter_do_not() -> None:
    assert read("pyproject.toml", '[project]\nname = "shop"\n') == Mark(Family.PYTHON, True, name="shop")
    assert read("pyproject.toml", '[tool.poetry]\nname = "old"\n').name == "old"
    assert not read("pyproject.toml", "[tool.ruff]\nline-length = 100\n").package


def test_a_package_json_with_a_name_begins_a_package_and_one_that_says_how_files_are_loaded_does_not() -> None:
    assert read("package.json", '{"name": "web"}') == Mark(Family.TYPESCRIPT, True, name="web")
    assert not read("package.json", '{"type": "module"}').package


@pytest.mark.parametrize(
    ("name", "text", "listed"),
    [
        ("package.json", '{"workspaces": ["packages/*", "!packages/old"]}', ("packages/*", "!packages/old")),
        ("package.json", '{"workspaces": {"packages": ["./apps/**/"]}}', ("apps/**",)),
        ("pnpm-workspace.yaml", "packages:\n  - 'a/*'  # all\n  # no\n\n- \"!b\"\ncatalog:\n  - c\n", ("a/*", "!b")),
        ("pnpm-workspace.yaml", "x: 1\npackages: ['a', \"b/*\"]\n", ("a", "b/*")),
        ("go.work", "go 1.21\n\nuse ./a // first\nuse (\n\t./b\n\t./c // last\n)\n", ("a", "b", "c")),
        ("Cargo.toml", '[workspace]\nmembers = ["crates/*"]\nexclude = ["crates/x"]\n', ("crates/*", "!crates/x")),
        ("pom.xml", "<modules><module> a </module><!-- <module>b</module> --><module>c/pom.xml</module>", ("a", "c")),
        ("settings.gradle", "include ':a', ':b:c'\n// include ':d'\n", ("a", "b/c")),
        ("settings.gradle.kts", 'include(\n  ":a",\n  ":b",\n)\n', ("a", "b")),
    ],
)
def test_a_workspace_lists_its_packages(name: str, text: str, listed: tuple[str, ...]) -> None:
    found = read(name, text).members
    assert found is not None
    assert found.listed == listed


@pytest.mark.parametrize("text", ['include "lib-$x"\n', "include ':a'\nproject(':a').projectDir = file('z')\n", ""])
def test_a_gradle_build_that_puts_names_together_may_mean_any_folder(text: str) -> None:
    found = read("settings.gradle", text).members
    assert found is not None
    assert found.hold("whatever")


def test_a_crate_leans_on_the_folders_that_it_names() -> None:
    text = '[dependencies]\nb = { path = "../b" }\nc = "1"\n[workspace.dependencies]\nd.path = "d"\n'
    assert read("Cargo.toml", text).leans_on == ("../b", "d")


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("packages/*", ["packages/a"], ["packages", "packages/a/b", "packagesx/a"]),
        ("packages/**", ["packages/a", "packages/a/b"], ["other"]),
        ("**/lib", ["lib", "a/lib", "a/b/lib"], ["lib/a", "alib"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        (".", [""], ["a"]),
        ("../out", [], ["out", "a/out"]),
    ],
)
def test_a_pattern_takes_whole_names(pattern: str, inside: list[str], outside: list[str]) -> None:
    members = Members((pattern,))
    assert [folder for folder in [*inside, *outside] if members.hold(folder)] == inside


def test_the_last_pattern_that_matches_decides() -> None:
    members = Members(("a/*", "!a/x", "a/x"))
    assert members.hold("a/x")
    assert not Members(("a/*", "!a/x")).hold("a/x")


@pytest.mark.parametrize("name", FILES)
@given(data=st.binary(max_size=200))
@settings(max_examples=25)
def test_whatever_a_project_file_holds_it_marks_its_folder(name: str, data: bytes) -> None:
    assert mark_of(name, lambda _: data) is not None


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        ("pom.xml", "<parent>"),
        ("pom.xml", "<!--"),
        ("pom.xml", "<module>"),
        ("go.work", "use (\n"),
        ("settings.gradle", "include\n"),
        ("settings.gradle", "\n"),
        ("settings.gradle", "include ':a',"),
        ("pnpm-workspace.yaml", "packages:\n- a\n"),
        ("pyproject.toml", "a."),
        ("package.json", "["),
        ("package.json", '{"workspaces":'),
    ],
)
def test_a_hostile_project_file_is_read_in_a_moment(name: str, piece: str) -> None:
    data = (piece * (MAX_PROJECT_FILE_BYTES // len(piece))).encode()
    began = time.process_time()
    assert mark_of(name, lambda _: data) is not None
    assert time.process_time() - began < 5


def test_a_hostile_pattern_is_matched_in_a_moment() -> None:
    patterns = json.dumps({"workspaces": ["*a" * 500 + "b", "/".join(["**"] * 300) + "/b"]})
    members = read("package.json", patterns).members
    assert members is not None
    began = time.process_time()
    assert not members.hold("a" * 200)
    assert not members.hold("/".join("a" * 200))
    assert time.process_time() - began < 5


def test_what_is_no_project_file_marks_nothing() -> None:
    for name in ("main.py", "a.sln.txt", ".sln", "Makefile", "tsconfig.build.json"):
        assert mark_of(name, lambda _: b"") is None
