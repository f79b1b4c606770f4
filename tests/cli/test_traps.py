"""Some traps through the command itself: `cairn refs --json` says of every place what the labels allow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_structure import answer, ask
from tests.graph.traps import Trap, traps

CHOSEN = {
    "python": "a parameter hides a function",
    "typescript": "a default export under any name",
    "go": "files of two platforms",
    "c": "a callback",
}


def chosen(language: str) -> Trap:
    (found,) = (trap for trap in traps(language) if trap.title == CHOSEN[language])
    return found


@pytest.mark.parametrize("language", CHOSEN)
def test_a_trap_catches_nothing_of_the_command(bare: Path, language: str) -> None:
    trap = chosen(language)
    for path, text in trap.tree.items():
        (bare / path).write_text(text)
    assert ask("index", "-q").status == 0
    for called, lines in trap.definitions.items():
        path, line = lines[0]
        uses = answer("refs", f"{path}:{line}", "--min-tier", "name_only", "-k", "100")["results"]
        told = {(use["path"], use["line"], use["column"]): use["tier"] for use in uses}
        for place, label in trap.labels.items():
            if called in label.means:
                assert told[place] in ("name_only", "likely", "proven")[: 3 if label.most == "proven" else 2]
            else:
                assert told.get(place, "name_only") == "name_only"
