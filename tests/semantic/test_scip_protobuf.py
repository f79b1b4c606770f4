"""Our decoder of semantic indices reads what the `protobuf` package reads, and refuses whatever that one refuses.

The messages are built here from the public numbers and types of SCIP's fields, those that we read. Bytes are written
field by field, so that they hold what an encoder may write and ours is seldom given: fields that nobody knows, lists
packed and not, messages in pieces, fields said twice. `_STRICTER` is all that `protobuf` takes and we refuse, but for
our limits.
"""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.errors import SemanticUnreadable
from cairn.semantic.scip import (
    Document,
    Encoding,
    Metadata,
    Range,
    Relationship,
    Role,
    ScipIndex,
    ScipOccurrence,
    SymbolFacts,
)
from tests.fuzz.splices import spliced, splices
from tests.lengths import at_length
from tests.semantic.indices import document, field, index, number, occurrence, packed

# message → number of a field → (name, type); `*` before a type is a list, `name/` before a name is a oneof.
_SCHEMA = {
    "Index": {1: ("metadata", "Metadata"), 2: ("documents", "*Document"), 3: ("externals", "*SymbolInformation")},
    "Metadata": {2: ("tool_info", "ToolInfo"), 3: ("project_root", "string")},
    "ToolInfo": {1: ("name", "string"), 2: ("version", "string")},
    "Document": {
        1: ("relative_path", "string"),
        2: ("occurrences", "*Occurrence"),
        3: ("symbols", "*SymbolInformation"),
        4: ("language", "string"),
        6: ("position_encoding", "int32"),
    },
    "Occurrence": {
        1: ("range", "*int32"),
        2: ("symbol", "string"),
        3: ("symbol_roles", "int32"),
        7: ("enclosing_range", "*int32"),
        8: ("typed_range/single_line_range", "SingleLineRange"),
        9: ("typed_range/multi_line_range", "MultiLineRange"),
        10: ("typed_enclosing_range/single_line_enclosing_range", "SingleLineRange"),
        11: ("typed_enclosing_range/multi_line_enclosing_range", "MultiLineRange"),
    },
    "SingleLineRange": {1: ("line", "int32"), 2: ("start_character", "int32"), 3: ("end_character", "int32")},
    "MultiLineRange": {
        1: ("start_line", "int32"),
        2: ("start_character", "int32"),
        3: ("end_line", "int32"),
        4: ("end_character", "int32"),
    },
    "SymbolInformation": {
        1: ("symbol", "string"),
        3: ("documentation", "*string"),
        4: ("relationships", "*Relationship"),
        5: ("kind", "int32"),
        6: ("display_name", "string"),
        8: ("enclosing_symbol", "string"),
    },
    "Relationship": {
        1: ("symbol", "string"),
        2: ("is_reference", "bool"),
        3: ("is_implementation", "bool"),
        4: ("is_type_definition", "bool"),
        5: ("is_definition", "bool"),
    },
}


def _occurs(*parts: bytes) -> bytes:
    return field(2, field(2, b"".join(parts)))


_PLACE = field(1, packed([1, 2, 3]))
_LIST = list(range(1, 6))
# Why we refuse what protobuf takes → such an index, a field of its occurrence, and what protobuf takes it for.
_STRICTER: dict[str, tuple[bytes, str, object]] = {
    "a field has the wrong type": (_occurs(_PLACE, field(2, 7)), "symbol", ""),
    "a field has the unknown wire type 3": (_occurs(_PLACE, b"\x9b\x06\x9c\x06"), "symbol", ""),
    "a number has more than 64 bits": (_occurs(_PLACE, b"\x18" + b"\xff" * 9 + b"\x02"), "symbol_roles", -1),
    "an occurrence has a negative role": (_occurs(_PLACE, field(3, 2**64 - 1)), "symbol_roles", -1),
    "an occurrence has no range": (_occurs(field(2, "s")), "range", []),
    "a range has neither 3 nor 4 numbers": (_occurs(field(1, packed([1, 2]))), "range", [1, 2]),
    "a list of numbers is too long": (_occurs(field(1, packed(_LIST))), "range", _LIST),
    "a range has more than 4 numbers": (_occurs(*(field(1, one) for one in _LIST)), "range", _LIST),
    "a range ends before it begins": (_occurs(field(1, packed([1, 2**32 + 2, 3]))), "range", [1, 2, 3]),
}


