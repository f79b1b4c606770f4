"""A folder that somebody named → the root it belongs to and the settings in force there."""

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
from cairn.source.root import find_root, store_id
from cairn.store import Disk, Home
from cairn.syntax.identity import CHUNKER_VERSION, EXTRACTOR_VERSION
from cairn.syntax.languages import identities


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


# --- Which store belongs to a codebase: its name follows from the root and from all that gives its rows their
# meaning.


class Place(NamedTuple):
    """The store of a codebase: where it is, whether or not it is there, and what it is named after."""

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
        """The store's disk; None when there is no store yet."""
        try:
            return Home(self.home).open_store(self._below)
        except FileNotFoundError:
            return None

    def make_disk(self, *, shared: bool | None = None) -> Disk:
        """The store's disk, made if it is not there; `shared` is whose somebody wants it to be, None as it is."""
        return Home(self.home).make_store(self._below, shared=shared)


def place_of(codebase: Codebase, home: str, embedding: EmbeddingIdentity | None = None) -> Place:
    """The store of this codebase under the user's folder; without a model, for the one that the settings name."""
    # Not the written ones: what can be rewritten stays in its store.
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
    return Place(home, store_id(codebase.root, fingerprint.digest), fingerprint, codebase.root.path)


def model_of(fields: tuple[tuple[str, str], ...]) -> str | None:
    """The name of the model in the fields of a fingerprint."""
    value = json.loads(dict(fields).get("embeddingModel", "null"))
    return value if isinstance(value, str) else None
