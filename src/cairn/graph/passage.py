"""Lines of a file as they were indexed, byte for byte, with the definitions that they cross."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.core.types import StoredFile
from cairn.graph.outline import Definition, Lines, crosses, definitions_in
from cairn.store import SnapshotView


@dataclass(frozen=True, slots=True)
class FileText:
    """Some lines of a file as they were indexed.

    Attributes:
        path: The file, relative to the root.
        language: The language of the file.
        file_hash: The SHA-256 of the file as it was indexed.
        start_line: The first line of `text`, counted from 1.
        end_line: The last line of `text`; 0 when the file is empty.
        lines: How many lines the whole file has.
        text: The lines, without the line break at the end of the last one.
        definitions: The definitions that stand on these lines, when they were asked for.
        disk: Whether the file on disk is still the indexed one: `same`, `changed`, `missing` or `unknown`.
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
