"""What a test expects, kept in a file that a person has read: written anew with `CAIRN_UPDATE_GOLDEN=1`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"


def is_golden(name: str, text: str) -> bool:
    """Whether this is the text of `tests/golden/NAME`; when they are written anew, it is from now on."""
    file = GOLDEN / name
    if os.environ.get("CAIRN_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")
    return True


def golden_json(name: str, answer: Mapping[str, Any]) -> bool:
    """The same for an answer, in JSON that people can read."""
    return is_golden(f"{name}.json", json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
