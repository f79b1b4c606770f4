"""Where does clang say that names of C and C++ lead? Each question is a line of stdin, as in `truth_rust`.

    python truth_c.py ROOT < questions > answers

The Python that runs it has the package `libclang`. A file is read with every folder of ROOT that holds a header on the
path of includes; nothing is configured, so what needs a made header is not known. A name that leads to a prototype is
answered with the prototype and, where the same file shows it, the definition.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, SourceLocation, TranslationUnit, TranslationUnitLoadError

HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc")
CPP = (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx")
NO_ANSWER = (CursorKind.OVERLOADED_DECL_REF, CursorKind.NO_DECL_FOUND, CursorKind.INVALID_FILE)


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    files = [path for path in root.rglob("*") if path.suffix in HEADERS and ".git" not in path.parts]
    folders = sorted({str(path.parent) for path in files} | {str(path.parent.parent) for path in files})
    has_cpp = any(path.suffix in CPP for path in root.rglob("*"))
    index = Index.create()

    @lru_cache(64)
    def parsed(path: str) -> TranslationUnit | None:
        is_cpp = Path(path).suffix in CPP or (has_cpp and Path(path).suffix in HEADERS)
        how = ["-x", "c++", "-std=c++17"] if is_cpp else ["-x", "c", "-std=gnu11"]
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        try:
            return index.parse(str(root / path), args=[*how, *(f"-I{each}" for each in folders)], options=options)
        except TranslationUnitLoadError:
            return None

    for line in sys.stdin:
        asked = json.loads(line)
        unit = parsed(asked["path"])
        found = [] if unit is None else _leads(unit, root, asked["path"], asked["line"], asked["column"])
        print(json.dumps(found), flush=True)
    return 0


def _leads(unit: TranslationUnit, root: Path, path: str, line: int, column: int) -> list[tuple[str, int]]:
    text = (root / path).read_bytes().split(b"\n")[line - 1].decode("utf-8", "replace")
    at = len(text[:column].encode()) + 1
    here = SourceLocation.from_position(unit, unit.get_file(str(root / path)), line, at)
    cursor = Cursor.from_location(unit, here)
    meant = cursor.referenced
    if meant is None or meant.kind in NO_ANSWER or not meant.spelling:
        return []
    if meant.location.file is None:
        return [("", 0)]
    name = text[column:].split("(")[0]
    if not name.startswith(meant.spelling.lstrip("~")):
        # The cursor is that of something around the name.
        return []
    found = {_place(root, each) for each in (meant, meant.canonical, meant.get_definition()) if each is not None}
    return sorted(found)


def _place(root: Path, cursor: Cursor) -> tuple[str, int]:
    path = Path(str(cursor.location.file)).resolve()
    return (str(path.relative_to(root)) if path.is_relative_to(root) else "", cursor.location.line)


if __name__ == "__main__":
    raise SystemExit(main())
