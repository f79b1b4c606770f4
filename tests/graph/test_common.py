from __future__ import annotations

import pytest

from cairn.syntax.languages import traits_of
from cairn.syntax.languages.pins import PINS
from tests.graph.trees import graph_of

WITH_LISTS = "c cpp csharp go java javascript kotlin php python ruby rust scala swift tsx typescript"


@pytest.mark.parametrize(("name", "likely"), [("append", 0), ("append_row_of_sheet", 1)])
def test_a_name_that_every_program_calls_means_nothing_by_being_the_only_one(name: str, likely: int) -> None:
    tree = {"a.py": f"class Sheet:\n    def {name}(self): pass\n", "b.py": f"def f(x):\n    x.{name}()\n"}
    with graph_of(tree) as graph:
        (place,) = graph.places("a.py", name)
        found = graph.references(place)
        assert (len(found.likely), found.name_only_count) == (likely, 1 - likely)


def test_no_list_is_empty_and_no_name_is_more_than_one_word() -> None:
    common = {language: traits_of(language).common for language in PINS}
    families = set(WITH_LISTS.split())
    assert {language for language, names in common.items() if names} == families
    assert [name for names in common.values() for name in names if not name.rstrip("?!").isidentifier()] == []
