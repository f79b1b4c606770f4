"""What an indexer knows is never shown as certain when an edit has made it stale, and most of it outlives edits."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.stale import edited


def test_after_some_edits_nothing_stale_is_shown_as_certain(tmp_path: Path) -> None:
    found = edited(tmp_path, 18, 6)
    assert (found.edits, found.stale) == (6, 0)
    assert found.shown > 0


@pytest.mark.long
def test_after_many_edits_nothing_stale_is_shown_as_certain_and_more_is_kept_than_before(tmp_path: Path) -> None:
    found = edited(tmp_path, 18, 120)
    print(found)
    assert found.stale == 0
    assert found.before < found.now
