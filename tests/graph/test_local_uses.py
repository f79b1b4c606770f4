"""Places of local names, by bytes, become lines and columns."""

from __future__ import annotations

from cairn.graph.uses import Binding, locals_of
from tests.answer.test_structure import STEAL


def test_places_have_their_line_their_column_and_the_line_itself() -> None:
    text = "def f(a):\n    é = a\n    return é\n".encode()
    found = locals_of(
        STEAL, text, [Binding("é", 0, [(text.index("é".encode()), "write"), (text.rindex("é".encode()), "read")])]
    )
    (one,) = found.names
    assert (one.name, one.scope_line) == ("é", 1)
    assert [(place.line, place.column, place.role, place.text) for place in one.places] == [
        (2, 5, "write", "    é = a"),
        (3, 12, "read", "    return é"),
    ]
