"""Names that a compiler's facts alone would have broken: each class of them, with the real indexer of its language.

A plan is automatic only if every place of the name is edited or is something else. Here are the places that no indexer
speaks of: what must be decided comes with the place, and what the rule is known for is edited with the rest.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.ask.edits import Renaming, check_edit, rename
from cairn.ask.prepare import Policy, prepare
from cairn.ask.refreshing import RefreshOutcome, Watcher, Wish, refresh
from cairn.ask.session import Session, whole
from cairn.ask.structure import Asked, asked_of
from cairn.semantic.ambiguity import AmbiguitySource
from cairn.semantic.editing import Verdict
from cairn.semantic.patch import EditRule
from cairn.semantic.plan import RenamePlan
from tests.conformance import conforms
from tests.semantic.indexers import real_indexer
from tests.semantic.worlds import World

pytestmark = pytest.mark.long

Question = tuple[AmbiguitySource, str, int]


class Judged(World):
    """A codebase that a real indexer has read once."""

    def __init__(self, place: Path, files: dict[str, str], indexer: str) -> None:
        super().__init__(place.resolve(), files)
        self.environ["PATH"] = os.pathsep.join([os.path.dirname(real_indexer(indexer)), self.environ["PATH"]])

        def opened() -> Session:
            session = Session(whole(str(self.tree), self.environ), self.environ)
            prepare(session, Policy())
            return session

        done = refresh(opened, Wish(), self.environ, Watcher())
        assert all(one.outcome is RefreshOutcome.COMPLETED for one in done), done

    def plan(self, symbol: str, new: str) -> RenamePlan:
        with self.session() as session:
            reply = rename(session, Renaming(asked_of(symbol, session.root), new))
        assert reply.value is not None, reply.miss
        return reply.value

    def asked(self, symbol: str, new: str = "other_name") -> list[Question]:
        """What must be decided before the rename."""
        plan = self.plan(symbol, new)
        found = [(one.source, one.path, one.line) for one in plan.open]
        assert (plan.verdict is Verdict.AUTOMATIC) is (not found), plan
        return found

    @contextmanager
    def applied(self, symbol: str, new: str) -> Iterator[RenamePlan]:
        """The tree with an automatic plan applied, as long as the block lasts."""
        plan = self.plan(symbol, new)
        assert plan.verdict is Verdict.AUTOMATIC, plan
        self.git("apply", "-", data=plan.patch)
        yield plan
        self.git("apply", "-R", "-", data=plan.patch)


# --- Go ---------------------------------------------------------------------------------------------------------------

GO = {
    "go.mod": """\
module example.com/demo

go 1.21
""",
    "sizer.go": """\
package demo

// Sizer has a size, as every open file of another package has.
type Sizer interface {
	Size() int64
}

type closed interface {
	Width() int
	only()
}

type box struct{}

func (box) Width() int { return 1 }
func (box) only()      {}

func Wide() closed { return box{} }

func Total(all ...Sizer) (sum int64) {
	for _, one := range all {
		sum += one.Size()
	}
	return sum
}
""",
    "router.go": """\
package demo

// Route is one way.
type Route struct{ name string }

func (r *Route) Match() bool { return r.name != "" }

func SetVars(r *Route) *Route { return r }

type Options struct {
	Timeout int
	Depth   int `json:"depth"`
}

var Chosen = Options{Timeout: 1}

type pair struct{ left, right int }

type couple struct{ left, right int }

func Turned(one pair) couple { return couple(one) }
""",
    "demo_test.go": """\
package demo

import (
	"strings"
	"testing"
)

func ExampleSetVars() {
	SetVars(nil)
	// Output:
}

func ExampleRoute() {
	_ = Route{}
	// Output:
}

func ExampleRoute_Match_empty() {
	(&Route{}).Match()
	// Output:
}

func TestTotal(t *testing.T) {
	if Total(strings.NewReader("a")) != 1 {
		t.Fatal()
	}
}

func helper() func(*testing.T) { return TestTotal }

