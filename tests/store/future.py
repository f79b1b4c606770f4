"""A store as a later version of Cairn might have written it: every artifact says so, and holds more than we know."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cairn.store.format.columns import read_container, write_container
from cairn.store.format.document import INDEX_STATE, MANIFEST, SEGMENT_DATA, Artifact, seal
from cairn.store.format.seal import FileDigest, Sealed
from tests.store.raising import raised

LATER = 2


class _File:
    """Takes what is written to it."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: Any) -> None:
        self.data += bytes(data)


def put(path: Path, data: bytes) -> None:
    """Other bytes in a file, sealed or not, with the same rights."""
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(mode)


def document(path: Path, artifact: Artifact, digest: str, version: int = LATER, **changed: Any) -> None:
    """The same document in another version, with these fields more or other."""
    fields = json.loads(path.read_bytes())
    del fields[digest], fields["schema_version"]
    put(path, seal(replace(artifact, written=version), digest, fields | changed))


def make_later(store: Path) -> None:
    """Give everything in the store the next version, and fields, columns and sections of which we know nothing."""
    sealed = {folder.name: _segment(folder) for folder in (store / "segments").iterdir()}
    for path in (*store.glob("snapshots/*/manifest.json"), *store.glob("generations/*")):
        known = json.loads(path.read_bytes())
        if known["chunk_row_schema_version"] == LATER:
            # The other name of the same file.
            continue
        segments = [
            {**ref, "size_bytes": sealed[ref["name"]].size_bytes, "sha256": sealed[ref["name"]].sha256, "later": [1]}
            for ref in known["segments"]
        ]
        document(
            path,
            MANIFEST,
            "manifest_sha256",
            segments=segments,
            chunk_row_schema_version=LATER,
            git={**known["git"], "later": None},
            later={"of": "another time"},
        )
    document(store / "index_state.json", INDEX_STATE, "state_sha256", later=True)


def _segment(folder: Path) -> Sealed:
    rows, data = folder / "rows.sqlite", folder / "data.bin"
    mode = rows.stat().st_mode
    rows.chmod(0o600)
    folder.chmod(0o700)
    with closing(sqlite3.connect(rows, isolation_level=None)) as db:
        for table in ("files", "chunks", "symbols", "imports"):
            db.execute(f"ALTER TABLE {table} ADD COLUMN later TEXT")
        db.execute("CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT")
        db.execute(f"PRAGMA user_version = {LATER}")
    rows.chmod(mode)
    out = _File()
    with raised(SEGMENT_DATA, written=LATER):
        write_container(out, [*read_container(memoryview(data.read_bytes())).items(), ("later", b"unknown")])  # type: ignore[arg-type]
    put(data, out.data)
    folder.chmod(0o500)
    files = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    return Sealed(tuple(FileDigest(name, len(found), sha256(found).hexdigest()) for name, found in files))
