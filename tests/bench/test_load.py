"""The load of many askers: what counts as held, and a few seconds of the real thing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.held import page, record
from bench.load import Held, Outcome, run


def test_what_does_not_hold_is_named() -> None:
    good = Outcome({"find_symbol": [0.1] * 99 + [0.9]}, before=Held(100, 40), after=Held(104, 41))
    assert good.faults == []
    assert good.told().endswith("not held: nothing")
    bad = Outcome(
        {"map": [0.1] * 90 + [1.1] * 10}, Counter({"map: internal": 2}), 0, Held(100, 40), after=Held(106, 44)
    )
    assert bad.faults == [
        "2 errors: map: internal",
        "memory +6.0% after quiet",
        "handles +10.0% after quiet",
        "p99 is 11.0 times p50",
    ]


def test_a_command_that_is_run_again_takes_the_place_of_what_it_printed(tmp_path: Path) -> None:
    for told in ("first", "second"):
        record(tmp_path, "python -m bench.load", told)
    record(tmp_path, "python -m bench.leases", "other")
    kept = json.loads((tmp_path / "held.json").read_text())
    assert [one["told"] for one in kept] == ["second", "other"]
    assert (tmp_path / "held.md").read_text() == page(kept)


@pytest.mark.long
@pytest.mark.parametrize("alone", [False, True])
def test_everybody_gets_an_answer_while_many_ask_and_files_are_saved(tmp_path: Path, alone: bool) -> None:
    found = run(tmp_path.resolve(), 3, 24, 8.0, every=0.2, warm=2.0, quiet=1.0, alone=alone)
    assert not found.errors
    assert found.saves > 5
    assert sum(map(len, found.waits.values())) > 24
    # Each segment that is not merged yet is open. What a question left open would be hundreds.
    assert found.after.handles < found.before.handles + 60 * (3 if alone else 1)
