"""Lines of a file as they were indexed, byte for byte, with the definitions that they cross."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.graph.outline import Definition, Lines, crosses, definitions_in
from cairn.store.snapshot import SnapshotView
from cairn.types import StoredFile


@dataclass(frozen=True, slots=True)
class FileText:
    """Some lines of a file. `text` is as it stands in the file, without the end of its last line.

    `lines` counts those of the whole file; an empty file has none, and `end_line` is then 0. `disk` says whether the
    file still is the one that was indexed: `same`, `changed`, `missing`, or `unknown` where it cannot be read.
    """

    path: str
    language: str
    file_hash: str
    start_line: int
    end_line: int
    lines: int
    text: str
    definitions: tuple[Definition, ...] = ()
    disk: str = "unknown"


def passage(view: SnapshotView, file: StoredFile, lines: Lines = (1, None)) -> FileText:
    """These lines of a file of this view, as far as it has them; `start_line` is beyond `lines` when it has none."""
    data = bytes(view.text(file.key) or b"")
    every = data.split(b"\n")
    if not every[-1]:
        # Behind the last line end there is no line.
        every.pop()
    first, last = lines
    last = len(every) if last is None else min(last, len(every))
    # What is no UTF-8 is never indexed.
    text = b"\n".join(every[first - 1 : last]).decode("utf-8", "replace")
    crossed = tuple(one for one in definitions_in(view, file) if crosses(one, (first, last)))
    return FileText(file.key, file.language, file.file_hash, first, last, len(every), text, crossed)
