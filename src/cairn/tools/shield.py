"""Hide the secrets in what agents are answered: a mark stands in their place, and every line keeps its number.

`shielded` is the last step of `tools.table.call`, through which every answer to an agent goes: each text in an envelope
is looked at, whatever tool made it and whatever its field is called. Names of files stay, because agents ask by them.
A text may show a part of a secret only: a line in the middle of a key, a long line that was cut. So what is known of
the files that an answer is about counts as well.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

from cairn.answer.envelope import Envelope
from cairn.core.limits import MAX_SECRETS
from cairn.core.secrets import REDACTED, hidden, line_ends, secrets_in
from cairn.errors import SecretsInPatch

TextOf = Callable[[str], bytes | None]

COUNT = "redactedLines"
# What is a name, is ours, or came from the agent itself.
_KEPT = frozenset(
    {"path", "paths", "file", "codebaseRoot", "codebase", "root", "schema", "status", "continuation", "sha256", "tool"}
)
# A definition shows what is written above it too.
_ABOVE, _BELOW = 60, 2
_LEAST_PIECE = 8
_LEAST_CUT = 4
_CUT = ("…", "...")
# What begins like a secret so often is taken for one: nothing that was drawn repeats itself.
_MOST_TRIES = 16
# Files whose secrets may stand in a text about many of them.
_MOST_FILES = 200
# Files that are not looked through again when they are asked about again.
_MOST_KNOWN = 512
_AROUND = " \t\r\"'`,+;"


class _Piece(NamedTuple):
    """What is to be hidden on one line of a file."""

    line: int
    text: str
    alone: bool


def shielded(envelope: Envelope, text_of: TextOf) -> Envelope:
    """Return the envelope with a mark in place of every secret, and the number of lines that have one.

    `text_of` gives the text of a file as the answer saw it. Raises `SecretsInPatch` for a patch that holds one: with a
    mark in it, it would write the mark into a file.
    """
    shield = _Shield(text_of)
    body = dict(envelope.body)
    told = body.get("file")
    shown = {name: shield.value(name, value, body, told) for name, value in body.items()}
    if not shield.lines:
        return envelope
    if shield.patched:
        raise SecretsInPatch(count=shield.lines)
    ordered: list[tuple[str, Any]] = []
    for name, value in shown.items():
        if name in ("limitsHit", "warnings") and COUNT not in dict(ordered):
            ordered.append((COUNT, shield.lines))
        ordered.append((name, value))
    return replace(envelope, body=tuple(ordered))


class _Shield:
    """One answer on its way out. `lines` counts those that something was hidden on."""

    def __init__(self, text_of: TextOf) -> None:
        self._text_of = text_of
        self._files: dict[str, tuple[_Piece, ...]] = {}
        self.lines = 0
        self.patched = False

    def value(self, name: str, value: Any, row: dict[str, Any], file: Any) -> Any:
        """Return a value with what is to be hidden in it hidden; `row` is what it stands in, `file` the nearest one."""
        if name in _KEPT and (isinstance(value, str) or name == "continuation"):
            return value
        if isinstance(value, str):
            return self._text(value, self._pieces(row, file))
        if isinstance(value, list):
            return [self.value(name, one, row, file) for one in value]
        if isinstance(value, dict):
            here = value if _path_of(value) else {**row, **value}
            return {key: self.value(key, one, here, _path_of(value) or file) for key, one in value.items()}
        return value

    def _pieces(self, row: dict[str, Any], file: Any) -> Sequence[_Piece]:
        path = _path_of(row) or (_path_of(file) if isinstance(file, dict) else file)
        if not isinstance(path, str):
            return self._of_all(row)
        pieces = self._of_file(path)
        if not pieces or len(pieces) >= MAX_SECRETS:
            return pieces
        first, last = _lines_of(row)
        if first is None:
            return pieces
        return [one for one in pieces if first - _ABOVE <= one.line <= (last or first) + _BELOW]

    def _of_all(self, body: dict[str, Any]) -> Sequence[_Piece]:
        """What is to be hidden in a text about all files that the answer names, such as a map."""
        named = [path for one in body.get("results", ())[:_MOST_FILES] if isinstance(path := one.get("path"), str)]
        return [piece for path in named for piece in self._of_file(path)] if "text" in body else ()

    def _of_file(self, path: str) -> tuple[_Piece, ...]:
        found = self._files.get(path)
        if found is None:
            data = self._text_of(path)
            found = self._files[path] = _pieces_of(data) if data is not None else ()
        return found

    def _text(self, text: str, pieces: Sequence[_Piece]) -> str:
        if len(pieces) >= MAX_SECRETS:
            shown = "\n".join(REDACTED if line.strip() else line for line in text.split("\n"))
        else:
            shown = "\n".join(_line(line, pieces) for line in text.split("\n")) if pieces else text
            data = shown.encode("utf-8", "surrogatepass")
            if found := secrets_in(data):
                shown = hidden(data, found).decode("utf-8", "surrogatepass")
        if shown is text or shown == text:
            return text
        self.lines += sum(old != new for old, new in zip(text.split("\n"), shown.split("\n"), strict=True))
        self.patched = self.patched or _is_patch(text)
        return shown


def _is_patch(text: str) -> bool:
    return text.startswith(("--- ", "diff --git ")) or ("\n--- " in text and "\n+++ " in text)


def _path_of(row: Any) -> str | None:
    """The file that an object is about."""
    for name in ("path", "file"):
        found = row.get(name) if isinstance(row, dict) else None
        if isinstance(found, dict):
            found = found.get("path")
        if isinstance(found, str):
            return found
    return None


def _lines_of(row: dict[str, Any]) -> tuple[int | None, int | None]:
    for first, last in (("startLine", "endLine"), ("line", "line")):
        if isinstance(row.get(first), int):
            return row[first], row.get(last)
    return None, None


# --- what is known of a file ------------------------------------------------------------------------------------------


_known: dict[bytes, tuple[_Piece, ...]] = {}


def _pieces_of(data: bytes) -> tuple[_Piece, ...]:
    """The secrets of a file; those of the files that were asked about last are kept, and not the files."""
    digest = sha256(data).digest()
    found = _known.get(digest)
    if found is None:
        found = _known[digest] = _looked_up(data)
        if len(_known) > _MOST_KNOWN:
            # Another thread may be faster.
            _known.pop(next(iter(_known), b""), None)
    return found


def _looked_up(data: bytes) -> tuple[_Piece, ...]:
    found = secrets_in(data)
    if not found:
        return ()
    ends = line_ends(data)
    return tuple(
        _Piece(
            bisect_right(ends, one.start) + 1,
            data[one.start : one.end].decode("utf-8", "replace"),
            one.kind == "private key",
        )
        for one in found
    )


def _line(line: str, pieces: Sequence[_Piece]) -> str:
    """Return a line with a mark in place of the pieces in it, and of the parts of pieces at which it was cut."""
    for _, piece, alone in pieces:
        if len(piece) >= _LEAST_PIECE and piece in line:
            line = line.replace(piece, REDACTED)
        elif alone:
            bare = line.strip(_AROUND).strip("".join(_CUT))
            if bare and (bare == piece.strip(_AROUND) or (len(bare) >= _LEAST_PIECE and bare in piece)):
                line = line.replace(bare, REDACTED)
        if line:
            line = _without_tail(_without_head(line, piece), piece)
    return line


def _without_tail(line: str, piece: str) -> str:
    """The line without the beginning of a piece that it ends with."""
    mark = next((mark for mark in _CUT if line.endswith(mark)), "")
    body, least = line.removesuffix(mark), _LEAST_CUT if mark else _LEAST_PIECE
    at, first = body.find(piece[:least], max(0, len(body) - len(piece))), -1
    for _ in range(_MOST_TRIES):
        if at < 0 or len(body) - at < least:
            return line
        first = at if first < 0 else first
        if piece.startswith(body[at:]):
            return f"{body[:at]}{REDACTED}{mark}"
        at = body.find(piece[:least], at + 1)
    return f"{body[:first]}{REDACTED}{mark}"


def _without_head(line: str, piece: str) -> str:
    """The line without the end of a piece that it begins with, or all of it where it lies inside of one."""
    mark = next((mark for mark in _CUT if line.startswith(mark)), "")
    body, least = line.removeprefix(mark), _LEAST_CUT if mark else _LEAST_PIECE
    inner = body.rstrip("".join(_CUT))
    if len(inner) >= 2 * _LEAST_PIECE and inner in piece:
        return f"{mark}{REDACTED}"
    at, last = body.rfind(piece[-least:], 0, len(piece)), -1
    for _ in range(_MOST_TRIES):
        if at < 0:
            return line
        last = at if last < 0 else last
        if piece.endswith(body[: at + least]):
            return f"{mark}{REDACTED}{body[at + least :]}"
        at = body.rfind(piece[-least:], 0, at + least - 1)
    return f"{mark}{REDACTED}{body[last + least :]}"
