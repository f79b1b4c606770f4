"""The figures about the source are right where anybody can count them by hand: in a package of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import house

FILES = {
    "__init__.py": "",
    "__main__.py": "from tiny.sync.run import main\n\nmain()\n",
    "plain.py": "x = 1\n",
    "store/__init__.py": "from tiny.store.snapshot import Snapshot\n",
    "store/snapshot.py": (
        "class Base:\n"
        "    def close(self): ...\n"
        "    def _hidden(self): ...\n"
        "class Snapshot(Base):\n"
        "    def newest(self): ...\n"
        "    @property\n"
        "    def name(self): ...\n"
        "NEWEST = 1\n"
    ),
    "store/files.py": "import json\ndef names():\n    return []\ndef sizes(): ...\nclass Found: ...\n",
    "sync/__init__.py": "",
    "sync/run.py": (
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "import tiny.store.files\n"
        "from tiny import store\n"
        "from tiny.store import files as other, Snapshot\n"
        "if TYPE_CHECKING:\n"
        "    from tiny.sync.report import Report\n"
        "else:\n"
        "    import tiny.plain as plain\n"
        "class Found: ...\n"
        "def main():\n"
        "    import json\n"
        "    from tiny.sync.report import say\n"
        "    names = [name for name in tiny.store.files.names()]\n"
        "    say(names, lambda: store.snapshot.NEWEST, other.sizes, store.Snapshot)\n"
        "def unused():\n"
        "    return Found()\n"
    ),
    "sync/report.py": "class Report: ...\ndef say(*words):\n    from tiny.sync import run\n    return run.Found()\n",
    "sync/files.py": "from importlib import import_module\nPLACES = ['tiny.sync.late']\nload = import_module\n",
    "sync/late.py": (
        "import tiny.sync.files\nfrom tiny.store.snapshot import Base\nclass Both(Base):\n    def more(self): ...\n"
    ),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("house") / "tiny"
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8")
    return place


@pytest.fixture(scope="module")
def modules(package: Path) -> dict[str, house.Module]:
    return house.modules_of(package)


def test_every_file_is_a_module_with_its_lines(modules: dict[str, house.Module]) -> None:
    assert len(modules) == len(FILES)
    assert modules["tiny.store"].lines == 1
    assert modules["tiny.store.snapshot"].lines == 8


def test_an_import_knows_when_it_happens(modules: dict[str, house.Module]) -> None:
    run = "tiny.sync.run"
    assert house.edges(modules, house.TOP)[run] == {"tiny.store", "tiny.store.files", "tiny.plain"}
    assert house.edges(modules, house.LATE)[run] == {"tiny.sync.report"}
    assert house.edges(modules, house.TYPING)[run] == {"tiny.sync.report"}
    assert house.edges(modules, house.NAMED)["tiny.sync.files"] == {"tiny.sync.late"}


def test_a_module_with_one_importer_is_named(modules: dict[str, house.Module]) -> None:
    # The snapshot has two importers, the run has two, and nobody imports the module that is only named in a string.
    assert house.single_importers(modules) == [
        "tiny.plain",
        "tiny.store",
        "tiny.store.files",
        "tiny.sync.files",
        "tiny.sync.report",
    ]


def test_late_imports_are_those_in_functions(modules: dict[str, house.Module]) -> None:
    assert house.late_imports(modules, "tiny") == ["tiny.sync.report:3", "tiny.sync.run:13"]
    assert house.late_imports(modules) == ["tiny.sync.report:3", "tiny.sync.run:12", "tiny.sync.run:13"]


def test_a_cycle_is_found_however_it_is_closed(modules: dict[str, house.Module]) -> None:
    assert house.cycles(house.edges(modules, house.TOP)) == []
    assert house.cycles(house.edges(modules, house.TOP, house.LATE)) == [["tiny.sync.report", "tiny.sync.run"]]
    assert ["tiny.sync.files", "tiny.sync.late"] in house.cycles(house.edges(modules, house.TOP, house.NAMED))
    assert house.cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == [["a", "b", "c"]]


def test_a_name_counts_once_by_whatever_way_it_is_reached(modules: dict[str, house.Module]) -> None:
    assert house.names_reached(modules, "tiny.sync", "tiny.store") == [
        "tiny.store.files.names",
        "tiny.store.files.sizes",
        "tiny.store.snapshot.Base",
        "tiny.store.snapshot.NEWEST",
        "tiny.store.snapshot.Snapshot",
    ]


def test_public_methods_include_those_of_the_bases_in_the_package(modules: dict[str, house.Module]) -> None:
    counts = house.public_methods(modules)
    assert counts["tiny.store.snapshot.Snapshot"] == 3
    assert counts["tiny.sync.late.Both"] == 2
    assert counts["tiny.store.files.Found"] == 0


def test_a_name_that_two_classes_or_two_files_have_is_shared(modules: dict[str, house.Module]) -> None:
    assert house.shared(house.classes(modules)) == {"Found": ["tiny.store.files", "tiny.sync.run"]}
    assert house.shared(house.file_names(modules)) == {"files.py": ["tiny.store.files", "tiny.sync.files"]}


def test_the_hops_of_a_command_are_the_functions_it_enters(package: Path, tmp_path: Path) -> None:
    # `main`, `names` and `say`; the lambda is made but never called.
    assert house.hops(package, [], tmp_path, {}) == house.Hops(modules=3, functions=3)


def test_the_table_says_each_figure(package: Path) -> None:
    found = house.figures(package) | {"hops of one query": house.Hops(79, 1637)}
    lines = house.table(found).splitlines()
    assert len(lines) == len(found)
    assert lines[0].split() == ["modules", str(len(FILES))]
    assert lines[-1].split() == ["hops", "of", "one", "query", "1,637", "functions", "in", "79", "modules"]
