from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.clock import SystemClock
from cairn.limits import MAX_PARSE_BYTES
from cairn.syntax.languages import SPECS, load
from cairn.syntax.parse import broken_lines, parse

# What made error recovery quadratic, nested without end or ate memory when every grammar was tried with 24 shapes.
BOMBS = {
    "nested brackets": b"[" * 100_000 + b"]" * 100_000,
    "nested braces": b"{" * 100_000 + b"}" * 100_000,
    "nested calls": b"f(" * 100_000,
    "tags": b"<a>" * 100_000,
    "angles": b"a<" * 100_000,
    "quotes": b'"' * 100_000 + b"'" * 100_000,
    "interpolations": b'"${' * 100_000,
    "annotations": b"@a " * 100_000,
    "arrows": b"x=>" * 100_000,
    "conditions": b"if (x) {\n" * 100_000,
    "indentation": b"".join(b" " * depth + b"if x:\n" for depth in range(1_400)),
    "one line of 10 MiB": b"var a=1;" * 1_310_720,
    "noise": bytes((number * 7919 >> 3) % 95 + 32 for number in range(200_000)),
}

# Each language pays for the bombs in a process of its own, so that one crash or one gigabyte is seen for what it is.
BOMB_SCRIPT = """
import resource, sys, time
from cairn.syntax.analyze import analyze
from tests.syntax.test_parse import BOMBS
for name in sys.argv[2:]:
    started = time.process_time()
    syntax, chunks = analyze(BOMBS[name], sys.argv[1])
    assert b"".join(BOMBS[name][c.start_byte:c.end_byte] for c in chunks) == BOMBS[name], name
    print(f"{name}|{time.process_time() - started:.2f}|{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}")
"""
# A few per language in the fast run: the ones that grammar was worst at, or that stand for a family.
FAST_BOMBS = ["nested brackets", "tags", "one line of 10 MiB"]


def explode(language: str, bombs: list[str]) -> list[tuple[str, float, int]]:
    found = subprocess.run(
        [sys.executable, "-c", BOMB_SCRIPT, language, *bombs], capture_output=True, text=True, check=False, timeout=300
    )
    assert found.returncode == 0, f"{language} crashed: {found.stderr[-2000:]}"
    rows = [line.split("|") for line in found.stdout.splitlines()]
    return [(name, float(seconds), int(mib)) for name, seconds, mib in rows]


@pytest.mark.parametrize("language", ["python", "javascript", "java"])
def test_a_parser_bomb_ends_soon_and_stays_small(language: str) -> None:
    for name, seconds, mib in explode(language, FAST_BOMBS):
        # The promise is 2 s on a quiet machine; CPU time doubles when a neighbour is loud.
        assert seconds < 4, f"{name}: {seconds} s"
        assert mib < 512, f"{name}: {mib} MiB"


@pytest.mark.long
@pytest.mark.parametrize("language", sorted(SPECS))
def test_no_bomb_in_any_language_crashes_or_lingers(language: str) -> None:
    for name, seconds, mib in explode(language, sorted(BOMBS)):
        assert seconds < 4, f"{name}: {seconds} s"
        assert mib < 512, f"{name}: {mib} MiB"


def test_a_parse_that_costs_too_much_is_given_up() -> None:
    class SpentClock(SystemClock):
        """Every look at the clock costs a second of CPU."""

        spent = 0.0

        def cpu(self) -> float:
            self.spent += 1.0
            return self.spent

    grammar = load("python")
    assert grammar is not None
    program = b"x = 1\n" * 10_000
    assert parse(program, grammar, clock=SpentClock()) is None
    assert parse(program, grammar) is not None


def test_a_file_too_large_to_parse_is_not_tried() -> None:
    grammar = load("python")
    assert grammar is not None
    assert parse(b"#" * (MAX_PARSE_BYTES + 1), grammar) is None


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


def test_memory_is_measured_in_the_unit_the_limit_is_written_in() -> None:
    # ru_maxrss counts KiB on Linux; if that ever changes, the ceiling above would mean something else.
    assert 10_000 < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 10_000_000
