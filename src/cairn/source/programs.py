"""Find the programs that Cairn runs, and never one that a repository brings.

Programs are looked for in the folders of the user's PATH. An activated virtual environment, or a tool that changes PATH
in a folder, puts folders of a repository there, and a program in such a folder is as hostile as every other file of the
repository. So a folder or a program counts only when no step of the way to it lies in a codebase, by name or by a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

from cairn.core.limits import MAX_LINK_HOPS
from cairn.source.root import repository_roots

_VARIABLE = "PATH"
_Identity = tuple[int, int]
# The codebases of this process. A server has several, and its PATH may lead into any of them.
_opened: dict[_Identity, str] = {}


def bar_programs_of(root: str) -> None:
    """From now on let this process find no program in a codebase, whichever codebase the program is wanted for."""
    _opened.update(_around(root))


class ProgramPath:
    """The folders of a PATH that no codebase fills.

    Left out are relative folders and all that lies in the given root or in a codebase that this process has opened, in
    the repository of one of them, or in the repository of the folder that this process stands in.
    """

    def __init__(self, environ: Mapping[str, str], root: str = "") -> None:
        self._barred = {**_opened, **_around(root), **_around_here()}
        named = environ.get(_VARIABLE, os.defpath).split(os.pathsep)
        self.folders = tuple(one for one in named if self.allows(one))

    @property
    def environ(self) -> dict[str, str]:
        """The variable that shows these folders, and no other, to a program that is run."""
        return path_variable(self.folders)

    def find(self, name: str, also_in: Iterable[str] = ()) -> str | None:
        """Return the first program of this name, in these folders and then in others; None when there is none."""
        assert os.path.basename(name) == name, "a program is looked for by its name"
        places = (os.path.join(folder, name) for folder in (*self.folders, *also_in))
        return next((one for one in places if is_program(one) and self.allows(one)), None)

    def allows(self, path: str) -> bool:
        """Whether a path is absolute, and the way to it leads through no codebase."""
        return os.path.isabs(path) and not self._leads_inside(path)

    def _leads_inside(self, path: str) -> bool:
        """Follow a path name by name, as the system would, and look at every folder on the way."""
        at, left, hops = "/", path.split("/"), 0
        while left:
            name = left.pop(0)
            if name == "..":
                at = os.path.dirname(at)
            if name in ("", ".", ".."):
                continue
            place = os.path.join(at, name)
            try:
                found = os.lstat(place)
                target = os.readlink(place) if stat.S_ISLNK(found.st_mode) else None
            except (OSError, ValueError):
                # There is nothing to run behind this name.
                return False
            barred = self._barred.get((found.st_dev, found.st_ino))
            # A codebase may have gone, and its number been given to another folder.
            if barred is not None and _identity(barred) == (found.st_dev, found.st_ino):
                return True
            if target is None:
                at = place
                continue
            hops += 1
            if hops > MAX_LINK_HOPS:
                return True
            at, left = "/" if os.path.isabs(target) else at, [*target.split("/"), *left]
        return False


def path_variable(folders: Iterable[str]) -> dict[str, str]:
    """Return the variable of an environment that shows programs in these folders only."""
    return {_VARIABLE: os.pathsep.join(folders)}


def is_program(path: str) -> bool:
    """Whether a path is a file that may be run."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _around(root: str) -> dict[_Identity, str]:
    """Return a root, if one is named, and the work trees of its repository, each by what the system knows it as."""
    named = (root, *repository_roots(root)) if root else ()
    real = {os.path.realpath(one) for one in named}
    # The root of the disk is nobody's codebase, and every program lies in it.
    return {known: one for one in real if (known := _identity(one)) is not None and os.path.dirname(one) != one}


def _around_here() -> dict[_Identity, str]:
    """Return the work trees of the repository that this process stands in."""
    try:
        here = repository_roots(os.getcwd())
    except OSError:
        # The folder has been removed: it holds no program.
        return {}
    return _around(here[0]) if here else {}


def _identity(path: str) -> _Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
