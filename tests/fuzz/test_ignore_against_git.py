"""Random trees and random ignore files: what we decide, and by which line, is what git decides."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cairn.source.ignore import IgnoreStack, RuleSet, parse_rules
from tests.conformance import conforms

# Names that meet the patterns below often: shared letters, every special byte, bytes that are not UTF-8.
NAMES = [
    *(b"a", b"b", b"ab", b"ba", b"aab", b"abc", b"a.b", b"a.py", b"b.pyc", b".a", b"a.tar.gz", b"foo", b"foobar", b"z"),
    *(b"a b", b"a ", b"#a", b"!a", b"[", b"]", b"a[b", b"x\\y", b"a*", b"**", b"a-c", b"-", b"^", b"A", b"0", b":]"),
    *("é".encode(), b"\x80", b"\xff\xfe", b"\t", b"a\x0b", b"a\r"),
]
CLASSES = [
    *(b"[ab]", b"[a-c]", b"[!a]", b"[^b]", b"[z-a]", b"[]a]", b"[!]a]", b"[a-]", b"[--0]", b"[\\]]", b"[\\a-\\c]"),
    *(
        b"[[:alpha:]]",
        b"[[:space:]b]",
        b"[![:upper:]]",
        b"[[:bad:]]",
        b"[[:alpha]",
        b"[[:]",
        b"[a",
        b"[",
        b"[!",
        b"[a/b]",
    ),
    *(b"[[:alnum:]-z]", b"[a-[:digit:]]", b"[\x80-\xff]", b"[*]", b"[?]", b"[\\", b"[a\\", b"[/]", b"[^/]", b"[.-a]"),
]
PIECES = [
    *(
        b"a",
        b"b",
        b"ab",
        b"foo",
        b".",
        b"*",
        b"*",
        b"**",
        b"***",
        b"?",
        b"/",
        b"/",
        b"**/",
        b"/**",
        b"/**/",
        b"\\",
        b"\\/",
    ),
    *(
        b"\\*",
        b"\\a",
        b" ",
        b"\\ ",
        b"!",
        b"#",
        b"\\#",
        b"\\!",
        b"-",
        b"]",
        b".py",
        b"\xc3\xa9",
        b"\xff",
        b"\r",
        b"//",
        b"*a*",
    ),
]


class Case(NamedTuple):
    """A folder of its own: what is in it, and its ignore files by their folder."""

    folders: set[bytes]
    files: set[bytes]
    ignores: dict[bytes, bytes]


def _bent(rng: random.Random, part: bytes) -> bytes:
    roll = rng.random()
    if roll < 0.15:
        return rng.choice((b"*", b"**", b"***", b"?", b"*" + part, part + b"*", part + b"**", b"**" + part))
    if roll < 0.40:
        at = rng.randrange(len(part))
        middle = rng.choice((b"*", b"?", b"**", b"\\" + part[at : at + 1], rng.choice(CLASSES)))
        return part[:at] + middle + part[at + rng.choice((0, 1)) :]
    return rng.choice((b"**/", b"*/", b"**/**/")) + part if roll < 0.45 else part


def _path_like(rng: random.Random, paths: list[bytes]) -> bytes:
    """A real path of the tree, bent: so that most patterns match something, or nearly."""
    parts = rng.choice(paths).split(b"/")[rng.choice((0, 0, 0, 1, 2)) :] or [b"a"]
    bent = [_bent(rng, part) for part in parts]
    joined = rng.choice((b"/", b"/", b"/", b"/", b"/**/", b"**/", b"\\/", b"/**", b"**\\/")).join(bent)
    return (
        rng.choice((b"", b"", b"", b"/", b"**/", b"**", b"\\"))
        + joined
        + rng.choice((b"", b"", b"/", b"/**", b"**", b"*"))
    )


def _line(rng: random.Random, paths: list[bytes]) -> bytes:
    if rng.random() < 0.6:
        text = _path_like(rng, paths)
    elif rng.random() < 0.3:
        text = rng.choice((b"", b"*", b"*.", b"/")) + rng.choice(NAMES) + rng.choice((b"", b"*", b"/"))
    else:
        text = b"".join(rng.choice(PIECES + CLASSES) for _ in range(rng.randint(1, 6)))
    text = text.replace(b"\n", b"")
    return (b"!" if rng.random() < 0.25 else b"") + text + rng.choice((b"",) * 8 + (b" ", b"  ", b"\r", b"\\ ", b" \r"))


def _path_for(rng: random.Random, pattern: bytes) -> bytes:
    """A path that the pattern matches, or misses by little: its stars and classes filled in at random."""
    some = (b"", b"", b"a", b"b", b"ab", b"x", b".", b"]")
    deep = (b"", b"a", b"a/b", b"/", b"a/", b"/a", b"b/a/", b"/a/b/")
    path = re.sub(rb"\*\*+", lambda _: rng.choice(deep), pattern)
    path = re.sub(rb"\*", lambda _: rng.choice(some), path)
    path = re.sub(
        rb"\[.[^]]*\]\]?", lambda m: rng.choice((b"a", b"b", b"-", b"]", b":", b"[", m[0][1:2], m[0][-2:-1])), path
    )
    path = path.replace(b"?", rng.choice((b"a", b"\x80"))).replace(b"\\", rng.choice((b"", b"", b"\\")))
    if path and rng.random() < 0.3:
        at = rng.randrange(len(path))
        path = path[:at] + rng.choice((b"", b"a", b"/")) + path[at + rng.choice((0, 1)) :]
    if rng.random() < 0.3:
        path = rng.choice((b"a/", b"b/a/")) + path
    return b"/".join(part for part in path.split(b"/") if part not in (b"", b".", b".."))


def _case_for_pattern(rng: random.Random) -> Case:
    """A few lines, and a tree made to fit them."""
    folders: set[bytes] = {b""}
    files: set[bytes] = set()
    lines = [_line(rng, [b"a/b", b"ab/a.b/aab", b"a/a/b"]) for _ in range(rng.choice((1, 1, 2)))]
    for _ in range(10):
        path = _path_for(rng, rng.choice(lines).strip(b"! \r"))
        above = [path[: m.start()] for m in re.finditer(b"/", path)]
        if path and path not in folders and not files.intersection(above):
            folders.update(above)
            (folders if rng.random() < 0.3 else files).add(path)
    return Case(folders, files, {b"": b"\n".join(lines)})


def _case(rng: random.Random) -> Case:
    if rng.random() < 0.6:
        return _case_for_pattern(rng)
    names = rng.sample(NAMES, rng.randint(3, 7))
    folders: set[bytes] = {b""}
    files: set[bytes] = set()
    for _ in range(rng.randint(5, 14)):
        parent = rng.choice(sorted(folders))
        path = parent + b"/" + rng.choice(names) if parent else rng.choice(names)
        if path not in folders and path not in files and path.count(b"/") < 6:
            (folders if rng.random() < 0.55 else files).add(path)
    paths = sorted((folders | files) - {b""})
    ignores = {}
    for folder in [b"", *rng.sample(sorted(folders), min(len(folders), rng.choice((0, 0, 1, 2))))]:
        lines = [_line(rng, paths) for _ in range(rng.choice((1, 1, 2, 3, 6)))]
        ending = rng.choice((b"\n", b"\n", b"\n", b"\r\n"))
        bom = b"\xef\xbb\xbf" if rng.random() < 0.05 else b""
        ignores[folder] = bom + ending.join(lines) + rng.choice((b"", ending))
    return Case(folders, files, ignores)


def _write(root: bytes, case: Case) -> None:
    for folder in sorted(case.folders):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    for file in case.files:
        Path(os.fsdecode(os.path.join(root, file))).touch()
    for folder, data in case.ignores.items():
        Path(os.fsdecode(os.path.join(root, folder, b".gitignore"))).write_bytes(data)


def _decisions(stack: IgnoreStack, case: Case, prefix: bytes) -> Iterator[tuple[bytes, str]]:
    """What a walk decides: (path, "source:line" or ""), with a folder's rule for everything in it."""
    rules = {f: parse_rules(d, os.fsdecode(os.path.join(prefix, f, b".gitignore"))) for f, d in case.ignores.items()}
    stacks: dict[bytes, IgnoreStack | str] = {b"": stack.enter(prefix, rules[b""])}
    for path in sorted((case.folders | case.files) - {b""}):
        parent, _, name = path.rpartition(b"/")
        inside = stacks[parent]
        rule = None if isinstance(inside, str) else inside.verdict(name, path in case.folders)
        shown = f"{rule.source}:{rule.line}" if rule else inside if isinstance(inside, str) else ""
        yield prefix + b"/" + path, shown
        if path in case.folders:
            ignored = isinstance(inside, str) or (rule is not None and not rule.negated)
            stacks[path] = shown if ignored or isinstance(inside, str) else inside.enter(name, rules.get(path))


