"""Outlines: the definitions of a file, in order, as the snapshot knows them."""

from __future__ import annotations

import pytest

from cairn.graph.outline import FileOutline, has_outline, outline
from cairn.syntax.languages.pins import PINS
from tests.graph.code import code_view, file_of
from tests.syntax.fixtures import FOLDER

LEASE = '''"""About leases."""

LIMIT = 3


class Lease:
    """Held by one writer.

    More is not said here.
    """

    def steal(self, victim: str) -> bool:
        # Take it.
        def inner():
            return victim

        return inner()

    def _drop(self): ...
'''


def of(text: str, key: str = "lease.py", lines: tuple[int, int | None] | None = None) -> FileOutline:
    with code_view({key: text}) as view:
        return outline(view, file_of(view, key), lines)


def test_definitions_come_in_order_each_after_the_one_that_it_is_inside_of() -> None:
    found = of(LEASE)
    assert [(one.depth, one.kind, one.qualified, one.start_line, one.end_line) for one in found.definitions] == [
        (0, "constant", "LIMIT", 3, 3),
        (0, "class", "Lease", 6, 19),
        (1, "method", "Lease.steal", 12, 17),
        (2, "function", "Lease.steal.inner", 14, 15),
        (1, "method", "Lease._drop", 19, 19),
    ]
    assert (found.path, found.language, found.partial) == ("lease.py", "python", False)


def test_a_definition_says_what_a_caller_sees_and_the_first_line_of_what_is_written_about_it() -> None:
    lease, steal, _, drop = of(LEASE).definitions[1:]
    assert (lease.signature, lease.doc) == ("class Lease", "Held by one writer.")
    assert (steal.signature, steal.exported) == ("def steal(self, victim: str) -> bool", True)
    assert (drop.doc, drop.exported, drop.place) == ("", False, "lease.py:19")
    assert LEASE.encode()[steal.start_byte : steal.end_byte].startswith(b"def steal(self")


def test_with_lines_only_what_stands_on_one_of_them_is_given() -> None:
    assert [one.name for one in of(LEASE, lines=(15, 15)).definitions] == ["Lease", "steal", "inner"]
    assert [one.name for one in of(LEASE, lines=(1, 3)).definitions] == ["LIMIT"]
    assert [one.name for one in of(LEASE, lines=(19, None)).definitions] == ["Lease", "_drop"]
    assert of(LEASE, lines=(400, None)).definitions == ()


def test_headings_of_a_document_are_its_outline() -> None:
    found = of("# Top\n\ntext\n\n## Inner\n\n### Deep\n\n## Other\n", "doc.md")
    assert [(one.depth, one.kind, one.name) for one in found.definitions] == [
        (0, "heading", "Top"),
        (1, "heading", "Inner"),
        (2, "heading", "Deep"),
        (1, "heading", "Other"),
    ]


@pytest.mark.parametrize("language", sorted(PINS))
def test_every_language_that_is_parsed_has_an_outline(language: str) -> None:
    files = {f"{language}/{path.name}": path.read_bytes() for path in FOLDER.glob(f"{language}/sample*")}
    with code_view(files) as view:
        records = [file_of(view, key) for key in files]
        assert all(has_outline(record) for record in records)
        found = [one for record in records for one in outline(view, record).definitions]
    assert found
    for one in found:
        data = files[one.path]
        assert one.name
        # Lines and bytes name the same text.
        assert one.start_line == data.count(b"\n", 0, one.start_byte) + 1
        assert one.end_line == data.count(b"\n", 0, max(one.start_byte, one.end_byte - 1)) + 1


def test_a_file_that_was_cut_by_lines_has_none() -> None:
    with code_view({"notes.txt": "def nothing(): ...\n"}) as view:
        assert not has_outline(file_of(view, "notes.txt"))


def test_lines_that_could_not_be_parsed_are_told() -> None:
    found = of("def good(): ...\n\n\ndef bad(:\n    )))\n\n\ndef fine(): ...\n")
    assert found.partial
    assert "good" in [one.name for one in found.definitions]


def test_an_older_version_of_a_file_is_not_looked_at() -> None:
    with code_view({"a.py": "def old(): ...\n", "b.py": "x = 1\n"}, {"a.py": "def new(): ...\n"}) as view:
        assert [one.name for one in outline(view, file_of(view, "a.py")).definitions] == ["new"]
        assert view.file("b.py") is None


def test_thousands_of_nested_definitions_are_no_trouble() -> None:
    deep = 400
    text = "".join(f"{' ' * level}def f{level}():\n" for level in range(deep)) + " " * deep + "pass\n"
    found = of(text)
    assert max(one.depth for one in found.definitions) >= 100
