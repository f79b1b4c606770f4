"""Find the contexts of a codebase: which files one run of an indexer takes together.

The input is the names of files and what project files say. A package root is a context of its own for families whose
indexers take one package at a time; for all other families the workspace is the context. The nearest workspace file
(the fence) decides which packages belong to it: a package that the workspace could list and does not list is detached
and belongs to no context. A context ends where another context of its family begins, so a file has one owner or none.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

from cairn.core.config import parse_toml
from cairn.core.lazy import cached_property
from cairn.core.limits import MAX_CONTEXTS, MAX_PATTERN_BYTES, MAX_PROJECT_FILE_BYTES, MAX_WORKSPACE_MEMBERS
from cairn.errors import ConfigError
from cairn.semantic.model import Context, Family, family_of

# --- what a project file says -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WorkspaceMembers:
    """The folders that a workspace lists, as patterns relative to it. If `strict`, no other folder is a member."""

    listed: tuple[str, ...] = ()
    strict: bool = True

    def hold(self, folder: str) -> bool:
        """Whether a folder, relative to the workspace, is a member. The last pattern that matches decides."""
        held = not self.strict
        for pattern in self.listed:
            if _matches(pattern.removeprefix("!"), folder):
                held = not pattern.startswith("!")
        return held


EVERYTHING = WorkspaceMembers(strict=False)


@dataclass(frozen=True, slots=True)
class ProjectMark:
    """What one project file says about its folder.

    With `package`, a package certainly begins in the folder; without it, one begins only where no other package
    encloses the folder. `leans_on` are folders, relative to this one, that belong to the same workspace because this
    package depends on them by path.
    """

    family: Family
    package: bool = False
    members: WorkspaceMembers | None = None
    name: str = ""
    leans_on: tuple[str, ...] = ()


def mark_of(path: str, read: Callable[[str], bytes | None]) -> ProjectMark | None:
    """Return what the file with this path key says about its folder; None when it is no project file."""
    name = path.rpartition("/")[2]
    if name in _BY_NAME:
        return _BY_NAME[name](read(path) or b"")
    return _BY_SUFFIX.get(name.rpartition(".")[2]) if "." in name[1:] else None


# --- readers ----------------------------------------------------------------------------------------------------------


def _pyproject(data: bytes) -> ProjectMark:
    document = _toml(data)
    tools = _table(document, "tool")
    # A file with nothing but the settings of a linter begins no package.
    begins = any(key in document for key in ("project", "build-system")) or any(
        key in tools for key in ("poetry", "flit", "pdm", "hatch", "setuptools")
    )
    name = _text(_table(document, "project").get("name")) or _text(_table(tools, "poetry").get("name"))
    return ProjectMark(Family.PYTHON, begins, name=name)


def _package_json(data: bytes) -> ProjectMark:
    document = _json(data)
    listed = document.get("workspaces")
    if isinstance(listed, dict):
        listed = listed.get("packages")
    name = _text(document.get("name"))
    members = WorkspaceMembers(_patterns(listed)) if isinstance(listed, list) else None
    # `{"type": "module"}` in a folder says how its files are loaded, and begins no package.
    return ProjectMark(Family.TYPESCRIPT, bool(name) or members is not None, members, name)


_YAML_LIST = re.compile(
    r"^packages:[ \t]*(?:\[(?P<flow>[^\]\n]*)\])?[^\n]*\n(?P<block>(?:[ \t]*(?:-[^\n]*|#[^\n]*)?\n)*)", re.M
)


def _pnpm(data: bytes) -> ProjectMark:
    found = _YAML_LIST.search(_decoded(data) + "\n")
    if found is None:
        return ProjectMark(Family.TYPESCRIPT, True, EVERYTHING)
    items = found["flow"].split(",") if found["flow"] else re.findall(r"^[ \t]*-([^\n]*)$", found["block"], re.M)
    bare = (re.sub(r"\s#.*", "", item).strip().strip("'\"") for item in items)
    return ProjectMark(Family.TYPESCRIPT, True, WorkspaceMembers(_patterns([item for item in bare if item])))


def _go_work(data: bytes) -> ProjectMark:
    text = re.sub(r"//[^\n]*", "", _decoded(data))
    used = re.findall(r"^use[ \t]+([^\s(]+)[ \t]*$", text, re.M)
    for block in re.findall(r"^use[ \t]*\(([^)]*)(?:\)|\Z)", text, re.M):
        used += block.split()
    return ProjectMark(Family.GO, members=WorkspaceMembers(_patterns([one.strip('"`') for one in used])))


def _go_mod(data: bytes) -> ProjectMark:
    found = re.search(r'^module[ \t]+"?([^\s"]+)', _decoded(data), re.M)
    return ProjectMark(Family.GO, True, name=found[1] if found else "")


def _cargo(data: bytes) -> ProjectMark:
    document = _toml(data)
    workspace = document.get("workspace")
    members = None
    if isinstance(workspace, dict):
        excluded = [f"!{one}" for one in _patterns(workspace.get("exclude"))]
        members = WorkspaceMembers((*_patterns(workspace.get("members")), *excluded))
    tables = [document, *(one for one in _table(document, "target").values() if isinstance(one, dict))]
    tables += [workspace] if isinstance(workspace, dict) else []
    wanted = [
        _text(one.get("path"))
        for table in tables
        for kind in ("dependencies", "dev-dependencies", "build-dependencies")
        for one in _table(table, kind).values()
        if isinstance(one, dict)
    ]
    return ProjectMark(
        Family.RUST, True, members, _text(_table(document, "package").get("name")), _patterns([p for p in wanted if p])
    )


def _maven(data: bytes) -> ProjectMark:
    text = re.sub(r"<!--.*?(?:-->|\Z)", "", _decoded(data), flags=re.S)
    modules = re.findall(r"<module>([^<>]+)</module>", text)
    own = re.sub(r"<parent>.*?(?:</parent>|\Z)", "", text, flags=re.S)
    name = re.search(r"<artifactId>[ \t]*([^<>\n]+)</artifactId>", own)
    members = (
        WorkspaceMembers(_patterns([one.strip().removesuffix("/pom.xml") for one in modules])) if modules else None
    )
    return ProjectMark(Family.JVM, True, members, name[1].strip() if name else "")


def _gradle_settings(data: bytes) -> ProjectMark:
    text = re.sub(r"//[^\n]*", "", _decoded(data))
    name = re.search(r"""rootProject\.name[ \t]*=[ \t]*["']([^"'\n]*)["']""", text)
    calls = re.findall(r"^[ \t]*include\b[ \t]*(?:\(([^)]*)(?:\)|\Z)|((?:,\s*\n|[^\n])*))", text, re.M)
    includes = [within or behind for within, behind in calls]
    plain = [re.findall(r"""["']([^"'$\n]*)["']""", one) for one in includes]
    # A name that is put together, or a folder of another name: only Gradle itself knows who is meant.
    known = all(not re.sub(r"""["'][^"'$\n]*["']|[\s,)]""", "", one) for one in includes) and "projectDir" not in text
    folders = [one.strip(":").replace(":", "/") for group in plain for one in group]
    return ProjectMark(
        Family.JVM, True, WorkspaceMembers(_patterns(folders), strict=known and bool(folders)), name[1] if name else ""
    )


def _always(mark: ProjectMark) -> Callable[[bytes], ProjectMark]:
    return lambda _: mark


_BY_NAME: dict[str, Callable[[bytes], ProjectMark]] = {
    "pyproject.toml": _pyproject,
    **dict.fromkeys(("setup.py", "setup.cfg"), _always(ProjectMark(Family.PYTHON, True))),
    "package.json": _package_json,
    "pnpm-workspace.yaml": _pnpm,
    **dict.fromkeys(("tsconfig.json", "jsconfig.json"), _always(ProjectMark(Family.TYPESCRIPT))),
    "go.work": _go_work,
    "go.mod": _go_mod,
    "Cargo.toml": _cargo,
    "pom.xml": _maven,
    **dict.fromkeys(("settings.gradle", "settings.gradle.kts"), _gradle_settings),
    **dict.fromkeys(("build.gradle", "build.gradle.kts", "build.sbt"), _always(ProjectMark(Family.JVM, True))),
    **dict.fromkeys(("compile_commands.json", "CMakeLists.txt", "meson.build"), _always(ProjectMark(Family.CLANG))),
    "Gemfile": _always(ProjectMark(Family.RUBY)),
}
_BY_SUFFIX = {
    **dict.fromkeys(("sln", "slnx"), ProjectMark(Family.DOTNET, True, EVERYTHING)),
    **dict.fromkeys(("csproj", "vbproj", "fsproj"), ProjectMark(Family.DOTNET, True)),
    "gemspec": ProjectMark(Family.RUBY, True),
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
    """Return the patterns of a list in the form that `_matches` takes; a `..` in one matches nothing."""
    if not isinstance(listed, Iterable):
        return ()
    texts = [text for text in (_text(one) for one in list(listed)[:MAX_WORKSPACE_MEMBERS]) if text]
    shaped = ((one[:1] == "!", posixpath.normpath(one.lstrip("!").strip("/") or ".")) for one in texts)
    return tuple(("!" if negated else "") + pattern for negated, pattern in shaped)


def _matches(pattern: str, folder: str) -> bool:
    """Whether a pattern of names, `*` and `**` matches a folder. Takes time linear in the length of both."""
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
    """Return the positions in a pattern that are reached from these when `**` stands for no folder."""
    reached = set(at)
    for spot in sorted(at):
        step = spot
        while step < len(wanted) and wanted[step] == "**":
            step += 1
            reached.add(step)
    return reached


# --- project files that decide what names mean ------------------------------------------------------------------------


# How the names of project files begin; the files stand in the folder of the context or above it.
_NAMES: dict[Family, tuple[str, ...]] = {
    Family.PYTHON: ("pyproject.toml", "setup.py", "setup.cfg"),
    Family.TYPESCRIPT: ("package.json", "pnpm-workspace.yaml", "tsconfig", "jsconfig"),
    Family.GO: ("go.mod", "go.work"),
    Family.RUST: ("Cargo.toml",),
    Family.JVM: ("pom.xml", "build.gradle", "settings.gradle", "build.sbt"),
    Family.CLANG: ("compile_commands.json", "CMakeLists.txt", "meson.build"),
    Family.RUBY: ("Gemfile",),
}
_ALL = tuple(name for names in _NAMES.values() for name in names)


def project_files(paths: Iterable[str]) -> list[str]:
    """Return the paths whose names are those of project files, of any family."""
    return [path for path in paths if path.rpartition("/")[2].startswith(_ALL)]


def settings_of(family: Family, root: str, paths: Iterable[str]) -> frozenset[str]:
    """Return the paths that are project files of this family, in the folder `root` or above it."""
    folders, at = {root}, root
    while at:
        at = posixpath.dirname(at)
        folders.add(at)
    names = _NAMES.get(family, ())
    split = ((path, *path.rpartition("/")[::2]) for path in paths)
    return frozenset(path for path, folder, name in split if folder in folders and names and name.startswith(names))


Read = Callable[[str], bytes | None]

# One run takes the whole workspace: the indexers of these families ask the build tool, which knows nothing smaller.
_WHOLE_WORKSPACE = frozenset({Family.RUST, Family.JVM, Family.CLANG, Family.DOTNET})
# The indexers of these families need no project file, so files without one are a context too.
_WITHOUT_PROJECT = frozenset({Family.PYTHON, Family.TYPESCRIPT})
_CHANGES_MEANING = {Family.TYPESCRIPT: ("tsconfig", "jsconfig"), Family.GO: ("go.work",)}


@dataclass(frozen=True, slots=True)
class Detached:
    """A package that belongs to no context, and the workspace file that does not list it."""

    family: Family
    root: str
    fence: str
    why: str


@dataclass(frozen=True)
class Discovery:
    """The contexts that hold a file, by family and root, and the detached packages."""

    contexts: tuple[Context, ...] = ()
    detached: tuple[Detached, ...] = ()
    left_out: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _roots(self) -> dict[tuple[Family, str], Context | None]:
        none: dict[tuple[Family, str], Context | None] = {(one.family, one.root): None for one in self.detached}
        return none | {(one.family, one.root): one for one in self.contexts}

    def owner(self, path: str) -> Context | None:
        """Return the context of the nearest root above this file; None when no context owns the file."""
        family = family_of(path)
        if family is None:
            return None
        return next((self._roots[family, at] for at in _above(path) if (family, at) in self._roots), None)


def discover(names: Iterable[str], read: Read) -> Discovery:
    """Return the contexts of the files with these path keys. `read` returns the bytes of a file, or None."""

    def capped(path: str) -> bytes | None:
        data = read(path)
        return data if data is None or len(data) <= MAX_PROJECT_FILE_BYTES else None

    files = list(names)
    families = {family for family in map(family_of, files) if family is not None}
    marked: dict[Family, dict[str, _ProjectFolder]] = defaultdict(dict)
    for path in sorted(files):
        mark = mark_of(path, capped)
        if mark is not None and mark.family in families:
            folder = posixpath.dirname(path)
            marked[mark.family].setdefault(folder, _ProjectFolder(folder)).add(path, mark)
    found = Discovery()
    for family in sorted(families):
        roots = _Roots(family, marked[family])
        found = Discovery(
            (*found.contexts, *roots.contexts()), (*found.detached, *roots.detached), left_out=found.left_out
        )
    return _hashed(_with_owners(found, files), files, capped, marked)


class _ProjectFolder:
    """What all project files of one family in one folder say together."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files: list[str] = []
        self.package = False
        self.members: WorkspaceMembers | None = None
        self.name = ""
        self.leans_on: tuple[str, ...] = ()

    def add(self, path: str, mark: ProjectMark) -> None:
        # The file that says most comes first: people know the context by that file.
        if mark.members is not None or (mark.package and not self.package):
            self.files.insert(0, path)
        else:
            self.files.append(path)
        self.package = self.package or mark.package
        # Lists of several files (pnpm beside npm) are one list.
        if mark.members is not None and mark.members.listed and self.members is not None:
            self.members = WorkspaceMembers((*self.members.listed, *mark.members.listed), self.members.strict)
        elif self.members is None or self.members is EVERYTHING:
            self.members = mark.members or self.members
        self.name = self.name or mark.name
        self.leans_on += mark.leans_on

    @property
    def label(self) -> str:
        return self.name or posixpath.basename(self.root) or "(top)"


