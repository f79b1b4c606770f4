"""How long the states of all files take, with cycles: by the rules alone, and with what is read from the database.

    python -m bench.states [--files 10000] [--edges 10]

CPU seconds, the best of three: the machine may be doing something else.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

from cairn.semantic.database import SemanticDatabase, register
from cairn.semantic.model import Context, Family
from cairn.semantic.state import Known, Now, picture_of, standings

_CONTEXT = Context("python:.", Family.PYTHON, "", "bench", "pyproject.toml", "settings")
_NOW = Now("h" * 64, "i" * 64)
_EDGE = (
    "INSERT OR IGNORE INTO edges (source_file, target_file, dependency_type, context_id, layer,"
    " interface_hash_at_index) VALUES (?, ?, 'uses', 1, 'semantic', ?)"
)


class _Files:
    """All of them, as they were indexed."""

    def __init__(self, count: int) -> None:
        self._count = count

    def now(self, _: str) -> Now:
        return _NOW

    def paths(self) -> list[str]:
        return [f"pack/module{key}.py" for key in range(self._count)]

    def shape(self, _: str) -> None:
        return None


class States(NamedTuple):
    """CPU seconds for the states of so many files with so many edges each."""

    files: int
    edges: int
    rules: float
    with_database: float


def measure(files: int, edges: int) -> States:
    """Random graphs; one file of a hundred has changed."""
    draw = random.Random(8)
    leads = {key: {draw.randrange(files) for _ in range(edges)} for key in range(files)}
    changed = {key for key in range(files) if draw.random() < 0.01}
    known = {
        key: Known("old" if key in changed else _NOW.content_hash, dict.fromkeys(leads[key], _NOW.interface_hash))
        for key in leads
    }
    with tempfile.TemporaryDirectory() as folder:
        database = SemanticDatabase(folder, "/bench")
        with database.writing() as db:
            register(db, [_CONTEXT])
            rows = [(key, f"pack/module{key}.py", _NOW.content_hash, _NOW.interface_hash) for key in leads]
            db.executemany("INSERT INTO files VALUES (?, ?, 'python', ?, ?, 0)", rows)
            facts = [(key, known[key].content_hash) for key in leads]
            db.executemany("INSERT INTO file_semantic_facts VALUES (?, 1, '', ?, '[]', 0, '')", facts)
            db.executemany(_EDGE, [(key, to, _NOW.interface_hash) for key in leads for to in leads[key]])
        with database.reading() as reading:
            assert reading is not None
            return States(
                files,
                edges,
                _best(lambda: standings(known, lambda _: _NOW)),
                _best(lambda: picture_of(reading, _Files(files))),
            )


def _best(work: Callable[[], object]) -> float:
    found = []
    for _ in range(3):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--edges", type=int, default=10)
    options = parser.parse_args(arguments)
    found = measure(options.files, options.edges)
    print(f"{found.files:,} files, {found.edges} edges each: rules {1_000 * found.rules:.0f} ms of CPU,", end=" ")
    print(f"with the database {1_000 * found.with_database:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
