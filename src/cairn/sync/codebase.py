"""Find the codebase of a folder, with the settings in force there, and the place of its store."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from cairn.core.config import REPO_CONFIG_NAME, Config, cairn_home, load_config, read_user_config, user_config_path
from cairn.core.fingerprint import EmbeddingIdentity, IndexFingerprint, IndexParts, index_fingerprint
from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.core.tokens import TOKENIZER_VERSION
from cairn.core.types import Root
from cairn.embedding.choose import identity_of
from cairn.errors import ConfigUnreadable
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.programs import bar_programs_of
from cairn.source.root import find_root, store_id
from cairn.store import Disk, Home
from cairn.syntax.identity import CHUNKER_VERSION, EXTRACTOR_VERSION
from cairn.syntax.languages import identities


class Codebase(NamedTuple):
    """A root with its settings; `tracked` holds git's files only when untracked files are to be left out, else None."""

    root: Root
    config: Config
    tracked: frozenset[bytes] | None


def open_codebase(
    requested: str, environ: Mapping[str, str], *, shared: bool = False, with_tracked: bool = True
) -> Codebase:
    """Return the codebase that holds this folder; raises a `SourceError` or a `ConfigError` that says what to do.

    `shared`: its store is to be made for a group. An existing home decides that itself. Without `with_tracked` git is
    not asked for its files: that is enough to find the store, not to look at the tree.
    """
    return codebase_at(find_root(requested), environ, shared=shared, with_tracked=with_tracked)


def codebase_at(root: Root, environ: Mapping[str, str], *, shared: bool = False, with_tracked: bool = True) -> Codebase:
    """Return the codebase of a root that is already known; see `open_codebase`."""
    bar_programs_of(root.path)
    home = cairn_home(environ)
    if os.path.exists(home):
        shared = Home(home).shared
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
    # Without git no file is tracked, so `untracked = false` would empty the index: the setting is ignored there.
    wanted = with_tracked and root.is_git and not config.index.untracked
    tracked = Git(root).tracked() if wanted else None
    return Codebase(root, config, tracked)


def _repository_config(tree: Tree) -> bytes | None:
    """Return the bytes of `.cairn.toml`, None when there is none; raises `ConfigUnreadable` when it cannot be read."""
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


# --- The place of a store: its name follows from the root and from everything that gives its rows their meaning.


class StorePlace(NamedTuple):
    """The place of a codebase's store, whether or not the store exists, and what the store is named after."""

    home: str
    store_id: str
    fingerprint: IndexFingerprint
    root: str

    @property
    def path(self) -> str:
        """The folder of the store."""
        return os.path.join(self.home, self._below)

    @property
    def _below(self) -> str:
        return f"data/{self.store_id}"

    def disk(self) -> Disk | None:
        """Open the store's disk; None when there is no store yet."""
        try:
            return Home(self.home).open_store(self._below)
        except FileNotFoundError:
            return None

    def make_disk(self, *, shared: bool | None = None) -> Disk:
        """Open the store's disk, and make the store if there is none; `shared`: for a group or not, None as home is."""
        return Home(self.home).make_store(self._below, shared=shared)


def place_of(codebase: Codebase, home: str, embedding: EmbeddingIdentity | None = None) -> StorePlace:
    """Return the place of a codebase's store below `home`; without `embedding`, for the model of the settings."""
    # The oldest formats that can be read, not those that are written: a store that can be upgraded keeps its name.
    rows, documents = Home.oldest_formats()
    parts = IndexParts(
        grammars=identities(),
        chunker_version=CHUNKER_VERSION,
        extractor_version=EXTRACTOR_VERSION,
        tokenizer_version=TOKENIZER_VERSION,
        schema_version=rows,
        schemas=documents,
        embedding=embedding or identity_of(codebase.config.embedding),
    )
    fingerprint = index_fingerprint(codebase.config, parts)
    return StorePlace(home, store_id(codebase.root, fingerprint.digest), fingerprint, codebase.root.path)


def model_of(fields: tuple[tuple[str, str], ...]) -> str | None:
    """Return the name of the model in the fields of a fingerprint; None when there is none."""
    value = json.loads(dict(fields).get("embeddingModel", "null"))
    return value if isinstance(value, str) else None
