"""Which format versions are read and which one is written, for everything that lasts or leaves the house."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from cairn.errors import Incompatible


@dataclass(frozen=True, slots=True)
class Artifact:
    """One kind of thing with a format version: the oldest and newest that can be read, and the one that is written."""

    name: str
    oldest: int
    newest: int
    written: int


# When to raise what. A new version is *written* when an older reader would misread the new bytes; the manifest and the
# tombstones are closed (an unknown field may change what is live), so there a new field is a new version. index_state
# and the lease are open: a new field that may be ignored needs none. *Oldest* is raised only when a reader is removed.
# Every version of a document keeps `schema_version`, the canonical form and its self-digest (see document.py): that
# is how a damaged file is told from a file of the future.
#
# What is of an older version that can still be read, `cairn upgrade-store` writes anew, in the same store: a store is
# named after the *oldest* versions of manifest and rows. So oldest is also raised when rows come to mean something
# else, that no rewriting gives them: then a new store is made beside the old one. Whoever raises it for the data file
# raises it for the rows too.

MANIFEST = Artifact("manifest", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest, size and SHA-256 of each artifact, tombstones ordered by sequence, completion
#    marker, generation. Its tombstone files are JSON lines without a version of their own: they follow the manifest's.

INDEX_STATE = Artifact("index state", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest.

WRITER_LEASE = Artifact("writer lease", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest.

CHUNK_ROWS = Artifact("chunk row schema", oldest=1, newest=1, written=1)
# 1: first shipped form.

STAGED_BATCH = Artifact("staged batch", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Of another version it is not adopted, and nothing is lost.

DIGESTS = Artifact("remembered digests", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Of another version it is not believed, and the files are read again.

SEGMENT_DATA = Artifact("data file of a segment", oldest=1, newest=1, written=1)
# 1: first shipped form. A reader looks sections up by name and ignores those it does not know: a new one needs no new
#    version, a changed one does.

RUN_PROGRESS = Artifact("progress of a run", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Of another version it is not shown.

SHARING = Artifact("sharing of a store", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Closed: an unknown field may change who may use the store.

RESPONSES = Artifact("response schema", oldest=1, newest=1, written=1)
# 1: first shipped form. The number at the end of each schema's name.

_DOCUMENTS = (MANIFEST, INDEX_STATE, WRITER_LEASE, STAGED_BATCH, DIGESTS, RUN_PROGRESS, SHARING)
ARTIFACTS = (*_DOCUMENTS, CHUNK_ROWS, SEGMENT_DATA, RESPONSES)


_LATER: ContextVar[dict[str, int] | None] = ContextVar("later versions that were met", default=None)


@contextmanager
def reading_newer() -> Iterator[dict[str, int]]:
    """Inside, later versions than the newest are read as far as this package knows them; gives those that were met.

    For readers that somebody has asked to take the risk, and never for a writer: what it does not know, it would lose.
    """
    met: dict[str, int] = {}
    token = _LATER.set(met)
    try:
        yield met
    finally:
        _LATER.reset(token)


def is_reading_newer() -> bool:
    """Whether later versions are read at this moment."""
    return _LATER.get() is not None


def check_version(artifact: Artifact, version: int) -> None:
    """Nothing, when this package reads that version; else `Incompatible`, which names the artifact and the version."""
    met = _LATER.get()
    if met is not None and version > artifact.newest:
        met[artifact.name] = max(version, met.get(artifact.name, 0))
    elif not artifact.oldest <= version <= artifact.newest:
        raise Incompatible(artifact=artifact.name, version=version, oldest=artifact.oldest, newest=artifact.newest)