def _built() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="scip.proto", package="scip", syntax="proto3")
    for message, fields in _SCHEMA.items():
        said = file.message_type.add(name=message)
        for at, (name, kind) in fields.items():
            oneof, _, own = name.rpartition("/")
            each = kind.removeprefix("*")
            one = said.field.add(name=own, number=at)
            one.label = one.LABEL_REPEATED if each != kind else one.LABEL_OPTIONAL
            if each in _SCHEMA:
                one.type, one.type_name = one.TYPE_MESSAGE, f".scip.{each}"
            else:
                one.type = getattr(one, f"TYPE_{each.upper()}")
            if oneof:
                if oneof not in [known.name for known in said.oneof_decl]:
                    said.oneof_decl.add(name=oneof)
                one.oneof_index = len(said.oneof_decl) - 1
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("scip.Index"))


_INDEX = _built()


# --- what is expected: the messages of protobuf as our values ---------------------------------------------------------


def _range(typed: Any, plain: Any) -> Range | None:
    if typed is not None:
        values = [
            value for _, value in sorted((one.number, getattr(typed, one.name)) for one in typed.DESCRIPTOR.fields)
        ]
    else:
        values = list(plain)
    if not values:
        return None
    return Range(values[0], values[1], values[0], values[2]) if len(values) == 3 else Range(*values)


def _occurrence(said: Any) -> ScipOccurrence:
    one, around = said.WhichOneof("typed_range"), said.WhichOneof("typed_enclosing_range")
    place = _range(getattr(said, one) if one else None, said.range)
    assert place is not None
    outside = _range(getattr(said, around) if around else None, said.enclosing_range)
    return ScipOccurrence(place, said.symbol, Role(said.symbol_roles), outside)


def _symbol(said: Any) -> SymbolFacts:
    related = tuple(
        Relationship(
            each.symbol, each.is_reference, each.is_implementation, each.is_type_definition, each.is_definition
        )
        for each in said.relationships
    )
    return SymbolFacts(
        said.symbol, said.kind, said.display_name, said.enclosing_symbol, tuple(said.documentation), related
    )


def _document(said: Any, unsaid: Encoding) -> Document:
    encoding = Encoding(said.position_encoding) if said.position_encoding in set(Encoding) else Encoding.UNSPECIFIED
    return Document(
        said.relative_path,
        said.language,
        encoding or unsaid,
        tuple(map(_occurrence, said.occurrences)),
        tuple(map(_symbol, said.symbols)),
    )


def _expected(said: Any) -> tuple[Metadata, list[Document], list[SymbolFacts]]:
    tool = said.metadata.tool_info
    unsaid = Encoding.UTF8 if tool.name == "scip-go" else Encoding.UTF16
    return (
        Metadata(tool.name, tool.version, said.metadata.project_root),
        [_document(each, unsaid) for each in said.documents],
        [_symbol(each) for each in said.externals],
    )


def _read(data: bytes) -> tuple[Metadata, list[Document], list[SymbolFacts]]:
    found = ScipIndex(data, "index.scip")
    return found.metadata, list(found.documents()), list(found.external_symbols())


def check(data: bytes) -> bool:
    """Compare both readings of these bytes, and tell whether there were two."""
    try:
        said = _INDEX.FromString(data)
    except DecodeError:
        with pytest.raises(SemanticUnreadable):
            _read(data)
        return False
    try:
        found = _read(data)
    except SemanticUnreadable as refusal:
        if any(why in str(refusal) for why in _STRICTER):
            return False
        raise
    assert found == _expected(said)
    return True


