"""The tour leads through the whole house: every room has a short part, and every file that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path, PurePosixPath

from tests.architecture import MAY_IMPORT
from tests.conformance_report import PROJECT

PACKAGE = PROJECT / "src" / "cairn"
PAGE = (PROJECT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
MOST_LINES = 15


def parts(page: str) -> dict[str, str]:
    """Room → the part about it. A room is what the heading of a part names; several may share one."""
    found = {}
    for part in page.split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        found.update(dict.fromkeys(re.findall(r"`(\w+)`", heading), text.strip()))
    return found


def missing_files(page: str, package: Path) -> set[str]:
    """The files that a page names and that are not in the room of the part, nor where a whole path says."""
    files = {PurePosixPath(file.relative_to(package).as_posix()) for file in package.rglob("*.py")}
    named = {name for name in re.findall(r"`([\w/]+\.py)`", page) if not name.startswith("tests/")}
    return {name for name in named if not any(file.match(name) for file in files)}


def test_every_room_has_a_part_of_fifteen_lines_at_most() -> None:
    rooms = {room for room in MAY_IMPORT if room != "__init__"}
    assert parts(PAGE).keys() == rooms
    assert {room: text.count("\n") + 1 for room, text in parts(PAGE).items() if text.count("\n") >= MOST_LINES} == {}


def test_every_file_that_the_tour_names_is_there() -> None:
    assert re.search(r"`[\w/]+\.py`", PAGE), "the tour names no file at all"
    assert missing_files(PAGE, PACKAGE) == set()


def test_a_file_that_is_not_there_is_missed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "lease.py").touch()
    assert missing_files("`lease.py` and `store/lease.py`", tmp_path) == set()
    assert missing_files("`gone.py` and `sync/lease.py`", tmp_path) == {"gone.py", "sync/lease.py"}


def test_every_module_says_in_its_first_line_what_it_is_for() -> None:
    first = {}
    for file in PACKAGE.rglob("*.py"):
        first[file.relative_to(PACKAGE).as_posix()] = (
            ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        ).partition("\n")[0]
    assert {
        name: line for name, line in first.items() if len(line) < 20 or not line.endswith((".", "?", ":", "!"))
    } == {}
