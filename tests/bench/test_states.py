"""The measurement of file states measures something."""

from __future__ import annotations

import pytest
from bench.states import main, measure


def test_states_of_a_small_codebase_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    found = measure(50, 3)
    assert (found.files, found.edges) == (50, 3)
    assert 0 <= found.rules <= found.with_database
    assert main(["--files", "20", "--edges", "2"]) == 0
    assert "20 files, 2 edges each" in capsys.readouterr().out
