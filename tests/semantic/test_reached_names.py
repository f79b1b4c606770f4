"""Names that a program reaches without writing them: renames that a stranger was offered, and that broke the program.

Each is asked for with the command, in a codebase that a real indexer has read. What is automatic is applied, and the
program runs as before; what is asked about would have broken it, which is shown where that is cheap.
"""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.answer.test_envelope import VALIDATORS
from tests.semantic.test_never_wrong import Judged
from tests.support.commands import typed

pytestmark = pytest.mark.long

ACCENTED = "caf\u00e9"


class Typed(Judged):
    """A codebase whose renames are typed."""

    def __init__(self, place: Path, files: dict[str, str], indexer: str) -> None:
        place.mkdir(exist_ok=True)
        super().__init__(place, files, indexer)

    def said(self, symbol: str, new: str, *options: str) -> tuple[str, set[tuple[str, str, int]]]:
        """The verdict on a rename, and what is asked."""
        done = typed(["rename", symbol, new, "--no-check", "--json", *options], self.tree, self.environ)
        said = json.loads(done.stdout)
        VALIDATORS[said["schema"]].validate(said)
        asked = {(one["source"], one["path"], one["line"]) for one in said["questions"]}
        return said["verdict"], asked

    def works_renamed(self, symbol: str, new: str, program: list[str]) -> None:
        """Whether an automatic rename leaves what a program prints as it is."""
        before = subprocess.run(program, cwd=self.tree, capture_output=True, check=True).stdout
        verdict, _ = self.said(symbol, new, "--apply")
        assert verdict == "automatic"
        after = subprocess.run(program, cwd=self.tree, capture_output=True, check=True).stdout
        assert before == after
        assert typed(["undo"], self.tree, self.environ).status == 0


# --- Python -----------------------------------------------------------------------------------------------------------