# --- bytes, field by field --------------------------------------------------------------------------------------------

_TEXTS = st.sampled_from(["", "scip-go", "a b c 1 `m`/f().", "local 7"]) | st.text(max_size=6)
_INT32 = st.sampled_from([0, 1, 2, 3, 2**31 - 1, -1, -(2**31)]) | st.integers(-(2**31), 2**31 - 1)
_SMALL = st.integers(0, 3)


def _int(at: int, value: int) -> bytes:
    return field(at, value % 2**64)


def _unknown(known: set[int]) -> st.SearchStrategy[bytes]:
    at = st.integers(1, 2**29 - 1).filter(lambda one: one not in known)
    return st.one_of(
        st.builds(field, at, st.integers(0, 2**64 - 1) | st.binary(max_size=4)),
        at.map(lambda one: number(one << 3 | 1) + bytes(8)),
        at.map(lambda one: number(one << 3 | 5) + bytes(4)),
    )


def _places(at: int) -> st.SearchStrategy[bytes]:
    """A sound range of three or four numbers, packed, one by one, or some of each."""
    sound = st.tuples(_SMALL, _SMALL, _SMALL, _SMALL).map(
        lambda n: [n[0], n[1], n[1] + n[2]] if n[3] == 0 else [n[0], n[1], n[0] + n[3], n[2]]
    )
    return st.tuples(sound, st.integers(0, 4)).map(
        lambda drawn: (
            b"".join(_int(at, one) for one in drawn[0][: drawn[1]])
            + (field(at, packed(drawn[0][drawn[1] :])) if drawn[1] < len(drawn[0]) else b"")
        )
    )


