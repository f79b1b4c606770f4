"""Which store belongs to a codebase: its name follows from the root and from all that gives its rows their meaning."""

from __future__ import annotations

import os
from typing import NamedTuple

from cairn.core.fingerprint import EmbeddingIdentity, IndexFingerprint, IndexParts, index_fingerprint
from cairn.core.tokens import TOKENIZER_VERSION
from cairn.embedding.choose import identity_of
from cairn.source.root import store_id
from cairn.store.disk import Disk
from cairn.store.sharing import make_disk, open_disk
from cairn.store.versions import CHUNK_ROWS, MANIFEST
from cairn.sync.codebase import Codebase
from cairn.syntax.languages import identities
from cairn.syntax.versions import CHUNKER_VERSION, EXTRACTOR_VERSION


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
            return open_disk(self.home, self._below)
        except FileNotFoundError:
            return None

    def make_disk(self, *, shared: bool | None = None) -> Disk:
        """The store's disk, made if it is not there; `shared` is whose somebody wants it to be, None as it is."""
        return make_disk(self.home, self._below, shared=shared)


def place_of(codebase: Codebase, home: str, embedding: EmbeddingIdentity | None = None) -> Place:
    """The store of this codebase under the user's folder; without a model, for the one that the settings name."""
    parts = IndexParts(
        grammars=identities(),
        chunker_version=CHUNKER_VERSION,
        extractor_version=EXTRACTOR_VERSION,
        tokenizer_version=TOKENIZER_VERSION,
        # Not the written ones: what can be rewritten stays in its store, see store/versions.py.
        schema_version=CHUNK_ROWS.oldest,
        schemas=((MANIFEST.name, MANIFEST.oldest),),
        embedding=embedding or identity_of(codebase.config.embedding),
    )
    fingerprint = index_fingerprint(codebase.config, parts)
    return Place(home, store_id(codebase.root, fingerprint.digest), fingerprint, codebase.root.path)
