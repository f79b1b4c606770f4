"""The definitions of a file, outermost first, as one snapshot knows them. Nothing else is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from cairn.store.snapshot import SnapshotView
from cairn.types import ParseState, StoredFile, Symbol

Lines = tuple[int, int | None]
"""The first line and the last one; None is the end of the file."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition and where it stands. `name`, `container`, `signature` and `doc` are text of the repository.

    `doc` is the first line of what is written about it. `depth` counts the definitions around it in its file. `way`
    says how its name fits what was asked for, where a name was. `layer` is `semantic` where an indexer knows it too.
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
        """The name with those around it, with dots."""
        return f"{self.container}.{self.name}" if self.container else self.name

    @property
    def place(self) -> str:
        """The file and the line, the way to name this one and no other."""
        return f"{self.path}:{self.start_line}"


@dataclass(frozen=True, slots=True)
class FileOutline:
    """The definitions of a file in order, each after the one that it is inside of.

    `partial` says that some lines could not be parsed, so something may be missing.
    """

    path: str
    language: str
    file_hash: str
    partial: bool
    definitions: tuple[Definition, ...]


def has_outline(file: StoredFile) -> bool:
    """Whether its syntax was understood; a file that was cut by lines has no definitions that are known."""
    return file.state != ParseState.LINES.value


def outline(view: SnapshotView, file: StoredFile, lines: Lines | None = None) -> FileOutline:
    """The definitions of a file of this view that was parsed; with `lines` those that stand on one of these."""
    found = definitions_in(view, file)
    if lines is not None:
        found = [one for one in found if crosses(one, lines)]
    partial = file.state == ParseState.PARTIAL.value
    return FileOutline(file.key, file.language, file.file_hash, partial, tuple(found))


def definitions_in(view: SnapshotView, file: StoredFile) -> list[Definition]:
    """Every definition of a file, in order."""
    depths: list[int] = []
    found = []
    for symbol in view.symbols(file.key):
        depths.append(depths[symbol.parent] + 1 if symbol.parent >= 0 else 0)
        found.append(definition_of(file.key, file.language, symbol, depth=depths[-1]))
    return found


def definition_of(path: str, language: str, symbol: Symbol, *, depth: int = 0, way: str = "") -> Definition:
    """A symbol with the file that it stands in."""
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
    """Whether a part of it stands on these lines."""
    first, last = lines
    return definition.end_line >= first and (last is None or definition.start_line <= last)
