"""The envelope of an upgrade against its schema."""

from __future__ import annotations

from cairn.answer.runs import upgrade_report
from tests.answer.test_envelope import valid
from tests.answer.test_runs import RUN_ID


def test_an_upgrade_is_told_in_its_schema_whatever_it_did() -> None:
    for raised in ([], [("manifest", 1, 2), ("data\u202efile", 1, 3)]):
        envelope = upgrade_report(
            path="src",
            root="/r",
            snapshot_id=RUN_ID,
            generation=4,
            raised=raised,
            segments=len(raised),
            files=3,
            chunks=9,
            seconds=0.25,
        )
        told = valid(envelope)
        assert told["published"] == bool(raised)
        assert told["timingsMs"] == {"total": 250}
        assert [(row["from"], row["to"]) for row in told["raised"]] == [(before, now) for _, before, now in raised]
