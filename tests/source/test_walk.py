from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from cairn.core.config import Config, load_config
from cairn.core.types import SkipReason, WalkResult
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.walk import walk, walk_to
from tests.conformance import conforms
from tests.support.repos import run_git
from tests.support.trees import write_tree


def walked(top: Path, config: Config | None = None, tracked: frozenset[bytes] | None = None) -> WalkResult:
    with Tree(find_root(str(top))) as tree:
        return walk(tree, config or Config(), tracked=tracked)


def keys(result: WalkResult) -> list[str]:
    return [candidate.key for candidate in result.candidates]


def reasons(result: WalkResult) -> dict[str, str]:
    return {os.fsdecode(skip.raw): skip.reason.value for skip in result.skips}


def test_every_name_has_one_outcome_and_they_come_in_byte_order(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {"a.py": "x", "a/b.py": "x", "a-b/c.py": "x", "Z.py": "x", "build/out.o": "x", ".gitignore": "build/\n"},
    )
    result = walked(tmp_path)
    assert keys(result) == [".gitignore", "Z.py", "a-b/c.py", "a.py", "a/b.py"]
    assert reasons(result) == {"build": "ignored"}
    assert result.folders == (b"", b"a", b"a-b")


def test_the_order_of_the_disk_does_not_show(tmp_path: Path) -> None:
    names = [f"{chr(97 + n % 26)}{n}.py" for n in range(200)]
    for seed, top in enumerate((tmp_path / "one", tmp_path / "two")):
        random.Random(seed).shuffle(names)
        write_tree(top, dict.fromkeys(names, "x"))
    assert keys(walked(tmp_path / "one")) == keys(walked(tmp_path / "two"))


@conforms("003.IGN2")
def test_rules_outside_the_repository_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "repo"
    write_tree(top, {"a.py": "x", "b.txt": "x"})
    run_git(top, "init", "-q")
    before = keys(walked(top))
    home = tmp_path / "home"
    write_tree(home, {".config/git/ignore": "*\n", ".gitconfig": "[core]\n\texcludesFile = ~/.config/git/ignore\n"})
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "exclude").write_text("*\n")
    monkeypatch.setenv("HOME", str(home))
    assert keys(walked(top)) == before == ["a.py", "b.txt"]
    listed = run_git(top, "ls-files", "-co", "--exclude-standard", HOME=str(home))
    assert listed == "", "git itself honours them, so the test can tell the difference"


@conforms("003.CD9")
def test_nested_repositories_and_submodules_are_not_entered(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    write_tree(top, {"a.py": "x", "vendor/lib/b.py": "x", "modules/sub/c.py": "x"})
    run_git(top, "init", "-q")
    run_git(top / "vendor" / "lib", "init", "-q")
    (top / "modules" / "sub" / ".git").write_text("gitdir: ../../.git/modules/sub\n")
    result = walked(top)
    assert keys(result) == ["a.py"]
    assert reasons(result) == {
        ".git": "vcs_internal",
        "modules/sub": "nested_repository",
        "vendor/lib": "nested_repository",
    }


def test_a_dot_git_that_git_would_not_accept_hides_nothing(tmp_path: Path) -> None:
    write_tree(tmp_path, {"sub/.git": "hello", "sub/a.py": "x"})
    assert keys(walked(tmp_path)) == ["sub/a.py"]


def test_cairnignore_has_the_last_word_but_cannot_open_what_is_secret(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            ".gitignore": "*.gen.py\nsecret/\n",
            ".cairnignore": "!*.gen.py\n!*.csv\n!.env\nnotes.md\n",
            "a.gen.py": "x",
            "data.csv": "1,2",
            ".env": "TOKEN=1",
            "notes.md": "x",
            "secret/k.py": "x",
        },
    )
    result = walked(tmp_path)
    assert keys(result) == [".cairnignore", ".gitignore", "a.gen.py", "data.csv"]
    assert reasons(result) == {".env": "sensitive_name", "notes.md": "cairnignored", "secret": "ignored"}
    assert [candidate.forced for candidate in result.candidates] == [False, False, True, True]


@conforms("003.CFG2", "003.CFG3")
def test_settings_can_narrow_the_tree_but_never_widen_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    top = tmp_path / "repo"
    write_tree(outside, {"secret.py": "x"})
    write_tree(top, {".gitignore": "*.log\n", "src/a.py": "x", "src/b.log": "x", "docs/c.md": "x", "src/gen/d.py": "x"})
    (top / "src" / "link.py").symlink_to(outside / "secret.py")
    settings = b'[index]\ninclude = ["src/**", "*.log"]\nexclude = ["src/gen"]\n'
    result = walked(top, load_config(settings))
    assert keys(result) == ["src/a.py"]
    found = reasons(result)
    assert found["src/b.log"] == "ignored"
    assert found["src/link.py"] == "outside_root"
    assert found["src/gen"] == found["docs/c.md"] == "excluded"


