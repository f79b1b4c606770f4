"""What a change reaches, asked of a real codebase with a history."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.ask.impact import impact
from cairn.ask.structure import asked_of
from cairn.errors import UsageError
from cairn.graph.impact import Impact, ReasonToRun
from tests.semantic.worlds import World

FILES = {
    "app/lease.py": "class Lease:\n    def steal(self):\n        return take(self)\n\n\n"
    "def take(what):\n    return what\n",
    "app/store.py": "from app.lease import take\n\n\ndef load(name):\n    return take(name)\n",
    "app/far.py": "from app.store import load\n\n\ndef far():\n    return load('x')\n",
    "app/own.py": "from app.lease import Lease\n\n\nclass Own(Lease):\n    def steal(self):\n        return None\n",
    "app/alone.py": "def alone():\n    return 1\n",
    "tests/test_store.py": "from app.store import load\n\n\ndef test_it():\n    assert load('a')\n",
    "tests/test_lease.py": "import app.lease\n",
    "tests/test_alone.py": "from app.alone import alone\n\n\ndef test_it():\n    assert alone()\n",
    "tests/conftest.py": "from app.store import load\n",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("impact").resolve(), FILES)


def told(world: World, name: str | None = None, **options: object) -> Impact:
    with world.session() as session:
        reply = impact(session, asked_of(name, str(world.tree)) if name else None, **options)  # type: ignore[arg-type]
    assert reply.value is not None, reply
    return reply.value


def test_callers_heirs_importers_and_tests_of_a_definition(world: World) -> None:
    found = told(world, "take")
    assert [(one.definition.name, one.definition.exported) for one in found.changed] == [("take", True)]
    callers = [(one.depth, one.definition and one.definition.qualified, one.text) for one in found.callers]
    assert callers == [
        (1, "Lease.steal", "return take(self)"),
        (1, "load", "return take(name)"),
        (2, "far", "return load('x')"),
        (2, "test_it", "assert load('a')"),
    ]
    assert found.importers == ("app/own.py", "app/store.py", "tests/test_lease.py")
    assert {one.path: one.reason for one in found.tests} == {
        "tests/test_lease.py": ReasonToRun.NAMED,
        "tests/test_store.py": ReasonToRun.CALLS,
    }
    assert [one.definition and one.definition.name for one in told(world, "take", depth=1).callers] == ["steal", "load"]


def test_what_overrides_a_method_is_in_its_place(world: World) -> None:
    found = told(world, "Lease")
    assert {(one.path, one.name, one.kind) for one in found.heirs} == {
        ("app/own.py", "Own", "implementation"),
        ("app/own.py", "Own.steal", "override"),
    }


def test_of_a_file_all_its_definitions_are_asked_about(world: World) -> None:
    found = told(world, "app/lease.py")
    assert ([one.definition.name for one in found.changed], found.files) == (
        ["Lease", "steal", "take"],
        ("app/lease.py",),
    )
    cut = told(world, "app/lease.py", limit=1)
    assert (len(cut.changed), cut.left["changed"], cut.left["importers"]) == (1, 2, 2)


def test_of_a_difference_what_has_changed_is_told(tmp_path: Path) -> None:
    world = World(tmp_path.resolve(), FILES)
    assert told(world, diff="HEAD").changed == ()
    world.replace("app/lease.py", "return what", "return [what]")
    world.replace("app/alone.py", "def alone()", "def single()")
    world.write("app/new.py", "def fresh():\n    return 1\n")
    (world.tree / "app" / "far.py").unlink()
    found = told(world, diff="HEAD")
    assert [
        (one.definition.path, one.definition.name, one.kind and one.kind.value, one.old_name) for one in found.changed
    ] == [
        ("app/alone.py", "single", "renamed", "alone"),
        ("app/far.py", "far", "removed", ""),
        ("app/lease.py", "take", "body", ""),
        ("app/new.py", "fresh", "added", ""),
    ]
    assert {one.path for one in found.tests} >= {"tests/test_alone.py", "tests/test_store.py"}
    assert len(found.revision) == 40
    assert not list(Path(world.environ["CAIRN_HOME"], "cache", "semantic").iterdir())
    with world.session() as session:
        gone = impact(session, None, diff="no-such-branch")
    assert gone.miss is not None
    assert gone.miss.error.sentence == "There is no such commit here."


def test_one_of_both_is_asked(world: World) -> None:
    with world.session() as session, pytest.raises(UsageError, match="one of them"):
        impact(session, None)