class _Roots:
    """Decides, for one family, which folders with project files are contexts of their own."""

    def __init__(self, family: Family, marked: Mapping[str, _ProjectFolder]) -> None:
        self._family = family
        self._marked = marked
        self.detached: list[Detached] = []
        self._includes: dict[str, list[str]] = defaultdict(list)
        self._absorbed: dict[str, str] = {}
        self._leaned: dict[str, set[str]] = {}

    def contexts(self) -> Iterator[Context]:
        own = [self._marked[root] for root in sorted(self._marked, key=_depth) if self._stands(self._marked[root])]
        for folder in own:
            yield Context(
                id=f"{self._family}:{folder.root or '.'}",
                family=self._family,
                root=folder.root,
                name=folder.label,
                fence=folder.files[0],
                config_hash="",
                include=tuple(self._includes[folder.root]),
                why=self._why(folder),
            )
        if self._family in _WITHOUT_PROJECT and not any(folder.root == "" for folder in own):
            why = "No project file stands at the top: these are the files that none claims."
            yield Context(f"{self._family}:.", self._family, "", "(top)", "", "", why=why)

    def _stands(self, folder: _ProjectFolder) -> bool:
        """Whether this folder is a context; if not, it belongs to a workspace, is detached, or begins nothing."""
        fence = self._fence_above(folder.root)
        if not folder.package and folder.members is None:
            # Settings inside a package are a part of the package.
            return not any(at in self._marked for at in _above(folder.root))
        if fence is None or fence.members is None:
            return folder.package
        if self._belongs(folder.root, fence):
            if self._family in _WHOLE_WORKSPACE:
                # A module that lists modules of its own passes them on to the workspace that the module itself is in.
                into = self._absorbed[folder.root] = self._absorbed.get(fence.root, fence.root)
                self._includes[into].append(folder.root)
                return False
            return folder.package
        if folder.members is not None:
            return folder.package
        why = f"{fence.files[0]} lists the packages of its workspace, and this is none of them."
        self.detached.append(Detached(self._family, folder.root, fence.files[0], why))
        return False

    def _fence_above(self, root: str) -> _ProjectFolder | None:
        above = (self._marked[at] for at in _above(root) if at in self._marked)
        return next((one for one in above if one.members is not None), None)

    def _belongs(self, root: str, fence: _ProjectFolder) -> bool:
        assert fence.members is not None
        if fence.root not in self._leaned:
            self._leaned[fence.root] = self._leaned_on(fence)
        return fence.members.hold(_below(root, fence.root)) or root in self._leaned[fence.root]

    def _leaned_on(self, fence: _ProjectFolder) -> set[str]:
        """Return the folders that members of a workspace depend on by path, directly or through other folders."""
        assert fence.members is not None
        reached: set[str] = set()
        left = [fence.root]
        left += [at for at in self._marked if _is_below(at, fence.root) and fence.members.hold(_below(at, fence.root))]
        while left:
            at = left.pop()
            if at in reached or at not in self._marked:
                continue
            reached.add(at)
            wanted = (posixpath.normpath(posixpath.join(at, one)) for one in self._marked[at].leans_on)
            left += [one for one in wanted if not one.startswith("..")]
        return reached

    def _why(self, folder: _ProjectFolder) -> str:
        if self._includes[folder.root]:
            return f"{folder.files[0]} is a workspace of {len(self._includes[folder.root])} packages."
        fence = self._fence_above(folder.root)
        if fence is not None and folder.members is None:
            return f"{folder.files[0]} is a package, and {fence.files[0]} lists it."
        if folder.members is not None:
            return f"{folder.files[0]} is a workspace and a package of its own."
        return f"{folder.files[0]} is a package." if folder.package else f"{folder.files[0]} stands above these files."


