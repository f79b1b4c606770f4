"""Our lines in a page that somebody else writes."""

from __future__ import annotations

import pytest

from cairn.install.edits import Unfit, applied
from cairn.install.texts import BEGIN, END, Block

BLOCK = Block("Use it.")


def test_the_block_stands_apart_at_the_end() -> None:
    assert applied("# Mine", BLOCK.put("# Mine") or ()) == f"# Mine\n\n{BEGIN}\nUse it.\n{END}\n"


def test_lines_of_an_older_version_are_replaced_in_place() -> None:
    old = "a\n<!-- cairn:begin -->\nOld.\n<!-- cairn:end -->\nb\n"
    assert applied(old, BLOCK.put(old) or ()) == f"a\n{BEGIN}\nUse it.\n{END}\nb\n"
    assert applied(old, BLOCK.take(old) or ()) == "a\nb\n"


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"])
def test_marks_that_are_no_pair_are_left_to_their_owner(text: str) -> None:
    with pytest.raises(Unfit, match="not one pair"):
        BLOCK.put(text)


def test_marks_in_the_middle_of_a_line_are_text() -> None:
    assert not BLOCK.is_ours(f"See `{BEGIN}`.\n")
    assert BLOCK.take("nothing\n") is None


def test_other_lines_are_compared_and_empty_ones_are_not() -> None:
    assert BLOCK.agrees(f"a\n\n{BEGIN}\n{END}\nb", "a\nb")
    assert not BLOCK.agrees(f"a\n{BEGIN}\n{END}\nb", "ab")
