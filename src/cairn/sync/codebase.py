"""Find the codebase of a folder, with the settings in force there, and the place of its store."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from cairn.core.config import REPO_CONFIG_NAME, Config, cairn_home, load_config, read_user_config, user_config_path
from cairn.core.fingerprint import (
    EmbeddingIdentity,
    IndexFingerprint,
    IndexParts,
    explain_mismatch,
    index_fingerprint,
)
from cairn.core.limits import MAX_CONFIG_BYTES
from cairn.core.tokens import TOKENIZER_VERSION
from cairn.core.types import Root
from cairn.embedding.choose import identity_of
from cairn.errors import ConfigError, ConfigUnreadable, StoreError, StoreUnreadable
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.programs import bar_programs_of
from cairn.source.root import find_root, store_id
from cairn.store import Disk, Home, Manifest, Store
from cairn.syntax.identity import CHUNKER_VERSION, EXTRACTOR_VERSION
from cairn.syntax.languages import identities


class Proposal(NamedTuple):
    """The settings that a repository asks for while its index still follows others, and the fields that differ."""

    config: Config
    tracked: frozenset[bytes] | None
    file: bytes
    differs: tuple[str, ...]


class Codebase(NamedTuple):
    """A root with the settings in force: those of its index, where the repository has since asked for others.

    `tracked` holds git's files only when untracked files are to be left out, else None. `file` is the settings file of
    the repository that the rows of the index follow, `proposal` what it asks for now and nobody has taken up yet.
    """

    root: Root
    config: Config
    tracked: frozenset[bytes] | None
    file: bytes = b""
    proposal: Proposal | None = None

    @property
    def proposed(self) -> Codebase:
        """The codebase with the settings that the repository asks for: what an explicit run makes an index of."""
        found = self.proposal
        return self if found is None else Codebase(self.root, found.config, found.tracked, found.file)


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
        data = _repository_config(tree)
    own = user_config_path(environ)

    def settings(file: bytes | None) -> Config:
        return load_config(file, user.data, user_file=own, user_alone=user.alone, shared=shared)

    root = replace(root, of_group=shared)
    config = settings(data)
    wanted = Codebase(root, config, _tracked(root, config, asked=with_tracked), data or b"")
    return _in_force(wanted, home, settings, with_tracked=with_tracked)


def _tracked(root: Root, config: Config, *, asked: bool) -> frozenset[bytes] | None:
    # Without git no file is tracked, so `untracked = false` would empty the index: the setting is ignored there.
    return Git(root).tracked() if asked and root.is_git and not config.index.untracked else None


def _in_force(wanted: Codebase, home: str, settings: Callable[[bytes], Config], *, with_tracked: bool) -> Codebase:
    """Return the codebase with the settings that its index follows, until somebody makes one by those wanted now.

    That is so only where the repository's file alone makes the difference: with what it said when the index was made
    and the user's own settings of today, just this index is the right one. What decides which files are in, and how
    answers are ranked, is always what is wanted now. A disk that fails once is asked again; one that goes on to fail
    decides nothing here: whoever opens the index wanted meets the same trouble, and says so.
    """
    place = place_of(wanted, home)
    # Ids of snapshots are in order of time. Who clears an index has also given up those from before it.
    found: list[tuple[str, Codebase]] = []
    cleared = place.cleared
    if cleared is None and place.may_be_published:
        return wanted
    cleared = cleared or ""
    siblings: list[str] = []
    with contextlib.suppress(OSError):
        siblings = sibling_stores(place)
    for below in siblings:
        # Unreadable: of a later version, or damaged, or what it follows is no settings any more.
        with contextlib.suppress(OSError, StoreError, StoreUnreadable, ConfigError):
            manifest, file = _asked_twice(home, below)
            if manifest is not None and manifest.completion is None:
                cleared = max(cleared, manifest.snapshot_id)
            elif manifest is not None:
                before = _as_before(wanted, file, settings(file), with_tracked=with_tracked)
                at = place_of(before, home)
                if at.store_id == os.path.basename(below):
                    differs = tuple(one.name for one in explain_mismatch(at.fingerprint, place.fingerprint))
                    asks = Proposal(wanted.config, wanted.tracked, wanted.file, differs)
                    found.append((manifest.snapshot_id, before._replace(proposal=asks)))
    return max((one for one in found if one[0] > cleared), key=lambda one: one[0], default=("", wanted))[1]


def _asked_twice(home: str, below: str) -> tuple[Manifest | None, bytes]:
    """Return the newest manifest of a store and the settings that its rows follow; a disk may fail once."""
    for last in (False, True):
        try:
            with Home(home).disk(below) as disk:
                return Store(disk).newest(), Store(disk).notes.settings()
        except OSError:
            if last:
                raise
    raise AssertionError("one of the two tries has ended this")


def _as_before(wanted: Codebase, file: bytes, then: Config, *, with_tracked: bool) -> Codebase:
    """Return the codebase with what decides the meaning of rows from `then`, and all else, the model too, as wanted."""
    now = wanted.config
    config = replace(
        now,
        index=replace(
            now.index, types=then.index.types, untracked=then.index.untracked, submodules=then.index.submodules
        ),
        limits=replace(
            now.limits,
            max_file_bytes=then.limits.max_file_bytes,
            max_chunks_per_file=then.limits.max_chunks_per_file,
        ),
    )
    return Codebase(wanted.root, config, _tracked(wanted.root, config, asked=with_tracked), file)


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

    @property
    def may_be_published(self) -> bool:
        """Whether an index was ever published here; where a disk fails it seems so, as that must not look like none."""
        try:
            disk = self.disk()
            if disk is None:
                return False
            with disk:
                return Store(disk).notes.was_published
        except (OSError, StoreError, StoreUnreadable):
            return True

    @property
    def cleared(self) -> str | None:
        """The snapshot with which this index was emptied on purpose; None where it was not, or that is not known."""
        with contextlib.suppress(OSError, StoreError, StoreUnreadable):
            disk = self.disk()
            if disk is not None:
                with disk:
                    newest = Store(disk).newest() if Store(disk).is_created else None
                    return newest.snapshot_id if newest is not None and newest.completion is None else None
        return None

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


def sibling_stores(place: StorePlace) -> list[str]:
    """Return the other stores of this root, by their paths below home; a store's name ends in its fingerprint."""
    prefix = place.store_id.rpartition("__")[0] + "__"
    data, own = os.path.split(os.path.relpath(place.path, place.home))
    try:
        with Home(place.home).disk(data) as folder:
            names = folder.list_folder("")
    except FileNotFoundError:
        return []
    return [f"{data}/{name}" for name in names if name.startswith(prefix) and name != own]


def model_of(fields: tuple[tuple[str, str], ...]) -> str | None:
    """Return the name of the model in the fields of a fingerprint; None when there is none."""
    value = json.loads(dict(fields).get("embeddingModel", "null"))
    return value if isinstance(value, str) else None
