"""Which folders an agent may use: those that are served, those the user allows, and those the user has indexed.

A path is resolved to the end before it is compared, so a link leads nobody out. The root of the disk, a home and what
belongs to the system are refused, whoever allows them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from cairn.ask.prepare import unwanted
from cairn.ask.session import Target
from cairn.core.config import cairn_home, load_config, read_user_config, user_config_path
from cairn.core.types import Root
from cairn.errors import CairnError, InvalidRequest, PathNotFound, RootNotAllowed, StoreError
from cairn.source.root import find_root, path_key, printable, relative_to_root
from cairn.sync.codebase import codebase_at
from cairn.sync.inventory import inventory

_MOST_NAMED = 10


class Allowed:
    """The folders that may be used. Settings and indexes are looked up anew each time: they change while we serve."""

    def __init__(self, environ: Mapping[str, str], served: Sequence[str] = ()) -> None:
        self._environ = environ
        self._home = cairn_home(environ)
        self._served = tuple(os.path.abspath(folder) for folder in served)

    def resolve(self, path: str | None) -> Target:
        """The codebase that holds a file or folder, the first one served without a path, and the part that is meant.

        `RootNotAllowed` names the folders that may be used; what lies outside of them is not even looked for.
        """
        asked = self._first_served() if path is None else path
        full = self._real(asked)
        if not self._is_allowed(full):
            if full in self._served:
                # A folder that is served but cannot be used, most often because it has gone, is told as such.
                find_root(full)
            raise self._refused(asked)
        if not os.path.lexists(full):
            raise PathNotFound(path=_shown(asked), root=_shown(self._base))
        root = self._around(full if os.path.isdir(full) else os.path.dirname(full))
        # The work tree around an allowed folder may begin above it.
        if not self._is_allowed(root.path) or unwanted(root, self._environ, self._home):
            raise self._refused(asked)
        inside = relative_to_root(root, full, root.path)
        return Target(asked, codebase_at(root, self._environ), (path_key(inside),) if inside else ())

    def roots(self) -> tuple[str, ...]:
        """All folders that may be used, each once."""
        return tuple(dict.fromkeys([*self._by_hand(), *self._indexed()]))

    # --- parts --------------------------------------------------------------------------------------------------------

    @property
    def _base(self) -> str:
        """What relative paths are relative to."""
        return next(self._by_service(), "/")

    def _first_served(self) -> str:
        served = next(self._by_service(), None)
        if served is not None:
            return served
        if self._served:
            return self._served[0]
        raise InvalidRequest(field="path", why=f"it is missing, and no folder is served by itself; {self._named()}")

    def _real(self, path: str) -> str:
        if not path or "\0" in path:
            raise InvalidRequest(field="path", why="it is no path")
        return os.path.realpath(os.path.join(self._base, path))

    def _is_allowed(self, full: str) -> bool:
        return any(_holds(root, full) for root in self._by_hand()) or any(
            _holds(root, full) for root in self._indexed()
        )

    def _around(self, folder: str) -> Root:
        """The root that a folder belongs to: its work tree, else what is served or indexed around it, else itself."""
        root = find_root(folder)
        if root.is_git:
            return root
        known = [one for one in (*self._by_service(), *self._indexed()) if _holds(one, root.path)]
        return find_root(max(known, key=len)) if known else root

    def _by_hand(self) -> Iterator[str]:
        yield from self._by_service()
        user = read_user_config(self._environ)
        settings = load_config(None, user.data, user_file=user_config_path(self._environ), user_alone=user.alone)
        own = self._environ.get("HOME") or os.path.expanduser("~")
        for folder in settings.serve.allowed_roots:
            written = os.path.join(own, folder[2:]) if folder.startswith("~/") else folder
            yield _effective(written) or os.path.realpath(written)

    def _by_service(self) -> Iterator[str]:
        """What is served; a server that was started in a home or in `/` serves nothing by that."""
        for folder in self._served:
            root = _effective(folder)
            if root is not None and not unwanted(Root(root, is_git=True), self._environ, self._home):
                yield root

    def _indexed(self) -> Iterator[str]:
        try:
            stores = inventory(self._home, measured=False).stores
        except StoreError:
            # What the user has indexed cannot be told, so nothing is allowed by it.
            return
        for store in stores:
            if store.root is not None and not unwanted(Root(store.root, is_git=True), self._environ, self._home):
                yield store.root

    def _named(self) -> str:
        roots = self.roots()
        more = f" and {len(roots) - _MOST_NAMED} more" if len(roots) > _MOST_NAMED else ""
        listed = ", ".join(map(_shown, roots[:_MOST_NAMED])) + more
        return f"allowed are {listed}" if roots else "there is none yet"

    def _refused(self, path: str) -> RootNotAllowed:
        return RootNotAllowed(path=_shown(path), roots=self._named())


def _effective(folder: str) -> str | None:
    """The root that a folder stands for; None when there is none that can be used."""
    try:
        return find_root(folder).path
    except CairnError:
        return None


def _holds(root: str, full: str) -> bool:
    """By whole names: /r-evil begins with /r and is not in it."""
    return full == root or full.startswith(root if root.endswith("/") else f"{root}/")


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
