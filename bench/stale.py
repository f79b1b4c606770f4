"""Is anything stale shown as certain? Random edits of a codebase that an indexer has read, asked about after each edit.

    python -m bench.stale [--edits N] [--seed N]

A small codebase of Python is written, indexed and read by the small indexer of the tests, which knows the truth of its
own language. Then one edit after another is made: a comment, a blank, a renamed name, a file that goes or comes, two
files that change their names. After each the index catches up, every definition is asked about as `cairn refs` asks,
and what is shown as known by the indexer is compared with the truth of the text as it is now. After every third edit
the indexer reads all files again. *Kept* are the facts that are true and given out: with the shapes of the files, as
they are, and without them, as it was when a fact was believed only while the bytes of its file were the same.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.semantic.small_indexer import Spot, refresh
from tests.semantic.test_facts import MODULES, believed, random_edit, random_file, said
from tests.semantic.worlds import World

from cairn.ask.relations import references
from cairn.ask.session import Session
from cairn.ask.structure import asked_of, file_outline
from cairn.core.limits import MAX_REFERENCES
from cairn.graph.scopes import SEMANTIC
from cairn.semantic.database import SemanticDatabase

PROGRESS = 25
"""After so many edits what is known so far is said."""

EACH = 3
"""After so many edits the indexer reads all files again."""

Use = tuple[str, int, int]


class Kept(NamedTuple):
    """What became of facts.

    So many uses were `shown` as known by the indexer, `stale` of them untruly; of the `true` facts so many were given
    out `now`, and so many `before` facts outlived edits.
    """

    edits: int
    shown: int
    stale: int
    true: int
    now: int
    before: int

    def __str__(self) -> str:
        now, before = self.now / max(1, self.true), self.before / max(1, self.true)
        return (
            f"{self.edits} edits: {self.stale} of {self.shown:,} uses that were shown as certain are stale; "
            f"of {self.true:,} true facts {now:.1%} are kept, {before:.1%} before facts outlived edits"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=18)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-stale-") as folder:
        print(edited(Path(folder), options.seed, options.edits))
    return 0


def edited(folder: Path, seed: int, edits: int) -> Kept:
    """Make so many edits in a new codebase in this folder, and count what is shown after each."""
    draw = random.Random(seed)
    files = {module.replace(".", "/") + ".py": random_file(draw) for module in MODULES}
    settings = {"pyproject.toml": "[project]\nname = 'demo'\n"}
    world = World(folder, settings | {path: text.decode() for path, text in files.items()})
    plain = SemanticDatabase(str(folder / "plain"), str(world.tree.resolve()))
    _refresh(world, plain)
    found = Kept(0, 0, 0, 0, 0, 0)
    for number in range(edits):
        if number % EACH == EACH - 1:
            _refresh(world, plain)
        old = dict(files)
        random_edit(draw, files)
        _write(world, old, files)
        memory = world.memory()
        true = said(memory)
        with world.session() as session:
            shown, stale = _shown(session, files, true)
        now, before = believed(world.database, memory), believed(plain, memory)
        counts = 1, shown, stale + len(now - true), len(true), len(now & true), len(before & true)
        found = Kept(*(one + more for one, more in zip(found, counts, strict=True)))
        if found.edits % PROGRESS == 0:
            print(found, file=sys.stderr, flush=True)
    return found


def _refresh(world: World, plain: SemanticDatabase) -> None:
    """Let the indexer read all files, once with and once without the shapes of files."""
    world.refresh()
    refresh(plain, world.memory())
    with plain.writing() as db:
        db.execute("DELETE FROM shapes")


def _write(world: World, old: Mapping[str, bytes], files: Mapping[str, bytes]) -> None:
    for path in old.keys() - files.keys():
        (world.tree / path).unlink()
    for path, text in files.items():
        if old.get(path) != text:
            world.write(path, text.decode())


def _shown(session: Session, files: Mapping[str, bytes], true: set[Spot]) -> tuple[int, int]:
    """How many uses are shown as known by the indexer for all definitions, and how many of them untruly."""
    meant: dict[Use, set[str]] = {}
    for spot in true:
        meant.setdefault((spot.path, spot.line, spot.column), set()).add(spot.symbol)
    shown = stale = 0
    for path in sorted(files):
        outline = file_outline(session, asked_of(path, session.root)).value
        for one in outline.definitions if outline is not None else ():
            told = references(session, asked_of(one.place, session.root), limit=MAX_REFERENCES).value
            if told is None:
                continue
            symbols = {
                spot.symbol
                for spot in true
                for each in told.definitions
                if spot.is_definition and spot.path == each.path and each.start_line <= spot.line <= each.end_line
            }
            for use in told.uses:
                if use.layer == SEMANTIC:
                    text = files[use.path]
                    column = use.start_byte - (text.rfind(b"\n", 0, use.start_byte) + 1)
                    shown += 1
                    stale += not symbols & meant.get((use.path, use.line, column), set())
    return shown, stale


if __name__ == "__main__":
    raise SystemExit(main())
