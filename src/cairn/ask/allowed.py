"""Decide which folders an agent may use: served folders, folders that the user allows, and indexed ones.

The index of a folder is changed only where the folder is served, or where the user's settings list it for that.

A path is resolved completely before it is compared, so no link leads out of these folders. The root of the disk, a home
folder and folders of the system are refused, whoever allows them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from cairn.ask.prepare import unwanted
from cairn.ask.session import Target
from cairn.core.config import ServeConfig, cairn_home, load_config, read_user_config, user_config_path
from cairn.core.types import Root
from cairn.errors import CairnError, InvalidRequest, PathNotFound, RootNotAllowed, RootNotManaged, StoreError
from cairn.source.root import find_root, path_key, printable, relative_to_root
from cairn.sync.codebase import codebase_at
from cairn.sync.inventory import inventory

_MOST_NAMED = 10
_NONE_SERVED = "none is served by itself: start the server in a codebase, or as `cairn mcp --root FOLDER`"


class Allowed:
    """The folders that may be used. Settings and indexes are read for each call: they change while a server runs."""

    def __init__(self, environ: Mapping[str, str], served: Sequence[str] = ()) -> None:
        self._environ = environ
        self._home = cairn_home(environ)
        self._served = tuple(os.path.abspath(folder) for folder in served)

    def serve(self, served: Sequence[str]) -> None:
        """Serve these folders from now on, instead of those before."""
        self._served = tuple(os.path.abspath(folder) for folder in served)

    def resolve(self, path: str | None) -> Target:
        """Return the codebase that holds this path and the part of it that is meant; without a path, the first served.

        Raises `RootNotAllowed`, which names the folders that are served; a path outside is not even looked for.
        """
        asked = self._first_served() if path is None else path
        full = self._real(asked)
        if not self._is_allowed(full):
            if full in self._served:
                # A served folder that cannot be used has most often been deleted: `find_root` raises the error that
                # says so.
                find_root(full)
            raise self._refused(asked)
        if not os.path.lexists(full):
            if path is None:
                # The served folder was moved or deleted while the server ran: say so, and not that a path is wrong.
                find_root(full)
            for served in self._served:
                if _holds(served, full) and not os.path.lexists(served):
                    find_root(served)
            folder, name = os.path.split(asked) if os.path.isabs(asked) else (self._base, asked)
            raise PathNotFound(path=_shown(name), root=_shown(folder))
        root = self._around(full if os.path.isdir(full) else os.path.dirname(full))
        # The work tree around an allowed folder may begin above that folder.
        if not self._is_allowed(root.path):
            raise self._refused(asked)
        if what := unwanted(root, self._environ, self._home):
            raise RootNotAllowed(path=_shown(asked), roots=f"it is {what}, or below one")
        inside = relative_to_root(root, full, root.path)
        return Target(asked, codebase_at(root, self._environ), (path_key(inside),) if inside else ())

    def managed(self, path: str | None) -> Target:
        """Return the codebase of this path as `resolve` does, when a call may change its index.

        Raises `RootNotManaged` where it is neither served nor in `managed_roots` of the user's settings.
        """
        target = self.resolve(path)
        if not any(_holds(root, target.codebase.root.path) for root in self._managed()):
            raise RootNotManaged(path=_shown(target.asked), roots=self._named())
        return target

    def roots(self) -> tuple[str, ...]:
        """Return all folders that may be used, each once."""
        return tuple(dict.fromkeys([*self._by_hand(), *self._indexed()]))

    def served_roots(self) -> tuple[str, ...]:
        """Return the codebases that a server begins with: those it serves by itself, as far as they may be used."""
        return tuple(dict.fromkeys(self._by_service()))

    # --- parts --------------------------------------------------------------------------------------------------------

    @property
    def _base(self) -> str:
        """The folder that relative paths are relative to."""
        return next(self._by_service(), "/")

    def _first_served(self) -> str:
        served = next(self._by_service(), None)
        if served is not None:
            return served
        if self._served:
            return self._served[0]
        raise InvalidRequest(field="path", why="it is missing, and no folder is served by itself")

    def _real(self, path: str) -> str:
        if not path or "\0" in path:
            raise InvalidRequest(field="path", why="it is no path")
        return os.path.realpath(os.path.join(self._base, path))

    def _is_allowed(self, full: str) -> bool:
        return any(_holds(root, full) for root in self._by_hand()) or any(
            _holds(root, full) for root in self._indexed()
        )

    def _around(self, folder: str) -> Root:
        """Return the root of a folder: its work tree, else the served or indexed folder around it, else itself."""
        root = find_root(folder)
        if root.is_git:
            return root
        known = [one for one in (*self._by_service(), *self._indexed()) if _holds(one, root.path)]
        return find_root(max(known, key=len)) if known else root

    def _by_hand(self) -> Iterator[str]:
        yield from self._by_service()
        settings = self._settings()
        yield from self._written((*settings.managed_roots, *settings.allowed_roots))

    def _managed(self) -> Iterator[str]:
        yield from self._by_service()
        yield from self._written(self._settings().managed_roots)

    def _settings(self) -> ServeConfig:
        user = read_user_config(self._environ)
        return load_config(None, user.data, user_file=user_config_path(self._environ), user_alone=user.alone).serve

    def _written(self, folders: Sequence[str]) -> Iterator[str]:
        """Yield the roots of folders that the user's settings name."""
        own = self._environ.get("HOME") or os.path.expanduser("~")
        for folder in folders:
            written = os.path.join(own, folder[2:]) if folder.startswith("~/") else folder
            yield _effective(written) or os.path.realpath(written)

    def _by_service(self) -> Iterator[str]:
        """Yield the served folders; a server that was started in a home or in `/` does not serve that folder."""
        for folder in self._served:
            root = _effective(folder)
            if root is not None and not unwanted(Root(root, is_git=True), self._environ, self._home):
                yield root

    def _indexed(self) -> Iterator[str]:
        try:
            stores = inventory(self._home, measured=False).stores
        except StoreError:
            # The stores cannot be listed, so no folder is allowed for being indexed.
            return
        for store in stores:
            if store.root is not None and not unwanted(Root(store.root, is_git=True), self._environ, self._home):
                yield store.root

    def _named(self) -> str:
        """What is served, for a refusal. Folders that are allowed or indexed are other projects: they are not named."""
        roots = tuple(dict.fromkeys(self._by_service()))
        more = f" and {len(roots) - _MOST_NAMED} more" if len(roots) > _MOST_NAMED else ""
        listed = ", ".join(map(_shown, roots[:_MOST_NAMED])) + more
        return f"served is {listed}" if roots else _NONE_SERVED

    def _refused(self, path: str) -> RootNotAllowed:
        return RootNotAllowed(path=_shown(path), roots=self._named())


def _effective(folder: str) -> str | None:
    """Return the root of a folder; None when there is none that can be used."""
    try:
        return find_root(folder).path
    except CairnError:
        return None


def _holds(root: str, full: str) -> bool:
    """Whether the root holds this path, by whole names: /r-evil begins with /r and is not in it."""
    return full == root or full.startswith(root if root.endswith("/") else f"{root}/")


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
