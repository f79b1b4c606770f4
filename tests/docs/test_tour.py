"""The tour leads through the whole house: every module is named in the part about its room, and every name is there."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tests.conformance_report import PROJECT

PACKAGE = PROJECT / "src" / "cairn"
PAGE = (PROJECT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
MODULES = sorted(
    PurePosixPath(file.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py") if file.name != "__init__.py"
)


def parts(page: str) -> dict[str, set[str]]:
    """Room → the names of modules in the parts about it. A room is what the heading of a part names."""
    found: dict[str, set[str]] = {}
    for part in page.split("\n## ")[1:]:
        heading, _, text = part.partition("\n")
        rooms = re.findall(r"`(\w+)`", heading)
        names = {word.removesuffix(".py") for word in re.findall(r"`([\w*/]+(?:\.py)?)`", text)}
        for room in rooms:
            found.setdefault(room, set()).update(names, rooms)
    return found


def is_named(module: PurePosixPath, page: str) -> bool:
    """Whether the part about its room names a module, alone, with its folder, or by a pattern such as `merge_*`."""
    room = module.parts[0].removesuffix(".py")
    whole = module.with_suffix("").as_posix()
    return any(fnmatchcase(name, one) for one in parts(page).get(room, ()) for name in (module.stem, whole))


def test_every_module_is_named_where_its_room_is_shown() -> None:
    missed = [module.as_posix() for module in MODULES if not is_named(module, PAGE)]
    assert not missed, f"docs/ARCHITECTURE.md does not say what they are for: {', '.join(missed)}"


def test_a_module_that_is_named_in_another_room_only_is_missed() -> None:
    page = "# The tour\n\n## `store`: what\n\n`memory.py`, `merge_*`\n\n## `sync`: how\n\n`run.py`\n"
    assert is_named(PurePosixPath("store/memory.py"), page)
    assert is_named(PurePosixPath("store/merge_plan.py"), page)
    assert not is_named(PurePosixPath("sync/memory.py"), page)


def test_every_file_that_the_tour_names_is_there() -> None:
    files = {PurePosixPath(file.relative_to(PACKAGE).as_posix()) for file in PACKAGE.rglob("*.py")}
    named = {name for name in re.findall(r"`([\w/]+\.py)`", PAGE) if not name.startswith("tests/")}
    assert named, "the tour names no file at all"
    assert not {name for name in named if not any(file.match(name) for file in files)}
