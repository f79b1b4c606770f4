"""Names of files and what project files say → the contexts of a codebase: which files an indexer takes together.

A package root is a context of its own for families whose indexers take one package at a time; for the others the
workspace is. The nearest fence decides who belongs to it: a package that a workspace could list and does not is
detached, and belongs to nobody. A context ends where another one of its family begins, so a file has one owner or none.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from cairn.core.limits import MAX_CONTEXTS, MAX_PROJECT_FILE_BYTES
from cairn.semantic.families import family_of
from cairn.semantic.fences import EVERYTHING, Mark, Members, mark_of
from cairn.semantic.model import Context, Family

Read = Callable[[str], bytes | None]

# One run takes the whole workspace: these indexers ask the build tool, which knows nothing smaller.
_WHOLE_WORKSPACE = frozenset({Family.RUST, Family.JVM, Family.CLANG, Family.DOTNET})
# Their indexers need no project file, so files that none claims are a context too.
_WITHOUT_PROJECT = frozenset({Family.PYTHON, Family.TYPESCRIPT})
_CHANGES_MEANING = {Family.TYPESCRIPT: ("tsconfig", "jsconfig"), Family.GO: ("go.work",)}


@dataclass(frozen=True, slots=True)
class Detached:
    """A package that belongs to nobody, and the file that says so by not listing it."""

    family: Family
    root: str
    fence: str
    why: str


@dataclass(frozen=True)
class Discovery:
    """Every context that holds a file, by family and root, and what is detached."""

    contexts: tuple[Context, ...] = ()
    detached: tuple[Detached, ...] = ()
    left_out: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _roots(self) -> dict[tuple[Family, str], Context | None]:
        none: dict[tuple[Family, str], Context | None] = {(one.family, one.root): None for one in self.detached}
        return none | {(one.family, one.root): one for one in self.contexts}

    def owner(self, path: str) -> Context | None:
        """The one context that this file belongs to, if any: that of the nearest root above it."""
        family = family_of(path)
        if family is None:
            return None
        return next((self._roots[family, at] for at in _above(path) if (family, at) in self._roots), None)


def discover(names: Iterable[str], read: Read) -> Discovery:
    """The contexts of the files with these path keys; `read` gives the bytes of one, None when it cannot be had."""

    def capped(path: str) -> bytes | None:
        data = read(path)
        return data if data is None or len(data) <= MAX_PROJECT_FILE_BYTES else None

    files = list(names)
    families = {family for family in map(family_of, files) if family is not None}
    marked: dict[Family, dict[str, _Folder]] = defaultdict(dict)
    for path in sorted(files):
        mark = mark_of(path, capped)
        if mark is not None and mark.family in families:
            folder = posixpath.dirname(path)
            marked[mark.family].setdefault(folder, _Folder(folder)).add(path, mark)
    found = Discovery()
    for family in sorted(families):
        roots = _Roots(family, marked[family])
        found = Discovery(
            (*found.contexts, *roots.contexts()), (*found.detached, *roots.detached), left_out=found.left_out
        )
    return _hashed(_with_owners(found, files), files, capped, marked)


class _Folder:
    """What all project files of one family in one folder say together."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files: list[str] = []
        self.package = False
        self.members: Members | None = None
        self.name = ""
        self.leans_on: tuple[str, ...] = ()

    def add(self, path: str, mark: Mark) -> None:
        # The file that says most comes first: it is the one that people know the context by.
        if mark.members is not None or (mark.package and not self.package):
            self.files.insert(0, path)
        else:
            self.files.append(path)
        self.package = self.package or mark.package
        # Lists of several files (pnpm beside npm) are one list.
        if mark.members is not None and mark.members.listed and self.members is not None:
            self.members = Members((*self.members.listed, *mark.members.listed), self.members.strict)
        elif self.members is None or self.members is EVERYTHING:
            self.members = mark.members or self.members
        self.name = self.name or mark.name
        self.leans_on += mark.leans_on

    @property
    def label(self) -> str:
        return self.name or posixpath.basename(self.root) or "(top)"


class _Roots:
    """Decides, for one family, which marked folders are contexts of their own."""

    def __init__(self, family: Family, marked: Mapping[str, _Folder]) -> None:
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

    def _stands(self, folder: _Folder) -> bool:
        """Whether this folder is a context; it may belong to a workspace above, to nobody, or not begin anything."""
        fence = self._fence_above(folder.root)
        if not folder.package and folder.members is None:
            # Settings inside a package are a part of it.
            return not any(at in self._marked for at in _above(folder.root))
        if fence is None or fence.members is None:
            return folder.package
        if self._belongs(folder.root, fence):
            if self._family in _WHOLE_WORKSPACE:
                # A module that lists modules of its own hands them on to the workspace that it is in itself.
                into = self._absorbed[folder.root] = self._absorbed.get(fence.root, fence.root)
                self._includes[into].append(folder.root)
                return False
            return folder.package
        if folder.members is not None:
            return folder.package
        why = f"{fence.files[0]} lists the packages of its workspace, and this is none of them."
        self.detached.append(Detached(self._family, folder.root, fence.files[0], why))
        return False

    def _fence_above(self, root: str) -> _Folder | None:
        above = (self._marked[at] for at in _above(root) if at in self._marked)
        return next((one for one in above if one.members is not None), None)

    def _belongs(self, root: str, fence: _Folder) -> bool:
        assert fence.members is not None
        if fence.root not in self._leaned:
            self._leaned[fence.root] = self._leaned_on(fence)
        return fence.members.hold(_below(root, fence.root)) or root in self._leaned[fence.root]

    def _leaned_on(self, fence: _Folder) -> set[str]:
        """Folders that the members of a workspace depend on by their path, and those that these do."""
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

    def _why(self, folder: _Folder) -> str:
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
    """Without contexts that hold no file, each with the roots that are nested in it."""
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
    found: Discovery, files: Iterable[str], read: Read, marked: Mapping[Family, Mapping[str, _Folder]]
) -> Discovery:
    """The same, each context with the hash of every file that changes what its names mean."""
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
        # The members are known by what is punched: everything else below the root is in it.
        hashed.append(replace(one, config_hash=digest.hexdigest(), include=()))
    return replace(found, contexts=tuple(hashed))


# --- folders ----------------------------------------------------------------------------------------------------------


def _above(path: str) -> Iterator[str]:
    """Every folder above a path, the nearest first; the top is the empty one."""
    while path:
        path = posixpath.dirname(path)
        yield path


def _depth(root: str) -> tuple[int, str]:
    return root.count("/") + bool(root), root


def _is_below(path: str, folder: str) -> bool:
    return path != folder and (not folder or path.startswith(f"{folder}/"))


def _below(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder else path
