"""What ignore files say about names: written cases, each of them also asked of git."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_IGNORE_BYTES, MAX_IGNORE_PATTERNS, MAX_PATTERN_BYTES
from cairn.source.ignore import GlobSet, IgnoreRule, IgnoreStack, RuleSet, decide, parse_rules
from tests.conformance import conforms

# (ignore file, path, ignored). A path that ends in a slash is a folder.
GOLDEN: list[tuple[bytes, bytes, bool]] = [
    # names at every depth, and what a slash does to them
    (b"foo", b"foo", True),
    (b"foo", b"x/y/foo", True),
    (b"foo", b"foo/below", True),
    (b"foo", b"Foo", False),
    (b"foo", b"foobar", False),
    (b"/foo", b"foo", True),
    (b"/foo", b"x/foo", False),
    (b"x/foo", b"x/foo", True),
    (b"x/foo", b"y/x/foo", False),
    (b"foo/", b"foo/", True),
    (b"foo/", b"foo", False),
    (b"foo/", b"x/foo/", True),
    (b"x/foo/", b"x/foo", False),
    # the last line wins; a file in an ignored folder cannot be taken back
    (b"*.log\n!keep.log", b"keep.log", False),
    (b"!keep.log\n*.log", b"keep.log", True),
    (b"out\n!out/keep", b"out/keep", True),
    (b"out/*\n!out/keep", b"out/keep", False),
    (b"out/*\n!out/keep", b"out/other", True),
    (b"/*\n!/src/", b"src/a", False),
    (b"/*\n!/src/", b"other/a", True),
    (b"a.b\n*.b\n!a.b\n*.c", b"a.b", False),
    (b"*.b\n!a.b", b"a.b", False),
    (b"!a.b\n*.b", b"a.b", True),
    (b"*.tar.gz\n!*.gz", b"a.tar.gz", False),
    (b"*.gz\n!*.tar.gz", b"a.tar.gz", False),
    (b"!*.tar.gz\n*.gz", b"a.tar.gz", True),
    (b"a*\n!ab\n", b"ab", False),
    (b"!ab\na*\n", b"ab", True),
    # stars and question marks
    (b"*", b".hidden", True),
    (b"*.py", b".py", True),
    (b"*.py", b"py", False),
    (b"*~", b"file~", True),
    (b"a*b*c", b"abbc", True),
    (b"*ab*ab", b"ab", False),
    (b"a*a", b"a", False),
    (b"?", b"a", True),
    (b"?", b"\x80", True),
    (b"?", "é".encode(), False),
    (b"x/*", b"x/a", True),
    (b"/*/b", b"a/b", True),
    (b"/*/b", b"a/x/b", False),
    # two stars
    (b"foo/**", b"foo/a/b", True),
    (b"foo/**", b"foo/", False),
    (b"**/foo", b"foo", True),
    (b"**/foo", b"a/b/foo", True),
    (b"a/**/b", b"a/b", True),
    (b"a/**/b", b"a/x/y/b", True),
    (b"a/**/b", b"x/a/b", False),
    (b"a/**/**/b", b"a/b", True),
    (b"a**b", b"axb", True),
    (b"a**b", b"a/b", False),
    (b"x/a**", b"x/ab/c", True),
    (b"/a**/b", b"ax/y/b", True),
    (b"/a**/b", b"ab", True),
    (b"/?**/b", b"ax/y/b", False),
    (b"aab**/**", b"x/aab", False),
    (b"aab**/**", b"aab", True),
    (b"**\\/b", b"b", False),
    (b"**\\/b", b"a/b", True),
    (b"a**\\/b", b"a/x/b", True),
    (b"a**//b", b"a/b", True),
    (b"a//b", b"a/b", False),
    (b"//a", b"a", False),
    (b"a//", b"a/", False),
    # classes
    (b"[ab]", b"b", True),
    (b"[!ab]", b"b", False),
    (b"[^ab]", b"c", True),
    (b"[a-c]", b"b", True),
    (b"[z-a]", b"z", True),
    (b"[z-a]", b"a", False),
    (b"[]]", b"]", True),
    (b"[a-]", b"-", True),
    (b"[\\]]", b"]", True),
    (b"[\\a-\\c]", b"b", True),
    (b"[[:alpha:]]", b"q", True),
    (b"[[:nonsense:]]", b"n", False),
    (b"[[:alpha]", b"p", True),
    (b"[[:]", b":", True),
    (b"[[:digit:]-z]", b"-", True),
    (b"[[:digit:]-z]", b"q", False),
    (b"x[", b"x[", False),
    (b"[a", b"[a", False),
    (b"x/[a/b]c", b"x/ac", True),
    (b"x[/]y", b"x/y", False),
    (b"[\x80-\xff]", b"\xfe", True),
    (b"*.py[cod]", b"m.pyo", True),
    (b"*.py[cod]", b"m.py", False),
    (b"*.py[!c]", b"m.pyo", True),
    # escapes, comments, white space, line ends
    (b"#a", b"#a", False),
    (b"\\#a", b"#a", True),
    (b"!a", b"!a", False),
    (b"\\!a", b"!a", True),
    (b"a\\*", b"a*", True),
    (b"a\\*", b"ab", False),
    (b"a\\", b"a", False),
    (b"a\\", b"a\\", False),
    (b"a\\/", b"a/", False),
    (b"a\\\\b", b"a\\b", True),
    (b"a  ", b"a", True),
    (b"a\\ ", b"a ", True),
    (b"a\\  ", b"a ", True),
    (b"a\\\\ ", b"a\\", True),
    (b" a", b" a", True),
    (b"a\t", b"a", False),
    (b"a\r\nb\r\n", b"b", True),
    (b"a\r\nb\r", b"b", True),
    (b"\xef\xbb\xbfa", b"a", True),
    (b"b\n\xef\xbb\xbfa", b"a", False),
    (b"a\0b", b"a", True),
    (b"a \0b", b"a", True),
    (b"\0a\nb", b"b", True),
    (b"\n\n/\n!\n!/\n", b"a", False),
    ("é".encode(), "é".encode(), True),
]


def _git(root: Path, *arguments: str, data: bytes = b"") -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, env=environment, input=data, capture_output=True, check=False).stdout


def _ignored_by_git(root: Path, paths: list[bytes]) -> set[bytes]:
    _git(root, "init", "-q")
    return set(_git(root, "check-ignore", "--no-index", "-z", "--stdin", data=b"\0".join(paths)).split(b"\0")) - {b""}


def _make(root: Path, path: bytes) -> None:
    target = Path(os.fsdecode(os.path.join(os.fsencode(root), path)))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.mkdir(exist_ok=True) if path.endswith(b"/") else target.touch()


def _stack(gitignore: bytes, override: bytes | None = None) -> IgnoreStack:
    rules = None if override is None else parse_rules(override, ".cairnignore")
    return IgnoreStack.for_root(parse_rules(gitignore, ".gitignore"), rules)


def _decided(gitignore: bytes, path: bytes) -> bool:
    rules = {b"": parse_rules(gitignore, ".gitignore")}
    found = decide(path, path.endswith(b"/"), rules.get, None)
    return found is not None and not found[1].negated


@conforms("003.IGN1")
@pytest.mark.parametrize(("gitignore", "path", "ignored"), GOLDEN)
def test_a_written_rule_decides_as_written(gitignore: bytes, path: bytes, ignored: bool) -> None:
    assert _decided(gitignore, path) is ignored


@conforms("003.IGN1", "003.CIT3")
def test_git_agrees_with_every_written_case(tmp_path: Path) -> None:
    paths = []
    for number, (gitignore, path, _) in enumerate(GOLDEN):
        folder = b"case%d/" % number
        _make(tmp_path, folder + path)
        (tmp_path / f"case{number}" / ".gitignore").write_bytes(gitignore)
        paths.append((folder + path).rstrip(b"/"))
    ignored = _ignored_by_git(tmp_path, paths)
    assert [path in ignored for path in paths] == [case[2] for case in GOLDEN]


@conforms("003.IGN1")
def test_every_named_class_holds_the_same_bytes_as_gits(tmp_path: Path) -> None:
    named = b"alnum alpha blank cntrl digit graph lower print punct space upper xdigit".split()
    letters = [bytes((c,)) for c in range(1, 256) if c not in b"/."]
    for name in named:
        (tmp_path / name.decode()).mkdir()
        (tmp_path / name.decode() / ".gitignore").write_bytes(b"x[[:%b:]]" % name)
    ignored = _ignored_by_git(tmp_path, [name + b"/x" + letter for name in named for letter in letters])
    stacks = {name: _stack(b"x[[:%b:]]" % name) for name in named}
    ours = {name + b"/x" + c for name in named for c in letters if stacks[name].verdict(b"x" + c, False)}
    assert ours == ignored


@conforms("003.IGN1")
def test_nested_ignore_files_leave_the_set_of_files_that_git_lists(tmp_path: Path) -> None:
    files = {
        b".gitignore": b"*.log\n/build/\ndocs/_out/\n!/keep.log\n**/cache/tmp\n",
        b"src/.gitignore": b"!debug.log\ngen/\n/only-here\n*.tmp\n",
        b"src/deep/.gitignore": b"!*.tmp\n*.log\n",
    }
    plain = b"""
        a.py a.log keep.log build/x src/build/x docs/_out/x docs/_out2/x src/docs/_out/x src/debug.log src/a.log
        src/gen/x src/deep/gen/x src/only-here src/deep/only-here src/a.tmp src/deep/a.tmp src/deep/debug.log
        cache/tmp x/cache/tmp x/cache/other x/tmp cache/x/tmp
    """
    for path in (*files, *plain.split()):
        _make(tmp_path, path)
    for path, data in files.items():
        (tmp_path / os.fsdecode(path)).write_bytes(data)
    # A link to a folder is not a folder: `gen/` does not mean it.
    (tmp_path / "src" / "deep" / "sub").mkdir()
    (tmp_path / "src" / "deep" / "sub" / "gen").symlink_to("../../../docs")

    rules = {path.rpartition(b"/")[0]: parse_rules(data, os.fsdecode(path)) for path, data in files.items()}
    listed: set[bytes] = set()

    def walk(folder: bytes, stack: IgnoreStack) -> None:
        for entry in os.scandir(os.path.join(os.fsencode(tmp_path), folder)):
            is_folder = entry.is_dir(follow_symlinks=False)
            rule = stack.verdict(entry.name, is_folder)
            path = folder + b"/" + entry.name if folder else entry.name
            if entry.name == b".git" or (rule is not None and not rule.negated):
                continue
            if is_folder:
                walk(path, stack.enter(entry.name, rules.get(path)))
            else:
                listed.add(path)

    _git(tmp_path, "init", "-q")
    walk(b"", IgnoreStack.for_root(rules[b""], None))
    output = _git(tmp_path, "ls-files", "-co", "--exclude-per-directory=.gitignore", "-z")
    assert listed == set(output.split(b"\0")) - {b""}
    assert b"src/debug.log" in listed
    assert b"src/deep/sub/gen" in listed


def test_the_deciding_rule_is_named_with_its_file_and_line() -> None:
    rule = _stack(b"# notes\n\n*.pyc\n!keep.pyc\nout/\n").verdict(b"keep.pyc", False)
    assert rule == IgnoreRule(negated=True, folder_only=False, pattern="!keep.pyc", source=".gitignore", line=4)


def test_a_pattern_is_safe_to_show() -> None:
    rule = _stack(b"a\x1b[31]m\xff*").verdict(b"a\x1b3m\xff", False)
    assert rule is not None
    assert rule.pattern == "a\\x1b[31]m\\xff*"


def test_the_override_decides_before_every_gitignore() -> None:
    root = _stack(b"*.csv\n", override=b"!data.csv\nsecret\n")
    deep = root.enter(b"a", parse_rules(b"data.csv\n!secret\n", "a/.gitignore"))
    for stack in (root, deep, deep.enter(b"b", parse_rules(b"*\n", "a/b/.gitignore"))):
        taken = stack.verdict(b"data.csv", False)
        assert taken is not None
        assert (taken.source, taken.negated) == (".cairnignore", True)
        left = stack.verdict(b"secret", False)
        assert left is not None
        assert (left.source, left.negated) == (".cairnignore", False)
    other = root.verdict(b"other.csv", False)
    assert other is not None
    assert other.source == ".gitignore"


def test_an_override_about_one_place_does_not_outrank_elsewhere() -> None:
    root = _stack(b"*.csv\n", override=b"!/here/*.csv\n")
    inside = root.enter(b"here", parse_rules(b"*.csv\n", "here/.gitignore")).verdict(b"a.csv", False)
    outside = root.enter(b"there", parse_rules(b"*.csv\n", "there/.gitignore")).verdict(b"a.csv", False)
    assert inside is not None
    assert outside is not None
    assert (inside.source, outside.source) == (".cairnignore", "there/.gitignore")


def test_folders_in_which_nothing_changes_share_their_parents_stack() -> None:
    root = _stack(b"*.log\nbuild/\n/dist\n")
    below = root.enter(b"src", None)
    assert below is not root  # /dist is about the root alone
    assert below.enter(b"pkg", None) is below
    assert _stack(b"**/a/b\n*.log\n").enter(b"src", None).enter(b"x", None).verdict(b"b", False) is None


def test_no_rules_are_false_and_decide_nothing() -> None:
    empty = parse_rules(b"# only words\n\n", ".gitignore")
    assert not empty
    assert parse_rules(b"a", ".gitignore")
    for rules in (None, empty):
        stack = IgnoreStack.for_root(rules, rules)
        assert stack.verdict(b"a", False) is None
        assert stack.enter(b"a", rules) is stack


def test_a_folder_that_is_ignored_decides_for_everything_in_it() -> None:
    asked: list[bytes] = []

    def load(folder: bytes) -> RuleSet | None:
        asked.append(folder)
        return {b"": parse_rules(b"out/\n", ".gitignore")}.get(folder)

    found = decide(b"a/out/deep/file", False, load, None)
    assert found is not None
    assert found[0] == b"a/out"
    assert found[1].pattern == "out/"
    assert asked == [b"", b"a"]  # nothing below an ignored folder is read


def test_a_question_about_a_path_names_the_line_that_takes_it_in() -> None:
    rules = {b"": parse_rules(b"*.log", ".gitignore"), b"a": parse_rules(b"!x.log", "a/.gitignore")}
    found = decide(b"a/x.log", False, rules.get, None)
    assert found is not None
    assert (found[0], found[1].negated, found[1].source) == (b"a/x.log", True, "a/.gitignore")
    assert decide(b"a/x.py", False, rules.get, None) is None
    assert decide(b"", True, rules.get, None) is None


def test_globs_of_the_settings_match_paths_and_the_folders_they_are_in() -> None:
    globs = GlobSet.from_patterns(["src/**/*.py", "docs/", "!docs/private"], "settings")
    assert globs.matches(b"src/a/b.py") == IgnoreRule(False, False, "src/**/*.py", "settings", 1)
    assert globs.matches(b"docs/deep/page.md") == IgnoreRule(False, True, "docs/", "settings", 2)
    assert globs.matches(b"docs") is None
    assert globs.matches(b"docs", is_folder=True) is not None
    assert globs.matches(b"src/a.c") is None
    assert GlobSet.from_patterns([], "settings").matches(b"a") is None


def test_globs_survive_a_path_of_two_thousand_folders() -> None:
    globs = GlobSet.from_patterns(["/".join("a" * 500) + "/**/end"], "settings")
    assert globs.matches(b"a/" * 2_000 + b"end") is not None


# --- hostile ignore files -----------------------------------------------------------------------------------------


def test_an_ignore_file_is_used_up_to_its_cap_in_whole_lines() -> None:
    line = b"x" * 99 + b"\n"
    data = b"first\n" + line * (MAX_IGNORE_BYTES // 100 + 1) + b"last\n"
    rules = parse_rules(data, "a/.gitignore")
    stack = IgnoreStack.for_root(rules, None)
    assert stack.verdict(b"first", False)
    assert stack.verdict(b"last", False) is None
    assert {len(rule.pattern) for rule in rules.rules} == {5, 99}  # no line was cut in two
    assert rules.warnings == ("a/.gitignore: only its first 64 KiB are used.",)


def test_too_many_patterns_are_cut_and_too_long_ones_left_out_with_a_word() -> None:
    many = parse_rules(b"a\n" * (MAX_IGNORE_PATTERNS + 1), ".gitignore")
    assert len(many.rules) == MAX_IGNORE_PATTERNS
    assert many.warnings == (".gitignore: only its first 10,000 patterns are used.",)
    long = parse_rules(b"a" * (MAX_PATTERN_BYTES + 1) + b"\nb\n" + b"c" * MAX_PATTERN_BYTES, ".gitignore")
    assert [rule.line for rule in long.rules] == [2, 3]
    assert long.warnings == (".gitignore:1: a pattern longer than 1,024 bytes is not used.",)


def _hostile(rng: random.Random) -> bytes:
    size = rng.randint(5, 120)
    soup = (b"*", b"**", b"?", b"[!b]", b"[a-z]", b"a", b"/", b"**/", b"a*", b"/**/a")
    return rng.choice(
        (
            b"*a" * size + b"*b",
            b"*" * size * 8 + b"b",
            b"*[ab]" * size + b"c",
            b"**/" * size + b"*a*b*c",
            b"**/a/" * (size // 2) + b"**/b",
            b"a/**/**/" * (size // 2) + b"*b",
            b"*" + b"a" * size + b"b*c",
            b"*" + b"?" * size + b"[!b]" * size + b"*a" * 20 + b"c",
            b"".join(rng.choice(soup) for _ in range(size)) + b"z",
        )
    )


def test_a_thousand_hostile_patterns_cannot_slow_a_match_down() -> None:
    rng = random.Random(5)
    costs = []
    for _ in range(1_000):
        stack = _stack(_hostile(rng)).enter(b"a", None).enter(b"a", None)
        for name in (b"a" * 255, b"ab" * 127):
            stack.enter(name, None)
            times = []
            for _ in range(5):
                start = time.perf_counter_ns()
                stack.verdict(name, False)
                stack.enter(name, None)
                times.append(time.perf_counter_ns() - start)
            costs.append(min(times))
    # The promise is 50 µs, and a quiet machine measures 28; a busy one gets some room. Backtracking takes seconds.
    assert sorted(costs)[len(costs) * 99 // 100] < 200_000


def test_a_pattern_of_many_double_stars_is_still_exact() -> None:
    deep = _stack(b"**/a/" * 100 + b"**/b")
    for _ in range(99):
        deep = deep.enter(b"a", None)
    assert deep.verdict(b"b", False) is None
    assert deep.enter(b"a", None).verdict(b"b", False)
    assert deep.enter(b"x", None).enter(b"a", None).enter(b"y", None).verdict(b"b", False)


def test_rules_that_reach_ever_new_states_keep_little() -> None:
    rules = parse_rules(b"\n".join(b"**/*%d*/x" % digit for digit in range(10)) * 50, ".gitignore")
    stack = IgnoreStack.for_root(rules, None)
    for number in range(1_000):
        stack.enter(b"%d" % number, None)
    assert rules._kept_steps <= 50_000


_SOUP = st.lists(
    st.sampled_from(
        [b"*", b"**", b"?", b"[", b"]", b"[!", b"[a-", b"[:alpha:]", b"\\", b"/", b"!", b"#", b" ", b"a", b"\n"]
    )
    | st.binary(max_size=3)
).map(b"".join)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.binary(max_size=200) | _SOUP, st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=4), st.booleans()
)
def test_no_bytes_whatsoever_make_it_fail(data: bytes, names: list[bytes], is_folder: bool) -> None:
    rules = parse_rules(data, ".gitignore")
    stack = IgnoreStack.for_root(rules, rules)
    for name in names:
        rule = stack.verdict(name, is_folder)
        assert rule is None or rule in rules.rules
        stack = stack.enter(name, rules)
    path = b"/".join(names)
    parts = [part for part in path.split(b"/") if part]
    found = decide(path, is_folder, lambda _: rules, None)
    assert found is None or found[0] in [b"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    GlobSet.from_patterns([data.decode("utf-8", "surrogateescape")], "settings").matches(path)
