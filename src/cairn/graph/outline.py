"""List the definitions of one file of a snapshot, and return lines of the file as they were indexed."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.core.types import ParseState, StoredFile, Symbol
from cairn.store import SnapshotView

Lines = tuple[int, int | None]
"""The first and the last line; None is the end of the file."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition and where it stands. Its name, container, signature and doc are text of the repository.

    Attributes:
        path: The file, relative to the root.
        language: The language of the file.
        kind: What is defined, such as `function`, `class` or `heading`.
        name: The name alone.
        container: The dotted names of the definitions around it; empty at the top of the file.
        signature: The definition's first line or lines, without its body.
        doc: The first line of the documentation that belongs to the definition.
        start_line: The first line, counted from 1.
        end_line: The last line.
        start_byte: Where the definition begins in the file, in bytes.
        end_byte: Where it ends.
        exported: Whether code outside of the file can name it.
        depth: How many definitions of the file are around it.
        way: How the name fits the name that was asked for (`exact`, `case`, `prefix`, `part`, `letters`, `slip`).
        layer: `semantic` when an indexer knows the definition too, else `syntactic`.
    """

    path: str
    language: str
    kind: str
    name: str
    container: str
    signature: str
    doc: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    exported: bool
    depth: int = 0
    way: str = ""
    layer: str = "syntactic"

    @property
    def qualified(self) -> str:
        """The name after the names of the definitions around it, joined with dots."""
        return f"{self.container}.{self.name}" if self.container else self.name

    @property
    def place(self) -> str:
        """The file and line as `path:line`, which names this definition and no other."""
        return f"{self.path}:{self.start_line}"


@dataclass(frozen=True, slots=True)
class FileOutline:
    """The definitions of a file, in order; a definition comes before the definitions inside it.

    Attributes:
        path: The file, relative to the root.
        language: The language of the file.
        file_hash: The SHA-256 of the file as it was indexed.
        partial: Whether some lines could not be parsed, so that definitions may be missing.
        definitions: The definitions.
    """

    path: str
    language: str
    file_hash: str
    partial: bool
    definitions: tuple[Definition, ...]


def has_outline(file: StoredFile) -> bool:
    """Whether the syntax of a file was understood; a file that was cut by lines has no known definitions."""
    return file.state != ParseState.LINES.value


def outline(view: SnapshotView, file: StoredFile, lines: Lines | None = None) -> FileOutline:
    """Return the definitions of a parsed file of this view; with `lines` only those that touch these lines."""
    found = definitions_in(view, file)
    if lines is not None:
        found = [one for one in found if crosses(one, lines)]
    partial = file.state == ParseState.PARTIAL.value
    return FileOutline(file.key, file.language, file.file_hash, partial, tuple(found))


def definitions_in(view: SnapshotView, file: StoredFile) -> list[Definition]:
    """Return every definition of a file, in order."""
    depths: list[int] = []
    found = []
    for symbol in view.symbols(file.key):
        depths.append(depths[symbol.parent] + 1 if symbol.parent >= 0 else 0)
        found.append(definition_of(file.key, file.language, symbol, depth=depths[-1]))
    return found


def definition_of(path: str, language: str, symbol: Symbol, *, depth: int = 0, way: str = "") -> Definition:
    """Return the definition that a symbol of this file is."""
    return Definition(
        path=path,
        language=language,
        kind=symbol.kind,
        name=symbol.name,
        container=symbol.container,
        signature=symbol.signature,
        doc=symbol.doc.strip().partition("\n")[0].rstrip(),
        start_line=symbol.start_line,
        end_line=symbol.end_line,
        start_byte=symbol.start_byte,
        end_byte=symbol.end_byte,
        exported=symbol.exported,
        depth=depth,
        way=way,
    )


def crosses(definition: Definition, lines: Lines) -> bool:
    """Whether a part of a definition stands on these lines."""
    first, last = lines
    return definition.end_line >= first and (last is None or definition.start_line <= last)


# --- Lines of a file as they were indexed, with the definitions that touch them.


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
    """Return these lines of a file of this view, as far as the file has them.

    `start_line` is greater than `end_line` when the file has none of them.
    """
    data = bytes(view.text(file.key) or b"")
    every = data.split(b"\n")
    if not every[-1]:
        # A line end at the end of the file begins no further line.
        every.pop()
    first, last = lines
    last = len(every) if last is None else min(last, len(every))
    # Only UTF-8 is indexed, so nothing is replaced unless the store is damaged.
    text = b"\n".join(every[first - 1 : last]).decode("utf-8", "replace")
    crossed = tuple(one for one in definitions_in(view, file) if crosses(one, (first, last)))
    return FileText(file.key, file.language, file.file_hash, first, last, len(every), text, crossed)
