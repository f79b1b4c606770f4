"""Makes the list of languages: `python -m tests.syntax.pins --write` after a language or its pin has changed.

Each folder of `syntax/languages` says which wheel holds its grammar and which files make its query; the version and the
checksum are those of the wheel that is installed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from pathlib import Path

from cairn.syntax import languages
from cairn.syntax.languages import checksum_of, language_of
from cairn.syntax.traits import Traits

FOLDER = Path(languages.__file__).parent
WIDTH = 120
HEAD = '''"""All languages, and the grammars this version is made for. Made by `python -m tests.syntax.pins --write`.

A grammar decides what an index means: the version of its wheel, the checksum of what that holds and the text of its
query are part of the index fingerprint.
"""

from __future__ import annotations

from typing import NamedTuple


class Pin(NamedTuple):
    """One grammar, exactly: the wheel, its version, the checksum of its tables, and the files of our query."""

    distribution: str
    version: str
    checksum: str
    queries: tuple[str, ...]


PINS: dict[str, Pin] = {
'''


def all_traits() -> dict[str, Traits]:
    """The traits of every folder, whether it is listed yet or not."""
    names = sorted(file.parent.name for file in FOLDER.glob("*/traits.py"))
    return {name: importlib.import_module(f"{languages.__name__}.{name}.traits").TRAITS for name in names}


def text() -> str:
    """The list as it should be."""
    rows = []
    for name, traits in all_traits().items():
        version = importlib.metadata.version(traits.distribution)
        row = (traits.distribution, version, checksum_of(language_of(traits)), traits.query_files)
        written = ", ".join(f'"{one}"' for one in row[3])
        files = f"({written},)" if len(row[3]) == 1 else f"({written})"
        pin = f'"{row[0]}", "{row[1]}", "{row[2]}", {files}'
        line = f'    "{name}": Pin({pin}),'
        rows.append(line if len(line) <= WIDTH else f'    "{name}": Pin(\n        {pin}\n    ),')
    return HEAD + "\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        (FOLDER / "pins.py").write_text(text())
    else:
        sys.stdout.write(text())
