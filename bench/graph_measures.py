"""The measurements behind `bench.graph`: each gives rows of its table."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from cairn.answer.structure import call_graph_answer, map_answer, outline_answer, references_answer, symbols_answer
from cairn.ask.prepare import Policy, prepare
from cairn.ask.relations import call_graph, references, repo_map
from cairn.ask.session import Session, whole
from cairn.ask.structure import asked_of, file_outline, find_symbol
from cairn.graph.calls import Direction
from cairn.graph.references import Graph
from cairn.graph.uses import UseRole
from cairn.store.read.snapshot import SnapshotView

SEED = 6
# The questions that take longer the more a symbol is used.
BY_USE = (
    "references",
    "call graph, one step",
    "overrides and implementations",
    "tests that reach it",
    "a way to another",
)
# Files whose uses are drawn from.
SAMPLED_FILES = 400
WARM_UP = 20
MAPS = 9
INDEXED = ("definitions (path)", "definitions (name)", "uses (name)", "uses (path, line)")
ROUNDS = 3


class Row(NamedTuple):
    """A line of the table: the median, the 95th of a hundred and the slowest; what was to be reached of which of them.

    `beside` is the median of the other side.
    """

    what: str
    p50: float
    p95: float
    worst: float
    beside: float
    most_p50: float
    most_p95: float
    note: str = ""

    @property
    def is_reached(self) -> bool:
        return self.p50 <= self.most_p50 and self.p95 <= self.most_p95


class Share(NamedTuple):
    """CPU seconds of a full index with the uses of names and the imports, and without them; the most it may add."""

    what: str
    whole: float
    without: float
    most: float

    @property
    def added(self) -> float:
        return self.whole / self.without - 1

    @property
    def is_reached(self) -> bool:
        return self.added <= self.most


class Setting(NamedTuple):
    """The repository that is asked about, where its index is, a folder for scratch, and how many questions to ask."""

    repo: Path
    home: Path
    scratch: Path
    questions: int


class Drawn(NamedTuple):
    """A definition that somebody uses, and what a person might type who does not know its name whole."""

    path: str
    line: int
    end_line: int
    name: str
    letters: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


# --- questions --------------------------------------------------------------------------------------------------------


def speed(setting: Setting) -> Iterator[Row]:
    """Every kind of question, each about other symbols, beside a table that has the rows of its answer."""
    environ = {**os.environ, "CAIRN_HOME": str(setting.home)}
    with Session(whole(str(setting.repo), environ), environ) as session:
        prepare(session, Policy(sync=False, consent=lambda _: True))
        graph = session.kept(Graph)
        chunks = session.gate.is_open and graph.view.manifest.counts.chunks_live
        languages = graph.names.modules.files.languages
        rows = _as_table(graph.view, languages, setting.scratch / "rows.db")
        with closing(sqlite3.connect(rows)) as table:
            for by_use in (False, True):
                symbols = draw(graph.view, languages, setting.questions, by_use=by_use)
                note = f"{chunks:,} chunks, drawn by use" if by_use else f"{chunks:,} chunks"
                for what, ask, look_up in _questions(session, table):
                    # How often a symbol is used makes no difference to where it stands.
                    if not by_use or what in BY_USE:
                        yield _timed(f"{what}, {setting.repo.name}", ask, look_up, symbols, note)
        yield _maps(session, setting.repo.name)
        yield _maps(session, setting.repo.name, cycles=True)


Ask = Callable[[Drawn], object]


def _questions(session: Session, table: sqlite3.Connection) -> Iterator[tuple[str, Ask, Ask]]:
    root = session.root

    def select(where: str, *values: object) -> list[tuple[object, ...]]:
        return table.execute(f"SELECT * FROM {where}", values).fetchall()

    yield (
        "outline",
        lambda one: outline_answer(file_outline(session, asked_of(one.path, root))).to_json(),
        lambda one: select("definitions WHERE path = ?", one.path),
    )
    yield (
        "symbol, exact",
        lambda one: symbols_answer(find_symbol(session, one.place, exact=True)).to_json(),
        lambda one: select("definitions WHERE name = ?", one.name),
    )
    yield (
        "symbol, by its name",
        lambda one: symbols_answer(find_symbol(session, one.name)).to_json(),
        lambda one: select("definitions WHERE name = ?", one.name),
    )
    yield (
        "symbol, by some of its letters",
        lambda one: symbols_answer(find_symbol(session, one.letters)).to_json(),
        lambda one: select("definitions WHERE name LIKE ? LIMIT 10", "%".join(one.letters) + "%"),
    )
    yield (
        "references",
        lambda one: references_answer(references(session, asked_of(one.place, root))).to_json(),
        lambda one: select("uses WHERE name = ?", one.name),
    )
    yield (
        "call graph, one step",
        lambda one: call_graph_answer(call_graph(session, asked_of(one.place, root))).to_json(),
        lambda one: [
            *select("uses WHERE name = ?", one.name),
            *select("uses WHERE path = ? AND line BETWEEN ? AND ?", one.path, one.line, one.end_line),
        ],
    )
    heirs = (UseRole.OVERRIDE.value, UseRole.IMPLEMENTATION.value)
    yield (
        "overrides and implementations",
        lambda one: references_answer(references(session, asked_of(one.place, root), roles=heirs)).to_json(),
        lambda one: select("definitions WHERE name = ?", one.name),
    )
    tests = Direction.TESTS
    yield (
        "tests that reach it",
        lambda one: call_graph_answer(call_graph(session, asked_of(one.place, root), direction=tests)).to_json(),
        lambda one: select("uses WHERE name = ?", one.name),
    )
    before: list[Drawn] = []

    def to_the_last(one: Drawn) -> object:
        """Ask for a way to what was asked about before."""
        last = before.pop() if before else one
        before.append(one)
        asked = asked_of(last.place, root)
        return call_graph_answer(call_graph(session, asked_of(one.place, root), to=asked)).to_json()

    yield "a way to another", to_the_last, lambda one: select("uses WHERE name = ?", one.name)


def draw(view: SnapshotView, languages: dict[str, str], count: int, *, by_use: bool, seed: int = SEED) -> list[Drawn]:
    """Definitions of the snapshot, each once: any of those that are used, or the more often used the more likely."""
    chance = random.Random(seed)
    files = chance.sample(sorted(languages), min(SAMPLED_FILES, len(languages)))
    names = [use.name for path in files for use in view.references(path)]
    # The order of a set is not the same in every run.
    names = names if by_use else sorted(set(names))
    chance.shuffle(names)
    found: dict[str, Drawn] = {}
    for name in names:
        defined = sorted(view.symbols_named(name), key=lambda pair: (pair[0], pair[1].start_byte))
        if defined:
            path, symbol = chance.choice(defined)
            one = Drawn(path, symbol.start_line, symbol.end_line, name, _letters(name, chance))
            found.setdefault(one.place, one)
        if len(found) == count:
            break
    return list(found.values())


def _letters(name: str, chance: random.Random) -> str:
    """The first letter and some of the others, in order."""
    places = sorted(chance.sample(range(1, len(name)), min(len(name) - 1, 5)))
    return name[0] + "".join(name[place] for place in places)


def _as_table(view: SnapshotView, languages: dict[str, str], path: Path) -> Path:
    """A file of SQLite with all definitions and uses, and an index for each question."""
    with closing(sqlite3.connect(path)) as table:
        table.execute("CREATE TABLE definitions (path, name, kind, container, signature, line, end_line)")
        table.execute("CREATE TABLE uses (path, name, receiver, kind, line, column)")
        for key in languages:
            table.executemany(
                "INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (key, each.name, each.kind, each.container, each.signature, each.start_line, each.end_line)
                    for each in view.symbols(key)
                ],
            )
            table.executemany(
                "INSERT INTO uses VALUES (?, ?, ?, ?, ?, ?)",
                [(key, each.name, each.receiver, each.kind, each.line, each.column) for each in view.references(key)],
            )
        for number, columns in enumerate(
            ("definitions (path)", "definitions (name)", "uses (name)", "uses (path, line)")
        ):
            table.execute(f"CREATE INDEX index_{number} ON {columns}")
        table.commit()
    return path


def _timed(what: str, ask: Ask, look_up: Ask, symbols: Sequence[Drawn], note: str) -> Row:
    first = _ms(lambda: ask(symbols[0]))
    for one in symbols[1:WARM_UP]:
        ask(one)
    rest = symbols[WARM_UP:]
    ours = sorted(_ms(lambda one=one: ask(one)) for one in rest)
    bare = statistics.median(_ms(lambda one=one: look_up(one)) for one in rest)
    note = f"{note}; {len(rest)} symbols; the very first {first:.0f} ms"
    return Row(what, statistics.median(ours), ours[int(len(ours) * 0.95)], ours[-1], bare, 10.0, 100.0, note)


def _maps(session: Session, repo: str, *, cycles: bool = False) -> Row:
    def ask() -> object:
        return map_answer(repo_map(session, cycles=cycles)).to_json()

    first = _ms(ask)
    ours = sorted(_ms(ask) for _ in range(MAPS))
    what, note = "cycles of imports" if cycles else "map", f"the very first {first:.0f} ms"
    return Row(f"{what}, {repo}", statistics.median(ours), ours[-1], ours[-1], 0.0, 150.0, 150.0, note)


def _ms(job: Callable[[], object]) -> float:
    began = time.process_time()
    job()
    return (time.process_time() - began) * 1_000


# --- what it costs to have it -----------------------------------------------------------------------------------------

# Without the patterns of uses and imports nothing else is different: definitions and chunks are the same.
_INDEX = """
import sys
from cairn.cli.main import main
from cairn.syntax import languages
if sys.argv[2] == "without":
    every = languages.patterns
    languages.patterns = lambda text: tuple(
        each for each in every(text) if "@ref." not in each.text and "@import" not in each.text
    )
sys.exit(main(["index", "--root", sys.argv[1], "--quiet"]))
"""


def share(setting: Setting) -> Iterator[Share]:
    """The CPU of a full index with everything, and without uses and imports, the two taking turns."""
    whole_runs, without = [], []
    for number in range(ROUNDS):
        without.append(_index_cpu(setting, "without", number))
        whole_runs.append(_index_cpu(setting, "whole", number))
    yield Share(setting.repo.name, min(whole_runs), min(without), 0.25)


def _index_cpu(setting: Setting, how: str, number: int) -> float:
    home = str(setting.scratch / f"{how}-{number}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", _INDEX, str(setting.repo), how]
    subprocess.run(command, check=True, env={**os.environ, "CAIRN_HOME": home}, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
