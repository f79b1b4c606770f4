"""Splices change a text, and take the change back."""

from __future__ import annotations

import pytest

from cairn.install.edits import Splice, Unfit, applied, relocated, reversed_splices, whole_lines

TEXT = "one two three"
SPLICES = (Splice(0, "one", "1"), Splice(8, "three", "drei!"))


def test_changes_are_taken_back_by_their_reverse() -> None:
    after = applied(TEXT, SPLICES)
    assert after == "1 two drei!"
    assert applied(after, reversed_splices(SPLICES)) == TEXT


@pytest.mark.parametrize("splices", [(Splice(0, "two", ""),), (Splice(4, "two", ""), Splice(0, "one", ""))])
def test_a_text_that_the_changes_were_not_made_for_is_refused(splices: tuple[Splice, ...]) -> None:
    with pytest.raises(Unfit):
        applied(TEXT, splices)


def test_changes_are_found_again_when_the_text_around_them_has_grown() -> None:
    after = applied(TEXT, SPLICES)
    found = relocated("zero " + after, SPLICES, len(after))
    assert found is not None
    assert applied("zero " + after, found) == "zero " + TEXT


def test_a_change_that_cannot_be_told_from_others_is_not_guessed() -> None:
    splice = (Splice(3, "", "new"),)
    assert relocated("a new b", splice, 6) == (Splice(2, "new", ""),)
    assert relocated("new new", splice, 6) is None
    assert relocated("old", splice, 6) is None


def test_what_was_added_behind_the_end_does_not_join_the_line_before() -> None:
    """The file had no line break at its end: its last line may be a comment, which would swallow the next."""
    splice, after = (Splice(3, "", "\nours\n"),), "# a\nours\n"
    (found,) = relocated(after + "b = 1\n", splice, len(after)) or ()
    assert applied(after + "b = 1\n", (found,)) == "# a\nb = 1\n"
    assert relocated(after + "\nb = 1\n", splice, len(after)) == (Splice(3, "\nours\n", ""),)


@pytest.mark.parametrize(
    ("text", "left"),
    [("a\n  X\nb", "a\nb"), ("a\n  X", "a\n"), ("a X b", "a b"), ("a\n  X b", "a\n  b"), ("a\nX\r\nb", "a\nb")],
)
def test_a_span_goes_with_its_line_when_it_is_alone_on_it(text: str, left: str) -> None:
    start, end = whole_lines(text, text.index("X"), text.index("X") + 1)
    assert text[:start] + text[end:] == left