# --- who owns what ----------------------------------------------------------------------------------------------------


def _with_owners(found: Discovery, files: Iterable[str]) -> Discovery:
    """Return the discovery without contexts that hold no file; each context gets the roots nested in it."""
    counts: dict[str, int] = defaultdict(int)
    for path in files:
        owner = found.owner(path)
        if owner is not None:
            counts[owner.id] += 1
    kept = [one for one in found.contexts if counts[one.id]]
    kept.sort(key=lambda one: (one.family, _depth(one.root)))
    contexts, left_out = kept[:MAX_CONTEXTS], len(kept[MAX_CONTEXTS:])
    roots: dict[Family, set[str]] = defaultdict(set)
    for family, root in [(one.family, one.root) for one in kept] + [(one.family, one.root) for one in found.detached]:
        roots[family].add(root)
    punched: dict[tuple[Family, str], list[str]] = defaultdict(list)
    for family, nested in roots.items():
        for root in sorted(nested):
            outer = next((at for at in _above(root) if at in nested), None)
            if outer is not None:
                punched[family, outer].append(root)
    return Discovery(
        tuple(replace(one, punched=tuple(punched[one.family, one.root])) for one in contexts),
        found.detached,
        left_out,
        {one.id: counts[one.id] for one in contexts},
    )


