"""A page of uses: its order, its lines and columns, its tiers, and counts that do not depend on the page."""

from __future__ import annotations

import random

import pytest

from cairn.core.limits import MAX_SHOWN_LINE_CHARS
from cairn.graph.scopes import Tier
from cairn.graph.uses import Uses, uses_of
from tests.graph.trees import graph_of, place

TREE = {
    "lib/__init__.py": "from .a import A\n",
    "lib/a.py": "class A:\n    def go(self):\n        return self.go()\n",
    "app.py": "from lib import A\n\ndef f(x: A, y):\n    x.go()\n    y.go()\n",
    "b.py": "def late():\n    from lib.a import A\n    return 'é', A()\n",
    "c.rb": "x.go\n",
}


def asked(tree: dict[str, str], path: str, name: str, *, tier: Tier = Tier.LIKELY, **page: int) -> Uses:
    with graph_of(tree) as graph:
        return uses_of(graph, place(graph, path, name), min_tier=tier, **{"offset": 0, "limit": 100} | page)


def shown(uses: Uses) -> list[tuple[str, int, str, str]]:
    return [(use.path, use.line, use.kind, use.tier) for use in uses.uses]


def test_uses_come_before_imports_and_both_are_in_order_of_role_path_and_place() -> None:
    assert shown(asked(TREE, "lib/a.py", "A")) == [
        ("b.py", 3, "call", "proven"),
        ("app.py", 3, "type", "proven"),
        ("app.py", 1, "import", "proven"),
        ("b.py", 2, "import", "proven"),
        ("lib/__init__.py", 1, "import", "proven"),
    ]


def test_code_comes_before_tests_and_what_may_mean_it_comes_last() -> None:
    tree = {
        "lib.py": "def take(): ...\n",
        "a/test_lib.py": "from lib import take\ntake()\n",
        "z.py": "from lib import take\ntake()\n",
        "b.py": "thing.take()\nname = 'take'\n",
        "other.py": "class Other:\n    def take(self): ...\n",
    }
    assert shown(asked(tree, "lib.py", "take", tier=Tier.NAME_ONLY)) == [
        ("z.py", 2, "call", "proven"),
        ("a/test_lib.py", 2, "call", "proven"),
        ("z.py", 1, "import", "proven"),
        ("a/test_lib.py", 1, "import", "proven"),
        ("b.py", 1, "call", "name_only"),
        ("b.py", 2, "string", "name_only"),
    ]


def test_a_use_has_its_line_its_column_in_characters_and_what_it_is_inside_of() -> None:
    late = asked(TREE, "lib/a.py", "A").uses[0]
    assert (late.text, late.column, late.inside) == ("    return 'é', A()", 17, "late")
    assert TREE["b.py"].encode()[late.start_byte :] == b"A()\n"
    imported = asked(TREE, "lib/a.py", "A").uses[3]
    assert (imported.text, imported.column, imported.inside) == ("    from lib.a import A", 5, "late")


def test_only_the_roles_that_are_asked_for_are_listed_and_all_are_counted() -> None:
    with graph_of(TREE) as graph:
        found = uses_of(
            graph, place(graph, "lib/a.py", "A"), min_tier=Tier.LIKELY, offset=0, limit=9, roles=("type", "base")
        )
    assert shown(found) == [("app.py", 3, "type", "proven")]
    assert (found.total, found.roles) == (1, (("call", 1), ("type", 1), ("import", 3)))


def test_a_tier_lists_what_is_as_sure_and_counts_the_rest() -> None:
    by_tier = {tier: asked(TREE, "lib/a.py", "A.go", tier=tier) for tier in Tier}
    assert [(path, line) for path, line, *_ in shown(by_tier[Tier.PROVEN])] == [("lib/a.py", 3)]
    assert {use.tier for use in by_tier[Tier.LIKELY].uses} == {"proven", "likely"}
    assert {use.tier for use in by_tier[Tier.NAME_ONLY].uses} == {"proven", "likely", "name_only"}
    counts = {(told.imports, told.proven, told.likely, told.name_only, told.elsewhere) for told in by_tier.values()}
    assert len(counts) == 1
    [(_, proven, likely, name_only, _)] = counts
    assert [told.total for told in by_tier.values()] == [proven, proven + likely, proven + likely + name_only]


