"""Settings files as people keep them, at random: JSON with and without comments, TOML, and pages of text."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from cairn.install.edits import EntryFormat, ServerEntry, Splice, applied
from cairn.install.record import WrittenChange

MANY = settings(max_examples=60, derandomize=True, deadline=None)
SERVER = ServerEntry("/opt/bin/cairn", ("mcp", "--root", '/home/me/a "b"\\c'))

_WORDS = st.text(st.sampled_from('ab{}[],:/*#"\\ é\u202e\n'), max_size=8)
_SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | _WORDS
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3), max_leaves=8
)
_BLANKS = ("", "", " ", "\n", "\n  ", "\n\t", "  \n    ")
_COMMENTS = ("/**/", '/* a { " */', "// b } , \n", " // c\n  ", "\n/* \n * d\n */\n", "/* // */")


@st.composite
def json_texts(draw: st.DrawFn, *, table: str = "mcpServers") -> str:
    """A settings file with any members, some servers perhaps among them, any blanks, and perhaps comments."""
    others = draw(st.dictionaries(_WORDS, _VALUES, max_size=3))
    value = {key: inner for key, inner in others.items() if key != table}
    if draw(st.booleans()):
        servers = draw(st.dictionaries(_WORDS.filter(lambda word: word != "cairn"), _VALUES, max_size=3))
        value[table] = servers
        value = dict(draw(st.permutations(list(value.items()))))
    if draw(st.booleans()):
        text = json.dumps(value, indent=draw(st.sampled_from([None, 2, 4, "\t"])), ensure_ascii=False)
    else:
        gaps = _BLANKS + (_COMMENTS if draw(st.booleans()) else ())
        text = _loose(draw, value, gaps, extra=draw(st.booleans()))
    text = draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.integers(0, 4)) == 0 else text


def _loose(draw: st.DrawFn, value: Any, gaps: tuple[str, ...], *, extra: bool) -> str:
    def gap() -> str:
        return draw(st.sampled_from(gaps))

    def parts(items: list[str]) -> str:
        comma = f",{gap()}" if items and extra and draw(st.booleans()) else ""
        return gap() + f",{gap()}".join(items) + comma

    if isinstance(value, dict):
        members = [
            f"{json.dumps(key)}{gap()}:{gap()}{_loose(draw, inner, gaps, extra=extra)}{gap()}"
            for key, inner in value.items()
        ]
        return "{" + parts(members) + "}"
    if isinstance(value, list):
        return "[" + parts([_loose(draw, inner, gaps, extra=extra) + gap() for inner in value]) + "]"
    return json.dumps(value)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """A settings file of tables, arrays, strings over many lines and comments."""
    values = (
        "1", "nan", '"a # b"', "'[mcp_servers.cairn]'", "[ 1, # two\n  [2],\n]", '"""\n[mcp_servers.cairn]\nx = 1\n"""',
        "{ a = 1, cairn = { b = 2 } }", "1979-05-27", "'''\n'' '''", '"\\""',
    )  # fmt: skip
    lines, names = [], iter(range(100))
    for header in ["", *draw(st.permutations(["[a]", "[mcp_servers.b]", "[[c]]", '["d.e".cairn] # [x]', "[mcp]"]))][
        : draw(st.integers(0, 6))
    ]:
        lines += [header] if header else []
        for value in draw(st.lists(st.sampled_from(values), max_size=2)):
            lines.append(f"{draw(st.sampled_from(['', '  ']))}k{next(names)} = {value}")
            lines += draw(st.lists(st.sampled_from(["", "# [mcp_servers.cairn]", "   "]), max_size=1))
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n", " # end"]) if lines else st.just(""))
    return text.replace("\n", "\r\n") if draw(st.integers(0, 4)) == 0 else text


PAGES = st.lists(st.sampled_from(["# Title", "", "Text. ", "<!-- a -->", "- é"]), max_size=6).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).flatmap(
        lambda end: st.sampled_from([end.join(lines), end.join([*lines, ""])])
    )
)


def written(splices: tuple[Splice, ...], after: str, *, created: bool = False) -> WrittenChange:
    """What the record says of a file."""
    digest = sha256(after.encode()).hexdigest()
    return WrittenChange(
        "/x/f", "server", "mcpServers", "user", ("claude",), None, created, (), digest, len(after), splices
    )


def put(entry: EntryFormat, text: str) -> tuple[str, WrittenChange]:
    """The text with our entry, and the record of it."""
    splices = entry.put(text)
    assert splices is not None
    after = applied(text, splices)
    return after, written(splices, after)
