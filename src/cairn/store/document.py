"""A JSON document that knows when it was damaged: canonical bytes with a digest of themselves inside.

The bytes are canonical JSON (sorted keys, no blanks, UTF-8) and a newline. The digest is the SHA-256, in hex, of those
bytes without the field that holds it. Reading checks size, JSON, canonical form, digest and version, in this order: a
flipped bit is always damage and never a version of the future.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NoReturn, TypeVar

from cairn.core.limits import MAX_PATH_KEY_BYTES
from cairn.errors import Incompatible, StoreCorrupt
from cairn.store.versions import Artifact, check_version

U64 = (1 << 64) - 1
T = TypeVar("T", int, str)

_VERSION = "schema_version"
_MOST_VERSION = (1 << 31) - 1
_SHA256 = re.compile("[0-9a-f]{64}")
_GIT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_STORE_ID = re.compile("[a-z0-9-]{1,40}__[0-9a-f]{16}__[0-9a-f]{16}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def seal(artifact: Artifact, digest_field: str, fields: Mapping[str, Any]) -> bytes:
    """The bytes of a document with these fields, its version and its digest."""
    document = {_VERSION: artifact.written, **fields}
    return _text({**document, digest_field: _digest(document)}).encode()


def unseal(artifact: Artifact, digest_field: str, data: bytes, most_bytes: int) -> Fields:
    """The fields of an undamaged document of a readable version, without version and digest."""
    # Parsed JSON takes up to forty times its bytes, so nothing is parsed before it is known to be small.
    if len(data) > most_bytes:
        _refuse(artifact, f"it is larger than {most_bytes} bytes")
    try:
        text = data.decode("utf-8")
        document = json.loads(text, parse_float=_no_float, parse_constant=_no_float)
        canonical = _text(document)
    except (ValueError, RecursionError):
        # Not UTF-8, no JSON, numbers of thousands of digits, thousands of brackets.
        _refuse(artifact, "it cannot be parsed")
    # This also catches fields that are there twice, of which a parser keeps one.
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
    """One JSON object, taken apart field by field. Each refusal is a `StoreCorrupt` that says where and what.

    Of a later version than we know (see `reading_newer`), fields that we do not know are passed over, and a field that
    is not what we know is no damage: it is `Incompatible`.
    """

    __slots__ = ("_artifact", "_left", "_where", "version")

    def __init__(self, artifact: Artifact, values: dict[str, Any], where: str = "", version: int = 0) -> None:
        self._artifact = artifact
        self._left = values
        self._where = where
        self.version = version

    def number(self, name: str, *, least: int = 0, most: int = U64) -> int:
        value = self._take(name)
        # `true` is a number to Python, not to us.
        if type(value) is not int or not least <= value <= most:
            self.refuse(f"{name} is not a number from {least} to {most}")
        return value

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
        """The entries of an object that holds texts, in order of the keys, which must fit."""
        return self._entries(name, most, fits, str)

    def numbers(self, name: str, most: int, fits: Callable[[str], bool]) -> list[tuple[str, int]]:
        """The entries of an object that counts something, in order of the keys, which must fit; no count is zero."""
        entries = self._entries(name, most, fits, int)
        for key, value in entries:
            if not 0 < value <= U64:
                self.refuse(f"{name}.{key} is no count")
        return entries

    def end(self) -> None:
        """Nothing is left over; an unknown field is refused."""
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
    """64 hexadecimal digits in lower case."""
    return _SHA256.fullmatch(text) is not None


def is_git_id(text: str) -> bool:
    """The id of a commit: 40 hexadecimal digits, or 64 in a repository that uses SHA-256."""
    return _GIT_ID.fullmatch(text) is not None


def is_store_id(text: str) -> bool:
    """A store's name: a slug, 16 digits for the place, 16 for the index fingerprint."""
    return _STORE_ID.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """A moment in UTC as `clock.rfc3339` writes it."""
    if not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_absolute_path(text: str) -> bool:
    """A path from `/` without empty, `.` or `..` parts."""
    if len(text.encode()) > MAX_PATH_KEY_BYTES or not text.startswith("/") or "\0" in text:
        return False
    return text == "/" or not any(part in ("", ".", "..") for part in text[1:].split("/"))


def _text(document: object) -> str:
    # As `fingerprint.canonical_json`, without its look for floats: reading has refused them, faster, while parsing.
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _digest(document: Mapping[str, Any]) -> str:
    return sha256(_text(document).encode()).hexdigest()


def _no_float(text: str) -> NoReturn:
    raise ValueError("a document cannot hold a float")


def _refuse(artifact: Artifact, why: str) -> NoReturn:
    raise StoreCorrupt(artifact=artifact.name, why=why) from None
