from __future__ import annotations

import pytest

from cairn.core.limits import MAX_DOC_CHARS
from cairn.syntax.describe import clean
from tests.syntax.fixtures import facts_of


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (b"/** Opens.\n *\n *  * a point\n * @see B\n **/", "Opens.\n\n* a point\n@see B"),
        (b"/* one line */", "one line"),
        (b"/// <summary>Opens.</summary>\n/// More.", "Opens.\nMore."),
        (b"#! note\n#: typed\n## Title", "note\ntyped\nTitle"),
        (b"-- | Opens.\n-- More.", "Opens.\nMore."),
        (b"{- | Opens.\n  More. -}", "Opens.\nMore."),
        (b"--[[ Opens.\n More.\n]]", "Opens.\nMore."),
        (b"<!-- Opens. -->", "Opens."),
        (b"=begin\nOpens.\n=end", "Opens."),
        (b'"""Opens.\n\n    # not a comment mark\n    """', "Opens.\n\n# not a comment mark"),
        (b'@doc """\nOpens.\n"""', "Opens."),
        (b"// a\r\n// b\r", "a\nb"),
    ],
)
def test_a_doc_is_the_text_without_its_marks(comment: bytes, expected: str) -> None:
    assert clean(comment) == expected


def test_a_doc_is_bounded_and_survives_broken_text() -> None:
    assert len(clean(b"# " + b"\xff" * 9_000)) == MAX_DOC_CHARS


@pytest.mark.parametrize(
    ("data", "doc"),
    [
        (b"// First.\n// Second.\nfn f() {}\n", "First.\nSecond."),
        (b"// Far.\n\nfn f() {}\n", ""),
        (b"// Doc.\n#[inline]\n#[must_use]\nfn f() {}\n", "Doc."),
        (b"static A: u8 = 1; // of A\nfn f() {}\n", ""),
        (b"/* a */ /* b */\nfn f() {}\n", ""),
        (b"fn f() {} // behind\n", ""),
        (b"// Doc.\r\nfn f() {}\r\n", "Doc."),
    ],
)
def test_the_comment_right_above_a_definition_is_its_doc(data: bytes, doc: str) -> None:
    assert facts_of(data, "rust").symbols[-1].doc == doc


def test_what_stands_on_the_line_of_its_parent_does_not_take_the_doc_of_the_parent() -> None:
    facts = facts_of(b"// Of the enum.\nenum E { A, B }\n", "rust")
    assert [symbol.doc for symbol in facts.symbols] == ["Of the enum.", "", ""]
