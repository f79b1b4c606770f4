"""`python -m tests.compat.make` writes the store of a tiny repository, as this version writes it, beside this file.

Three languages, three snapshots, tombstones of every kind and a file that is left out, made by the real runs. Ids,
times and processes are fixed, and the root is one that no machine has, so the same version makes the same store
anywhere. Two side files that only fit the disk they were written on are left out.

A folder of a released format is never written again: see `test_compat.py`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import cairn.store.format.build
import cairn.store.publish.writer
import cairn.sync.memory
import cairn.sync.run
import tests.sync.desk as desk_module
from cairn.core.config import Config
from cairn.core.types import FileStat, Root
from cairn.search.searcher import Searcher
from cairn.search.types import Mode, SearchRequest
from cairn.source.beneath import Tree
from cairn.store.disk import Disk
from cairn.store.format.document import CHUNK_ROWS, MANIFEST, SEGMENT_DATA
from cairn.store.format.rows import narrow_stat
from cairn.store.publish.generations import published, read_claims
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.sync import run
from cairn.sync.codebase import Codebase
from cairn.sync.report import RunOptions
from tests.faults.operations import steady
from tests.store.little import FewProcesses
from tests.support.clock import ManualClock
from tests.support.fake_embedder import FakeEmbedder
from tests.sync.desk import extract_here, silent

HERE = Path(__file__).parent
# One more for each version that was raised.
CURRENT = HERE / f"v{MANIFEST.written + CHUNK_ROWS.written + SEGMENT_DATA.written - 2}"
STORE, EXPECTED = "store", "expected.json"
ROOT = "/compat/tree"
DIMENSION = 8
# They hold inodes and times of the disk that they were written on.
OF_ONE_DISK = ("digests.json", "tree.bin")
_FIXED_NS = 1_767_312_000_000_000_000
_SECONDS_BETWEEN = 3_600

LEASE = '''"""Who may write."""

import os
from time import monotonic as now


class Lease:
    """The right to publish."""

    def take(self, seconds: int) -> bool:
        return os.getpid() > 0 and now() < seconds


def release(lease: Lease) -> None:
    lease.take(0)
'''
COUNT = """use std::collections::HashMap;

/// How often each word is there.
pub fn count(words: &[&str]) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    for word in words {
        *found.entry(word.to_string()).or_insert(0) += 1;
    }
    found
}
"""
VIEW = """import { count } from "./count";

export interface Row {
  word: string;
  times: number;
}

