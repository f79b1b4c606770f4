"""A folder that somebody named → the root it belongs to and the settings in force there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from cairn.core.config import REPO_CONFIG_NAME, Config, cairn_home, load_config, read_user_config, user_config_path
from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.core.types import Root
from cairn.errors import ConfigUnreadable
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.root import find_root
from cairn.store.sharing import modes_of


class Codebase(NamedTuple):
    """A root with its settings; `tracked` is set only when untracked files are to be left out."""

    root: Root
    config: Config
    tracked: frozenset[bytes] | None


def open_codebase(requested: str, environ: Mapping[str, str], *, shared: bool = False) -> Codebase:
    """The codebase that holds this folder. Raises a `SourceError` or a `ConfigError` that says what to do.

    `shared`: its store is to be made for a group, if there is no home yet that says what it holds.
    """
    return codebase_at(find_root(requested), environ, shared=shared)


def codebase_at(root: Root, environ: Mapping[str, str], *, shared: bool = False) -> Codebase:
    """The codebase of a root that is already known."""
    home = cairn_home(environ)
    if os.path.exists(home):
        shared = modes_of(home).shared
    user = read_user_config(environ)
    with Tree(root) as tree:
        config = load_config(
            _repository_config(tree),
            user.data,
            user_file=user_config_path(environ),
            user_alone=user.alone,
            shared=shared,
        )
    root = replace(root, of_group=shared)
    # Without git nothing is tracked, so the setting could only empty the index: it is left aside there.
    tracked = Git(root).tracked() if root.is_git and not config.index.untracked else None
    return Codebase(root, config, tracked)


def _repository_config(tree: Tree) -> bytes | None:
    """The bytes of `.cairn.toml`, None when there is none. One that is there but cannot be read is an error."""
    name = REPO_CONFIG_NAME.encode()
    data = tree.read_small(name, MAX_CONFIG_BYTES)
    if data is None:
        try:
            tree.lstat(name)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise ConfigUnreadable(file=REPO_CONFIG_NAME, why=os.strerror(problem.errno or 0)) from None
        raise ConfigUnreadable(file=REPO_CONFIG_NAME, why="it is not a plain file that you may read")
    return data
