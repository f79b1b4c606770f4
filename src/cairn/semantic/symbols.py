"""Turn the texts by which indexers name symbols into identities with a name and a kind; keys for imports.

Indexers write `scheme manager package version descriptors`. The version of the package is removed, since it would split
an identity at every release; so is the source folder that one indexer takes for a package.

Keys say what a file imports and what another file offers: a new file may be what an import means from now on. A new
`tools/__init__.py` takes the place of `tools.py`, a new `json.py` that of a library, while neither the bytes of the
importing files change nor the files they were known to depend on. A key may match too much, and then a file is looked
at once more; an import that names a place matches that place only.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cairn.core.types import Import
from cairn.semantic.model import Context, Family, family_of
from cairn.semantic.scip import is_local

_PLAIN = r"[\w+\-$]+"
_DESCRIPTOR = re.compile(
    rf"""
    \[ (?P<type_parameter> {_PLAIN} | `(?:[^`]|``)*` ) \]
  | \( (?P<parameter> {_PLAIN} | `(?:[^`]|``)*` ) \)
  | (?P<name> {_PLAIN} | `(?:[^`]|``)*` ) (?P<suffix> \([^)]*\)\. | [/#.:!] )
    """,
    re.VERBOSE,
)
# Folders that by convention hold packages and are none.
_SOURCE_FOLDERS = ("src", "lib", "python")
LOCAL = "local"


class NormalSymbol(NamedTuple):
    """A symbol without what differs between releases or checkouts. `kind` follows from the form of its descriptors.

    `names` are the names of what encloses the symbol and its own, outermost first; empty for a symbol that is local to
    its file.
    """

    identity: str
    kind: str
    names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The symbol's own name."""
        return self.names[-1] if self.names else ""

    @property
    def qualified_name(self) -> str:
        """All names of the symbol, joined by dots."""
        return ".".join(self.names)


class Normaliser:
    """Normalises the symbols of the indices of one context. `exists` says whether a path is in the snapshot."""

    def __init__(self, context: Context, exists: Callable[[str], bool]) -> None:
        self._python = context.family is Family.PYTHON
        self._below = f"{context.root}/" if context.root else ""
        self._exists = exists
        self._known: dict[str, NormalSymbol] = {}
        self._modules: dict[str, str] = {}
        self._homes: dict[str, str | None] = {}

    def symbol(self, written: str, path: str) -> NormalSymbol:
        """Return the symbol for this text in the document of this path."""
        if is_local(written):
            # Local symbols are numbered within one document.
            return NormalSymbol(f"{LOCAL} {path} {written[len(LOCAL) + 1 :]}", LOCAL)
        found = self._known.get(written)
        if found is None:
            found = self._known[written] = self._normalised(written)
        return found

    def home(self, symbol: NormalSymbol) -> str | None:
        """Return the file of the snapshot that a symbol is named after, whether or not the file has facts."""
        if symbol.kind == LOCAL or not symbol.names:
            return None
        first = symbol.names[0]
        if first not in self._homes:
            self._homes[first] = self._module_file(first) if self._python else None
        if self._python:
            return self._homes[first]
        # Indexers of other families name the folders and the file first.
        paths = ("/".join(symbol.names[:count]) for count in range(1, len(symbol.names) + 1))
        return next((self._below + path for path in paths if self._exists(self._below + path)), None)

    def beside(self, path: str, written: str) -> str | None:
        """Return the file that `.name` or `..pack.name` means in a Python file."""
        return self._found(place_beside(path, written))

    def _normalised(self, written: str) -> NormalSymbol:
        head, descriptors = _split(written)
        if head is None:
            return NormalSymbol(written, "unknown", (written,))
        names, kinds, end = [], [], 0
        for match in _DESCRIPTOR.finditer(descriptors):
            if match.start() != end:
                break
            end = match.end()
            name = match["name"] or match["type_parameter"] or match["parameter"]
            names.append(_unquoted(name))
            kinds.append(match["suffix"] or ("[" if match["type_parameter"] else "("))
        if end != len(descriptors) or not names:
            return NormalSymbol(f"{head} {descriptors}", "unknown", (descriptors,))
        if self._python and kinds[0] == "/" and (module := self._module(names[0])) != names[0]:
            first = _DESCRIPTOR.match(descriptors)
            assert first is not None, "it has just been matched"
            descriptors = f"{_quoted(module)}/{descriptors[first.end() :]}"
            names[0] = module
        return NormalSymbol(f"{head} {descriptors}", _kind(kinds), tuple(names))

    def _module(self, name: str) -> str:
        found = self._modules.get(name)
        if found is None:
            found = self._modules[name] = self._without_source_folder(name)
        return found

    def _without_source_folder(self, module: str) -> str:
        """Return `flask.app` for `src.flask.app`: other files import the module by this name."""
        folder, dot, rest = module.partition(".")
        if not dot or folder not in _SOURCE_FOLDERS or self._is_module(folder):
            return module
        # When both modules exist they are two, and stay apart.
        return module if self._is_module(rest) or not self._is_module(module) else rest

    def _is_module(self, module: str) -> bool:
        return self._file(module) is not None

    def _module_file(self, module: str) -> str | None:
        places = ("", *(f"{folder}." for folder in _SOURCE_FOLDERS))
        return next((found for place in places if (found := self._file(place + module))), None)

    def _file(self, module: str) -> str | None:
        return self._found(self._below + module.replace(".", "/"))

    def _found(self, place: str) -> str | None:
        files = (place + ending for ending in (".py", "/__init__.py", ".pyi", "/__init__.pyi"))
        return next(filter(self._exists, files), None)


def readable(identity: str) -> str:
    """Return a symbol as people write it: `io.Writer.Write` for what an indexer calls by scheme, package and marks."""
    head, descriptors = _split(identity)
    found = list(_DESCRIPTOR.finditer(descriptors)) if head is not None else []
    names = [_unquoted(one["name"] or one["type_parameter"] or one["parameter"] or "") for one in found]
    # A folder stands before a file of its own name, and the type before its constructor.
    return ".".join(name for name in names if name) or identity


def place_beside(path: str, written: str) -> str:
    """Return the file or folder, without its suffix, that `.name` or `..pack.name` means in a Python file."""
    name = written.lstrip(".")
    folders = path.split("/")[: -(len(written) - len(name))]
    return "/".join([*folders, *name.split(".")] if name else folders)


def _split(written: str) -> tuple[str | None, str]:
    """Return the scheme, manager and package without the version, and the descriptors. A blank in a part is doubled."""
    parts: list[str] = []
    start = at = 0
    while len(parts) < 4:
        at = written.find(" ", at)
        if at < 0:
            return None, written
        if written[at + 1 : at + 2] == " ":
            at += 2
            continue
        parts.append(written[start:at])
        at = start = at + 1
    scheme, manager, package, _ = parts
    return f"{scheme} {manager} {package} .", written[start:]


def _kind(suffixes: list[str]) -> str:
    last = suffixes[-1]
    inside_type = len(suffixes) > 1 and suffixes[-2] == "#"
    if last.startswith("(") and last.endswith("."):
        return "method" if inside_type else "function"
    if last == ".":
        return "field" if inside_type else "variable"
    return {"/": "namespace", "#": "type", ":": "module", "!": "macro", "[": "type_parameter", "(": "parameter"}[last]


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _quoted(name: str) -> str:
    return name if re.fullmatch(_PLAIN, name) else "`" + name.replace("`", "``") + "`"


