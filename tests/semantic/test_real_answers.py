"""From a real indexer to an answer: what is semantic is what the indexer says, and an edit takes it back."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.ask.edits import Renaming, check_edit, rename
from cairn.ask.prepare import Policy, prepare
from cairn.ask.refreshing import RefreshOutcome, Watcher, Wish, refresh
from cairn.ask.session import Session, whole
from cairn.ask.structure import Asked, asked_of
from cairn.core.limits import MAX_REFERENCES
from cairn.graph.facts import Place
from cairn.graph.informed import InformedGraph, PinnedView
from cairn.graph.references import Graph
from cairn.graph.scopes import SEMANTIC, Tier
from cairn.graph.uses import uses_of
from cairn.semantic import worker
from cairn.semantic.editing import Verdict
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.model import FactFreshness
from cairn.semantic.scip import ScipIndex, byte_column
from cairn.semantic.symbols import Normaliser
from tests.semantic.indexers import real_indexer
from tests.semantic.test_real_projects import sources
from tests.semantic.worlds import World

pytestmark = pytest.mark.long

Own = dict[str, set[tuple[str, int, int]]]


class RealWorld(World):
    """A codebase that a real indexer reads; `own` is what it has said, place by place."""

    def __init__(self, place: Path, files: dict[str, str], indexer: str, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(place, files)
        self.environ["PATH"] = os.pathsep.join([os.path.dirname(real_indexer(indexer)), self.environ["PATH"]])
        self.own: Own = {}
        real = worker.import_index

        def noted(db: object, indexed: object, about: object) -> object:
            self.said = indexed.data, about.context  # type: ignore[attr-defined]
            return real(db, indexed, about)  # type: ignore[arg-type]

        monkeypatch.setattr(worker, "import_index", noted)

    def run(self) -> None:
        def opened() -> Session:
            session = Session(whole(str(self.tree), self.environ), self.environ)
            prepare(session, Policy())
            return session

        (done,) = refresh(opened, Wish(), self.environ, Watcher())
        assert done.outcome in (RefreshOutcome.COMPLETED, RefreshOutcome.UNCHANGED), done

    def truth(self) -> Own:
        """The references of the last index, by symbol, as it was written."""
        data, context = self.said
        normal = Normaliser(context, lambda path: (self.tree / path).is_file())
        found: Own = {}
        for document in ScipIndex(data, "own").documents():
            lines = (self.tree / document.path).read_bytes().split(b"\n")
            for one in document.occurrences:
                if not one.is_definition:
                    symbol = normal.symbol(one.symbol, document.path).identity
                    line = lines[one.range.start_line].removesuffix(b"\r")
                    column = byte_column(line, one.range.start_column, document.encoding)
                    found.setdefault(symbol, set()).add((document.path, one.range.start_line + 1, column))
        return found


def semantic_uses(graph: InformedGraph) -> Iterator[tuple[frozenset[str], set[tuple[str, int, int]]]]:
    """For every definition that the indexer knows, its symbols and the places that are shown as semantic."""
    for path in sorted(graph.names.modules.files.languages):
        for number in range(len(graph.names.facts(path).symbols)):
            symbols = graph.symbols_of(Place(path, number))
            if symbols:
                listed = uses_of(graph, Place(path, number), min_tier=Tier.LIKELY, offset=0, limit=MAX_REFERENCES).uses
                places = {(one.path, *graph.spot(one.path, one.start_byte)) for one in listed if one.layer == SEMANTIC}
                yield frozenset(map(graph.semantic.symbol, symbols)), places


def check_precision(world: RealWorld) -> int:
    """How many uses are shown; each of them is the indexer's own, and hardly one of its is missing."""
    truth = world.truth()
    shown = wanted = 0
    with world.session() as session, world.database.reading() as db:
        assert db is not None
        view = session.kept(Graph).view
        graph = InformedGraph(session.kept(Graph), SemanticFacts(db, PinnedView(view)))
        for symbols, places in semantic_uses(graph):
            own = {place for symbol in symbols for place in truth.get(symbol, ())}
            assert places <= own, (symbols, places - own)
            shown += len(places)
            wanted += len(own)
        nothing_is_lost(session.kept(Graph), graph)
    # What only makes a class, such as `super()`, is no use of its name.
    assert shown >= 0.95 * wanted, (shown, wanted)
    return shown


