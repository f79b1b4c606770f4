"""The life of semantic facts, from the first look at a codebase to an edit and back, as somebody types it.

What is shown as semantic is compared with what the indexer itself has written, in its own symbols.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cairn.ask.relations import references
from cairn.ask.session import Session
from cairn.ask.structure import asked_of, file_outline
from cairn.core.limits import MAX_REFERENCES
from cairn.graph.outline import Definition
from cairn.graph.uses import Use
from tests.semantic import fake_indexer
from tests.semantic.lives import Life, Said, Spot
from tests.semantic.test_real_projects import sources
from tests.semantic.worlds import TREE

_MAKER = "`<constructor>`()."
CLEAN, DIRTY, PENDING, STALE = "clean", "dirty", "pending_check", "stale"


class Measured(NamedTuple):
    """Definitions asked about, uses that were shown as semantic, those that the indexer knows not, and all it knows."""

    asked: int
    shown: int
    wrong: int
    known: int

    def __str__(self) -> str:
        precision = 1 - self.wrong / max(1, self.shown)
        return f"{self.asked} definitions, {self.shown} of {self.known} uses semantic, precision {precision:.4f}"


def measured(life: Life, said: Said) -> tuple[Measured, set[str]]:
    """Every definition is asked about; the files in which something was shown as semantic, too."""
    asked = shown = wrong = known = 0
    files: set[str] = set()
    with life.session() as session:
        for own, found in asked_about(session, life.tree):
            symbols = {key for one in own for key in said.at.get(name_of(life.tree, one, said), ())}
            wanted = {spot for key in symbols for spot in said.uses.get(key, ())}
            semantic = {spot_of(life.tree, use) for use in found if use.layer == "semantic"}
            # `new Part()` names the class, though it means the function that makes one.
            wanted |= semantic & {spot for file, key in symbols for spot in said.uses.get((file, key + _MAKER), ())}
            asked, shown, known = asked + 1, shown + len(semantic), known + len(wanted)
            wrong += len(semantic - wanted)
            files |= {spot.path for spot in semantic}
    return Measured(asked, shown, wrong, known), files


def asked_about(session: Session, tree: Path) -> Iterator[tuple[tuple[Definition, ...], tuple[Use, ...]]]:
    """Every definition of the codebase and its uses, as `cairn refs` has them; each once."""
    seen = set()
    for path in sorted(str(file.relative_to(tree)) for file in tree.rglob("*") if file.suffix in (".py", ".ts")):
        outline = file_outline(session, asked_of(path, session.root)).value
        for one in outline.definitions if outline is not None else ():
            told = references(session, asked_of(one.place, session.root), limit=MAX_REFERENCES).value
            if told is not None and (key := told.definitions[0].place) not in seen:
                seen.add(key)
                yield told.definitions, told.uses


def name_of(tree: Path, one: Definition, said: Said) -> Spot:
    """Where the name of a definition stands, by what the indexer takes for definitions."""
    lines = (tree / one.path).read_bytes().split(b"\n")
    name = one.name.encode()
    for line in range(one.start_line, one.end_line + 1):
        text = lines[line - 1]
        column = text.find(name)
        while column >= 0:
            if (spot := Spot(one.path, line, column)) in said.at:
                return spot
            column = text.find(name, column + 1)
    return Spot(one.path, 0, 0)


def spot_of(tree: Path, use: Use) -> Spot:
    text = (tree / use.path).read_bytes()
    return Spot(use.path, use.line, use.start_byte - (text.rfind(b"\n", 0, use.start_byte) + 1))


def semantic_places(life: Life, symbol: str) -> set[tuple[str, int]]:
    """What the command shows as semantic."""
    rows = life.answer("refs", symbol, "-k", "1000")["results"]
    return {(row["path"], row["line"]) for row in rows if row["layer"] == "semantic"}


# Code that shows nothing to other files.
UNSEEN = {".py": "\nif True:\n    pass\n", ".ts": "\nif (true) {\n}\n"}


def lived(life: Life, edited: str, user: str, symbol: str, seen: tuple[str, str]) -> None:
    """From nothing to clean, to an edit that nobody sees, to one that others see, to clean again."""
    suffix = Path(edited).suffix
    [context] = life.answer("semantic", "discover")["results"]
    assert context["files"] == len(list(life.tree.rglob(f"*{suffix}")))
    assert not semantic_places(life, symbol)
    assert life.cairn("semantic", "refresh").status == 0
    first, files = measured(life, life.said())
    print(f"\n{context['id']} in {context['files']} files: {first}")
    assert (first.wrong, first.shown > 0.9 * first.known) == (0, True), first
    known = semantic_places(life, symbol)
    assert {path for path, _ in known} >= {user}
    assert user in files

    comment = "#" if suffix == ".py" else "//"
    life.write(edited, f"{comment} one line more\n" + (life.tree / edited).read_text())
    # A comment moves what is known and changes none of it.
    assert life.states(edited, user) == [CLEAN, CLEAN]
    assert {path for path, _ in semantic_places(life, symbol)} == {path for path, _ in known}
    life.write(edited, (life.tree / edited).read_text() + UNSEEN[suffix])
    assert life.states(edited, user) == [DIRTY, PENDING]
    # Nothing is known of a definition in a file that has changed, nor of what leans on it.
    assert not semantic_places(life, symbol)
    life.replace(edited, *seen)
    assert life.states(edited, user) == [DIRTY, STALE]
    between, files = measured(life, life.said())
    print(f"after an edit of {edited}: {between}")
    assert (between.wrong, files & {edited, user}) == (0, set())
    assert between.shown < first.shown

    assert life.cairn("semantic", "refresh").status == 0
    assert life.states(edited, user) == [CLEAN, CLEAN]
    assert {path for path, _ in semantic_places(life, symbol)} == {path for path, _ in known}
    last, _ = measured(life, life.said())
    print(f"refreshed: {last}")
    assert (last.wrong, last.shown > 0.9 * last.known) == (0, True), last
    assert life.cairn("semantic", "refresh").stdout.endswith("nothing has changed.\n")
    # All of it without a trace in the tree.
    assert life.git("status", "--porcelain").split() == ["M", edited]


@pytest.mark.long
def test_the_life_of_what_is_known_of_a_real_package_of_python(tmp_path: Path) -> None:
    found = importlib.util.find_spec("anyio")
    if found is None or found.origin is None:
        pytest.skip("there is no real project of Python here: anyio is not installed")
    files = sources(Path(found.origin).parent, ".py", "anyio") | {"pyproject.toml": '[project]\nname = "anyio"\n'}
    life = Life(tmp_path.resolve(), files, "scip-python")
    edited, user = "anyio/_core/_exceptions.py", "anyio/streams/memory.py"
    more = "class ClosedResourceError(Exception):\n    def more(self) -> int:\n        return 1\n"
    lived(life, edited, user, "ClosedResourceError", ("class ClosedResourceError(Exception):\n", more + "\n"))


def test_the_life_of_what_is_known_of_a_few_files(tmp_path: Path) -> None:
    small = fake_indexer.install(tmp_path / "small") / "scip-python"
    life = Life(tmp_path.resolve(), TREE, "scip-python", small)
    lived(life, "lib.py", "app.py", "greet", ("greet(who)", "greet(who, more=0)"))


def generated(number: int) -> dict[str, str]:
    """A project of so many modules, each of which leans on the two before it."""
    files = {
        "package.json": '{"name": "made", "version": "1.0.0"}\n',
        "tsconfig.json": '{"compilerOptions": {"strict": true, "target": "es2020"}, "include": ["src"]}\n',
    }
    for n in range(number):
        below = [m for m in (n - 1, n - 2) if m >= 0]
        imports = "".join(f"import {{ step{m}, Part{m}, type Shape{m} }} from './m{m}';\n" for m in below)
        calls = " + ".join(["'ä'", *(f"step{m}(one.name, /* ö */ new Part{m}(one.name).grown().size)" for m in below)])
        shapes = "".join(f"\n  below{m}?: Shape{m};" for m in below)
        files[f"src/m{n}.ts"] = (
            f"{imports}\nexport interface Shape{n} {{\n  name: string;{shapes}\n}}\n\n"
            f"export class Part{n} {{\n  size = {n};\n  constructor(readonly name: string) {{}}\n"
            f"  grown(): Part{n} {{\n    this.size += 1;\n    return this;\n  }}\n}}\n\n"
            f"export function step{n}(name: string, size: number): string {{\n"
            f"  const one: Shape{n} = {{ name }};\n  return {calls} + size;\n}}\n"
        )
    return files


@pytest.mark.long
def test_the_life_of_what_is_known_of_a_project_of_typescript(tmp_path: Path) -> None:
    life = Life(tmp_path.resolve(), generated(60), "scip-typescript")
    seen = ("size: number)", "size: number, more = 0)")
    lived(life, "src/m30.ts", "src/m31.ts", "step30", seen)


ODD = {"plain": "", "marked": "\ufeff", "parted": "// \u2028 //\n", "returned": "// \r //\n"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("suffix", "understood"), [("py", {"plain", "marked", "parted"}), ("ts", {"plain", "marked"})], ids=["py", "ts"]
)
def test_where_an_indexer_counts_lines_otherwise_nothing_is_shown_in_a_wrong_place(
    tmp_path: Path, suffix: str, understood: set[str]
) -> None:
    if suffix == "py":
        lib, use = "def greet(who):\n    return who\n", "from lib import greet\nx = 'ä\U0001f600'; greet(x)\n"
        files = {"pyproject.toml": '[project]\nname = "odd"\n'}
    else:
        lib = "export function greet(who: string) {\n  return who\n}\n"
        use = "import { greet } from './lib'\nconst x = 'ä\U0001f600'; greet(x)\n"
        files = {"package.json": '{"name": "odd", "version": "1.0.0"}\n', "tsconfig.json": '{"include": ["*.ts"]}\n'}
    files[f"lib.{suffix}"] = lib
    for name, begin in ODD.items():
        files[f"{name}.{suffix}"] = begin.replace("//", "#" if suffix == "py" else "//") + use
    life = Life(tmp_path.resolve(), files, "scip-python" if suffix == "py" else "scip-typescript")
    assert life.cairn("semantic", "refresh").status == 0
    with life.session() as session:
        told = references(session, asked_of(f"lib.{suffix}:1", session.root)).value
        assert told is not None
    semantic = [use for use in told.uses if use.layer == "semantic"]
    for one in semantic:
        assert (life.tree / one.path).read_bytes()[one.start_byte :].startswith(b"greet"), one
    assert {Path(one.path).stem for one in semantic} == understood
    assert {Path(one.path).stem for one in told.uses} == set(ODD)
    assert life.cairn("semantic", "refresh").stdout.endswith("nothing has changed.\n")
