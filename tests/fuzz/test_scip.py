"""Whatever the bytes of a semantic index are, the outcome is documents whose ranges are sound, or one typed error."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import SemanticUnreadable
from cairn.semantic.scip import ScipIndex
from tests.fuzz.splices import spliced, splices
from tests.lengths import at_length
from tests.semantic.indices import document, field, index, occurrence

_SYMBOL = field(1, "a b c 1 `m`/f().") + field(3, "Doc.") + field(4, field(1, "base") + field(3, 1)) + field(6, "f")
_NEWER = field(8, field(1, 3) + field(2, 4) + field(3, 9)) + field(2, "local 2") + field(11, field(1, 3) + field(3, 7))
GOOD = index(
    document("a.py", [occurrence([0, 1, 5], "a b c 1 `m`/f().", 1, [0, 0, 4, 2]), _NEWER], [_SYMBOL], encoding=2),
    document("b.py", [occurrence([7, 1, 5], "a b c 1 `m`/f().", 8)]),
    externals=[_SYMBOL],
)
NEAR = splices(GOOD).map(lambda changes: spliced(GOOD, changes))


def check(data: bytes) -> None:
    try:
        found = ScipIndex(data, "fuzzed")
        assert isinstance(found.metadata.tool, str)
        for each in found.documents():
            for used in each.occurrences:
                for piece in filter(None, (used.range, used.around)):
                    assert (0, 0) <= piece[:2] <= piece[2:]
        list(found.external_symbols())
    except SemanticUnreadable:
        return


@given(st.binary(max_size=200) | NEAR)
@settings(max_examples=133, derandomize=True, deadline=None)
def test_any_bytes_are_documents_or_refused(data: bytes) -> None:
    check(data)


def test_an_index_that_is_cut_anywhere_is_documents_or_refused() -> None:
    for length in range(len(GOOD)):
        check(GOOD[:length])


def test_every_byte_changed_to_its_neighbours_is_documents_or_refused() -> None:
    for position in range(len(GOOD)):
        for byte in (0, 1, 127, 128, 255, GOOD[position] ^ 1, GOOD[position] ^ 8):
            check(GOOD[:position] + bytes([byte]) + GOOD[position + 1 :])


@pytest.mark.long
@given(st.binary(max_size=400) | NEAR)
@settings(max_examples=at_length(50_000), derandomize=True, deadline=None)
def test_many_more_indices(data: bytes) -> None:
    check(data)