def _ask_git(root: Path, paths: list[bytes]) -> dict[bytes, str]:
    """git's own answer about each path, in the same form."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    subprocess.run(["git", "init", "-q", str(root)], env=environment, check=True)
    command = ["git", "-C", str(root), "check-ignore", "--no-index", "-z", "--stdin", "-v", "-n"]
    done = subprocess.run(command, input=b"\0".join(paths) + b"\0", env=environment, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    fields = done.stdout.split(b"\0")[:-1]
    answers = zip(fields[0::4], fields[1::4], fields[3::4], strict=True)
    return {path: f"{os.fsdecode(source)}:{line.decode()}" if line else "" for source, line, path in answers}


def _compare(root: Path, seed: int, cases: int) -> int:
    rng = random.Random(seed)
    shared: RuleSet | None = None
    if rng.random() < 0.5:
        # Rules above all cases: they are inherited into every one of them.
        data = b"\n".join(_line(rng, [b"c1/a/b", b"a/ab", b"foo/a/b"]) for _ in range(3)) + b"\n!/c*\n"
        (root / ".gitignore").write_bytes(data)
        shared = parse_rules(data, ".gitignore")
    stack = IgnoreStack.for_root(shared, None)
    ours: dict[bytes, str] = {}
    ignores: dict[bytes, dict[bytes, bytes]] = {}
    for number in range(cases):
        case = _case(rng)
        prefix = b"c%d" % number
        _write(os.path.join(os.fsencode(root), prefix), case)
        ours.update(_decisions(stack, case, prefix))
        ignores[prefix] = case.ignores
    theirs = _ask_git(root, list(ours))
    wrong = [(p, ours[p], theirs.get(p), ignores[p.partition(b"/")[0]]) for p in ours if ours[p] != theirs.get(p)]
    assert not wrong, f"seed {seed}: {len(wrong)} differences, first (path, ours, git's, files): {wrong[:3]}"
    assert set(theirs) == set(ours)
    return sum(1 for rule in ours.values() if rule)


@conforms("003.IGN1")
@pytest.mark.parametrize("seed", range(4))
def test_random_rules_on_random_trees_decide_as_git_does(tmp_path: Path, seed: int) -> None:
    decided = _compare(tmp_path, seed, cases=160)
    assert decided > 160  # a soup of patterns that match nothing would prove nothing


@pytest.mark.long
@conforms("003.IGN1")
@pytest.mark.parametrize("seed", range(100, 130))
def test_thousands_of_random_rules_decide_as_git_does(tmp_path: Path, seed: int) -> None:
    assert _compare(tmp_path, seed, cases=200) > 200
