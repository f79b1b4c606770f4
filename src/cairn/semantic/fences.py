"""Project files: what each says about where a package or a workspace begins, and who belongs to it.

They are hostile input. One that cannot be read as what it claims to be still marks its folder; it only says nothing.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from cairn.core.config import parse_toml
from cairn.core.limits import MAX_PATTERN_BYTES, MAX_WORKSPACE_MEMBERS
from cairn.errors import ConfigError
from cairn.semantic.model import Family


@dataclass(frozen=True, slots=True)
class Members:
    """Which folders a workspace lists: patterns relative to it. `strict`: what is not listed does not belong to it."""

    listed: tuple[str, ...] = ()
    strict: bool = True

    def hold(self, folder: str) -> bool:
        """Whether a folder, relative to the workspace, is listed. The last pattern that matches decides."""
        held = not self.strict
        for pattern in self.listed:
            if _matches(pattern.removeprefix("!"), folder):
                held = not pattern.startswith("!")
        return held


EVERYTHING = Members(strict=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """What one project file says.

    `package`: a package begins in its folder, for sure; without it, only where none encloses it. `leans_on` are
    folders, relative to it, that belong to the same workspace because this one depends on them by their path.
    """

    family: Family
    package: bool = False
    members: Members | None = None
    name: str = ""
    leans_on: tuple[str, ...] = ()


def mark_of(path: str, read: Callable[[str], bytes | None]) -> Mark | None:
    """What the file with this path key marks; None when it is no project file."""
    name = path.rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name](read(path) or b"")
    return _BY_SUFFIX.get(name.rpartition(".")[2]) if "." in name[1:] else None


# --- readers ----------------------------------------------------------------------------------------------------------


def _pyproject(data: bytes) -> Mark:
    document = _toml(data)
    tools = _table(document, "tool")
    # A file with nothing but the settings of a linter begins no package.
    begins = any(key in document for key in ("project", "build-system")) or any(
        key in tools for key in ("poetry", "flit", "pdm", "hatch", "setuptools")
    )
    name = _text(_table(document, "project").get("name")) or _text(_table(tools, "poetry").get("name"))
    return Mark(Family.PYTHON, begins, name=name)


def _package_json(data: bytes) -> Mark:
    document = _json(data)
    listed = document.get("workspaces")
    if isinstance(listed, dict):
        listed = listed.get("packages")
    name = _text(document.get("name"))
    members = Members(_patterns(listed)) if isinstance(listed, list) else None
    # `{"type": "module"}` in a folder says how its files are loaded, and begins no package.
    return Mark(Family.TYPESCRIPT, bool(name) or members is not None, members, name)


_YAML_LIST = re.compile(
    r"^packages:[ \t]*(?:\[(?P<flow>[^\]\n]*)\])?[^\n]*\n(?P<block>(?:[ \t]*(?:-[^\n]*|#[^\n]*)?\n)*)", re.M
)


def _pnpm(data: bytes) -> Mark:
    found = _YAML_LIST.search(_decoded(data) + "\n")
    if found is None:
        return Mark(Family.TYPESCRIPT, True, EVERYTHING)
    items = found["flow"].split(",") if found["flow"] else re.findall(r"^[ \t]*-([^\n]*)$", found["block"], re.M)
    bare = (re.sub(r"\s#.*", "", item).strip().strip("'\"") for item in items)
    return Mark(Family.TYPESCRIPT, True, Members(_patterns([item for item in bare if item])))


def _go_work(data: bytes) -> Mark:
    text = re.sub(r"//[^\n]*", "", _decoded(data))
    used = re.findall(r"^use[ \t]+([^\s(]+)[ \t]*$", text, re.M)
    for block in re.findall(r"^use[ \t]*\(([^)]*)(?:\)|\Z)", text, re.M):
        used += block.split()
    return Mark(Family.GO, members=Members(_patterns([one.strip('"`') for one in used])))


def _go_mod(data: bytes) -> Mark:
    found = re.search(r'^module[ \t]+"?([^\s"]+)', _decoded(data), re.M)
    return Mark(Family.GO, True, name=found[1] if found else "")


def _cargo(data: bytes) -> Mark:
    document = _toml(data)
    workspace = document.get("workspace")
    members = None
    if isinstance(workspace, dict):
        excluded = [f"!{one}" for one in _patterns(workspace.get("exclude"))]
        members = Members((*_patterns(workspace.get("members")), *excluded))
    tables = [document, *(one for one in _table(document, "target").values() if isinstance(one, dict))]
    tables += [workspace] if isinstance(workspace, dict) else []
    wanted = [
        _text(one.get("path"))
        for table in tables
        for kind in ("dependencies", "dev-dependencies", "build-dependencies")
        for one in _table(table, kind).values()
        if isinstance(one, dict)
    ]
    return Mark(
        Family.RUST, True, members, _text(_table(document, "package").get("name")), _patterns([p for p in wanted if p])
    )


def _maven(data: bytes) -> Mark:
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", _decoded(data), flags=re.S)
    modules = re.findall(r"<module>([^<>]+)</module>", text)
    own = re.sub(r"<parent>.*?(?:</parent>|\Z)", "", text, flags=re.S)
    name = re.search(r"<artifactId>[ \t]*([^<>\n]+)</artifactId>", own)
    members = Members(_patterns([one.strip().removesuffix("/pom.xml") for one in modules])) if modules else None
    return Mark(Family.JVM, True, members, name[1].strip() if name else "")


def _gradle_settings(data: bytes) -> Mark:
    text = re.sub(r"//[^\n]*", "", _decoded(data))
    name = re.search(r"""rootProject\.name[ \t]*=[ \t]*["']([^"'\n]*)["']""", text)
    calls = re.findall(r"^[ \t]*include\b[ \t]*(?:\(([^)]*)(?:\)|\Z)|((?:,\s*\n|[^\n])*))", text, re.M)
    includes = [within or behind for within, behind in calls]
    plain = [re.findall(r"""["']([^"'$\n]*)["']""", one) for one in includes]
    # A name that is put together, or a folder of another name: only Gradle itself knows who is meant.
    known = all(not re.sub(r"""["'][^"'$\n]*["']|[\s,)]""", "", one) for one in includes) and "projectDir" not in text
    folders = [one.strip(":").replace(":", "/") for group in plain for one in group]
    return Mark(Family.JVM, True, Members(_patterns(folders), strict=known and bool(folders)), name[1] if name else "")


def _always(mark: Mark) -> Callable[[bytes], Mark]:
    return lambda _: mark


_BY_NAME: dict[str, Callable[[bytes], Mark]] = {
    "pyproject.toml": _pyproject,
    **dict.fromkeys(("setup.py", "setup.cfg"), _always(Mark(Family.PYTHON, True))),
    "package.json": _package_json,
    "pnpm-workspace.yaml": _pnpm,
    **dict.fromkeys(("tsconfig.json", "jsconfig.json"), _always(Mark(Family.TYPESCRIPT))),
    "go.work": _go_work,
    "go.mod": _go_mod,
    "Cargo.toml": _cargo,
    "pom.xml": _maven,
    **dict.fromkeys(("settings.gradle", "settings.gradle.kts"), _gradle_settings),
    **dict.fromkeys(("build.gradle", "build.gradle.kts", "build.sbt"), _always(Mark(Family.JVM, True))),
    **dict.fromkeys(("compile_commands.json", "CMakeLists.txt", "meson.build"), _always(Mark(Family.CLANG))),
    "Gemfile": _always(Mark(Family.RUBY)),
}
_BY_SUFFIX = {
    **dict.fromkeys(("sln", "slnx"), Mark(Family.DOTNET, True, EVERYTHING)),
    **dict.fromkeys(("csproj", "vbproj", "fsproj"), Mark(Family.DOTNET, True)),
    "gemspec": Mark(Family.RUBY, True),
}


# --- hostile text -----------------------------------------------------------------------------------------------------


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _toml(data: bytes) -> dict[str, Any]:
    try:
        return parse_toml("", data)
    except ConfigError:
        return {}


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _table(document: object, key: str) -> dict[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= MAX_PATTERN_BYTES and value.isprintable() else ""


def _patterns(listed: object) -> tuple[str, ...]:
    """The patterns of a list, in the shape that `_matches` takes; what leads out of the folder matches nothing."""
    if not isinstance(listed, Iterable):
        return ()
    texts = [text for text in (_text(one) for one in list(listed)[:MAX_WORKSPACE_MEMBERS]) if text]
    shaped = ((one[:1] == "!", posixpath.normpath(one.lstrip("!").strip("/") or ".")) for one in texts)
    return tuple(("!" if negated else "") + pattern for negated, pattern in shaped)


def _matches(pattern: str, folder: str) -> bool:
    """Whether a pattern of names, `*` and `**` is this folder; linear in both, whatever the pattern."""
    if pattern == ".":
        return not folder
    wanted = pattern.split("/")
    at = {0}
    for name in filter(None, folder.split("/")):
        at = _skipping(wanted, at)
        at = {
            spot if wanted[spot] == "**" else spot + 1
            for spot in at
            if spot < len(wanted) and (wanted[spot] == "**" or fnmatchcase(name, wanted[spot]))
        }
    return len(wanted) in _skipping(wanted, at)


def _skipping(wanted: list[str], at: set[int]) -> set[int]:
    """`**` may stand for no folder at all."""
    reached = set(at)
    for spot in sorted(at):
        step = spot
        while step < len(wanted) and wanted[step] == "**":
            step += 1
            reached.add(step)
    return reached
