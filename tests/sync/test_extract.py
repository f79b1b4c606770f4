from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from cairn.core.config import Config, LimitConfig
from cairn.core.types import ExtractOutcome, FileFacts, ParseState, Skip, SkipReason
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.walk import walk
from cairn.sync.pool import extract


def outcome_of(
    top: Path, name: str, data: bytes, limits: LimitConfig | None = None, *, plain: bool = False
) -> ExtractOutcome:
    (top / name).write_bytes(data)
    with Tree(find_root(str(top))) as tree:
        candidate = next(c for c in walk(tree, Config()).candidates if c.key == name)
        return extract(tree, candidate, limits or LimitConfig(), plain=plain)


def test_one_read_gives_bytes_hash_syntax_and_chunks(tmp_path: Path) -> None:
    data = b"import os\n\n\ndef here():\n    return os.getcwd()\n"
    facts = outcome_of(tmp_path, "a.py", data)
    assert isinstance(facts, FileFacts)
    assert facts.source.data == data
    assert facts.source.file_hash == sha256(data).hexdigest()
    assert [symbol.name for symbol in facts.syntax.symbols] == ["here"]
    assert [reference.name for reference in facts.syntax.references] == ["getcwd"]
    assert [entry.module for entry in facts.syntax.imports] == ["os"]
    assert b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in facts.chunks) == data


def test_the_first_line_says_what_a_script_without_extension_is(tmp_path: Path) -> None:
    facts = outcome_of(tmp_path, "tool", b"#!/usr/bin/env python3\ndef main():\n    pass\n")
    assert isinstance(facts, FileFacts)
    assert facts.syntax.language == "python"
    assert facts.syntax.state == ParseState.PARSED


def test_a_file_without_grammar_is_cut_by_lines(tmp_path: Path) -> None:
    facts = outcome_of(tmp_path, "notes.txt", b"one\ntwo\n")
    assert isinstance(facts, FileFacts)
    assert (facts.syntax.state, len(facts.chunks)) == (ParseState.LINES, 1)


def test_a_file_that_killed_a_parser_gets_no_grammar(tmp_path: Path) -> None:
    facts = outcome_of(tmp_path, "a.py", b"def f():\n    pass\n", plain=True)
    assert isinstance(facts, FileFacts)
    assert (facts.syntax.language, facts.syntax.state, facts.syntax.symbols) == ("python", ParseState.LINES, ())


def test_too_many_chunks_are_a_soft_skip(tmp_path: Path) -> None:
    data = b"".join(b"line %d of a long list of words\n" % number for number in range(2000))
    skipped = outcome_of(tmp_path, "list.txt", data, LimitConfig(max_chunks_per_file=3))
    assert isinstance(skipped, Skip)
    assert skipped.reason == SkipReason.TOO_MANY_CHUNKS
    assert "the limit is 3" in skipped.detail


def test_an_empty_file_is_indexed_without_chunks(tmp_path: Path) -> None:
    facts = outcome_of(tmp_path, "__init__.py", b"")
    assert isinstance(facts, FileFacts)
    assert facts.chunks == ()
