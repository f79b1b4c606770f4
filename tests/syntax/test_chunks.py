from __future__ import annotations

from collections.abc import Callable

import pytest
import tree_sitter_bash
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_html
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_json
import tree_sitter_python
import tree_sitter_rust
from tree_sitter import Language, Node, Parser

from cairn.core.limits import CHUNK_MIN_CHARS, CHUNK_TARGET_CHARS, MAX_BREADCRUMB, MAX_LINE_BYTES
from cairn.core.types import Chunk, Symbol
from cairn.syntax.chunks import CHUNKER_VERSION, split
from cairn.syntax.identity import chunk_hash, chunk_id
from tests.conformance import conforms

GRAMMARS: dict[str, Callable[[], object]] = {
    "python": tree_sitter_python.language,
    "javascript": tree_sitter_javascript.language,
    "go": tree_sitter_go.language,
    "rust": tree_sitter_rust.language,
    "java": tree_sitter_java.language,
    "cpp": tree_sitter_cpp.language,
    "html": tree_sitter_html.language,
    "json": tree_sitter_json.language,
    "bash": tree_sitter_bash.language,
}


def parse(language: str, data: bytes) -> Node:
    return Parser(Language(GRAMMARS[language]())).parse(data).root_node


def weight(data: bytes) -> int:
    return len(b"".join(data.split()))


def texts(data: bytes, chunks: tuple[Chunk, ...]) -> list[bytes]:
    return [data[chunk.start_byte : chunk.end_byte] for chunk in chunks]


def assert_sound(data: bytes, chunks: tuple[Chunk, ...]) -> None:
    """What must hold for the chunks of any bytes."""
    pieces = texts(data, chunks)
    assert b"".join(pieces) == data
    assert all(pieces)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for chunk, piece in zip(chunks, pieces, strict=True):
        assert chunk.start_line == 1 + data[: chunk.start_byte].count(b"\n")
        assert chunk.end_line == 1 + data[: chunk.end_byte - 1].count(b"\n")
        assert chunk.kind == "text"
        assert chunk.chunk_hash == chunk_hash(piece)
        assert chunk.chunk_id == chunk_id(chunk.chunk_hash, CHUNKER_VERSION, "text")
        one_line = b"\n" not in piece[:-1]
        assert one_line or weight(piece) <= CHUNK_TARGET_CHARS + CHUNK_MIN_CHARS
        assert len(piece) <= MAX_LINE_BYTES + 1


