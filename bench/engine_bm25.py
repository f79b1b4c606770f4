"""Milvus' own BM25 beside our term weights, as a source of candidates. `python -m bench.engine_bm25 REPOSITORY…`

The same rows are sent twice to a real `milvus-lite` server: as sparse vectors of ours, and as text that it takes apart
by itself. The first ten places of this machine's ranking by words are looked for among the first hundred rows of
each. It is a measurement: nothing that answers uses the server's BM25. Needs the packages pymilvus and milvus-lite.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pymilvus import DataType, Function, FunctionType, MilvusClient  # type: ignore[import-untyped]
from tests.engine.servers import RealServer, running

from bench.engine import questions
from cairn.core.tokens import terms
from cairn.embedding.static import StaticEmbedder
from cairn.engine.milvus import Server
from cairn.engine.milvus_rows import MilvusRows
from cairn.engine.rows import scope_of, segments_of, term_number
from cairn.search.lexical import idf
from cairn.search.searcher import Searcher
from cairn.search.types import Mode, SearchRequest
from cairn.store.read.snapshot import SnapshotView, open_view
from cairn.sync.codebase import open_codebase, place_of
from cairn.sync.report import RunOptions
from cairn.sync.run import index

QUESTIONS, PLACES, CANDIDATES, BATCH = 100, 10, 100, 500
NAME = "bm25"


def measure(root: str, home: str, server: RealServer) -> dict[str, Any]:
    """One repository: which share of the first places each of the two would have named, and what it cost."""
    codebase = open_codebase(root, {"CAIRN_HOME": home, "HOME": home})
    index(codebase, RunOptions(home), lambda _: None)
    place = place_of(codebase, home)
    with ExitStack() as stack:
        view = open_view(stack.enter_context(place.make_disk()), place.path)
        assert view is not None
        stack.enter_context(view)
        embedder = StaticEmbedder()
        ours = MilvusRows(Server(server.uri), place.store_id, embedder.identity.dimension)
        stack.callback(ours.close)
        client = MilvusClient(uri=server.uri)
        stack.callback(client.close)
        began = time.perf_counter()
        for segment in segments_of(view):
            ours.put_segment(segment)
        sent_ours = time.perf_counter() - began
        began = time.perf_counter()
        rows = send_texts(client, view)
        sent_theirs = time.perf_counter() - began
        searcher = Searcher(view, embedder)
        often = Counter(number for segment in segments_of(view) for row in segment.read() for number in row.terms)
        scope, counts, spent = scope_of(view), [0, 0, 0], [0.0, 0.0]
        for text in questions(view, QUESTIONS):
            wanted = {hit.path for hit in searcher.search(SearchRequest(query=text, mode=Mode.LEXICAL)).hits[:PLACES]}
            # What rows are like on the whole comes in with the question.
            weights = {number: float(idf(rows, often[number])) for number in map(term_number, terms(text))}
            began = time.perf_counter()
            named = ours.search_lexical(weights, scope, CANDIDATES)
            spent[0] += time.perf_counter() - began
            by_segment = {name: [near.row for near in named if near.segment == name] for name in scope.segments}
            held = {one.path for name, own in by_segment.items() for one in ours.fetch_rows(name, own)}
            began = time.perf_counter()
            found = client.search(
                NAME, [text], anns_field="sparse", limit=CANDIDATES, output_fields=["path"],
                search_params={"metric_type": "BM25"}, consistency_level="Strong",
            )  # fmt: skip
            spent[1] += time.perf_counter() - began
            theirs = {hit["entity"]["path"] for hit in found[0]}
            counts = [counts[0] + len(wanted), counts[1] + len(wanted & held), counts[2] + len(wanted & theirs)]
        client.drop_collection(NAME)
        return {
            "repository": os.path.basename(root),
            "rows": rows,
            "places": counts[0],
            "named_by_our_weights": round(counts[1] / counts[0], 3),
            "named_by_bm25": round(counts[2] / counts[0], 3),
            "ms": {"ours": round(1e3 * spent[0] / QUESTIONS, 1), "bm25": round(1e3 * spent[1] / QUESTIONS, 1)},
            "rows_per_s": {"ours": round(rows / sent_ours), "bm25": round(rows / sent_theirs)},
        }


def send_texts(client: MilvusClient, view: SnapshotView) -> int:
    """Every live row as text, for the server to take apart; how many they are."""
    schema = MilvusClient.create_schema(auto_id=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("path", DataType.VARCHAR, max_length=4_096)
    schema.add_field("text", DataType.VARCHAR, max_length=65_535, enable_analyzer=True)
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function(
        name=NAME, input_field_names=["text"], output_field_names=["sparse"], function_type=FunctionType.BM25
    ))  # fmt: skip
    params = client.prepare_index_params()
    params.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    client.create_collection(NAME, schema=schema, index_params=params)
    batch: list[dict[str, Any]] = []
    number = 0
    for path in sorted(view.records()):
        text = bytes(view.text(path) or b"").decode("utf-8", "replace")
        for row in view.chunks(path):
            lines = text.splitlines()[row.start_line - 1 : row.end_line]
            batch.append({"id": number, "path": path, "text": "\n".join([path, *lines])[:16_000]})
            number += 1
            if len(batch) == BATCH:
                client.insert(NAME, batch)
                batch = []
    if batch:
        client.insert(NAME, batch)
    client.flush(NAME)
    client.load_collection(NAME)
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+")
    with tempfile.TemporaryDirectory() as scratch, running(Path(scratch) / "server") as server:
        for root in parser.parse_args().repositories:
            print(json.dumps(measure(os.path.abspath(root), f"{scratch}/home", server)), flush=True)


if __name__ == "__main__":
    main()