var _ = helper
""",
}


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("go"), GO, "scip-go")


def vetted(world: Judged) -> str:
    """What `go vet` says of the codebase, without network, cgo or another toolchain."""
    environ = os.environ | {"GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(
        ["go", "vet", "./..."], cwd=world.tree, env=environ, check=False, capture_output=True, text=True
    )
    return done.stderr


def test_a_method_of_an_interface_that_types_of_other_modules_implement_must_be_decided(go: Judged) -> None:
    assert go.asked("Sizer.Size", "Extent") == [(AmbiguitySource.OUTSIDE_IMPLEMENTER, "sizer.go", 5)]


def test_a_method_of_an_interface_that_no_other_package_can_implement_is_renamed(go: Judged) -> None:
    with go.applied("sizer.go:9", "Breadth"):
        assert vetted(go) == ""


@pytest.mark.parametrize(
    ("symbol", "new", "example"),
    [
        ("SetVars", "PutVars", "func ExamplePutVars()"),
        ("Route", "Path", "func ExamplePath_Match_empty()"),
        ("Route.Match", "Fits", "func ExampleRoute_Fits_empty()"),
    ],
)
def test_the_examples_of_what_is_renamed_are_renamed_with_it(go: Judged, symbol: str, new: str, example: str) -> None:
    with go.applied(symbol, new) as plan:
        assert vetted(go) == ""
        assert example in (go.tree / "demo_test.go").read_text()
        assert any(one.rule is EditRule.EXAMPLE for edit in plan.edits for one in edit.replacements)


def test_a_test_that_would_not_be_one_any_more_must_be_decided(go: Judged) -> None:
    assert go.asked("TestTotal", "CheckTotal") == [(AmbiguitySource.NAME_FOR_TOOL, "demo_test.go", 23)]
    assert go.asked("TestTotal", "TestSum") == []


def test_a_field_that_is_written_under_its_name_must_be_decided(go: Judged) -> None:
    assert go.asked("Options.Timeout", "Patience") == [(AmbiguitySource.NAME_OF_DATA, "router.go", 11)]
    assert go.asked("Options.Depth", "Level") == []


def test_a_field_of_a_struct_that_may_be_converted_to_another_must_be_decided(go: Judged) -> None:
    assert go.asked("pair.left", "first") == [(AmbiguitySource.STRUCTURAL_FIT, "router.go", 19)]


def test_a_name_that_other_packages_could_not_see_any_more_must_be_decided(go: Judged) -> None:
    assert go.asked("SetVars", "putVars") == [(AmbiguitySource.NAME_FORM, "router.go", 8)]


def test_a_method_name_that_the_standard_library_looks_for_must_be_decided(go: Judged) -> None:
    for new in ("String", "Error", "MarshalJSON"):
        assert AmbiguitySource.NAME_FORM in {source for source, _, _ in go.asked("Route.Match", new)}, new


def test_a_name_that_another_file_of_the_package_has_must_be_decided(go: Judged) -> None:
    assert go.asked("SetVars", "Sizer") == [(AmbiguitySource.NAME_TAKEN, "sizer.go", 3)]


# --- TypeScript -------------------------------------------------------------------------------------------------------

TYPESCRIPT = {
    "package.json": '{"name": "small", "version": "1.0.0"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "target": "es2020"}, "include": ["src"]}\n',
    "src/plugins.ts": """\
export type Patches = {
  generate_(state: number): void;
  apply_: () => number;
};

const plugins: { Patches?: Patches } = {};

type Plugins = typeof plugins;

export function load<K extends keyof Plugins>(key: K, made: Plugins[K]): void {
  if (!plugins[key]) plugins[key] = made;
}

export function run() {
  plugins.Patches?.generate_(1);
  plugins.Patches?.apply_();
}
""",
    "src/patches.ts": """\
import { load } from './plugins';

export function enable() {
  function generate_(state: number) {}
  load('Patches', { generate_, apply_: () => 1 });
}
""",
    "src/shop.ts": """\
export interface Counter {
  size: number;
}

export function count(all: Counter) {
  return all.size;
}

count(new Set());

export class Till {
  private coins = 1;

  open() {
    return this.coins;
  }
}

export function byName(till: Till) {
  return (till as any)['open']() + new Till().open();
}

export class Flags implements PropertyDescriptor {
  get configurable() {
    return true;
  }
}

export class Lamp {
  get lit() {
    return true;
  }
}

export class Bulb extends Lamp {
  get lit() {
    return false;
  }
}

export const dark = [new Lamp().lit, new Bulb().lit, new Flags().configurable];

export const first = { then: () => 1 };
export const second = { then: () => 2 };
export const both = first.then() + second.then();

export function pick(one: string): string;
export function pick(one: number): number;
export function pick(one: any) {
  return one;
}

