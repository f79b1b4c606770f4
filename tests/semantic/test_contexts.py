"""Which files an indexer takes together: fences, nested packages, and files that belong to nobody."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_CONTEXTS, MAX_PROJECT_FILE_BYTES
from cairn.semantic.contexts import (
    Discovery,
    ProjectMark,
    WorkspaceMembers,
    discover,
    mark_of,
    project_files,
    settings_of,
)
from cairn.semantic.model import Family, family_of

# --- What project files say, whoever wrote them.


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


def read(name: str, text: str) -> ProjectMark:
    found = mark_of(f"some/folder/{name}", lambda path: text.encode() if path.endswith(name) else None)
    assert found is not None
    return found


def test_a_project_begins_a_package_and_settings_of_a_linter_do_not() -> None:
    assert read("pyproject.toml", '[project]\nname = "shop"\n') == ProjectMark(Family.PYTHON, True, name="shop")
    assert read("pyproject.toml", '[tool.poetry]\nname = "old"\n').name == "old"
    assert not read("pyproject.toml", "[tool.ruff]\nline-length = 100\n").package


def test_a_package_json_with_a_name_begins_a_package_and_one_that_says_how_files_are_loaded_does_not() -> None:
    assert read("package.json", '{"name": "web"}') == ProjectMark(Family.TYPESCRIPT, True, name="web")
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
    members = WorkspaceMembers((pattern,))
    assert [folder for folder in [*inside, *outside] if members.hold(folder)] == inside


def test_the_last_pattern_that_matches_decides() -> None:
    members = WorkspaceMembers(("a/*", "!a/x", "a/x"))
    assert members.hold("a/x")
    assert not WorkspaceMembers(("a/*", "!a/x")).hold("a/x")


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


# --- Which project files decide about which context.


TREE = [
    *("package.json", "tsconfig.base.json", "a/package.json", "a/b/tsconfig.json", "a/b/c/tsconfig.json"),
    *("a/b/pyproject.toml", "go.mod", "a/b/notes.json", "z/tsconfig.json"),
]


def test_project_files_of_a_context_stand_in_its_folder_and_above_it() -> None:
    found = project_files(TREE)
    assert set(TREE) - set(found) == {"a/b/notes.json"}
    assert settings_of(Family.TYPESCRIPT, "a/b", found) == set(TREE[:4])
    assert settings_of(Family.PYTHON, "a/b", found) == {"a/b/pyproject.toml"}
    assert settings_of(Family.GO, "", found) == {"go.mod"}
    assert settings_of(Family.DOTNET, "", found) == set()


def found(files: Mapping[str, str]) -> Discovery:
    return discover(files, lambda path: files[path].encode() if path in files else None)


def roots(discovery: Discovery) -> list[str]:
    return [context.id for context in discovery.contexts]


PYTHON = '[project]\nname = "{}"\n'


def test_a_package_is_a_context_with_the_file_that_makes_it_one() -> None:
    (context,) = found({"pyproject.toml": PYTHON.format("shop"), "src/shop/a.py": ""}).contexts
    assert (context.id, context.name, context.fence) == ("python:.", "shop", "pyproject.toml")
    assert "pyproject.toml" in context.why


def test_a_nested_package_is_punched_out_and_a_name_that_only_begins_like_it_is_not() -> None:
    there = found(
        {
            "pyproject.toml": PYTHON.format("top"),
            "a.py": "",
            "libs/a/pyproject.toml": PYTHON.format("a"),
            "libs/a/x.py": "",
            "libs/ab/x.py": "",
        }
    )
    top, nested = there.contexts
    assert (top.punched, nested.punched) == (("libs/a",), ())
    assert there.owner("libs/a/x.py") == nested
    assert there.owner("libs/ab/x.py") == top
    assert there.counts == {"python:.": 2, "python:libs/a": 1}


def test_settings_inside_a_package_are_a_part_of_it() -> None:
    there = found(
        {
            "package.json": '{"name": "web"}',
            "src/tsconfig.json": "{}",
            "src/esm/package.json": '{"type": "module"}',
            "src/esm/a.mjs": "",
            "pyproject.toml": PYTHON.format("x"),
            "tests/pyproject.toml": "[tool.ruff]",
            "tests/t.py": "",
        }
    )
    assert roots(there) == ["python:.", "typescript:."]


def test_settings_above_which_nothing_stands_begin_a_context() -> None:
    there = found({"web/tsconfig.json": "{}", "web/a.ts": "", "scripts/b.js": ""})
    assert roots(there) == ["typescript:.", "typescript:web"]


def test_files_that_no_project_file_claims_are_a_context_where_the_indexer_needs_none() -> None:
    there = found({"a.py": "", "b.ts": "", "c.go": "", "d.rs": ""})
    assert roots(there) == ["python:.", "typescript:."]
    assert there.owner("c.go") is None
    assert there.contexts[0].fence == ""


def test_a_workspace_decides_which_packages_belong_to_somebody() -> None:
    there = found(
        {
            "package.json": '{"name": "all", "workspaces": ["packages/*"]}',
            "packages/a/package.json": '{"name": "a"}',
            "packages/a/x.ts": "",
            "examples/b/package.json": '{"name": "b"}',
            "examples/b/x.ts": "",
            "build.js": "",
        }
    )
    assert roots(there) == ["typescript:.", "typescript:packages/a"]
    (alone,) = there.detached
    assert (alone.root, alone.fence) == ("examples/b", "package.json")
    assert there.owner("examples/b/x.ts") is None
    assert there.contexts[0].punched == ("examples/b", "packages/a")
    assert "package.json lists it" in there.contexts[1].why


def test_the_nearest_fence_wins() -> None:
    there = found(
        {
            "package.json": '{"workspaces": ["apps/*"]}',
            "inner/package.json": '{"name": "inner", "workspaces": ["libs/*"]}',
            "inner/libs/a/package.json": '{"name": "a"}',
            "inner/libs/a/x.ts": "",
            "inner/y.ts": "",
        }
    )
    # The outer one does not list it, but the inner one is a fence of its own and lists what is in it.
    assert roots(there) == ["typescript:inner", "typescript:inner/libs/a"]
    assert there.detached == ()


def test_modules_of_go_follow_the_workspace_file() -> None:
    there = found(
        {
            "go.work": "go 1.21\nuse ./a\n",
            "a/go.mod": "module example.com/a\n",
            "a/main.go": "",
            "b/go.mod": "module example.com/b\n",
            "b/main.go": "",
        }
    )
    assert [(one.id, one.name) for one in there.contexts] == [("go:a", "example.com/a")]
    assert [one.root for one in there.detached] == ["b"]


def test_a_cargo_workspace_is_one_context_with_its_members_and_what_they_lean_on() -> None:
    there = found(
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
            "crates/a/Cargo.toml": '[package]\nname = "a"\n[dependencies]\nb = { path = "../../more/b" }\n',
            "crates/a/src/lib.rs": "",
            "more/b/Cargo.toml": '[package]\nname = "b"\n[dependencies]\nc = { path = "../c" }\n',
            "more/b/src/lib.rs": "",
            "more/c/Cargo.toml": '[package]\nname = "c"\n',
            "more/c/src/lib.rs": "",
            "more/d/Cargo.toml": '[package]\nname = "d"\n',
            "more/d/src/lib.rs": "",
        }
    )
    (context,) = there.contexts
    assert context.punched == ("more/d",)
    assert "3 packages" in context.why
    assert there.owner("more/c/src/lib.rs") == context
    assert there.owner("more/d/src/lib.rs") is None


def test_modules_within_modules_belong_to_the_outermost_build() -> None:
    there = found(
        {
            "pom.xml": "<artifactId>all</artifactId><modules><module>a</module></modules>",
            "a/pom.xml": "<parent><artifactId>all</artifactId></parent><modules><module>b</module></modules>",
            "a/b/pom.xml": "<artifactId>b</artifactId>",
            "a/b/B.java": "",
        }
    )
    (context,) = there.contexts
    assert (context.id, context.name) == ("jvm:.", "all")
    assert there.owner("a/b/B.java") == context


def test_the_outermost_list_of_commands_is_the_context_of_c() -> None:
    there = found({"CMakeLists.txt": "", "lib/CMakeLists.txt": "", "lib/a.c": "", "lib/a.h": ""})
    assert roots(there) == ["clang:."]


def test_a_solution_holds_its_projects() -> None:
    there = found({"all.sln": "", "src/a/a.csproj": "", "src/a/A.cs": "", "b.gemspec": "", "lib/b.rb": ""})
    assert roots(there) == ["dotnet:.", "ruby:."]


def test_a_family_without_a_file_has_no_context() -> None:
    assert roots(found({"package.json": '{"name": "web"}', "pyproject.toml": PYTHON.format("x")})) == []


def test_the_hash_of_a_context_follows_the_files_that_change_what_names_mean() -> None:
    files = {
        "package.json": '{"name": "all", "workspaces": ["a"]}',
        "a/package.json": '{"name": "a"}',
        "a/tsconfig.json": "{}",
        "a/x.ts": "",
        "b.ts": "",
    }

    def hashes(changed: Mapping[str, str]) -> list[str]:
        return [one.config_hash for one in found({**files, **changed}).contexts]

    before = hashes({})
    assert hashes({"a/x.ts": "let y", "README.md": "x"}) == before
    after = hashes({"a/tsconfig.json": '{"strict": true}'})
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)
    assert all(one != two for one, two in zip(hashes({"tsconfig.base.json": "{}"}), before, strict=True))
    # Who else belongs to the workspace says what an import means.
    assert all(
        one != two for one, two in zip(hashes({"package.json": '{"workspaces": ["a", "c"]}'}), before, strict=True)
    )


def test_a_project_file_that_is_too_large_or_cannot_be_read_still_marks_its_folder() -> None:
    large = '{"name": "web", "x": "' + "x" * MAX_PROJECT_FILE_BYTES + '"}'
    there = found({"sub/tsconfig.json": "{}", "sub/package.json": large, "sub/a.ts": "", "b.ts": ""})
    assert roots(there) == ["typescript:.", "typescript:sub"]
    assert discover(["go.mod", "main.go"], lambda _: None).contexts[0].name == "(top)"


def test_no_more_contexts_are_kept_than_somebody_can_look_at() -> None:
    files = {f"p{number}/go.mod": "module m" for number in range(MAX_CONTEXTS + 5)}
    files |= {f"p{number}/m.go": "" for number in range(MAX_CONTEXTS + 5)}
    there = found(files)
    assert (len(there.contexts), there.left_out) == (MAX_CONTEXTS, 5)


_FOLDERS = st.lists(st.sampled_from(["a", "b", "ab", "src"]), max_size=3).map("/".join)
_NAMES = st.sampled_from(
    [
        *("x.py", "x.ts", "x.go", "x.rs", "pyproject.toml", "setup.py", "package.json", "tsconfig.json", "go.mod"),
        *("go.work", "Cargo.toml"),
    ]
)
_TEXTS = st.sampled_from(
    [
        *("", '{"name": "n"}', '{"workspaces": ["a", "b/*"]}', "use ./a\n", '[workspace]\nmembers = ["a"]\n'),
        *('[project]\nname = "n"\n', '[package]\nname = "n"\n'),
    ]
)


@given(st.dictionaries(st.tuples(_FOLDERS, _NAMES).map(lambda pair: "/".join(filter(None, pair))), _TEXTS, max_size=14))
@settings(max_examples=300)
def test_every_file_has_one_owner_or_none_and_contexts_do_not_overlap(files: dict[str, str]) -> None:
    there = found(files)
    assert there == found(dict(reversed(files.items())))
    assert len({one.id for one in there.contexts}) == len(there.contexts)
    for path in files:
        holding = [
            one
            for one in there.contexts
            if one.family is family_of(path)
            and (not one.root or path.startswith(f"{one.root}/"))
            and not any(path.startswith(f"{hole}/") for hole in one.punched)
        ]
        owner = there.owner(path)
        assert holding == ([] if owner is None else [owner])
    assert all(there.counts[one.id] for one in there.contexts)
    assert sum(there.counts.values()) == sum(there.owner(path) is not None for path in files)
