"""What is said about a collection, against the shipped schema and its bounds."""

from __future__ import annotations

from cairn.answer.envelope import load_schema
from cairn.answer.runs import collect_report, stores_report
from cairn.core.limits import MAX_ENVELOPE_BYTES
from cairn.sync.inventory import StoreEntry
from cairn.sync.stores import KeptBecause, KeptStore, StoresCollected
from tests.answer.test_envelope import valid

RUN_ID = "01KA3M7Q2W0000000000000000"
STORE = StoreEntry("r__0123456789abcdef__fedcba9876543210", "/home/me/.cairn/data/r", 1_234, root="/r\u202e")


def test_a_collection_says_what_went_and_what_stays() -> None:
    value = valid(
        collect_report(
            path=".",
            root="/r",
            dry_run=False,
            snapshots=[RUN_ID],
            segments=2,
            staging=1,
            freed_bytes=4_096,
            kept=5,
            note=None,
            warnings=["A setting\x1b does nothing."],
        )
    )
    assert value["index"] == {"snapshots": [RUN_ID], "segments": 2, "staging": 1, "kept": 5}
    assert (value["freedBytes"], value["dryRun"], value["note"], value["stores"]) == (4_096, False, None, None)
    assert value["warnings"] == ["A setting\\x1b does nothing."]


def test_a_note_says_why_nothing_went() -> None:
    nothing = {"snapshots": (), "segments": 0, "staging": 0, "freed_bytes": 0, "kept": 9}
    value = valid(collect_report(path=".", root="/r", dry_run=True, note="Somebody\nreads.", **nothing))  # type: ignore[arg-type]
    assert (value["note"], value["dryRun"]) == ("Somebody\\x0areads.", True)


def test_thousands_of_snapshots_and_stores_fit_and_what_is_left_out_is_counted() -> None:
    many = valid(
        collect_report(
            path=".",
            root="/r",
            dry_run=False,
            snapshots=[RUN_ID] * 100_000,
            segments=0,
            staging=0,
            freed_bytes=0,
            kept=5,
            note=None,
            budget=MAX_ENVELOPE_BYTES,
        )
    )
    [hit] = many["limitsHit"]
    assert hit["shown"] + hit["left"] == 100_000
    kept = KeptStore(STORE, KeptBecause.BUSY, "A run is writing it.")
    collected = StoresCollected((STORE,) * 50_000, (kept,) * 50_000, 7, ("Half done.",) * 30)
    value = valid(stores_report(path=".", root="/r", dry_run=False, collected=collected, budget=MAX_ENVELOPE_BYTES))
    assert {hit["field"] for hit in value["limitsHit"]} == {"removed", "kept", "warnings"}


def test_stores_that_went_are_named_and_those_that_stay_say_why() -> None:
    kept = [KeptStore(STORE, because, "It\nstays.") for because in KeptBecause]
    collected = StoresCollected((STORE,), tuple(kept), 1_234)
    value = valid(stores_report(path=".", root=None, dry_run=True, collected=collected))
    assert value["stores"]["removed"] == [
        {"id": STORE.store_id, "root": "/r\u202e", "lastUsedAt": None, "bytes": 1_234}
    ]
    assert {row["because"] for row in value["stores"]["kept"]} == {each.value for each in KeptBecause}
    assert (value["index"], value["freedBytes"]) == (None, 1_234)


def test_the_schema_knows_every_reason_to_keep_a_store() -> None:
    stores = load_schema("cairn.gc/1")["properties"]["stores"]["anyOf"][0]["properties"]
    assert stores["kept"]["items"]["properties"]["because"]["enum"] == [each.value for each in KeptBecause]
