"""The conformance table: which requirements we claim, and which tests prove them.

`python -m tests.conformance_report --write` makes docs/CONFORMANCE.md from docs/conformance/rows.toml and the marks in
the tests, read from their source without running them; without `--write` it only says whether the page is up to date.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ROWS = PROJECT / "docs" / "conformance" / "rows.toml"
PAGE = PROJECT / "docs" / "CONFORMANCE.md"

HEAD = """\
# Conformance

Every requirement Cairn answers to, the tests that prove it, and where it stands. This page is generated from
`docs/conformance/rows.toml` and the `@conforms` marks of the tests by `python -m tests.conformance_report --write`.

**claimed**: the test run fails unless a test with this mark passes · **started**: tests exist, the whole is not claimed
yet · **planned**: nothing yet · **departed**: left out on purpose, with the date and the reason.

{claimed} of {total} rows are claimed by this version, {departed} departed from on purpose.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows by section title, the claims, and the deviations as (date, sentence)."""

    sections: dict[str, dict[str, str]]
    claimed: frozenset[str]
    deviations: dict[str, tuple[str, str]]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(row for rows in self.sections.values() for row in rows)

    def unknown(self, rows: Iterable[str]) -> list[str]:
        """The ids among these that no row has."""
        wanted = set(rows)
        return sorted(wanted - self.ids) if wanted else []

    def unproven(self, passed: Iterable[str]) -> list[str]:
        """The claimed rows that are not among those passed."""
        return sorted(self.claimed - set(passed))


def load(path: Path = ROWS) -> Table:
    """Read the table; refuses a row that is there twice, and a claim or deviation without a row."""
    data = tomllib.loads(path.read_text("utf-8"))
    sections = {section["title"]: section["rows"] for section in data["sections"]}
    every = [row for rows in sections.values() for row in rows]
    deviations = {row: (entry["date"], entry["why"]) for row, entry in data.get("deviations", {}).items()}
    table = Table(sections, frozenset(data["claimed"]), deviations)
    bad = [f"{row} is there twice" for row in {row for row in every if every.count(row) > 1}]
    bad += [f"{row} is claimed but is no row" for row in table.unknown(table.claimed)]
    bad += [f"{row} is departed from but is no row" for row in table.unknown(deviations)]
    bad += [f"{row} is claimed and departed from" for row in table.claimed & set(deviations)]
    if bad:
        raise ValueError(f"{path.name}: " + "; ".join(sorted(bad)))
    return table


def _rows_named(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "conforms":
                yield from (str(arg.value) for arg in call.args if isinstance(arg, ast.Constant))


def marks_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every (row, test name) that a test module declares: on the test, on its class, or for the whole module."""
    assigned = [node.value for node in tree.body if isinstance(node, ast.Assign)]
    yield from _marks_below(tree.body, "", list(_rows_named(assigned)))


def _marks_below(body: list[ast.stmt], prefix: str, inherited: list[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _marks_below(
                node.body, f"{prefix}{node.name}::", inherited + list(_rows_named(node.decorator_list))
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            for row in dict.fromkeys([*inherited, *_rows_named(node.decorator_list)]):
                yield row, prefix + node.name


def collect(project: Path = PROJECT) -> dict[str, list[str]]:
    """Row → the tests that carry it, by reading every test module under `tests`."""
    proofs: dict[str, list[str]] = {}
    for path in sorted((project / "tests").rglob("test_*.py")):
        for row, test in marks_in(ast.parse(path.read_text("utf-8"))):
            proofs.setdefault(row, []).append(f"{path.relative_to(project).as_posix()}::{test}")
    return proofs


def render(table: Table, proofs: dict[str, list[str]]) -> str:
    """The page, always the same for the same rows and marks."""
    head = HEAD.format(claimed=len(table.claimed), total=len(table.ids), departed=len(table.deviations))
    parts = [head]
    for title, rows in table.sections.items():
        parts += [f"\n## {title}\n", "| row | requirement | state | tests |", "|---|---|---|---|"]
        for row, text in rows.items():
            tests = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in sorted(proofs.get(row, [])))
            parts.append(
                f"| {row} | {text.replace('|', chr(92) + '|')} | {_state(table, row, bool(tests))} | {tests} |"
            )
    return "\n".join(parts) + "\n"


def _state(table: Table, row: str, has_tests: bool) -> str:
    if row in table.deviations:
        return "departed {}: {}".format(*table.deviations[row])
    if row in table.claimed:
        return "**claimed**"
    return "started" if has_tests else "planned"


def main(argv: list[str]) -> int:
    """Write the page, or say whether it is up to date; also names marks that no row has."""
    table, proofs = load(), collect()
    for row in table.unknown(proofs):
        print(f"{row} is no row: {', '.join(proofs[row])}")
    page = render(table, proofs)
    if "--write" in argv:
        PAGE.write_text(page, "utf-8")
    elif not PAGE.is_file() or PAGE.read_text("utf-8") != page:
        print(f"{PAGE.relative_to(PROJECT)} is out of date; run: python -m tests.conformance_report --write")
        return 1
    for row in table.unproven(proofs):
        print(f"{row} is claimed but no test carries it")
    return 1 if table.unknown(proofs) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