def nothing_is_lost(plain: Graph, graph: InformedGraph) -> None:
    """Every use that the syntax proves is still there."""
    for path in sorted(plain.names.modules.files.languages):
        for number in range(len(plain.names.facts(path).symbols)):
            known = graph.references(Place(path, number)).proven
            proven = {(site.path, site.start_byte) for site in plain.references(Place(path, number)).proven}
            assert proven <= {(site.path, site.start_byte) for site in known}, (path, number)


def states(world: World, *files: str) -> list[FactFreshness]:
    with world.session() as session:
        reply = check_edit(session, [Asked(name, name, session.root) for name in files])
        assert reply.value is not None
        return [one.state.freshness for one in reply.value.files]


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealWorld:
    httpx = pytest.importorskip("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
    folder = Path(httpx.__file__).parent
    files = sources(folder, ".py", folder.name) | {"pyproject.toml": f'[project]\nname = "{folder.name}"\n'}
    return RealWorld(tmp_path.resolve(), files, "scip-python", monkeypatch)


def test_python_from_refresh_to_references_to_edit_to_refresh_again(python: RealWorld) -> None:
    python.run()
    assert check_precision(python) > 1_000
    name = next(file.parent.name for file in python.tree.rglob("_exceptions.py"))
    file, user = f"{name}/_exceptions.py", f"{name}/_client.py"
    assert states(python, file, user) == [FactFreshness.CLEAN] * 2
    python.write(file, "# one line more\n" + (python.tree / file).read_text())
    assert states(python, file, user) == [FactFreshness.CLEAN] * 2, "a comment changes nothing that a compiler knows"
    python.write(file, (python.tree / file).read_text() + "\n\ndef one_function_more() -> int:\n    return 1\n")
    assert states(python, file, user) == [FactFreshness.DIRTY, FactFreshness.STALE]
    python.run()
    assert states(python, file, user) == [FactFreshness.CLEAN] * 2
    assert check_precision(python) > 1_000


@pytest.fixture
def typescript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealWorld:
    package = Path(real_indexer("scip-typescript")).resolve().parents[2]
    files = sources(package / "src", ".ts", "src")
    if not files:
        pytest.skip("there is no real project of TypeScript here: this indexer came without its sources")
    files["package.json"] = (package / "package.json").read_text()
    return RealWorld(tmp_path.resolve(), files, "scip-typescript", monkeypatch)


def test_typescript_from_refresh_to_references_to_edit_to_refresh_again(typescript: RealWorld) -> None:
    typescript.run()
    assert check_precision(typescript) > 200
    file = "src/Packages.ts"
    assert states(typescript, file) == [FactFreshness.CLEAN]
    typescript.write(file, "// one line more\n" + (typescript.tree / file).read_text())
    assert states(typescript, file) == [FactFreshness.CLEAN], "a comment changes nothing that a compiler knows"
    typescript.write(file, (typescript.tree / file).read_text() + "\nexport const oneLineMore = 1;\n")
    assert states(typescript, file) == [FactFreshness.DIRTY]
    typescript.run()
    assert states(typescript, file) == [FactFreshness.CLEAN]


SMALL = {
    "package.json": '{"name": "small", "version": "1.0.0"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true}, "include": ["src"]}\n',
    "src/lib.ts": (
        "export function greet(who: string): string {\n  return who;\n}\n\nexport class Host {\n  meet() {}\n}\n"
    ),
    "src/app.ts": (
        "import { greet, Host } from './lib';\n\nexport function main(): string {\n  const all = { greet };\n"
        "  new Host().meet();\n  return all.greet('ä') + greet('b');\n}\n"
    ),
    "src/box.ts": "export class Box {\n  constructor(readonly size: number) {}\n}\n",
    "src/crate.ts": (
        "import { Box } from './box';\n\nexport class Crate extends Box {\n  constructor() {\n    super(1);\n  }\n}\n\n"
        "export const all: Box[] = [new Box(2), new Crate()];\n"
    ),
    "src/more.ts": "import { Host } from './lib';\n\nexport const run = (one: Host) => one.meet();\n",
}


def test_a_rename_of_typescript_is_planned_applied_and_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = RealWorld(tmp_path.resolve(), SMALL, "scip-typescript", monkeypatch)
    world.run()
    with world.session() as session:
        told = rename(session, Renaming(asked_of("Host.meet", session.root), "encounter")).value
        made = rename(session, Renaming(asked_of("Box", session.root), "Chest")).value
        shared = rename(session, Renaming(asked_of("greet", session.root), "welcome")).value
    assert told is not None
    assert (told.verdict, [(one.path, one.places) for one in told.edits]) == (
        Verdict.AUTOMATIC,
        [("src/app.ts", 1), ("src/lib.ts", 1), ("src/more.ts", 1)],
    )
    # `new Box` names what makes one, and has to change with the class.
    assert made is not None
    assert [(one.path, one.places) for one in made.edits] == [("src/box.ts", 1), ("src/crate.ts", 4)]
    # `{ greet }` is a property as well, which keeps its name.
    assert shared is not None
    assert shared.verdict is Verdict.AUTOMATIC
    assert "+  const all = { greet: welcome };" in shared.patch.decode()
    assert "+  return all.greet('ä') + welcome('b');" in shared.patch.decode()
    world.git("apply", "-", data=told.patch)
    world.run()
    with world.session() as session:
        back = rename(session, Renaming(asked_of("Host.encounter", session.root), "meet")).value
    assert back is not None
    world.git("apply", "-", data=back.patch)
    assert {path: (world.tree / path).read_text() for path in SMALL} == SMALL


PITFALLS = {
    "pyproject.toml": "[project]\nname = 'demo'\n",
    "core.py": "LIMIT = 3\n\nclass Base:\n    kind = 'a'\n\n    def show(self):\n        return self.kind\n\n\n"
    "class Sub(Base):\n    kind = 'b'\n",
    "star.py": "from core import *\nimport core\n\nprint(LIMIT, core.LIMIT, Sub().kind)\n",
}
SHORT = {
    "package.json": '{"name": "demo", "version": "1.0.0"}',
    "util.ts": "export function format() {}\nexport const all = { format };\nall.format();\n",
    "use.js": "const { format } = require('./util');\nformat();\nmodule.exports = { format };\n",
    "late.ts": "export async function late() { const { format } = await import('./util'); format(); }\n",
}


def renamed(world: RealWorld, symbol: str, new: str) -> dict[str, str]:
    """The files after a rename that needs no decision."""
    with world.session() as session:
        plan = rename(session, Renaming(asked_of(symbol, session.root), new)).value
    assert plan is not None
    assert plan.verdict is Verdict.AUTOMATIC, plan
    world.git("apply", "-", data=plan.patch)
    return {one.path: (world.tree / one.path).read_text() for one in plan.edits}


def test_attributes_of_subclasses_go_along_and_names_of_a_star_import_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = RealWorld(tmp_path.resolve(), PITFALLS, "scip-python", monkeypatch)
    world.run()
    with world.session() as session:
        plan = rename(session, Renaming(asked_of("LIMIT", session.root), "CAP")).value
    assert plan is not None
    assert [(one.path, one.line) for one in plan.open] == [("star.py", 4)]
    assert {one.path: one.places for one in plan.edits} == {"core.py": 1, "star.py": 1}
    world.write("star.py", "from core import Sub\n\nprint(Sub().kind)\n")
    world.run()
    changed = renamed(world, "Base.kind", "sort")
    assert [text.count("sort") for text in changed.values()] == [3, 1]


def test_a_property_that_is_called_as_its_value_is_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = RealWorld(tmp_path.resolve(), SHORT, "scip-typescript", monkeypatch)
    world.run()
    assert renamed(world, "util.ts:1", "render") == {
        "late.ts": "export async function late() { const { render: format } = await import('./util'); format(); }\n",
        "use.js": "const { render } = require('./util');\nrender();\nmodule.exports = { format: render };\n",
        "util.ts": "export function render() {}\nexport const all = { format: render };\nall.format();\n",
    }
