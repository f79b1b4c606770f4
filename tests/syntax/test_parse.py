from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cairn.core.limits import MAX_PARSE_BYTES
from cairn.syntax.languages import load
from cairn.syntax.languages.pins import PINS
from cairn.syntax.parse import broken_lines, parse
from tests.support.clock import ManualClock
from tests.syntax.fixtures import FOLDER

# What made error recovery quadratic, nested without end or ate memory when every grammar was tried with 24 shapes.
# Made when they are needed: hundreds of MiB that every worker of a run would hold, and copy with every fork.
BOMBS: dict[str, Callable[[], bytes]] = {
    "nested brackets": lambda: b"[" * 100_000 + b"]" * 100_000,
    "nested braces": lambda: b"{" * 100_000 + b"}" * 100_000,
    "nested calls": lambda: b"f(" * 100_000,
    "tags": lambda: b"<a>" * 100_000,
    "angles": lambda: b"a<" * 100_000,
    "quotes": lambda: b'"' * 100_000 + b"'" * 100_000,
    "interpolations": lambda: b'"${' * 100_000,
    "annotations": lambda: b"@a " * 100_000,
    "arrows": lambda: b"x=>" * 100_000,
    "conditions": lambda: b"if (x) {\n" * 100_000,
    "indentation": lambda: b"".join(b" " * depth + b"if x:\n" for depth in range(1_400)),
    "one line of 10 MiB": lambda: b"var a=1;" * 1_310_720,
    "noise": lambda: bytes((number * 7919 >> 3) % 95 + 32 for number in range(200_000)),
}

# Through a worker, as every file of a user: what cannot be stopped from inside is stopped by the kernel.
BOMB_SCRIPT = """
import resource, sys
from cairn.core.config import Config, LimitConfig
from cairn.source.beneath import Tree
from cairn.source.walk import walk
from cairn.sync.pool import extract_all
from cairn.core.types import FileFacts, Root
if __name__ == "__main__":
    root = Root(sys.argv[1], is_git=False)
    with Tree(root) as tree:
        found = walk(tree, Config()).candidates
    for candidate, outcome in zip(found, extract_all(root, found, LimitConfig(), workers=1)):
        state = outcome.syntax.state.value if isinstance(outcome, FileFacts) else outcome.reason.value
        if isinstance(outcome, FileFacts):
            data = outcome.source.data
            assert b"".join(data[c.start_byte:c.end_byte] for c in outcome.chunks) == data
        print(f"{candidate.key}|{state}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.2f}|{used.ru_maxrss // 1024}")
"""
# A few per language in the fast run: the ones that stand for a family.
FAST_BOMBS = ["nested brackets", "tags", "one line of 10 MiB"]


def explode(folder: Path, language: str, bombs: list[str]) -> None:
    """Index a tree of bombs; every one of them must come out as a file or a skip, soon and within the memory."""
    extension = next((FOLDER / language).glob("sample.*")).suffix
    top = folder / "tree"
    top.mkdir()
    # Data files are bombs too, once somebody has switched them on.
    (top / ".cairnignore").write_text("!*\n.cairnignore\n")
    for bomb in bombs:
        (top / f"{bomb.replace(' ', '_')}{extension}").write_bytes(BOMBS[bomb]())
    program = folder / "explode.py"
    program.write_text(BOMB_SCRIPT)
    found = subprocess.run([sys.executable, str(program), str(top)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"{language}: {found.stderr[-2000:]}"
    *outcomes, total = found.stdout.splitlines()
    assert len(outcomes) == len(bombs)
    seconds, mib = total.split("|")
    # Seconds of CPU in the workers. The promise is 2 s a file; one that kills its worker costs that twice.
    assert float(seconds) < 5 * len(bombs), outcomes
    assert int(mib) < 560, outcomes


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_a_parser_bomb_ends_soon_and_stays_small(tmp_path: Path, language: str) -> None:
    explode(tmp_path, language, FAST_BOMBS)


@pytest.mark.long
@pytest.mark.parametrize("language", sorted(PINS))
def test_no_bomb_in_any_language_crashes_or_lingers(tmp_path: Path, language: str) -> None:
    explode(tmp_path, language, sorted(BOMBS))


def test_a_parse_that_costs_too_much_is_given_up() -> None:
    grammar = load("python")
    assert grammar is not None
    program = b"x = 1\n" * 10_000
    assert parse(program, grammar, clock=ManualClock(cpu_step=1.0)) is None
    assert parse(program, grammar) is not None


def test_a_file_too_large_to_parse_is_not_tried() -> None:
    grammar = load("python")
    assert grammar is not None
    assert parse(b"#" * (MAX_PARSE_BYTES + 1), grammar) is None


@pytest.mark.parametrize(("language", "level"), [("ruby", b"@a "), ("elixir", b"a<"), ("python", b"(")])
def test_a_tree_too_deep_for_a_query_is_given_up(language: str, level: bytes) -> None:
    # A query over 100,000 levels was not seen to end.
    grammar = load(language)
    assert grammar is not None
    assert parse(level * 15_000 + b"a" + b")" * 15_000 * (level == b"("), grammar) is None
    assert parse(level * 1_000 + b"a" + b")" * 1_000 * (level == b"("), grammar) is not None


def test_broken_lines_are_named_and_the_rest_is_found() -> None:
    grammar = load("python")
    assert grammar is not None
    broken = b"def good():\n    pass\n\n)))\n\ndef also_good():\n    pass\n"
    tree = parse(broken, grammar)
    assert tree is not None
    assert broken_lines(broken, tree.root_node) == ((4, 4),)
    whole = parse(b"x = 1\n", grammar)
    assert whole is not None
    assert broken_lines(b"x = 1\n", whole.root_node) == ()


def test_nothing_asks_a_node_for_its_point() -> None:
    # tree-sitter 0.26.0 hands out points that crash the interpreter after some thousand of them.
    import cairn.syntax

    for module in Path(cairn.syntax.__path__[0]).glob("*.py"):
        assert ".start_point" not in module.read_text().replace("`Node.start_point`", ""), module.name
        assert ".end_point" not in module.read_text(), module.name
