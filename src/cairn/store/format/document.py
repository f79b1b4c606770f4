"""Write and read JSON documents that detect their own damage: canonical bytes that hold a digest of themselves.

The bytes are canonical JSON (sorted keys, no blanks, UTF-8) and a newline. The digest is the SHA-256, in hex, of those
bytes without the field that holds it. Reading checks size, JSON, canonical form, digest and version, in this order, so
that a flipped bit is always reported as damage and never as a later version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, NoReturn, TypeVar

from cairn.core.limits import MAX_PATH_KEY_BYTES
from cairn.errors import Incompatible, StoreCorrupt

# --- format versions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Artifact:
    """A kind of file with a format version: the oldest and newest version that is read, and the one that is written."""

    name: str
    oldest: int
    newest: int
    written: int


# When to raise which number. *written* rises when an older reader would misread the new bytes. The manifest and the
# tombstones are closed (an unknown field may change what is live), so each new field there is a new version. The index
# state and the lease are open: a new field that may be ignored needs no new version. *oldest* rises only when a reader
# is removed. Every version of a document keeps `schema_version`, the canonical form and the self-digest, which is how a
# damaged document is told from one of a later version.
#
# `cairn upgrade-store` rewrites artifacts of an older, still readable version in the same store, because a store is
# named after the *oldest* versions of manifest and rows. So *oldest* also rises when rows come to mean something that
# no rewriting can give them: then a new store is made beside the old one. Whoever raises *oldest* for the data file
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
# 1: first shipped form. Self-digest. A batch of another version is not adopted, and its work is done again.

DIGESTS = Artifact("remembered digests", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Digests of another version are not used, and the files are read again.

SEGMENT_DATA = Artifact("data file of a segment", oldest=1, newest=1, written=1)
# 1: first shipped form. A reader looks sections up by name and ignores those it does not know: a new one needs no new
#    version, a changed one does.

RUN_PROGRESS = Artifact("progress of a run", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Progress of another version is not shown.

LEASE_SIGHTING = Artifact("first look at a lease", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Of another version it is not believed, and the time begins anew.

SHARING = Artifact("sharing of a store", oldest=1, newest=1, written=1)
# 1: first shipped form. Self-digest. Closed: an unknown field may change who may use the store.

RESPONSES = Artifact("response schema", oldest=1, newest=1, written=1)
# 1: first shipped form. The number at the end of each schema's name.

_DOCUMENTS = (MANIFEST, INDEX_STATE, WRITER_LEASE, STAGED_BATCH, DIGESTS, RUN_PROGRESS, LEASE_SIGHTING, SHARING)
ARTIFACTS = (*_DOCUMENTS, CHUNK_ROWS, SEGMENT_DATA, RESPONSES)


_LATER: ContextVar[dict[str, int] | None] = ContextVar("later versions that were met", default=None)


@contextmanager
def reading_newer() -> Iterator[dict[str, int]]:
    """Permit, inside the context, the reading of later versions as far as they are known; gives the versions met.

    This is for readers that a user asked to take the risk, and never for a writer, which would lose what it does not
    know.
    """
    met: dict[str, int] = {}
    token = _LATER.set(met)
    try:
        yield met
    finally:
        _LATER.reset(token)


def is_reading_newer() -> bool:
    """Return whether later versions may be read at this moment."""
    return _LATER.get() is not None


def check_version(artifact: Artifact, version: int) -> None:
    """Raise `Incompatible`, with the artifact and the version, unless this package reads that version."""
    met = _LATER.get()
    if met is not None and version > artifact.newest:
        met[artifact.name] = max(version, met.get(artifact.name, 0))
    elif not artifact.oldest <= version <= artifact.newest:
        raise Incompatible(artifact=artifact.name, version=version, oldest=artifact.oldest, newest=artifact.newest)


U64 = (1 << 64) - 1
T = TypeVar("T", int, str)

_VERSION = "schema_version"
_MOST_VERSION = (1 << 31) - 1
_SHA256 = re.compile("[0-9a-f]{64}")
_GIT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_STORE_ID = re.compile("[a-z0-9-]{1,40}__[0-9a-f]{16}__[0-9a-f]{16}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def seal(artifact: Artifact, digest_field: str, fields: Mapping[str, Any]) -> bytes:
    """Return the bytes of a document with these fields, its version and its digest."""
    document = {_VERSION: artifact.written, **fields}
    return _text({**document, digest_field: _digest(document)}).encode()


def unseal(artifact: Artifact, digest_field: str, data: bytes, most_bytes: int) -> Fields:
    """Return the fields of a document without version and digest; refuses damage and versions that cannot be read."""
    # Parsed JSON takes up to forty times its size in memory, so a large document is refused before it is parsed.
    if len(data) > most_bytes:
        _refuse(artifact, f"it is larger than {most_bytes} bytes")
    try:
        text = data.decode("utf-8")
        document = json.loads(text, parse_float=_no_float, parse_constant=_no_float)
        canonical = _text(document)
    except (ValueError, RecursionError):
        # The bytes are not UTF-8 or not JSON, or they hold a number of thousands of digits or thousands of brackets.
        _refuse(artifact, "it cannot be parsed")
    # This also catches duplicate fields, of which the parser keeps only one.
    if canonical != text:
        _refuse(artifact, "it is not in canonical form")
    if not isinstance(document, dict):
        _refuse(artifact, "it is not an object")
    if document.pop(digest_field, None) != _digest(document):
        _refuse(artifact, "its digest does not match")
    version = Fields(artifact, document).number(_VERSION, most=_MOST_VERSION)
    check_version(artifact, version)
    return Fields(artifact, document, version=version)


class Fields:
    """One JSON object, read field by field. Each refusal is a `StoreCorrupt` that says where and what.

    In a document of a later version (see `reading_newer`), unknown fields are ignored, and a field with an unexpected
    value raises `Incompatible` instead: it is no damage.
    """

    __slots__ = ("_artifact", "_left", "_where", "version")

    def __init__(self, artifact: Artifact, values: dict[str, Any], where: str = "", version: int = 0) -> None:
        self._artifact = artifact
        self._left = values
        self._where = where
        self.version = version

    def number(self, name: str, *, least: int = 0, most: int = U64) -> int:
        value = self._take(name)
        # Python counts `true` as a number; a document does not.
        if type(value) is not int or not least <= value <= most:
            self.refuse(f"{name} is not a number from {least} to {most}")
        return value

    def has(self, name: str) -> bool:
        """Whether this field is there and was not read yet: documents of some writers lack it."""
        return name in self._left

    def flag(self, name: str) -> bool:
        value = self._take(name)
        if type(value) is not bool:
            self.refuse(f"{name} is neither true nor false")
        return value

    def text(self, name: str, fits: Callable[[str], bool]) -> str:
        value = self._take(name)
        if not isinstance(value, str) or not fits(value):
            self.refuse(f"{name} is not what belongs there")
        return value

    def text_or_none(self, name: str, fits: Callable[[str], bool]) -> str | None:
        if name in self._left and self._left[name] is None:
            del self._left[name]
            return None
        return self.text(name, fits)

    def object(self, name: str) -> Fields:
        value = self._take(name)
        if not isinstance(value, dict):
            self.refuse(f"{name} is not an object")
        return Fields(self._artifact, value, f"{self._where}{name}.", self.version)

    def object_or_none(self, name: str) -> Fields | None:
        if name in self._left and self._left[name] is None:
            del self._left[name]
            return None
        return self.object(name)

    def objects(self, name: str, most: int) -> list[Fields]:
        values = self._take(name)
        if not isinstance(values, list) or len(values) > most or not all(isinstance(value, dict) for value in values):
            self.refuse(f"{name} is not a list of at most {most} objects")
        where = f"{self._where}{name}"
        return [Fields(self._artifact, value, f"{where}[{i}].", self.version) for i, value in enumerate(values)]

    def texts(self, name: str, most: int, fits: Callable[[str], bool]) -> list[tuple[str, str]]:
        """Return the entries of an object that holds texts, sorted by key; every key must fit."""
        return self._entries(name, most, fits, str)

    def numbers(self, name: str, most: int, fits: Callable[[str], bool]) -> list[tuple[str, int]]:
        """Return the entries of an object that holds counts, sorted by key; every key must fit, no count is zero."""
        entries = self._entries(name, most, fits, int)
        for key, value in entries:
            if not 0 < value <= U64:
                self.refuse(f"{name}.{key} is no count")
        return entries

    def end(self) -> None:
        """Refuse a field that was not read, because this version does not know it."""
        if self._left and not self._is_later:
            _refuse(self._artifact, f"{self._where.rstrip('.') or 'it'} has a field that this version does not know")

    def refuse(self, why: str) -> NoReturn:
        if self._is_later:
            known = self._artifact
            raise Incompatible(artifact=known.name, version=self.version, oldest=known.oldest, newest=known.newest)
        _refuse(self._artifact, self._where + why)

    @property
    def _is_later(self) -> bool:
        return self.version > self._artifact.newest

    def _entries(self, name: str, most: int, fits: Callable[[str], bool], kind: type[T]) -> list[tuple[str, T]]:
        found = self._take(name)
        if not isinstance(found, dict) or len(found) > most:
            self.refuse(f"{name} is not an object of at most {most} entries")
        for key, value in found.items():
            if not fits(key):
                self.refuse(f"{name} has an entry that does not belong there")
            if type(value) is not kind:
                self.refuse(f"{name}.{key} is not what belongs there")
        return sorted(found.items())

    def _take(self, name: str) -> Any:
        if name not in self._left:
            self.refuse(f"{name} is missing")
        return self._left.pop(name)


# --- what the texts in a document look like ---------------------------------------------------------------------------


def is_sha256(text: str) -> bool:
    """Return whether this is 64 hexadecimal digits in lower case."""
    return _SHA256.fullmatch(text) is not None


def is_git_id(text: str) -> bool:
    """Return whether this is the id of a commit: 40 hexadecimal digits, or 64 in a repository that uses SHA-256."""
    return _GIT_ID.fullmatch(text) is not None


def is_store_id(text: str) -> bool:
    """Return whether this is a store's name: a slug, 16 digits for the root, 16 for the index fingerprint."""
    return _STORE_ID.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Return whether this is a moment in UTC as `clock.rfc3339` writes it."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_absolute_path(text: str) -> bool:
    """Return whether this is a path from `/` without empty, `.` or `..` parts."""
    if len(text.encode()) > MAX_PATH_KEY_BYTES or not text.startswith("/") or "\0" in text:
        return False
    return text == "/" or not any(part in ("", ".", "..") for part in text[1:].split("/"))


def _text(document: object) -> str:
    # The same bytes as `fingerprint.canonical_json`, without its search for floats: parsing has refused them already.
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _digest(document: Mapping[str, Any]) -> str:
    return sha256(_text(document).encode()).hexdigest()


def _no_float(text: str) -> NoReturn:
    raise ValueError("a document cannot hold a float")


def _refuse(artifact: Artifact, why: str) -> NoReturn:
    raise StoreCorrupt(artifact=artifact.name, why=why) from None