# --- keys of imports --------------------------------------------------------------------------------------------------


_WORDS = re.compile(r"[\w$-]+")
# Files that stand for their folder.
_FOR_FOLDERS = frozenset({"__init__", "index", "mod"})
_PLACE = "="


def imported_keys(path: str, imports: Iterable[Import]) -> frozenset[str]:
    """Return the keys of all that a file may import: places for relative imports, else every word."""
    family, keys = family_of(path), set[str]()
    for one in imports:
        # A name that is imported from a package of Python may be a module; from one of TypeScript it never is.
        name = () if family is Family.TYPESCRIPT else (one.name,)
        if not one.module.startswith("."):
            keys.update(_WORDS.findall(" ".join((one.module, *name))))
            continue
        place = place_beside(path, one.module) if family is Family.PYTHON else _from(path, one.module)
        keys.update(_PLACE + each for each in (place, *(posixpath.join(place, each) for each in name if each)))
    return frozenset(keys)


def offered_keys(path: str) -> frozenset[str]:
    """Return the keys by which others may import a file; none in Go, where imports name folders."""
    if family_of(path) is Family.GO:
        return frozenset()
    place = _without_suffix(path)
    folder, stem = posixpath.split(place)
    places = [place, folder] if stem in _FOR_FOLDERS else [place]
    words = [_WORDS.match(posixpath.basename(each)) for each in places]
    return frozenset((*(_PLACE + each for each in places), *(word[0] for word in words if word)))


def _from(path: str, module: str) -> str:
    """Return the place that `./name` or `../pack/name.js` means in a file, for languages other than Python."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
    return _without_suffix(found) if family_of(found) else found


def _without_suffix(path: str) -> str:
    return posixpath.splitext(path)[0].removesuffix(".d")
