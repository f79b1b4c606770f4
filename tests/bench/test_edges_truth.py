"""What an indexer means is read from its index, its known errors put right."""

from __future__ import annotations

from pathlib import Path

from bench.edges_truth import Kind, Spot, Truth, texts_of

from cairn.semantic.scip import ScipIndex
from tests.semantic.indices import document, index, occurrence

OWN = "scip-python python shop 1 "


def truth(texts: dict[str, str], *documents: bytes, tool: str = "scip-python") -> Truth:
    found = ScipIndex(index(*documents, tool=tool), "test")
    return Truth(found, {path: text.encode() for path, text in texts.items()})


def test_a_use_means_where_its_symbol_is_defined() -> None:
    found = truth(
        {"a.py": "def f(): pass\n\nf()\n"},
        document("a.py", [occurrence([0, 4, 5], f"{OWN}a/f().", 1), occurrence([2, 0, 1], f"{OWN}a/f().", 8)]),
    )
    meant = found.meant("a.py", 3, 0)
    assert meant is not None
    assert meant.kind is Kind.INSIDE
    assert meant.spots == {Spot("a.py", 0)}
    assert found.meant("a.py", 1, 4) is None
    assert found.mentions == 1


def test_columns_become_bytes() -> None:
    used = occurrence([0, 7, 8], f"{OWN}a/f().", 8)
    defined = occurrence([1, 4, 5], f"{OWN}a/f().", 1)
    found = truth({"a.py": "'é😀' + f()\ndef f(): pass\n"}, document("a.py", [used, defined], encoding=2))
    assert found.meant("a.py", 1, len("'é😀' + ".encode()) - 1) is not None


def test_a_definition_below_a_source_root_is_what_its_import_names() -> None:
    found = truth(
        {"src/shop/cart.py": "def f(): pass\n", "tests/t.py": "f()\ng()\n"},
        document("src/shop/cart.py", [occurrence([0, 4, 5], f"{OWN}`src.shop.cart`/f().", 1)]),
        document(
            "tests/t.py",
            [occurrence([0, 0, 1], f"{OWN}`shop.cart`/f().", 8), occurrence([1, 0, 1], f"{OWN}`shop.cart`/g().", 8)],
        ),
    )
    meant, missing = found.meant("tests/t.py", 1, 0), found.meant("tests/t.py", 2, 0)
    assert meant is not None
    assert meant.spots == {Spot("src/shop/cart.py", 0)}
    assert missing is not None
    assert missing.kind is Kind.UNKNOWN


def test_a_module_name_of_two_source_roots_means_neither() -> None:
    found = truth(
        {"a/m.py": "", "b/m.py": "", "t.py": "f()\n"},
        document("a/m.py", [occurrence([0, 4, 5], f"{OWN}`a.m`/f().", 1)]),
        document("b/m.py", [occurrence([0, 4, 5], f"{OWN}`b.m`/f().", 1)]),
        document("t.py", [occurrence([0, 0, 1], f"{OWN}m/f().", 8)]),
    )
    meant = found.meant("t.py", 1, 0)
    assert meant is not None
    assert meant.kind is Kind.UNKNOWN


def test_what_is_defined_in_no_module_of_the_repository_is_external() -> None:
    found = truth(
        {"a.py": "f()\ng()\nh()\n"},
        document(
            "a.py",
            [
                occurrence([5, 0, 1], f"{OWN}a/x.", 1),
                occurrence([0, 0, 1], f"{OWN}`werkzeug.http`/f().", 8),
                occurrence([1, 0, 1], "scip-python python python-stdlib 3.11 os/g().", 8),
                occurrence([2, 0, 1], "local 4", 8),
            ],
        ),
    )
    kinds = [meant.kind for line in (1, 2, 3) if (meant := found.meant("a.py", line, 0))]
    # A local that is defined nowhere is an import that could not be resolved.
    assert kinds == [Kind.EXTERNAL, Kind.EXTERNAL, Kind.UNKNOWN]


def test_locals_and_parameters_are_told_from_what_others_can_name() -> None:
    found = truth(
        {"a.py": "f(x)\n"},
        document(
            "a.py",
            [
                occurrence([0, 0, 1], "local 1", 8),
                occurrence([3, 0, 1], "local 1", 1),
                occurrence([0, 2, 3], f"{OWN}a/g().(x)", 8),
                occurrence([4, 0, 1], f"{OWN}a/g().(x)", 1),
            ],
        ),
    )
    assert {meant.kind for column in (0, 2) if (meant := found.meant("a.py", 1, column))} == {Kind.LOCAL}
    assert found.mentions == 0


def test_a_constructor_is_also_its_class() -> None:
    found = truth(
        {"a.ts": "new C()\n"},
        document(
            "a.ts",
            [
                occurrence([3, 6, 7], "scip-typescript npm . . `a.ts`/C#", 1),
                occurrence([4, 2, 13], "scip-typescript npm . . `a.ts`/C#`<constructor>`().", 1),
                occurrence([0, 4, 5], "scip-typescript npm . . `a.ts`/C#`<constructor>`()."),
            ],
        ),
        tool="scip-typescript",
    )
    meant = found.meant("a.ts", 1, 4)
    assert meant is not None
    assert meant.spots == {Spot("a.ts", 3), Spot("a.ts", 4)}


def test_files_outside_of_the_repository_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "repo" / "a.py").write_text("x")
    assert texts_of(tmp_path / "repo", ["a.py", "../secret", str(tmp_path / "secret"), "gone", "."]) == {"a.py": b"x"}


def test_a_type_parameter_under_the_symbol_of_its_function_says_nothing() -> None:
    symbol = f"{OWN}a/pair()."
    found = truth(
        {"a.py": "def pair[T](x: T): pass\npair(1)\n"},
        document(
            "a.py",
            [
                occurrence([0, 4, 8], symbol, 1, [0, 0, 23]),
                occurrence([0, 15, 16], symbol, 8),
                occurrence([1, 0, 4], symbol, 8),
            ],
        ),
    )
    parameter, called = found.meant("a.py", 1, 15), found.meant("a.py", 2, 0)
    assert parameter is not None
    assert parameter.kind is Kind.UNKNOWN
    assert called is not None
    assert called.spots == {Spot("a.py", 0)}
