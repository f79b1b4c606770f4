"""The pairs that one file holds. Definitions, their comments and headings are those that Cairn itself sees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cairn.core.filetypes import language_of
from cairn.core.types import Symbol, SymbolKind
from cairn.syntax.analyze import analyze
from cairn.syntax.describe import clean
from training.records import Record
from training.texts import question

MOST_CODE_CHARS = 1100
_LEAST_CODE_CHARS = 40
_INLINE_LINES = 14
_TEST_LINES = 20
_HEAD_LINES = 60
# Of one kind from one file: a table-driven test suite would drown the rest.
_MOST = {"test": 8, "heading": 8, "inline": 25}

_DASHES, _HASHES, _SLASHES = "--", "#", "//"
_LINE_COMMENT = {
    **dict.fromkeys(("haskell", "lua", "sql"), _DASHES),
    **dict.fromkeys(("bash", "elixir", "python", "ruby"), _HASHES),
    **dict.fromkeys(("c", "cpp", "csharp", "go", "java", "javascript", "kotlin", "php"), _SLASHES),
    **dict.fromkeys(("rust", "scala", "swift", "tsx", "typescript", "zig"), _SLASHES),
}
CODE_LANGUAGES = frozenset(_LINE_COMMENT)
_TEST_NAME = re.compile(r"test\w{6,}|should\w{5,}|\w{6,}_should\w*", re.IGNORECASE)
# `it("sends the headers", …)`, `test "sends the headers" do`
_TOLD_TEST = re.compile(r"[ \t]*(?:it|test|describe|context|specify)(?:\.\w+)*[ \t]*\(?[ \t]*([\"'`])(.{8,140}?)\1")
_CALLABLE = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD})
_NOT_CODE = frozenset({SymbolKind.HEADING, SymbolKind.KEY, SymbolKind.RULE, SymbolKind.ELEMENT})
_DOC_STRING = re.compile(r"^[ \t]*[rRuU]?(\"\"\"|''').*?\1[ \t]*\n?", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"(?:from|import|use) ")


def pairs_of(repository: str, path: str, data: bytes) -> Iterator[Record]:
    """Every pair of a file; none when it is in a language whose definitions Cairn does not know."""
    language = language_of(path.rpartition("/")[2].encode(), data)
    if language not in CODE_LANGUAGES and language != "markdown":
        return
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    symbols = analyze(text.encode(), language)[0].symbols
    lines = text.split("\n")
    found = _sections(symbols, lines) if language == "markdown" else _of_code(text, lines, symbols, language)
    seen: dict[str, int] = {}
    for kind, name, about, code in found:
        seen[kind] = seen.get(kind, 0) + 1
        if len(code.strip()) >= _LEAST_CODE_CHARS and seen[kind] <= _MOST.get(kind, seen[kind]):
            yield Record(kind, repository, path, name, about, code[:MOST_CODE_CHARS])


_Found = tuple[str, str, str, str]


def _of_code(text: str, lines: Sequence[str], symbols: Sequence[Symbol], language: str) -> Iterator[_Found]:
    yield from _module(text, language)
    yield from _documented(symbols, lines, language)
    yield from _tests(symbols, lines)
    yield from _inline(lines, {symbol.start_line for symbol in symbols}, _LINE_COMMENT[language])


def _documented(symbols: Sequence[Symbol], lines: Sequence[str], language: str) -> Iterator[_Found]:
    for symbol in symbols:
        if symbol.kind not in _NOT_CODE and (about := question(symbol.doc)):
            code = "\n".join(lines[symbol.start_line - 1 : symbol.end_line])
            # The answer must not repeat the question: elsewhere the comment stands above the definition.
            yield "doc", symbol.name, about, _DOC_STRING.sub("", code, 1) if language == "python" else code


def _tests(symbols: Sequence[Symbol], lines: Sequence[str]) -> Iterator[_Found]:
    for symbol in symbols:
        if symbol.kind in _CALLABLE and _TEST_NAME.fullmatch(symbol.name):
            end = min(symbol.end_line, symbol.start_line + _TEST_LINES)
            yield "test", symbol.name, symbol.name, "\n".join(lines[symbol.start_line : end])
    for number, line in enumerate(lines):
        if told := _TOLD_TEST.match(line):
            yield "test", "", told[2], "\n".join(lines[number + 1 : number + 1 + _TEST_LINES])


def _inline(lines: Sequence[str], defined: set[int], mark: str) -> Iterator[_Found]:
    at = 0
    while at < len(lines):
        end = _comment_end(lines, at, mark)
        # A comment right above a definition belongs to it; one above a blank line to nothing.
        if end > at and end < len(lines) and lines[end].strip() and end + 1 not in defined:
            about = question(clean("\n".join(lines[at:end]).encode()))
            if about:
                yield "inline", "", about, _following(lines, end)
        at = max(end, at + 1)


def _comment_end(lines: Sequence[str], start: int, mark: str) -> int:
    """The first line after the comment that starts here; the same line when none does."""
    end = start
    if mark == _SLASHES and lines[start].lstrip().startswith("/*"):
        while end < len(lines):
            end += 1
            if "*/" in lines[end - 1]:
                break
        return end
    while end < len(lines) and lines[end].lstrip().startswith(mark):
        end += 1
    return end


def _following(lines: Sequence[str], start: int) -> str:
    """The lines that a comment speaks of: up to a blank line or the end of the block it stands in."""
    depth = _indent(lines[start])
    end = start + 1
    while end < min(len(lines), start + _INLINE_LINES) and lines[end].strip() and _indent(lines[end]) >= depth:
        end += 1
    return "\n".join(lines[start:end])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sections(headings: Sequence[Symbol], lines: Sequence[str]) -> Iterator[_Found]:
    for number, heading in enumerate(headings):
        following = headings[number + 1].start_line - 1 if number + 1 < len(headings) else len(lines)
        end = min(heading.end_line, following)
        if len(heading.name.split()) >= 2:
            yield "heading", heading.name, heading.name, "\n".join(lines[heading.start_line : end])


def _module(text: str, language: str) -> Iterator[_Found]:
    """What the head of a file says of the whole, in the two languages that have a form for it."""
    if language == "python" and (string := _DOC_STRING.match(text)):
        about, rest = clean(string[0].strip().encode()), text[string.end() :]
    elif language == "rust" and text.startswith("//!"):
        end = _comment_end(text.split("\n"), 0, "//!")
        head, rest = text.split("\n")[:end], "\n".join(text.split("\n")[end:])
        about = clean("\n".join(head).encode())
    else:
        return
    if about := question(about):
        body = [line for line in rest.split("\n") if line.strip() and not _IMPORT.match(line)]
        yield "module", "", about, "\n".join(body[:_HEAD_LINES])