def test_pages_put_together_are_the_whole() -> None:
    whole = asked(TREE, "lib/a.py", "A")
    pages = [asked(TREE, "lib/a.py", "A", offset=offset, limit=2) for offset in range(0, whole.total + 2, 2)]
    assert tuple(use for page in pages for use in page.uses) == whole.uses
    assert {page.total for page in pages} == {whole.total}


def test_the_order_in_which_files_came_in_changes_nothing() -> None:
    expected = asked(TREE, "lib/a.py", "A.go", tier=Tier.NAME_ONLY)
    for seed in range(3):
        paths = sorted(TREE)
        random.Random(seed).shuffle(paths)
        assert asked({path: TREE[path] for path in paths}, "lib/a.py", "A.go", tier=Tier.NAME_ONLY) == expected


def test_an_import_that_may_lead_to_two_definitions_is_likely() -> None:
    tree = {
        "m.py": "try:\n    from fast import f\nexcept ImportError:\n    def f(): ...\n",
        "fast.py": "def f(): ...\n",
        "use.py": "from m import f\nf()\n",
    }
    tiers = {use.path: use.tier for use in asked(tree, "fast.py", "f").uses if use.kind == "import"}
    assert tiers == {"m.py": "proven", "use.py": "likely"}
    assert not [use for use in asked(tree, "fast.py", "f", tier=Tier.PROVEN).uses if use.path == "use.py"]


@pytest.mark.parametrize(
    ("tree", "path", "name", "places"),
    [
        (
            {"a.rs": "struct L;\nimpl L { fn a() {} }\nimpl L { fn b() {} }\n"},
            "a.rs",
            "L",
            ["a.rs:1", "a.rs:2", "a.rs:3"],
        ),
        (
            {"a.c": '#include "a.h"\nint f(void) { return 1; }\n', "a.h": "int f(void);\n", "z.c": "int f(void) {}\n"},
            "a.c",
            "f",
            ["a.c:2", "a.h:1"],
        ),
        (
            {"a.ts": "export function f(a: string): void;\nexport function f(a: number): void;\n"},
            "a.ts",
            "f",
            ["a.ts:1", "a.ts:2"],
        ),
    ],
)
def test_all_that_is_written_of_one_definition_is_named(
    tree: dict[str, str], path: str, name: str, places: list[str]
) -> None:
    with graph_of(tree) as graph:
        first = graph.places(path, name)[0]
        told = uses_of(graph, first, min_tier=Tier.LIKELY, offset=0, limit=10)
    assert [one.place for one in told.definitions] == places


def test_of_a_very_long_line_the_part_around_the_use_is_shown() -> None:
    long = "f = 1; " * 200 + "go(); " + "f = 2; " * 200
    told = asked({"a.py": f"def go(): ...\n{long}\n"}, "a.py", "go")
    [use] = told.uses
    assert len(use.text) == MAX_SHOWN_LINE_CHARS
    assert "go();" in use.text
    assert long[use.column - 1 :].startswith("go();")


@pytest.mark.parametrize(
    ("tree", "path", "name", "line", "text"),
    [
        ({"a.py": "def go(): ...\n", "b.py": "from a import (\n    no,\n    go,\n)\n"}, "a.py", "go", 3, "    go,"),
        (
            {"a.ts": "export function go() {}\n", "b.ts": "import {\n  going,\n  go as g,\n} from './a';\n"},
            "a.ts",
            "go",
            3,
            "  go as g,",
        ),
        (
            {"a.ts": "export default function go() {}\n", "b.ts": "import go from './a';\nf(go)\n"},
            "a.ts",
            "go",
            1,
            "import go from './a';",
        ),
        ({"a.py": "def go(): ...\n", "b.py": "from a import go\nf(go)\n"}, "a.py", "go", 1, "from a import go"),
    ],
)
def test_an_import_of_many_lines_is_shown_on_the_line_of_the_name(
    tree: dict[str, str], path: str, name: str, line: int, text: str
) -> None:
    [use] = [use for use in asked(tree, path, name).uses if use.kind == "import"]
    assert (use.line, use.text) == (line, text)


def test_the_carriage_return_at_the_end_of_a_line_is_no_part_of_it() -> None:
    [use] = asked({"a.py": "def go(): ...\r\ngo()\r\n"}, "a.py", "go").uses
    assert (use.line, use.text) == (2, "go()")