pick(1);
pick('a');
""",
}


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("typescript"), TYPESCRIPT, "scip-typescript")


def test_an_object_with_shorthand_that_fits_the_type_must_be_decided(typescript: Judged) -> None:
    assert (AmbiguitySource.STRUCTURAL_FIT, "src/patches.ts", 5) in typescript.asked("Patches.generate_", "make_")
    assert (AmbiguitySource.STRUCTURAL_FIT, "src/patches.ts", 5) in typescript.asked("Patches.apply_", "put_")


def test_a_member_that_built_in_types_have_too_must_be_decided(typescript: Judged) -> None:
    assert typescript.asked("Counter.size", "extent") == [(AmbiguitySource.STRUCTURAL_FIT, "src/shop.ts", 2)]


def test_a_property_that_may_implement_one_of_a_type_elsewhere_must_be_decided(typescript: Judged) -> None:
    assert [one[0] for one in typescript.asked("Flags.configurable", "changes")] == [AmbiguitySource.STRUCTURAL_FIT]


def test_a_property_is_renamed_with_the_one_that_overrides_it(typescript: Judged) -> None:
    plan = typescript.plan("Bulb.lit", "on_")
    assert {place.line: one.path for one in plan.edits for place in one.replacements} == dict.fromkeys(
        (30, 36, 41), "src/shop.ts"
    )


def test_a_private_member_is_renamed(typescript: Judged) -> None:
    assert typescript.asked("Till.coins", "money") == []


def test_a_member_that_a_text_names_must_be_decided(typescript: Judged) -> None:
    assert (AmbiguitySource.NAME_IN_TEXT, "src/shop.ts", 20) in typescript.asked("Till.open", "unlock")


def test_overloads_are_renamed_together(typescript: Judged) -> None:
    plan = typescript.plan("pick", "choose")
    assert plan.verdict is Verdict.AUTOMATIC, plan
    assert [(one.path, one.places) for one in plan.edits] == [("src/shop.ts", 5)]


# --- Python -----------------------------------------------------------------------------------------------------------

PYTHON = {
    "pyproject.toml": """\
[project]
name = 'demo'

[project.scripts]
demo = 'demo.main:start'
""",
    "demo/__init__.py": """\
from demo.fields import Method, build

__all__ = ['Method', 'build']
""",
    "demo/fields.py": '''\
class Method:
    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, owner):
        return getattr(owner, self.name)()


def build(kind: str) -> str:
    return kind


def shape(kind: str) -> str:
    """Shape it.

    >>> shape('a')
    'a'
    """
    return kind


shape('b')
''',
    "demo/schema.py": """\
from demo.fields import Method


class Meta(type):
    pass


class Schema(metaclass=Meta):
    is_old = Method('get_is_old')
    age = Method('age')

    def get_is_old(self):
        return self.is_old

    def visit(self, kind):
        return getattr(self, 'visit_' + kind)()

    def visit_name(self):
        return 1

    def _plain(self):
        return 2

    def use(self):
        return self._plain() + self.visit_name()


class Deep(Schema):
    pass


REGISTRY = {'Deep': Deep}
NESTED = 'Flat'


class Flat(Schema):
    pass


Flat()
""",
    "demo/main.py": """\
from functools import cache
from typing import overload
from demo.fields import build
from demo.schema import Schema


def start():
    return build('a')


start()


def go(obj):
    obj.take()


class Cup:
    def take(self):
        return 1

    def fill(self):
        return 2


class Jug:
    def fill(self):
        return 3


def both(one: Cup | Jug):
    one.fill()
    Cup().take()


def look(one, key):
    return getattr(one, key), getattr(one, 'depth', 1)


class Well:
    depth = 1
    width = 1


print(Well.depth, Well.width)


@overload
def turn(one: int) -> int: ...


@overload
def turn(one: str) -> str: ...


def turn(one):
    return one


turn(1)
turn("a")


@cache
def twice():
    return 1


@cache
def twice():
    return 2


twice()
""",
    "tests/conftest.py": """\
import pytest


@pytest.fixture
def server():
    return 1


@pytest.fixture
def client(server):
    return server
""",
    "tests/test_demo.py": """\
def test_client(client, server):
    assert client == server