PYTHON = {
    ".gitignore": "local/\nbuild/\n.venv/\n",
    "pyproject.toml": "[project]\nname = 'demo'\n",
    "demo/__init__.py": "",
    "demo/vault.py": f"""\
from dataclasses import asdict, astuple, dataclass
from enum import Enum, IntEnum


class Vault:
    def __init__(self):
        self.__pin = 1

    def open(self):
        return self.__pin


class Chest:
    def __init__(self):
        self.__pin = 1

    def open(self):
        return self.__pin  # not _Chest_pin


class Mode(Enum):
    FAST = 1
    SLOW = 2


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class Level(Enum):
    LOW = 1


class Tone(Enum):
    HIGH = 1


def {ACCENTED}():
    return 1


def heat():
    return [Mode(1), Colour.RED, Colour(2), list(Level), Tone.HIGH]
""",
    "demo/data.py": """\
from dataclasses import dataclass, replace


@dataclass
class Cfg:
    retries: int = 1


@dataclass
class Point:
    left: int = 1
    right: int = 2


class Plain:
    def __init__(self):
        self.depth = 1

    def dump(self):
        return vars(self)


class Quiet:
    def __init__(self):
        self.gain = 1


class Packed:
    __slots__ = ("alpha",)
    __match_args__ = ("beta",)
    alpha: int
    beta: int


def load(data):
    return Cfg(**data)


def point():
    return [replace(Point(left=3), right=2).left, Quiet().gain]
""",
    "demo/turns.py": """\
try:
    from demo._fast import escape
except ImportError:
    from demo._slow import escape

print(escape(1))
""",
    "demo/later.py": "from demo.turns import escape\n\nescape(2)\n",
    "demo/_fast.py": "def escape(one):\n    return one\n",
    "demo/_slow.py": "def escape(one):\n    return one\n",
    "demo/main.py": f"""\
from demo.data import load, point
from demo.vault import Chest, Colour, Mode, Tone, Vault, heat, {unicodedata.normalize("NFD", ACCENTED)}

print(Vault()._Vault__pin, Chest().open(), Mode["FA" + "ST"] is Mode.FAST, load({{"retr" + "ies": 2}}).retries, point())
print([int(one) for one in (Colour.RED, Colour.BLUE)], heat() != [], {unicodedata.normalize("NFD", ACCENTED)}())
colours: dict[str, Colour] = {{}}
assert isinstance(Tone.HIGH, Tone), "a Tone"
print(getattr(point, "missing", 1))
""",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Typed:
    return Typed(tmp_path_factory.mktemp("python"), PYTHON, "scip-python")


MAIN = [sys.executable, "-B", "-m", "demo.main"]


def test_a_class_whose_hidden_names_are_written_elsewhere_must_be_decided(python: Typed) -> None:
    assert python.said("Vault", "Safe") == ("needs_decision", {("name_form", "demo/main.py", 4)})


def test_a_class_whose_hidden_names_stay_inside_is_renamed(python: Typed) -> None:
    python.works_renamed("Chest", "Trunk", MAIN)


@pytest.mark.parametrize(
    ("symbol", "path", "line"), [("Mode.FAST", "demo/main.py", 4), ("Level.LOW", "demo/vault.py", 44)]
)
def test_a_member_of_an_enum_that_is_looked_up_or_listed_must_be_decided(
    python: Typed, symbol: str, path: str, line: int
) -> None:
    assert python.said(symbol, "OTHER") == ("needs_decision", {("name_of_data", path, line)})


@pytest.mark.parametrize("symbol", ["Colour.RED", "Tone.HIGH"])
def test_a_member_of_an_enum_that_is_only_written_is_renamed(python: Typed, symbol: str) -> None:
    python.works_renamed(symbol, "OTHER", MAIN)


def test_a_field_that_is_made_of_data_must_be_decided(python: Typed) -> None:
    assert python.said("Cfg.retries", "again") == ("needs_decision", {("name_of_data", "demo/data.py", 36)})


@pytest.mark.parametrize("symbol", ["Point.left", "Quiet.gain"])
def test_a_field_that_is_only_written_is_renamed(python: Typed, symbol: str) -> None:
    python.works_renamed(symbol, "other", MAIN)


def test_an_attribute_of_a_class_whose_attributes_are_listed_must_be_decided(python: Typed) -> None:
    assert python.said("Plain.depth", "deep") == ("needs_decision", {("name_of_data", "demo/data.py", 20)})


@pytest.mark.parametrize(("name", "line"), [("alpha", 29), ("beta", 30)])
def test_names_in_slots_and_match_args_must_be_decided(python: Typed, name: str, line: int) -> None:
    assert python.said(f"Packed.{name}", "other") == ("needs_decision", {("name_in_text", "demo/data.py", line)})


def test_a_name_in_another_unicode_form_must_be_decided(python: Typed) -> None:
    assert python.said(ACCENTED, "bar") == (
        "needs_decision",
        {("name_form", "demo/main.py", 2), ("name_form", "demo/main.py", 5)},
    )
    assert python.said("heat", unicodedata.normalize("NFD", ACCENTED))[0] == "needs_decision"


@pytest.mark.parametrize("new", ["\uff48\uff45\uff41\uff54", "\uff44\uff45\uff46"])
def test_a_new_name_that_python_reads_as_the_old_one_or_a_word_of_its_own_is_refused(python: Typed, new: str) -> None:
    done = typed(["rename", "heat", new], python.tree, python.environ)
    assert (done.status, done.stdout) == (2, "")
    assert "The new name is " in done.stderr


@pytest.mark.parametrize(("symbol", "other"), [("demo/_slow.py:1", 2), ("demo/_fast.py:1", 4)])
def test_an_import_that_another_one_stands_in_for_must_be_decided(python: Typed, symbol: str, other: int) -> None:
    verdict, asked = python.said(symbol, "other")
    assert verdict == "needs_decision"
    assert ("conditional_definition", "demo/turns.py", other) in asked


@pytest.mark.parametrize("module", ["_fast", "_slow"])
def test_uses_of_imports_that_stand_in_for_each_other_are_likely_of_both(python: Typed, module: str) -> None:
    said = json.loads(typed(["refs", f"demo/{module}.py:1", "--json"], python.tree, python.environ).stdout)
    found = {(one["path"], one["line"]): one["tier"] for one in said["results"]}
    line = 2 if module == "_fast" else 4
    assert found == {
        ("demo/turns.py", 6): "likely",
        ("demo/later.py", 3): "likely",
        ("demo/later.py", 1): "likely",
        ("demo/turns.py", line): "proven",
    }


def test_files_that_are_left_out_and_use_the_name_must_be_decided(tmp_path: Path) -> None:
    python = Typed(tmp_path / "world", PYTHON, "scip-python")
    (tmp_path / "apart.py").write_text("from demo.data import point\n")
    files = {
        "demo/latin.py": b"# -*- coding: latin-1 -*-\n# h\xe9 heat\nfrom demo.data import point\n",
        "local/own.py": b"from demo.data import point\n",
        "local/deep/word.py": b"# a point\n'''point it'''\n",
        "build/lib/old.py": b"from demo.data import point\n",
        ".venv/lib/old.py": b"from demo.data import point\n",
    }
    (python.tree / "link.py").symlink_to(tmp_path / "apart.py")
    for path, data in files.items():
        (python.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (python.tree / path).write_bytes(data)
    assert python.said("point", "dot") == (
        "needs_decision",
        {("file_left_out", "demo/latin.py", 3), ("file_left_out", "local/own.py", 1), ("file_left_out", "link.py", 1)},
    )
    shown = typed(["rename", "point", "dot", "--no-check"], python.tree, python.environ)
    assert "local/own.py:1" in shown.stdout + shown.stderr
    (python.tree / "link.py").unlink()
    assert python.said("load", "fill")[0] == "automatic"
    assert python.said("heat", "warm")[0] == "automatic", "a word in a comment stops nothing"


# --- TypeScript -------------------------------------------------------------------------------------------------------

TYPESCRIPT = {
    "package.json": '{"name": "small", "version": "1.0.0"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "target": "es2020"}, "include": ["src"]}\n',
    "src/user.ts": """\
export interface User {
  nickname: string;
}

export class Till {
  private coins = 1;

  unlock() {
    return this.coins;
  }
}

export function greet(one: User): string {
  return one.nickname + new Till().unlock();
}
""",
    "src/wire.ts": """\
import { greet, User } from './user';

export function sent(one: User): string {
  return JSON.stringify(one);
}

greet({ nickname: 'a' });
""",
}


def test_a_field_of_typescript_that_is_written_to_json_must_be_decided(tmp_path: Path) -> None:
    world = Typed(tmp_path, TYPESCRIPT, "scip-typescript")
    assert world.said("User.nickname", "alias") == ("needs_decision", {("name_of_data", "src/wire.ts", 4)})
    assert world.said("Till.unlock", "unlatch")[0] == "automatic"
    assert world.said("greet", "welcome")[0] == "automatic"


def test_a_field_of_typescript_that_no_text_can_reach_is_renamed(tmp_path: Path) -> None:
    files = TYPESCRIPT | {"src/wire.ts": TYPESCRIPT["src/wire.ts"].replace("JSON.stringify(one)", "greet(one)")}
    assert Typed(tmp_path, files, "scip-typescript").said("User.nickname", "alias")[0] == "automatic"


# --- Go ---------------------------------------------------------------------------------------------------------------

GO = {
    "go.mod": "module example.com/demo\n\ngo 1.21\n",
    "main.go": """\
package main

import (
	"fmt"
	"reflect"
)

type Tool struct{ width, Depth int }

func (t Tool) Cut() int { return helper() }

func (t Tool) bend() int { return t.width }

func helper() int { return 1 }

func main() {
	tool := Tool{width: 1, Depth: 2}
	way := []string{"Cut"}[0]
	fmt.Println(reflect.ValueOf(tool).MethodByName(way).Call(nil)[0].Int(), tool.bend(), tool.Cut(), tool.Depth)
}
""",
}


def test_a_lookup_of_methods_by_name_stops_exported_methods_and_nothing_else(tmp_path: Path) -> None:
    world = Typed(tmp_path, GO, "scip-go")
    run = ["go", "run", "."]
    assert world.said("Tool.Cut", "Slice")[0] == "needs_decision"
    for symbol, new in (("helper", "other"), ("Tool.bend", "fold"), ("Tool.width", "wide"), ("Tool.Depth", "Deep")):
        world.works_renamed(symbol, new, run)


def test_what_an_interface_elsewhere_asks_for_is_named_as_people_write_it(tmp_path: Path) -> None:
    method = "func (Sink) Write(p []byte) (int, error) { return len(p), nil }"
    head = 'package main\n\nimport "io"\n\ntype Sink struct{}\n\n'
    text = f"{head}{method}\n\nvar Out io.Writer = Sink{{}}\n\nfunc main() {{}}\n"
    files = {"go.mod": GO["go.mod"], "main.go": text}
    world = Typed(tmp_path, files, "scip-go")
    shown = typed(["rename", "Sink.Write", "Put", "--no-check"], world.tree, world.environ)
    assert shown.status == 19
    assert "It implements io.Writer.Write, which lies outside and keeps its name." in shown.stdout