export function rows(words: string[]): Row[] {
  return Object.entries(count(words)).map(([word, times]) => ({ word, times }));
}
"""
TREES: tuple[dict[str, str], ...] = (
    {
        "src/lease.py": LEASE,
        "src/count.rs": COUNT,
        "web/view.ts": VIEW,
        "old/name.py": "def kept():\n    return 1\n",
        "gone.py": "def gone():\n    return 2\n",
        "empty.py": "",
        "logo.txt": "\0\1\2",
    },
    {"src/lease.py": LEASE.replace("release", "let_go"), "gone.py": "/", "new/name.py": "/old/name.py"},
    {"README.md": "# Words\n\nOne lease at a time. Größe: klein.\n", "web/view.ts": VIEW.replace("rows", "table")},
)
"""What each run finds: texts that are new or other; `/` is a file that is gone, `/name` one that came from there."""

QUESTIONS = (
    (Mode.LEXICAL, "lease"),
    (Mode.LEXICAL, "count words"),
    (Mode.SYMBOL, "Lease"),
    (Mode.SYMBOL, "let_go"),
    (Mode.SYMBOL, "gone"),
    (Mode.REGEX, r"fn \w+\("),
    (Mode.REGEX, "klein"),
    (Mode.PATH, "name.py"),
)


def make(target: Path) -> None:
    """Write the store and what must be read in it into a folder that is not there yet."""
    with tempfile.TemporaryDirectory() as scratch:
        tree, home = Path(scratch, "tree"), Path(scratch, "home")
        tree.mkdir()
        _runs(tree, home)
        [store] = (home / "data").iterdir()
        shutil.copytree(store, target / STORE, ignore=shutil.ignore_patterns(*OF_ONE_DISK))
        # Git keeps none of their rights.
        for path in (target / STORE).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        with Disk.at(str(home), f"data/{store.name}") as disk:
            facts = json.dumps(facts_of(disk), indent=1, ensure_ascii=False, sort_keys=True)
        (target / EXPECTED).write_text(facts + "\n", encoding="utf-8")


def _runs(tree: Path, home: Path) -> None:
    clock = ManualClock(_FIXED_NS)
    codebase = Codebase(Root(ROOT, is_git=False), Config(), None)
    options = RunOptions(str(home), wait_seconds=0.0, embedder=FakeEmbedder(DIMENSION), upkeep=False)
    here = Root(str(tree.resolve()), is_git=False)

    class Elsewhere(Tree):
        """The tree, wherever it really is."""

        __slots__ = ()

        def __init__(self, _: Root) -> None:
            super().__init__(here)

    def fixed(stat: FileStat) -> tuple[tuple[int, ...], str | None]:
        return narrow_stat(FileStat(stat.size, _FIXED_NS, _FIXED_NS, 1))

    with steady(), pytest.MonkeyPatch.context() as patch:
        extract_here(patch, clock)
        patch.setattr(desk_module, "Tree", Elsewhere)
        patch.setattr(cairn.sync.run, "Tree", Elsewhere)
        patch.setattr(cairn.sync.memory, "Tree", Elsewhere)
        patch.setattr(cairn.store.format.build, "narrow_stat", fixed)
        patch.setattr(
            cairn.store.publish.writer,
            "open_writer",
            partial(cairn.store.publish.writer.open_writer, processes=FewProcesses()),
        )
        for number, changed in enumerate(TREES):
            _apply(tree, changed)
            report = (run.sync if number else run.index)(codebase, options, silent, clock=clock)
            assert report.published
            clock.advance(_SECONDS_BETWEEN)


def _apply(tree: Path, changed: dict[str, str]) -> None:
    for name, text in sorted(changed.items()):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text == "/":
            path.unlink(missing_ok=True)
        elif text.startswith("/"):
            (tree / text[1:]).rename(path)
        else:
            path.write_bytes(text.encode())


# --- what must be read ------------------------------------------------------------------------------------------------


def facts_of(disk: Disk) -> dict[str, Any]:
    """Everything that every later version must find in a store, as plain values."""
    snapshots = []
    for manifest in published(disk, read_claims(disk), []):
        with open_view(disk, "fixture", snapshot=manifest.snapshot_id) or pytest.fail("it does not open") as view:
            snapshots.append(
                {
                    "id": manifest.snapshot_id,
                    "generation": manifest.generation,
                    "created_at": manifest.created_at,
                    "root": manifest.canonical_root,
                    "skipped": dict(manifest.skipped),
                    "tombstones": sum(ref.count for ref in manifest.tombstones),
                    "files": {key: _file(view, key) for key in sorted(view.records())},
                }
            )
    with open_view(disk, "fixture") or pytest.fail("it does not open") as view:
        searcher = Searcher(view, FakeEmbedder(DIMENSION))
        answers = [
            # As a set: what is found belongs to the format, how it is ranked does not.
            [mode.value, query, sorted({hit.path for hit in searcher.search(SearchRequest(query, mode=mode)).hits})]
            for mode, query in QUESTIONS
        ]
    return {"snapshots": snapshots, "answers": answers}


def _file(view: SnapshotView, key: str) -> dict[str, Any]:
    record = view.file(key)
    assert record is not None
    if record.skip is not None:
        return {"skip": record.skip.value, "size": record.stat.size}
    return {
        "stat": list(record.stat),
        "hash": record.file_hash,
        "language": record.language,
        "text": bytes(view.text(key) or b"").decode(),
        "chunks": [
            [row.row_id, row.chunk_id, row.kind, row.start_line, row.end_line, bytes(row.vector).hex(), row.scale]
            for row in view.chunks(key)
        ],
        "symbols": [
            [one.kind, one.container, one.name, one.signature, one.doc, one.start_line, one.end_line, one.exported]
            for one in view.symbols(key)
        ],
        "uses": [[one.kind, one.name, one.line] for one in view.references(key)],
        "imports": [[one.module, one.name, one.alias, one.line] for one in view.imports(key)],
    }


if __name__ == "__main__":
    if CURRENT.exists() and sys.argv[1:] != ["--before-its-release"]:
        sys.exit(f"{CURRENT.name} is there, and a released format is never written again.")
    shutil.rmtree(CURRENT, ignore_errors=True)
    make(CURRENT)
