"""A search server beside this machine: do they agree, and what does it cost? `python -m bench.engine REPOSITORY…`

Each repository is indexed in a folder of its own, its snapshot is sent to a real `milvus-lite` server on the loopback,
and the same questions are asked both ways. The first ten places are compared one by one. Needs
the packages pymilvus and milvus-lite.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from tests.engine.servers import RealServer, running

from cairn.embedding.static import StaticEmbedder
from cairn.engine import local, milvus_rows
from cairn.engine.contract import Near, RowScope, Vector
from cairn.engine.local import CandidateEngine
from cairn.engine.milvus import Server
from cairn.engine.milvus_rows import MilvusRows
from cairn.engine.rows import scope_of, term_number
from cairn.errors import EngineError
from cairn.search.searcher import Searcher
from cairn.search.types import SearchRequest
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.sync.codebase import StorePlace, open_codebase, place_of
from cairn.sync.remote.copy import RemoteCopy
from cairn.sync.report import RunOptions
from cairn.sync.run import index

QUESTIONS, PLACES = 200, 10


def questions(view: SnapshotView, count: int) -> list[str]:
    """Sentences out of the texts, names of definitions and both together: some of each, the same every time."""
    chance = random.Random(9)
    found: list[str] = []
    paths = sorted(path for path, record in view.records().items() if record.skip is None)
    while len(found) < count:
        path = chance.choice(paths)
        lines = [line.strip(" #/*\t") for line in bytes(view.text(path) or b"").decode("utf-8", "replace").splitlines()]
        prose = [line for line in lines if re.fullmatch(r"[A-Z][A-Za-z ,']{15,70}[.:]?", line)]
        names = [symbol.name for symbol in view.symbols(path) if len(symbol.name) > 3]
        kinds = [prose and chance.choice(prose), names and chance.choice(names)]
        kinds.append(names and re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", chance.choice(names)).lower())
        if question := chance.choice(kinds):
            found.append(str(question).strip(":."))
    return found


def asked(searcher: Searcher, texts: list[str]) -> tuple[list[list[tuple[str, int, float]]], float]:
    """The first places of each question, and the CPU seconds of this process for all of them."""
    searcher.search(SearchRequest(query="warm"))
    began = time.process_time()
    found = [
        [(hit.path, hit.start_line, hit.score) for hit in searcher.search(SearchRequest(query=text)).hits[:PLACES]]
        for text in texts
    ]
    return found, time.process_time() - began


def measure(root: str, home: str, server: RealServer) -> dict[str, Any]:
    """One repository: how many places agree, and what sending and asking cost."""
    codebase = open_codebase(root, {"CAIRN_HOME": home, "HOME": home})
    index(codebase, RunOptions(home), lambda _: None)
    place: StorePlace = place_of(codebase, home)
    embedder = StaticEmbedder()
    with ExitStack() as stack:
        disk = stack.enter_context(place.make_disk())
        view = open_view(disk, place.path)
        assert view is not None
        stack.enter_context(view)
        rows = _Counting(Server(server.uri), place.store_id, embedder.identity.dimension)
        stack.callback(rows.close)
        before = _size(server.data)
        began = time.perf_counter()
        away = RemoteCopy(disk, rows)
        away.send(view)
        away.mark(view.manifest)
        sent = time.perf_counter() - began
        texts = questions(view, QUESTIONS)
        here, cpu_here = asked(Searcher(view, embedder), texts)
        there, cpu_there = asked(Searcher(view, embedder, rows), texts)
        answered = rows.answered - 1
        pairs = [
            (one, other)
            for ours, theirs in zip(here, there, strict=True)
            for one, other in zip(ours, theirs, strict=False)
        ]
        same = sum(one[:2] == other[:2] for one, other in pairs)
        places = sum(max(len(ours), len(theirs)) for ours, theirs in zip(here, there, strict=True))
        live = view.manifest.counts.chunks_live
        return {
            "repository": os.path.basename(root),
            "rows": live,
            "questions": len(texts),
            "answered_by_server": answered,
            "places": places,
            "agree": round(same / places, 5),
            "same_score_too": round(sum(one == other for one, other in pairs) / places, 5),
            "rows_per_s": round(live / sent),
            "server_bytes_per_row": round((_size(server.data) - before) / live),
            "local_bytes_per_row": round(sum(ref.size_bytes for ref in view.manifest.segments) / live),
            "client_cpu_ms": {"local": round(5 * cpu_here, 1), "milvus": round(5 * cpu_there, 1)},
            **_latency(view, rows, embedder, texts[:50]),
        }


class _Counting(MilvusRows):
    """Counts what the server answered: a question that this machine answered alone would agree with itself."""

    answered = 0

    def search_dense(self, vector: Vector, scope: RowScope, limit: int) -> list[Near]:
        found = super().search_dense(vector, scope, limit)
        self.answered += 1
        return found


def _latency(view: SnapshotView, rows: MilvusRows, embedder: StaticEmbedder, texts: list[str]) -> dict[str, Any]:
    """Milliseconds of one call, the middle of fifty: the nearest rows, and the rows that words fit best."""
    scope = scope_of(view)
    dense, lexical, engine = [], [], CandidateEngine(view, rows)
    for text in texts:
        vector = embedder.embed_query(text)
        began = time.perf_counter()
        rows.search_dense(vector, scope, 1_000)
        dense.append(time.perf_counter() - began)
        began = time.perf_counter()
        with suppress(EngineError):
            rows.search_lexical({term_number(word): 1.0 for word in text.lower().split()}, scope, 100)
        lexical.append(time.perf_counter() - began)
    assert engine.nearest(embedder.embed_query(texts[0])) is not None
    return {"dense_ms": round(1e3 * sorted(dense)[25], 1), "lexical_ms": round(1e3 * sorted(lexical)[25], 1)}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long a question may take here")
    parser.add_argument("--sample", type=int, default=local.ENGINE_SAMPLE, help="rows that the middle is taken from")
    options = parser.parse_args()
    local.ENGINE_SAMPLE = options.sample
    milvus_rows.ENGINE_SEARCH_SECONDS = options.seconds
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch) / "server") as server:
        for root in options.repositories:
            json.dump(measure(os.path.abspath(root), f"{scratch}/home", server), sys.stdout)
            print(flush=True)
    print(json.dumps({"client_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


if __name__ == "__main__":
    main()
