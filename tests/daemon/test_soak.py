"""The daemon over a long life: `python -m tests.daemon.soak` runs all of it, this as much as there is time for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.daemon.soak import Outcome, Plan, soak

SOAK_SECONDS = float(os.environ.get("CAIRN_SOAK_SECONDS", "60"))


def test_growth_is_that_of_the_rounds_after_the_daemon_was_warm() -> None:
    def grown(*memory: int) -> float:
        return Outcome(0, 0, 0, {}, list(memory), [], last_edit_found=True, same_daemon=True).growth

    assert grown(1, 50, 100, 100, 100, 100, 100, 100, 100, 100) == 1.0
    assert grown(1, 50, 90, 100, 101, 102, 103, 104, 105, 110) > 1.05


@pytest.mark.long
def test_memory_stays_flat_while_clients_come_and_are_killed_and_files_change(tmp_path: Path) -> None:
    # More saves to a question than in a whole life: what they leave is merged within the time that there is.
    found = soak(tmp_path.resolve(), Plan(requests=3_000, edits=2_000, seconds=SOAK_SECONDS))
    print(found)
    assert found.same_daemon
    assert found.last_edit_found
    assert set(found.answers) <= {"ok", "error busy"}, found.answers
    assert found.answers["ok"] > 0.9 * found.requests
    # Segments that are not merged yet are open. What a question or a killed client left open would be hundreds.
    assert max(found.handles) < 200, found.handles
    # A few rounds tell of leaks. That it is flat within 5 % only a whole life can show.
    assert found.growth <= 1.25, found.memory