def _field(message: str, at: int, kind: str) -> st.SearchStrategy[bytes]:
    if message == "Occurrence" and kind == "*int32":
        return _places(at)
    kind = kind.removeprefix("*")
    if kind in _SCHEMA:
        return st.deferred(lambda: _messages(kind)).map(lambda data: field(at, data))
    values: dict[str, st.SearchStrategy[bytes]] = {
        "string": _TEXTS.map(lambda text: field(at, text)),
        "bool": st.sampled_from([0, 1, 2, 2**32, 2**64 - 1]).map(lambda value: field(at, value)),
        "int32": _INT32.map(lambda value: _int(at, value)),
    }
    if message.endswith("LineRange"):
        # Any number of these grows with the field's own, so that most ranges end after they begin.
        return _SMALL.map(lambda value: _int(at, value + at // 3 * 4))
    if (message, at) == ("Occurrence", 3):
        return st.integers(0, 2**31 - 1).map(lambda value: _int(at, value))
    return values[kind]


def _messages(message: str) -> st.SearchStrategy[bytes]:
    known = _SCHEMA[message]
    any_field = st.one_of([_field(message, at, kind) for at, (_, kind) in known.items()])
    parts = st.lists(any_field | _unknown(set(known)), max_size=6)
    if message == "Occurrence":
        # One list of numbers at most: two of them would be one of more than four.
        parts = st.tuples(
            _places(1),
            _places(7) | st.just(b""),
            st.lists(st.one_of([_field(message, at, known[at][1]) for at in (2, 3, 8, 9, 10, 11)]), max_size=5),
            st.lists(_unknown(set(known)), max_size=1),
        ).flatmap(lambda drawn: st.permutations([drawn[0], drawn[1], *drawn[2], *drawn[3]]).map(list))
    if message.endswith("LineRange"):
        whole = st.tuples(*(_field(message, at, "int32") for at in known)).map(list)
        parts = st.builds(lambda first, more: first + more, whole, parts)
    return parts.map(b"".join)


INDICES = st.lists(_messages("Index"), min_size=1, max_size=3).map(b"".join)
NEAR = INDICES.filter(bool).flatmap(lambda data: splices(data).map(lambda changes: spliced(data, changes)))


@given(INDICES)
@settings(max_examples=120, derandomize=True, deadline=None)
def test_what_any_encoder_may_write_is_read_as_protobuf_reads_it(data: bytes) -> None:
    assert check(data)
    assert check(_INDEX.FromString(data).SerializeToString())


@given(NEAR | st.binary(max_size=60))
@settings(max_examples=120, derandomize=True, deadline=None)
def test_what_protobuf_refuses_is_refused_and_the_rest_is_read_alike_or_refused_for_a_named_reason(data: bytes) -> None:
    check(data)


_GOOD = index(
    document(
        "a.py", [occurrence([0, 1, 5], "s", 1, [0, 0, 4, 2]), field(8, field(1, 3) + field(3, 9))], [field(1, "s")]
    )
)


def test_an_index_that_is_cut_anywhere_is_refused_where_protobuf_refuses_it() -> None:
    assert sum(check(_GOOD[:length]) for length in range(len(_GOOD))) > 1
    for at in range(len(_GOOD)):
        for byte in (0, 1, 127, 128, 255, _GOOD[at] ^ 1, _GOOD[at] ^ 8):
            check(_GOOD[:at] + bytes([byte]) + _GOOD[at + 1 :])


@pytest.mark.parametrize(
    ("why", "data"),
    [
        ("metadata comes in pieces", field(1, field(3, "root")) + field(1, field(2, field(1, "scip-go")))),
        ("the tool comes in pieces", field(1, field(2, field(1, "scip-go")) + field(2, field(2, field(2, "1"))))),
        ("a range comes in pieces", _occurs(field(8, field(1, 3)), field(8, field(3, 9)))),
        ("the last of two forms counts", _occurs(field(9, field(1, 9) + field(3, 9)), field(8, field(3, 9)))),
        (
            "the pieces of a form that was replaced are gone",
            _occurs(field(8, field(1, 3)), field(9, b""), field(8, b"")),
        ),
        ("a replaced form need not be sound", _occurs(field(9, field(1, 9)), field(8, b""))),
        ("one line has no fourth number", _occurs(field(8, field(3, 1) + field(4, "x")))),
        ("an encoding has 32 bits", field(2, field(6, 2**32 + 3))),
        ("an encoding may be negative", field(2, field(6, 2**64 - 1))),
        ("roles have 32 bits", _occurs(_PLACE, field(3, 2**32 + 1))),
        ("a kind may be negative", field(3, field(5, 2**64 - 7))),
        ("a number may be longer than it need be", _occurs(b"\x0a\x05\x81\x80\x00\x02\x03")),
    ],
)
def test_these_are_read_as_protobuf_reads_them(why: str, data: bytes) -> None:
    assert check(data), why


@pytest.mark.parametrize(
    "data",
    [
        b"\x92\x80\x80\x80\x80\x00\x00",
        b"\x12\x80\x80\x80\x80\x80\x00",
        field(2, field(1, b"\xed\xa0\x80")),
        b"\x13\x12\x00",
        field(1, b"\x1a\x02a") + field(1, b"b"),
        _occurs(field(8, b"\x08"), field(8, b"\x03")),
    ],
    ids=[
        "a tag of six bytes",
        "a length of six bytes",
        "a text with half a character",
        "a group that does not end",
        "metadata cut within a text and continued",
        "a range cut within a number and continued",
    ],
)
def test_these_are_refused_as_protobuf_refuses_them(data: bytes) -> None:
    with pytest.raises(DecodeError):
        _INDEX.FromString(data)
    assert not check(data)


@pytest.mark.parametrize("why", _STRICTER)
def test_these_are_refused_though_protobuf_reads_them(why: str) -> None:
    data, name, value = _STRICTER[why]
    assert getattr(_INDEX.FromString(data).documents[0].occurrences[0], name) == value
    with pytest.raises(SemanticUnreadable, match=why):
        _read(data)


@pytest.mark.long
@given(NEAR | INDICES)
@settings(max_examples=at_length(2_000), derandomize=True, deadline=None)
def test_many_more_indices_are_read_alike(data: bytes) -> None:
    check(data)
