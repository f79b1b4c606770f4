"""What is said about all stores: against the shipped schema, the bounds and hostile names.

`CAIRN_UPDATE_GOLDEN=1 pytest tests/answer/test_stores.py` writes tests/golden/stores/*.json anew; read the diff.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from cairn.answer.stores import lost_roots, purge_report, store_list
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.sync.inventory import StoreEntry, StoreTrouble
from cairn.sync.stores import Purged, Stayed
from tests.answer.test_envelope import MANY, WILD, valid
from tests.golden_files import GOLDEN, is_golden

FOLDER = GOLDEN / "stores"
ENTRY = StoreEntry(
    store_id="r__0123456789abcdef__fedcba9876543210",
    path="/home/me/.cairn/data/r__0123456789abcdef__fedcba9876543210",
    size_bytes=9_100_000,
    root="/r",
    root_exists=True,
    created_at="2026-11-15T12:00:00Z",
    last_used_at="2026-11-15T13:00:00Z",
    active_snapshot_id="01KA3M7Q2W0000000000000000",
    config_fingerprint="f" * 64,
)
LOST = replace(ENTRY, store_id=ENTRY.store_id.replace("r__", "gone__"), root="/gone", root_exists=False)
BAD = StoreEntry(
    "x__0123456789abcdef__fedcba9876543210", "/x", 0, trouble=StoreTrouble("store_not_ours", "It is not yours.")
)
PURGED = Purged(("data/x", "cache"), (Stayed("notes\x1b", "It is not Cairn's."),), 12_345)

EXAMPLES = {
    "stores": lambda: store_list(
        path=".",
        root="/r",
        home="/home/me/.cairn",
        stores=[LOST, ENTRY, BAD],
        current=ENTRY.store_id,
        unknown=["n\x1botes"],
    ),
    "no_stores": lambda: store_list(path=".", root=None, home="/home/me/.cairn", stores=[]),
    "purged": lambda: purge_report(path=".", root=None, home="/home/me/.cairn", purged=PURGED, dry_run=False),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_envelope_is_what_it_was(name: str) -> None:
    valid(EXAMPLES[name]())
    text = EXAMPLES[name]().to_json()
    assert is_golden(f"stores/{name}.json", text + "\n")


def test_there_is_no_golden_file_without_its_example() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(EXAMPLES)


def test_roots_that_are_gone_are_counted() -> None:
    assert lost_roots([ENTRY, BAD]) is None
    assert (lost_roots([ENTRY, LOST]) or "").startswith("1 store belongs to a folder that is no longer there;")
    assert (lost_roots([LOST] * 2) or "").startswith("2 stores belong to folders that are no longer there;")


def test_thousands_of_stores_are_cut_at_a_whole_one_and_all_are_counted() -> None:
    value = valid(
        store_list(path=".", root="/r", home="/h", stores=[ENTRY] * 5_000, unknown=["x" * 900] * 500),
        most=DEFAULT_ENVELOPE_BYTES,
    )
    assert value["totalBytes"] == 5_000 * ENTRY.size_bytes
    left = {hit["field"]: hit["left"] for hit in value["limitsHit"]}
    assert left == {"results": 5_000 - len(value["results"]), "unknown": 500 - len(value["unknown"])}
    purged = Purged(tuple(f"data/{n:060}" for n in range(5_000)), (Stayed("x" * 900, "y" * 900),) * 500, 1)
    value = valid(
        purge_report(path=".", root=None, home="/h", purged=purged, dry_run=True), most=DEFAULT_ENVELOPE_BYTES
    )
    assert {hit["field"] for hit in value["limitsHit"]} == {"removed", "stayed"}


@MANY
@given(WILD, WILD, WILD)
def test_no_name_breaks_an_envelope(root: str, name: str, why: str) -> None:
    entry = replace(ENTRY, root=root, path=name, trouble=StoreTrouble("x", why))
    valid(store_list(path=name, root=root, home=name, stores=[entry], unknown=[name, why]))
    valid(purge_report(path=name, root=None, home=root, purged=Purged((name,), (Stayed(name, why),), 1), dry_run=True))
