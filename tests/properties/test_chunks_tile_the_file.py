"""For any bytes, with or without a tree, the chunks are the file: all of it, once, in order, in fair pieces."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import CHUNK_TARGET_CHARS
from cairn.syntax.chunks import split
from tests.syntax.test_chunks import assert_sound, function, parse, weight

BOUNDED = settings(max_examples=60, deadline=None, derandomize=True)

LINES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(
            ["", "x = 1", "def f():", "class C:", "# é", "return (a,\tb)", "}", '"""', "y" * 1200, "if x:"]
        ),
        st.sampled_from(["\n", "\r\n", "\n\n", "\r", "\n" * 40]),
    ),
    max_size=120,
).map(lambda rows: "".join("    " * indent + text + end for indent, text, end in rows).encode())


@BOUNDED
@given(data=st.binary(max_size=300), times=st.sampled_from([1, 40, 900]))
def test_any_bytes_are_tiled_by_lines(data: bytes, times: int) -> None:
    assert_sound(data * times, split(data * times, None, ()))


@BOUNDED
@given(data=LINES, tail=st.sampled_from([b"", b"last", b"   ", b"\r"]))
def test_any_lines_are_tiled_with_and_without_their_tree(data: bytes, tail: bytes) -> None:
    data += tail
    assert_sound(data, split(data, parse("python", data), ()))
    assert_sound(data, split(data, None, ()))


@BOUNDED
@given(data=LINES)
def test_a_tree_of_another_language_does_no_harm(data: bytes) -> None:
    for language in ("javascript", "cpp", "json"):
        assert_sound(data, split(data, parse(language, data), ()))


@BOUNDED
@given(sizes=st.lists(st.integers(1, 4_000), min_size=1, max_size=12), gaps=st.integers(0, 3))
def test_a_definition_up_to_the_target_is_never_cut(sizes: list[int], gaps: int) -> None:
    functions = [("# about\n" * gaps + function(f"f{n}", size)).encode() for n, size in enumerate(sizes)]
    data = b"x = 1\n" + b"".join(functions)
    chunks = split(data, parse("python", data), ())
    assert_sound(data, chunks)
    borders = {chunk.start_byte for chunk in chunks}
    at = len(b"x = 1\n")
    for text in functions:
        if weight(text) <= CHUNK_TARGET_CHARS:
            inside = range(at + 1, at + len(text.rstrip()))
            assert not borders.intersection(inside)
        at += len(text)


@BOUNDED
@given(data=LINES)
def test_the_same_bytes_give_the_same_chunks(data: bytes) -> None:
    assert split(data, parse("python", data), ()) == split(data, parse("python", data), ())
