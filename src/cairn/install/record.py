"""What Cairn has written into whose settings: `installed.json` in the user's folder, enough to take it all back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cairn.install.edits import Splice, Unfit

_VERSION = 1
KINDS = ("server", "instructions")
_SCOPES = ("user", "project")
_TEXTS = ("file", "kind", "table", "scope", "after")


@dataclass(frozen=True, slots=True)
class WrittenChange:
    """One change of one file. `after` and `length` are the SHA-256 and the characters of the file as it was left.

    `table` is what holds the servers there.

    `created` and `folders`: the file and the folders that were not there before. `project` is the root that it is for.
    """

    file: str
    kind: str
    table: str
    scope: str
    agents: tuple[str, ...]
    project: str | None
    created: bool
    folders: tuple[str, ...]
    after: str
    length: int
    splices: tuple[Splice, ...]

    @property
    def key(self) -> Key:
        """There is one of a kind in a table of a file."""
        return self.file, self.kind, self.table


Key = tuple[str, str, str]


def decode(data: bytes | None) -> dict[Key, WrittenChange]:
    """Return the record, empty when there is none; raises `Unfit` when it is invalid or of a later version."""
    if data is None:
        return {}
    try:
        value = json.loads(data)
        if not isinstance(value, dict) or value.get("version") != _VERSION:
            raise Unfit("it is not a record that this version of Cairn has written")
        found = [_written(one) for one in value["written"]]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise Unfit("it is damaged; what it was to take back has to be taken out by hand") from None
    return {one.key: one for one in found}


def encode(record: Mapping[Key, WrittenChange]) -> bytes:
    """Return the record as it is stored."""
    written = [asdict(one) for _, one in sorted(record.items())]
    return json.dumps({"version": _VERSION, "written": written}, indent=1).encode() + b"\n"


def _written(value: dict[str, Any]) -> WrittenChange:
    agents, folders = (tuple(map(_text, value[name])) for name in ("agents", "folders"))
    splices = tuple(Splice(int(at), _text(old), _text(new)) for at, old, new in value["splices"])
    project = value["project"]
    if value["kind"] not in KINDS or value["scope"] not in _SCOPES or any(one.at < 0 for one in splices):
        raise ValueError
    return WrittenChange(
        **{name: _text(value[name]) for name in _TEXTS},
        agents=agents,
        folders=folders,
        project=None if project is None else _text(project),
        created=bool(value["created"]),
        length=int(value["length"]),
        splices=splices,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
