"""The steps of a repair, one by one; what they come to together is in tests/store/test_salvage.py."""

from __future__ import annotations

import pytest

import cairn.store.repair.salvage as remedy_module
from cairn.store.format.layout import INDEX_STATE, generation_path
from cairn.store.format.side_files import decode_state, encode_state, state_of
from cairn.store.format.tombstones import mapping_path, read_mapping
from cairn.store.repair.salvage import Quarantine, treat
from cairn.store.repair.verify import check
from tests.store.little import rewrite
from tests.store.test_salvage import RUN, look, lose, store, tidied


def test_a_state_that_says_nothing_or_something_else_is_made_again() -> None:
    for lags in (False, True):
        fs, made = store()
        if lags:
            rewrite(fs, generation_path(1), b"rot")
        rewrite(fs, INDEX_STATE, encode_state(state_of(made[0])) if lags else b"rubbish")
        tidied(fs)
        assert decode_state(fs.read(INDEX_STATE, 9_999)) == state_of(made[2])
        assert check(fs) == []


def test_a_state_is_not_made_again_where_a_publish_will_do_it() -> None:
    fs, made = store()
    lose(fs, made[2], -1)
    rewrite(fs, INDEX_STATE, b"rubbish")
    quarantine = tidied(fs)
    assert quarantine.moved == [INDEX_STATE]
    assert INDEX_STATE not in fs.list_folder("")


@pytest.mark.parametrize("hint", [None, b"", b"rubbish"])
def test_a_hint_that_is_missing_or_lies_is_made_again(hint: bytes | None) -> None:
    fs, made = store()
    place = mapping_path(made[1].snapshot_id)
    right = read_mapping(fs, made[1].snapshot_id)
    if hint is None:
        fs.remove(place)
    else:
        rewrite(fs, place, hint)
    quarantine = tidied(fs)
    assert quarantine.moved == ([] if hint is None else [place])
    assert read_mapping(fs, made[1].snapshot_id) == right
    assert look(fs).steps == ()


def test_the_hint_of_a_lost_segment_is_left_as_it_is() -> None:
    fs, made = store()
    lose(fs, made[0], 0)
    rewrite(fs, mapping_path(made[0].snapshot_id), b"rubbish")
    assert not [step for step in look(fs).steps if step.path == mapping_path(made[0].snapshot_id)]


def test_a_gap_between_numbers_is_closed_at_once_and_an_unreadable_number_when_it_can_be_missed() -> None:
    fs, made = store()
    fs.create_bytes(generation_path(6), b"rot")
    found = look(fs)
    assert [(step.path, step.late) for step in found.steps if step.kind == "fence"] == [
        ("generations/4", False),
        ("generations/5", False),
        ("generations/6", True),
    ]
    treat(fs, RUN, found.steps, found.newest, Quarantine(fs, RUN))
    assert fs.read(generation_path(6), 9) == b"rot"
    assert found.base == made[2]


def test_a_pointer_that_names_nothing_is_put_aside_and_one_that_is_behind_is_not() -> None:
    fs, made = store()
    rewrite(fs, "ACTIVE_SNAPSHOT", made[0].snapshot_id.encode() + b"\n")
    assert [(step.kind, step.path) for step in look(fs).steps] == [("point", "ACTIVE_SNAPSHOT")]
    rewrite(fs, "ACTIVE_SNAPSHOT", b"rot")
    assert [step.kind for step in look(fs).steps] == ["quarantine", "point"]


def test_digests_that_cannot_be_read_are_put_aside() -> None:
    fs, _ = store()
    rewrite(fs, "digests.json", b"rot")
    assert tidied(fs).moved == ["digests.json"]
    assert look(fs).steps == ()


def test_digests_that_remember_files_as_they_are_not_are_put_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    fs, made = store()
    before = fs.read("digests.json", 1 << 20)
    lose(fs, made[2], -1)
    # As after rot that leaves no trace in a stat.
    monkeypatch.setattr(remedy_module, "read_digests", lambda fs: dict.fromkeys(_stats(fs), "0" * 64))
    assert "digests.json" in [step.path for step in look(fs).steps]
    assert fs.read("digests.json", 1 << 20) == before


def _stats(fs) -> list[tuple[int, ...]]:  # type: ignore[no-untyped-def]
    folder = f"segments/{fs.list_folder('segments')[0]}"
    return [fs.stat(f"{folder}/{name}")[:5] for name in fs.list_folder(folder)]