test_client(1, 1)
""",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("python"), PYTHON, "scip-python")


def test_a_fixture_must_be_decided_with_every_parameter_that_it_is_given_to(python: Judged) -> None:
    asked = python.asked("server")
    assert {(path, line) for source, path, line in asked if source is AmbiguitySource.FIXTURE} == {
        ("tests/conftest.py", 10),
        ("tests/conftest.py", 11),
        ("tests/test_demo.py", 1),
        ("tests/test_demo.py", 2),
    }


def test_a_method_that_a_text_names_must_be_decided(python: Judged) -> None:
    assert python.asked("Schema.get_is_old") == [(AmbiguitySource.NAME_IN_TEXT, "demo/schema.py", 9)]


def test_a_class_that_a_text_names_must_be_decided(python: Judged) -> None:
    assert python.asked("Flat") == [(AmbiguitySource.NAME_IN_TEXT, "demo/schema.py", 33)]
    assert (AmbiguitySource.NAME_IN_TEXT, "demo/schema.py", 32) in python.asked("Deep")


def test_what_all_names_is_edited_with_the_rest(python: Judged) -> None:
    with python.applied("build", "make") as plan:
        assert (python.tree / "demo/__init__.py").read_text().endswith("__all__ = ['Method', 'make']\n")
        assert [one.rule for edit in plan.edits for one in edit.replacements].count(EditRule.EXPORTED) == 1


def test_an_attribute_that_a_metaclass_collects_must_be_decided(python: Judged) -> None:
    assert (AmbiguitySource.NAME_OF_DATA, "demo/schema.py", 9) in python.asked("Schema.is_old")


def test_a_name_that_a_text_is_put_together_for_must_be_decided(python: Judged) -> None:
    assert python.asked("Schema.visit_name") == [(AmbiguitySource.DYNAMIC_ATTRIBUTE, "demo/schema.py", 16)]


def test_a_function_that_the_settings_name_must_be_decided(python: Judged) -> None:
    assert (AmbiguitySource.NAME_IN_TEXT, "pyproject.toml", 5) in python.asked("start")


def test_a_function_that_an_example_in_a_docstring_calls_must_be_decided(python: Judged) -> None:
    assert python.asked("shape") == [(AmbiguitySource.NAME_IN_TEXT, "demo/fields.py", 16)]


def test_a_test_that_pytest_would_not_find_any_more_must_be_decided(python: Judged) -> None:
    assert python.asked("test_client", "check") == [(AmbiguitySource.NAME_FOR_TOOL, "tests/test_demo.py", 1)]
    assert python.asked("test_client", "test_both") == []


def test_overloads_of_python_are_renamed_together(python: Judged) -> None:
    plan = python.plan("turn", "rotate")
    assert plan.verdict is Verdict.AUTOMATIC, plan
    assert [(one.path, one.places) for one in plan.edits] == [("demo/main.py", 5)]


def test_of_two_definitions_under_one_name_none_is_renamed_alone(python: Judged) -> None:
    plan = python.plan("twice", "double")
    found = next(one for one in plan.edits if one.path == "demo/main.py")
    assert plan.verdict is Verdict.NEEDS_DECISION or found.places == 3, plan


def test_a_method_that_a_union_has_twice_must_be_decided(python: Judged) -> None:
    assert python.asked("Cup.fill") == [(AmbiguitySource.STRUCTURAL_FIT, "demo/main.py", 32)]


@conforms("002.AX2", "002.AX3")
def test_gate_and_planner_agree_on_a_use_through_a_value_without_a_type(python: Judged) -> None:
    use = (AmbiguitySource.UNRESOLVED_USE, "demo/main.py", 15)
    assert python.asked("Cup.take") == [use]
    with python.session() as session:
        gate = check_edit(session, [Asked("demo/main.py", "demo/main.py", session.root)]).value
    assert gate is not None
    assert gate.verdict is Verdict.NEEDS_DECISION
    assert use in [(one.source, one.path, one.line) for one in gate.files[0].open]


def test_a_lookup_in_the_same_class_stops_only_the_names_that_its_text_can_be(python: Judged) -> None:
    assert python.asked("Schema._plain") == []


def test_a_text_that_is_looked_up_elsewhere_in_the_file_stops_only_the_name_it_can_be(python: Judged) -> None:
    assert python.asked("Well.width") == []
    assert {source for source, _, _ in python.asked("Well.depth")} == {AmbiguitySource.NAME_IN_TEXT}


@pytest.mark.parametrize(
    ("symbol", "new"),
    [
        ("go", "list"),
        ("go", "__getattr__"),
        ("go", "test_it"),
        ("go", "pytest_configure"),
        ("Cup", "TestCup"),
        ("Schema._plain", "__plain"),
        ("Schema._plain", "__call__"),
    ],
)
def test_a_name_that_python_or_pytest_gives_a_meaning_must_be_decided(python: Judged, symbol: str, new: str) -> None:
    assert AmbiguitySource.NAME_FORM in {source for source, _, _ in python.asked(symbol, new)}