def test_a_user_may_say_which_names_are_no_secrets(tmp_path: Path) -> None:
    files = {"tests/a.pem": "x", "a.pem": "x", "kept/.ssh/config": "x", "credentials.csv": "x", ".gitignore": "b.pem\n"}
    write_tree(tmp_path, {**files, "b.pem": "x"})
    allowing = b'[index]\nallow_sensitive = ["tests/*.pem", "kept/", "*.csv", "b.pem"]\n'
    result = walked(tmp_path, load_config(None, allowing))
    assert keys(result) == [".gitignore", "kept/.ssh/config", "tests/a.pem"]
    # What else leaves a file out still does.
    assert reasons(result) == {"a.pem": "sensitive_name", "b.pem": "ignored", "credentials.csv": "data_file"}


def test_known_folders_hold_secrets_however_deep_they_lie(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"home/.ssh/keys/work": "x", "home/.ssh/work.pub": "x", ".aws/config": "x", ".aws/task.json": "x"}
    )
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").symlink_to(tmp_path / "home" / ".ssh" / "work.pub")
    result = walked(tmp_path)
    assert keys(result) == [".aws/task.json", "home/.ssh/work.pub"]
    assert set(reasons(result)) == {"home/.ssh/keys/work", ".aws/config", ".kube/config"}
    assert set(reasons(result).values()) == {"sensitive_name"}


@conforms("003.GIT2")
def test_untracked_files_can_be_left_out(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "x", "b.py": "x"})
    result = walked(tmp_path, tracked=frozenset({b"a.py"}))
    assert keys(result) == ["a.py"]
    assert reasons(result) == {"b.py": "untracked"}


def test_a_link_is_an_alias_of_its_target_or_skipped_with_its_own_reason(tmp_path: Path) -> None:
    write_tree(tmp_path, {"src/a.py": "x", "src/data.csv": "x", ".gitignore": "out/\n", "out/o.py": "x", ".env": "x"})
    for name, target in {
        "alias.py": "src/a.py",
        "absolute.py": str(tmp_path / "src" / "a.py"),
        "folder": "src",
        "data.py": "src/data.csv",
        "ignored.py": "out/o.py",
        "innocent.txt": ".env",
        "gone.py": "nowhere",
        "loop.py": "loop.py",
        "escape.py": "/etc/hostname",
    }.items():
        (tmp_path / name).symlink_to(target)
    result = walked(tmp_path)
    assert keys(result) == [".gitignore", "src/a.py"]
    found = reasons(result)
    assert {found[name] for name in ("alias.py", "absolute.py", "folder")} == {"alias"}
    assert {found[name] for name in ("data.py", "ignored.py", "innocent.txt")} == {"link_target_skipped"}
    assert (found["gone.py"], found["loop.py"], found["escape.py"]) == ("broken_link", "symlink_loop", "outside_root")


@conforms("003.STR2")
def test_every_soft_skip_is_recorded_with_its_reason(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "a.py": "x",
            "big.py": "x" * 200,
            "t.csv": "1",
            "yarn.lock": "x",
            "x.min.js": "x",
            ".gitignore": "o\n",
            "o": "x",
        },
    )
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "out.py").symlink_to("/etc/hostname")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.py")).write_text("x")
    found = reasons(walked(tmp_path, load_config(b"[limits]\nmax_file_bytes = 100\n")))
    assert found == {
        "big.py": "too_large",
        "bad\udcff.py": "name_not_utf8",
        "o": "ignored",
        "out.py": "outside_root",
        "pipe.py": "not_regular",
        "t.csv": "data_file",
        "x.min.js": "minified",
        "yarn.lock": "lock_file",
    }


def test_twins_are_reported_and_both_can_be_named(tmp_path: Path) -> None:
    composed, decomposed = "caf\u00e9.py", "cafe\u0301.py"
    write_tree(tmp_path, {"Readme.md": "x", "README.md": "x", composed: "x", decomposed: "x"})
    result = walked(tmp_path)
    assert result.collisions == ((b"README.md", b"Readme.md"), (decomposed.encode(), composed.encode()))
    assert keys(result) == ["README.md", "Readme.md", decomposed, composed]


def test_the_way_to_one_path_ends_as_in_the_whole_walk(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {".gitignore": "out/\n*.log\n", "a/b/c.py": "x", "a/b/d.log": "x", "out/deep/e.py": "x", ".env": "x"}
    )
    (tmp_path / "link.py").symlink_to("a/b/c.py")
    whole = walked(tmp_path)
    expected = {c.raw: "candidate" for c in whole.candidates} | {s.raw: s.reason.value for s in whole.skips}
    for raw, outcome in expected.items():
        with Tree(find_root(str(tmp_path))) as tree:
            one = walk_to(tree, Config(), raw)
        found = {c.raw: "candidate" for c in one.candidates} | {s.raw: s.reason.value for s in one.skips}
        assert found[raw] == outcome
    with Tree(find_root(str(tmp_path))) as tree:
        assert [(s.raw, s.reason) for s in walk_to(tree, Config(), b"out/deep/e.py").skips] == [
            (b"out", SkipReason.IGNORED)
        ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_a_skip_and_not_a_failure(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": "x", "locked/b.py": "x"})
    (tmp_path / "locked").chmod(0)
    try:
        result = walked(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert keys(result) == ["a.py"]
    assert reasons(result) == {"locked": "unreadable"}


def test_an_empty_folder_is_a_tree_too(tmp_path: Path) -> None:
    result = walked(tmp_path)
    assert (result.candidates, result.skips, result.folders) == ((), (), (b"",))