def _hashed(
    found: Discovery, files: Iterable[str], read: Read, marked: Mapping[Family, Mapping[str, _ProjectFolder]]
) -> Discovery:
    """Return the discovery with, in each context, the hash of all project files that change what its names mean."""
    siblings: dict[str, list[str]] = defaultdict(list)
    wanted = tuple(prefix for prefixes in _CHANGES_MEANING.values() for prefix in prefixes)
    for path in files:
        folder, _, name = path.rpartition("/")
        if name.startswith(wanted):
            siblings[folder].append(path)
    hashed = []
    for one in found.contexts:
        folders = marked[one.family]
        relevant = {path for at in (one.root, *one.include) if at in folders for path in folders[at].files}
        for at in (one.root, *_above(one.root)):
            if at in folders and folders[at].members is not None:
                relevant.update(folders[at].files)
            prefixes = _CHANGES_MEANING.get(one.family, ())
            relevant.update(path for path in siblings[at] if path.rpartition("/")[2].startswith(prefixes or ("\0",)))
        digest = sha256(f"{one.id}\0{one.name}\0".encode())
        for path in sorted(relevant):
            digest.update(f"{path}\0{sha256(read(path) or b'').hexdigest()}\0".encode())
        # The members follow from `punched`: everything else below the root is in the context.
        hashed.append(replace(one, config_hash=digest.hexdigest(), include=()))
    return replace(found, contexts=tuple(hashed))


# --- folders ----------------------------------------------------------------------------------------------------------


def _above(path: str) -> Iterator[str]:
    """Yield every folder above a path, the nearest first; the top is the empty text."""
    while path:
        path = posixpath.dirname(path)
        yield path


def _depth(root: str) -> tuple[int, str]:
    return root.count("/") + bool(root), root


def _is_below(path: str, folder: str) -> bool:
    return path != folder and (not folder or path.startswith(f"{folder}/"))


def _below(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder else path
