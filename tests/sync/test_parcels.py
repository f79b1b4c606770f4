from __future__ import annotations

import pickle

from cairn.core.types import (
    ExtractOutcome,
    FileFacts,
    FileStat,
    ParseState,
    Skip,
    SkipReason,
    SourceFile,
    Unstable,
    Vanished,
)
from cairn.sync.pool import pack, unpack
from cairn.syntax.analyze import analyze, cut_by_lines
from cairn.syntax.identity import file_hash

PROGRAM = b"import os\n\n\nclass First:\n    def go(self, x):\n        return os.path.join(x)\n"


def facts(data: bytes, *, plain: bool = False) -> FileFacts:
    source = SourceFile("a.py", b"a.py", data, file_hash(data), FileStat(len(data), 1, 2, 3))
    return FileFacts(source, *(cut_by_lines if plain else analyze)(data, "python"))


def test_what_leaves_a_worker_is_what_arrives() -> None:
    skip = Skip(b"b", SkipReason.BINARY)
    sent: list[ExtractOutcome] = [facts(PROGRAM), facts(PROGRAM, plain=True), facts(b""), skip]
    sent += [Vanished(b"c"), Unstable(b"d", 3)]
    arrived = unpack(pickle.loads(pickle.dumps(pack(sent))))
    assert arrived == sent
    # Equal is not enough: a tuple is equal to a NamedTuple of its values, and a word to the member of an enumeration.
    first = arrived[0]
    assert isinstance(first, FileFacts)
    assert isinstance(first.syntax.state, ParseState)
    assert [symbol.name for symbol in first.syntax.symbols] == ["First", "go"]
    assert [reference.name for reference in first.syntax.references] == ["join"]
    assert first.syntax.imports[0].module == "os"
    assert first.chunks[0].symbols == (0, 1)
