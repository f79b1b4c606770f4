"""What an indexer says that each name of a repository means: the ground truth of `bench.edges`.

What is done for indexers that err in known ways is done here and nowhere else:

* scip-python names definitions below a source root by their folder (`src.flask.app`) and uses of them by their import
  (`flask.app`). Without an environment it gives the modules of other projects to this one: what is defined in no
  module of this repository is external. What it could not import is a local that is defined nowhere: it says nothing.
  A type parameter has the symbol of the function or class that it belongs to: that says nothing either.
* A call of a class may name its constructor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from cairn.semantic.scip import Document, Encoding, Range, ScipIndex, ScipOccurrence, byte_column, is_local

_PYTHON = "scip-python"
_MODULE = re.compile(r"(?:`([^`]*)`|([\w.]+))(/.*)?")
_NAME = re.compile(r"(\w+)(?:\(\+?\d*\)\.|#)$")
_CONSTRUCTOR = re.compile(r"#(?:__init__|__new__|constructor|`<constructor>`|`<init>`)\(\+?\d*\)\.$")
_OF_A_CALLABLE = re.compile(r"[\])]$")
_WHOLE_FILE = re.compile(r"(?:/|/__init__:)$")


class Spot(NamedTuple):
    """Where a definition's name stands: line from 0. `is_module` is a whole file."""

    path: str
    line: int
    is_module: bool = False


class Kind(StrEnum):
    """What a use means, in the eyes of the indexer."""

    INSIDE = "inside"
    """A definition of this repository that other code can name."""
    LOCAL = "local"
    """A local variable, a parameter, a type parameter, something inside a function."""
    EXTERNAL = "external"
    UNKNOWN = "unknown"
    """The indexer names a symbol of this project that it never defines."""


class Meant(NamedTuple):
    """What a use means: where that is defined, and its symbol, for a reader."""

    kind: Kind
    spots: frozenset[Spot]
    symbol: str


class Truth:
    """What every use in the repository means, by path, line (from 1) and byte column."""

    def __init__(self, index: ScipIndex, texts: Mapping[str, bytes]) -> None:
        documents = [each for each in index.documents() if each.path in texts]
        self.paths = {each.path for each in documents}
        self.tool = f"{index.metadata.tool} {index.metadata.tool_version}"
        self._is_python = index.metadata.tool == _PYTHON
        self._defined: dict[str, set[Spot]] = {}
        self._by_import: dict[str, set[str]] = {}
        self._own: set[str] = set()
        self._modules: set[str] = set()
        self._bodies: dict[tuple[str, str], Range] = {}
        for document in documents:
            self._define(document)
        self._meant: dict[tuple[str, int, int], Meant] = {}
        for document in documents:
            self._read(document, texts[document.path].split(b"\n"))
        self.mentions = sum(meant.kind is Kind.INSIDE for meant in self._meant.values())

    def meant(self, path: str, line: int, column: int) -> Meant | None:
        """What stands here; None when the indexer says nothing of it."""
        return self._meant.get((path, line, column))

    # --- definitions --------------------------------------------------------------------------------------------------

    def _define(self, document: Document) -> None:
        for each in document.occurrences:
            if each.is_definition and each.symbol:
                if each.around is not None:
                    self._bodies[document.path, each.symbol] = each.around
                spot = Spot(document.path, each.range.start_line, bool(_WHOLE_FILE.search(each.symbol)))
                self._defined.setdefault(_key(document, each.symbol), set()).add(spot)
                if not is_local(each.symbol):
                    self._own.add(_package(each.symbol))
                    self._modules.add(_split(each.symbol)[0])
                    for other in self._imported_as(each.symbol):
                        self._by_import.setdefault(other, set()).add(each.symbol)
                        self._modules.add(_split(other)[0])

    def _imported_as(self, symbol: str) -> Iterable[str]:
        """What scip-python calls the symbol where it is used, when its module lies below a source root."""
        if self._is_python:
            package, (module, rest) = _package(symbol), _split(symbol)
            while "." in module:
                first, _, module = module.partition(".")
                if not first.isidentifier():
                    return
                yield f"{package} {module}{rest}"

    def _definitions(self, document: Document, symbol: str) -> set[Spot]:
        found = self._defined.get(_key(document, symbol))
        if found is not None or not self._is_python or is_local(symbol):
            return found or set()
        module, rest = _split(symbol)
        others = self._by_import.get(f"{_package(symbol)} {module}{rest}", set())
        # Two source roots may each have a module of that name: then nobody knows.
        return self._defined[next(iter(others))] if len(others) == 1 else set()

    # --- uses ---------------------------------------------------------------------------------------------------------

    def _read(self, document: Document, lines: list[bytes]) -> None:
        for each in document.occurrences:
            at = each.range
            if each.is_definition or not each.symbol or at.start_line >= len(lines):
                continue
            column = byte_column(lines[at.start_line], at.start_column, Encoding(document.encoding))
            place = (document.path, at.start_line + 1, column)
            found = self._means(document, each.symbol)
            if self._is_python and self._is_type_parameter(document.path, each, _written(lines, at)):
                found = Meant(Kind.UNKNOWN, frozenset(), each.symbol)
            known = self._meant.get(place)
            if known is not None:
                spots = known.spots | found.spots
                found = min(known, found, key=lambda one: list(Kind).index(one.kind))._replace(spots=spots)
            self._meant[place] = found

    def _is_type_parameter(self, path: str, used: ScipOccurrence, written: bytes) -> bool:
        """Whether a symbol stands inside its own definition under another name than its own."""
        body, named = self._bodies.get((path, used.symbol)), _NAME.search(used.symbol)
        if body is None or named is None or not written.isalpha() or written == named[1].encode():
            return False
        return body.start_line <= used.range.start_line <= body.end_line

    def _means(self, document: Document, symbol: str) -> Meant:
        spots = self._definitions(document, symbol)
        if _CONSTRUCTOR.search(symbol):
            spots = spots | self._definitions(document, _CONSTRUCTOR.sub("#", symbol))
        return Meant(self._kind(symbol, bool(spots)), frozenset(spots), symbol)

    def _kind(self, symbol: str, defined: bool) -> Kind:
        if is_local(symbol):
            return Kind.LOCAL if defined else Kind.UNKNOWN
        if not defined:
            ours = _package(symbol) in self._own and (not self._is_python or _split(symbol)[0] in self._modules)
            return Kind.UNKNOWN if ours else Kind.EXTERNAL
        return Kind.LOCAL if _OF_A_CALLABLE.search(symbol) else Kind.INSIDE


def texts_of(root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """The bytes of those files that are there, below this folder."""
    found = {}
    for path in paths:
        file = (root / path).resolve()
        if file.is_relative_to(root.resolve()) and file.is_file():
            found[path] = file.read_bytes()
    return found


def _written(lines: list[bytes], at: Range) -> bytes:
    """What stands in a range of one line; only compared to names, so units other than bytes do no harm."""
    line = lines[at.start_line] if at.start_line < len(lines) else b""
    return line[at.start_column : at.end_column] if at.start_line == at.end_line else b""


def _key(document: Document, symbol: str) -> str:
    return f"{document.path}\0{symbol}" if is_local(symbol) else symbol


def _package(symbol: str) -> str:
    return " ".join(symbol.split(" ")[:4])


def _split(symbol: str) -> tuple[str, str]:
    """The module of a symbol of scip-python, without quotes, and what follows it."""
    descriptors = " ".join(symbol.split(" ")[4:])
    parts = _MODULE.fullmatch(descriptors)
    return (parts[1] or parts[2] or "", parts[3] or "") if parts else ("", descriptors)
