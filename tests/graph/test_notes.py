"""Notes belong to what an answer returns, stand in one order whatever came first, and say when some are left out."""

from __future__ import annotations

import hashlib
import random
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.graph.callsites import Note, NoteType, ShownNotes, detail_hash, note_of_call, relevant
from tests.conformance import conforms
from tests.graph.trees import graph_of

FILES = ("a.py", "b.py", "c.py")
IDS = ("a.py#f", "a.py#g", "b.py#f")
NOTES = st.builds(
    Note,
    type=st.sampled_from(NoteType),
    file=st.sampled_from(FILES),
    symbol_id=st.sampled_from((None, *IDS, "")),
    start_line=st.sampled_from((None, 1, 2, 10)),
    detail=st.sampled_from((None, "", "one", "two", "three")),
    text=st.sampled_from(("", "x", "y.x")),
)
LISTS = st.lists(NOTES, max_size=12)
MANY = settings(max_examples=80, derandomize=True, deadline=None)


def compared(one: Note, other: Note) -> int:
    """The order as it is written down, step by step: the reference that the code is compared with."""

    def step(left: Any, right: Any) -> int:
        if left is None or right is None:
            return (left is None) - (right is None)
        return int(left > right) - int(left < right)

    def hashed(note: Note) -> str:
        return hashlib.sha256((note.detail or "").encode()).hexdigest()

    return (
        step(one.file, other.file)
        or step(one.type.value, other.type.value)
        or step(one.symbol_id, other.symbol_id)
        or step(one.start_line, other.start_line)
        or step(hashed(one), hashed(other))
    )


@conforms("000.CG1")
@MANY
@given(LISTS, st.integers(0, 12), st.randoms(use_true_random=False))
def test_the_order_in_which_notes_were_found_changes_nothing(
    notes: list[Note], limit: int, chance: random.Random
) -> None:
    expected = relevant(notes, FILES, IDS, limit)
    chance.shuffle(notes)
    assert relevant(notes, FILES, IDS, limit) == expected
    assert len(expected.notes) == min(limit, expected.total)


@conforms("000.CG6")
@MANY
@given(LISTS)
def test_notes_are_ordered_by_file_type_symbol_line_and_the_hash_of_their_detail(notes: list[Note]) -> None:
    shown = relevant(notes, FILES, IDS, 100).notes
    by_text = sorted((note for note in notes if note in shown), key=lambda note: note.text)
    assert list(shown) == sorted(by_text, key=cmp_to_key(compared))


@conforms("000.CG6")
def test_what_has_no_symbol_or_no_line_comes_last_and_a_missing_detail_is_an_empty_one() -> None:
    kinds = [
        Note(NoteType.DYNAMIC, "a.py", "a.py#f", 2),
        Note(NoteType.DYNAMIC, "a.py", "a.py#f", None),
        Note(NoteType.DYNAMIC, "a.py", None, 1),
        Note(NoteType.DYNAMIC, "a.py", None, None),
    ]
    assert list(relevant(reversed(kinds), FILES, IDS, 10).notes) == kinds
    assert detail_hash(None) == detail_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@conforms("000.CG3")
@MANY
@given(LISTS, st.sets(st.sampled_from(FILES)))
def test_a_note_on_a_file_that_is_not_returned_is_dropped(notes: list[Note], files: set[str]) -> None:
    shown = relevant(notes, files, IDS, 100)
    assert {note.file for note in shown.notes} <= files
    assert shown.total == sum(note.file in files and note.symbol_id in (None, *IDS) for note in notes)


@conforms("000.CG5")
def test_a_note_on_a_definition_that_is_not_returned_is_dropped() -> None:
    kept, dropped = (Note(NoteType.SUPPRESSED, "a.py", each, 1) for each in ("a.py#f", "a.py#g"))
    of_file = Note(NoteType.MISSING, "a.py")
    assert relevant([dropped, of_file, kept], {"a.py"}, {"a.py#f"}, 10) == ShownNotes((of_file, kept), 2)


@pytest.mark.parametrize(("limit", "truncated"), [(0, True), (1, True), (2, False), (3, False)])
def test_notes_are_truncated_exactly_when_one_that_belongs_is_left_out(limit: int, truncated: bool) -> None:
    notes = [Note(NoteType.MISSING, "a.py", None, line) for line in (1, 2)] + [Note(NoteType.MISSING, "z.py")]
    assert relevant(notes, FILES, IDS, limit).truncated is truncated


# --- why a call leads to nothing --------------------------------------------------------------------------------------

CALLS = {
    "getattr": ("def f(x):\n    getattr(x, 'a')\n", NoteType.DYNAMIC, "getattr"),
    "a parameter": ("def f(hook):\n    hook()\n", NoteType.DYNAMIC, "hook"),
    "a parameter of the function around": ("def f(hook):\n    def g():\n        hook()\n", NoteType.DYNAMIC, "hook"),
    "a computed receiver": ("def f(x):\n    x[0].steal()\n", NoteType.DYNAMIC, "x[0].steal"),
    "a value": ("def f(x):\n    x.steal()\n", NoteType.UNRESOLVED, "x.steal"),
    "a bare name": ("def f():\n    steal()\n", NoteType.UNRESOLVED, "steal"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_that_leads_to_nothing_says_why(case: str) -> None:
    code, kind, text = CALLS[case]
    with graph_of({"a.py": code}) as graph:
        facts = graph.names.facts("a.py")
        [call] = facts.references
        note = note_of_call(facts, call, "a.py#f", 3)
    assert note is not None
    assert (note.type, note.file, note.symbol_id, note.start_line, note.text) == (
        kind,
        "a.py",
        "a.py#f",
        code.count("\n"),
        text,
    )
    assert note.detail
    assert text not in note.detail


def test_what_is_called_from_very_deep_is_not_looked_for_without_end() -> None:
    deep = "".join(f"{' ' * n}def f{n}():\n" for n in range(60)) + " " * 60 + "steal()\n"
    with graph_of({"a.py": deep.replace("def f0()", "def f0(steal)")}) as graph:
        facts = graph.names.facts("a.py")
        [call] = facts.references
        note = note_of_call(facts, call, "a.py#f59", 1)
    assert note is not None
    assert note.type is NoteType.UNRESOLVED


def test_a_name_that_nothing_has_means_something_outside_and_needs_no_note() -> None:
    with graph_of({"a.py": "def f(x):\n    len(x)\n    x.strip()\n"}) as graph:
        facts = graph.names.facts("a.py")
        assert [note_of_call(facts, call, "a.py#f", 0) for call in facts.references] == [None, None]
        [one, two] = [note_of_call(facts, call, "a.py#f", 1) for call in facts.references]
    assert one is not None
    assert two is not None
    assert one.detail == two.detail
    assert (one.detail or "").startswith("1 definition has")