def statements(name: str, chars: int) -> str:
    """The text of statements, indented by four, with about this many characters that are not blank."""
    line = f"    {name} = compute({name}, 12345)\n"
    return line * (chars // weight(line.encode()))


def function(name: str, chars: int) -> str:
    return f"def {name}():\n" + statements(name, chars) + "\n\n"


def test_an_empty_file_has_no_chunks() -> None:
    assert split(b"", None, ()) == ()
    assert split(b"", parse("python", b""), ()) == ()


@pytest.mark.parametrize("data", [b"x", b"x\n", b"\n", b" \n \n", b"a\r\nb", b"a\rb\r", b"\xef\xbb\xbfx = 1\n"])
def test_a_small_file_is_one_chunk_with_its_lines(data: bytes) -> None:
    (chunk,) = split(data, parse("python", data), ())
    assert (chunk.start_byte, chunk.end_byte, chunk.start_line) == (0, len(data), 1)
    assert chunk.end_line == max(1, data.count(b"\n") + (not data.endswith(b"\n")))


def test_small_neighbours_come_together_up_to_the_target_and_whole_definitions_stay_whole() -> None:
    names = ["a", "b", "c", "d", "e"]
    data = "".join(function(name, 600) for name in names).encode()
    chunks = split(data, parse("python", data), ())
    assert_sound(data, chunks)
    starts = [[n for n in names if f"def {n}():".encode() in piece] for piece in texts(data, chunks)]
    assert starts == [["a", "b"], ["c", "d"], ["e"]]


def test_a_definition_a_little_above_the_target_is_not_cut() -> None:
    data = (function("small", 700) + function("large", CHUNK_TARGET_CHARS + 200) + function("last", 700)).encode()
    chunks = split(data, parse("python", data), ())
    assert_sound(data, chunks)
    assert [piece[:9] for piece in texts(data, chunks)] == [b"def small", b"def large", b"def last("]


def test_a_large_definition_is_cut_between_its_statements_never_after_its_head() -> None:
    block = "    if x:\n" + "".join(f"        y{n} = call(y{n})\n" for n in range(40))
    data = ("def large(\n    x,\n):\n" + block * 8).encode()
    chunks = split(data, parse("python", data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert all(piece.startswith((b"def large", b"    if x:")) for piece in texts(data, chunks))


def test_a_class_is_cut_between_its_methods_and_not_at_nested_blocks() -> None:
    method = "    def m(self):\n" + "".join(f"        if a{n}:\n            self.b{n}()\n" for n in range(25)) + "\n"
    data = ("import os\n\n\nclass Big:\n    x = 1\n\n" + method * 8).encode()
    chunks = split(data, parse("python", data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert all(piece.startswith((b"import os", b"    def m")) for piece in texts(data, chunks))


@pytest.mark.parametrize(
    ("language", "lead", "definition"),
    [
        ("go", "// about it\n// more\n", "func F%d() {\n%s}\n\n"),
        ("rust", "/// about it\n#[inline]\n", "fn f%d() {\n%s}\n\n"),
        ("javascript", "/**\n * about it\n */\n\n", "function f%d() {\n%s}\n\n"),
        ("python", "# about it\n@decorated\n@twice(1)\n", "def f%d():\n%s\n\n"),
        ("java", "  /** about it */\n  @Override\n", "  void f%d() {\n%s  }\n\n"),
        ("cpp", "// about it\ntemplate <typename T>\n", "void f%d() {\n%s}\n\n"),
        ("bash", "# about it\n", "f%d() {\n%s}\n\n"),
    ],
)
@pytest.mark.parametrize("chars", [300, 700, 1300])
def test_comments_and_attributes_stay_with_what_they_lead(
    language: str, lead: str, definition: str, chars: int
) -> None:
    line = "    call(a, b);\n"
    body = line * (chars // weight(line.encode()))
    data = "".join(lead + definition % (number, body) for number in range(12)).encode()
    if language == "java":
        data = b"class A {\n" + data + b"}\n"
    chunks = split(data, parse(language, data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert all(piece.startswith(lead.encode()) for piece in texts(data, chunks)[1:])
    # The bracket that closes a body is with that body.
    assert not any(piece.lstrip().startswith(b"}") for piece in texts(data, chunks))


def test_a_body_that_would_fit_alone_is_not_parted_from_its_head() -> None:
    head = "def large(\n" + "".join(f"    parameter_{n},\n" for n in range(8)) + "):\n"
    data = (head + statements("body", CHUNK_TARGET_CHARS + CHUNK_MIN_CHARS - 50)).encode()
    chunks = split(data, parse("python", data), ())
    assert_sound(data, chunks)
    assert len(chunks) == 2
    assert b"body = compute" in texts(data, chunks)[0]


def test_deep_code_is_cut_between_statements_however_it_is_indented() -> None:
    call = "call(\none,\ntwo\n);\n"
    data = ("function big() {\nif (a) {\nfor (;;) {\n" + call * 300 + "}\n}\n}\n").encode()
    chunks = split(data, parse("javascript", data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert all(piece.startswith((b"function big", b"call(")) for piece in texts(data, chunks))


def test_functions_that_share_a_line_are_parted_at_that_line() -> None:
    inner = "function () {\n" + "  step(1, 2, 3);\n\n" * 60 + "}"
    data = ("register(" + ", ".join([inner] * 6) + ");\n").encode()
    chunks = split(data, parse("javascript", data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert all(piece.startswith((b"register(", b"}, function")) for piece in texts(data, chunks))


def test_a_closing_tag_stays_with_its_element() -> None:
    data = ("<body>\n" + ("<div>\n" + "<p>some words</p>\n" * 114 + "</div>\n") * 5 + "</body>\n").encode()
    chunks = split(data, parse("html", data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert not any(piece.startswith(b"</") for piece in texts(data, chunks))


def test_a_structure_without_definitions_is_cut_between_its_members() -> None:
    members = ",\n".join(f'  "key{n}": {{\n    "a": "{"x" * 200}",\n    "b": [1, 2, 3]\n  }}' for n in range(30))
    data = ("{\n" + members + "\n}\n").encode()
    chunks = split(data, parse("json", data), ())
    assert_sound(data, chunks)
    assert len(chunks) > 3
    assert all(piece.startswith((b"{", b'  "key')) for piece in texts(data, chunks))


def test_a_broken_file_is_still_cut_and_whole() -> None:
    data = (
        function("a", 900) + "def broken(:\n  ((((\n" + function("b", 900) + "class\n" + function("c", 900)
    ).encode()
    root = parse("python", data)
    assert root.has_error
    chunks = split(data, root, ())
    assert_sound(data, chunks)
    assert len(chunks) >= 2


# --- symbols and breadcrumbs ----------------------------------------------------------------------------------------


def python_symbols(data: bytes) -> list[Symbol]:
    """Functions and classes in the order of the file, by a walk of its own."""
    found: list[Symbol] = []

    def visit(node: Node, parent: int) -> None:
        for child in node.named_children:
            inner = parent
            if child.type in ("function_definition", "class_definition"):
                name = child.child_by_field_name("name").text.decode()
                begin, end = child.start_point[0] + 1, child.end_point[0] + 1
                found.append(
                    Symbol("x", name, "", "", "", child.start_byte, child.end_byte, begin, end, 0, True, parent)
                )
                inner = len(found) - 1
            visit(child, inner)

    visit(parse("python", data), -1)
    return found


def test_every_definition_begins_in_exactly_one_chunk_and_a_breadcrumb_names_what_is_around() -> None:
    steal = "    def steal(self):\n" + "".join(f"        if a{n}:\n            self.other{n}()\n" for n in range(300))
    renew = "    def renew(self):\n        def inner():\n            pass\n\n"
    data = ("import os\n\n\nclass Lease:\n" + renew + steal + renew + "\nX = 1\n\n\n" + function("free", 1200)).encode()
    symbols = python_symbols(data)
    chunks = split(data, parse("python", data), symbols)
    assert_sound(data, chunks)
    begun = [index for chunk in chunks for index in chunk.symbols]
    assert begun == list(range(len(symbols)))
    for chunk in chunks:
        for index in chunk.symbols:
            assert chunk.start_byte <= symbols[index].start_byte < chunk.end_byte
    crumbs = {chunk.breadcrumb for chunk in chunks if not chunk.symbols}
    assert crumbs == {("Lease", "steal")}
    assert chunks[0].breadcrumb == ()
    assert [chunk.breadcrumb for chunk in chunks if "free" in (symbols[i].name for i in chunk.symbols[:1])] == [()]


def test_the_first_definition_of_a_chunk_is_named_by_its_class() -> None:
    data = (
        "class Lease:\n" + "".join(f"    def m{n}(self):\n    {statements('q', 1100)}\n" for n in range(4))
    ).encode()
    data = b"\n".join(b"    " + line if line.startswith(b"    q") else line for line in data.split(b"\n"))
    symbols = python_symbols(data)
    chunks = split(data, parse("python", data), symbols)
    assert [chunk.breadcrumb for chunk in chunks] == [(), ("Lease",), ("Lease",), ("Lease",)]


def test_blank_bytes_at_the_start_do_not_count_for_the_breadcrumb() -> None:
    data = b"a" * 40 + b"\n" * (MAX_LINE_BYTES - 41) + b"\n \n" + b"b" * 1900 + b"\n"
    symbol = Symbol("x", "first", "", "", "", 0, len(data) - 1901, 1, 1, 0, True, -1)
    chunks = split(data, None, [symbol])
    assert_sound(data, chunks)
    assert [chunk.breadcrumb for chunk in chunks] == [(), ()]
    longer = symbol._replace(end_byte=len(data))
    assert [chunk.breadcrumb for chunk in split(data, None, [longer])] == [(), ("first",)]


def test_symbols_out_of_order_or_out_of_the_file_do_no_harm() -> None:
    data = (function("a", 900) + function("b", 900)).encode()
    symbols = python_symbols(data)[::-1]
    symbols.append(symbols[0]._replace(start_byte=10**9, end_byte=10**9 + 1))
    chunks = split(data, parse("python", data), symbols)
    assert [chunk.symbols for chunk in chunks] == [(1,), (0,)]


def test_a_breadcrumb_has_a_limit() -> None:
    line = b"x" * 1899 + b"\n"
    symbols = [Symbol("x", f"n{n}", "", "", "", 0, 10_000, 1, 9, 0, True, n - 1) for n in range(5_000)]
    chunks = split(line * 3, None, symbols)
    assert [len(chunk.breadcrumb) for chunk in chunks] == [0, MAX_BREADCRUMB, MAX_BREADCRUMB]
    assert chunks[1].breadcrumb[-1] == "n4999"


# --- lines ----------------------------------------------------------------------------------------------------------


def test_text_is_cut_at_blank_lines() -> None:
    data = b"\n\n".join(b"\n".join(b"words and words %d %d" % (p, n) for n in range(30)) for p in range(20)) + b"\n"
    chunks = split(data, None, ())
    assert_sound(data, chunks)
    assert len(chunks) > 4
    assert all(piece.endswith(b"\n\n") for piece in texts(data, chunks)[:-1])


def test_unknown_code_is_cut_where_it_is_indented_least_and_never_before_a_closing_bracket() -> None:
    unit = b"proc name {\n" + b"\n\n".join(b"    step %d { a b c d e }" % n for n in range(25)) + b"\n}\n"
    data = unit * 10
    chunks = split(data, None, ())
    assert_sound(data, chunks)
    assert len(chunks) > 2
    assert all(piece.startswith(b"proc name") for piece in texts(data, chunks))


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("final", [True, False])
@conforms("003.ID3")
def test_lines_and_bytes_agree_and_two_runs_give_the_same_ids(newline: bytes, final: bool) -> None:
    data = function("a", 4000).encode().replace(b"\n", newline)
    data = data if final else data.rstrip()
    chunks = split(data, parse("python", data), ())
    assert len(chunks) > 2
    assert_sound(data, chunks)
    assert chunks == split(bytes(bytearray(data)), parse("python", data), ())


def test_the_same_text_in_another_place_keeps_its_chunk_id() -> None:
    data = b"".join(function(name, 1400).encode() for name in "abc")
    moved = b"import os\n" * 60 + data
    before = {chunk.chunk_id for chunk in split(data, parse("python", data), ())}
    after = {chunk.chunk_id for chunk in split(moved, parse("python", moved), ())}
    assert len(before) == 3
    assert before <= after


def test_a_long_line_is_wrapped_between_characters() -> None:
    data = b"short\n" + ("x" + "é" * MAX_LINE_BYTES).encode() + b"\nshort\n"
    chunks = split(data, None, ())
    assert_sound(data, chunks)
    assert len(chunks) >= 3
    for piece in texts(data, chunks):
        piece.decode()
    assert {(chunk.start_line, chunk.end_line) for chunk in chunks} <= {(1, 1), (1, 2), (2, 2), (2, 3), (3, 3)}
