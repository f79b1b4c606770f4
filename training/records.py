"""What training learns from: a text that somebody wrote about a piece of code, and that code."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

KINDS = ("doc", "inline", "test", "commit", "heading", "module")
_ENDING = ".jsonl.gz"


class Record(NamedTuple):
    """One pair. `name` is what the code defines, empty where it defines nothing; `kind` is one of `KINDS`."""

    kind: str
    repository: str
    path: str
    name: str
    text: str
    code: str


def write(folder: Path, repository: str, records: Iterable[Record]) -> None:
    """Keep the records of one repository (`owner/name`) in a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    # No name and no time in the header: the same records give the same bytes.
    path = folder / (repository.replace("/", "+") + _ENDING)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.writelines(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def repositories(folder: Path) -> list[str]:
    """The repositories whose records lie in a folder, sorted."""
    return sorted(path.name.removesuffix(_ENDING).replace("+", "/", 1) for path in folder.glob("*" + _ENDING))


def read(folder: Path, repository: str) -> Iterator[Record]:
    """The records of one repository, in the order they were found."""
    with gzip.open(folder / (repository.replace("/", "+") + _ENDING), "rb") as file:
        for line in file:
            yield Record(*json.loads(line))


def names_in(file: Path) -> frozenset[str]:
    """The repositories that a list names, one `owner/name` per line, in small letters; `#` starts a remark."""
    lines = (line.partition("#")[0].strip().lower() for line in file.read_text("utf-8").splitlines())
    return frozenset(line for line in lines if line)
