"""An agent whose codebase is on a search server that lies, fails and comes back, and what it can ask meanwhile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from cairn.engine.milvus_rows import MilvusRows
from cairn.store.format.manifest import Manifest, encode_completion
from cairn.store.publish.generations import published, read_claims
from cairn.sync.codebase import StorePlace, open_codebase, place_of
from cairn.sync.remote.copy import remote_rows, validate_remote_proof
from tests.engine.servers import RealServer
from tests.support.servers import AT_ONCE, Agent
from tests.support.waiting import until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.engine.proxy import Proxy

READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_codebase", {"query": "who steals a lease"}),
    ("file_outline", {"file": "lease.py"}),
    ("call_graph", {"symbol": "take"}),
    ("read_file", {"file": "lease.py"}),
    ("index_status", {}),
    ("manage_index", {"action": "status"}),
    ("list_codebases", {}),
)
FAULTS = ("refuse", "drop", "truncate", "cut after", "empty")
# Every call by which something on a server changes.
WRITES = {"Insert", "Upsert", "Delete", "Flush", "CreateCollection", "DropCollection", "CreateIndex", "DropIndex"}


class Cloud(Agent):
    """An agent whose settings name a server, mostly with the proxy between the two."""

    proxy: Proxy

    def __init__(self, folder: Path, server: Proxy | RealServer) -> None:
        super().__init__(folder)
        self.settings(f'[engine]\nkind = "milvus"\nuri = "{server.uri}"\n')

    def loses_its_store(self) -> None:
        """Somebody removed the folder of the index; the registry and the server still know of it."""
        self.ended()
        shutil.rmtree(self.place.path)
        self.reopened()

    def ended(self) -> None:
        """The run that is at work has come to its end."""
        until(lambda: self.desk.runs.active(str(self.tree)) is None)

    def read(self, tool: str) -> dict[str, Any]:
        path = {} if tool == "list_codebases" else {"path": str(self.tree)}
        return self.ask(tool, patience=AT_ONCE, **path, **dict(READS)[tool])

    @property
    def place(self) -> StorePlace:
        return place_of(open_codebase(str(self.tree), self.environ), str(self.home))

    def rows(self) -> MilvusRows:
        rows = remote_rows(open_codebase(str(self.tree), self.environ).config, self.place, self.environ)
        assert rows is not None
        return rows

    def newest(self) -> Manifest:
        disk = self.place.disk()
        assert disk is not None
        with disk:
            return next(published(disk, read_claims(disk), []))

    def says(self, **fields: object) -> None:
        """Let the marker on the server say something else; with nothing, let it be gone."""
        marker = self.newest().completion
        assert marker is not None
        rows = self.rows()
        if fields:
            rows._put(3, marker.run_id, json.dumps({**json.loads(encode_completion(marker)), **fields}))
        else:
            rows.clear_marker(marker.run_id)
        rows.close()

    def proof(self) -> object:
        rows = self.rows()
        try:
            return validate_remote_proof(rows, self.newest(), self.place)
        finally:
            rows.close()


def facts(answer: dict[str, Any]) -> dict[str, Any]:
    """What is told of the index: all but what is said of the server, and times."""
    shown = ("schema", "status", "reason", "message", "state", "results", "snapshot", "fingerprints")
    found = {name: answer[name] for name in (*shown, "codebases", "coverage", "files_indexed") if name in answer}
    if answer["schema"] == "cairn.list/1":
        found["results"] = sorted((one["root"], one["state"]) for one in answer["results"])
    return found
