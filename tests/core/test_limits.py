"""Shipped limits do not move by accident."""

from __future__ import annotations

import os
from pathlib import Path

from cairn.core import limits
from cairn.core.config import LimitConfig
from tests.conformance import conforms

SNAPSHOT = Path(__file__).parent.parent / "golden" / "limits.txt"


def page() -> dict[str, int | float]:
    """Every limit by its name."""
    return {name: value for name, value in vars(limits).items() if name.isupper()}


@conforms("003.LIM2")
def test_the_limits_page_is_the_shipped_one() -> None:
    text = "".join(f"{name} = {value}\n" for name, value in page().items())
    if os.environ.get("CAIRN_UPDATE_GOLDEN"):
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text(), "a limit moved; `just golden` records it when that is meant"


def test_every_limit_is_a_positive_number() -> None:
    assert len(page()) > 30
    assert all(isinstance(value, int | float) and value > 0 for value in page().values())


def test_the_limits_in_force_without_settings_are_the_hard_caps() -> None:
    assert LimitConfig() == LimitConfig(10 * 1024 * 1024, 2_000, 256 * 1024 * 1024)


def test_a_default_never_exceeds_the_cap_above_it() -> None:
    assert limits.DEFAULT_ENVELOPE_BYTES <= limits.MAX_ENVELOPE_BYTES
    assert limits.CHUNK_MIN_CHARS < limits.CHUNK_TARGET_CHARS
    assert limits.MAX_PARSE_BYTES <= limits.MAX_FILE_BYTES <= limits.MAX_BYTES_PER_BATCH
    assert limits.COMPACTION_OVERDUE_SEGMENTS < limits.MAX_SEGMENTS_PER_SNAPSHOT
    assert limits.COMPACTION_OVERDUE_TOMBSTONES < limits.MAX_TOMBSTONES_PER_SNAPSHOT
    assert limits.MAX_PATTERN_BYTES <= limits.MAX_IGNORE_BYTES
