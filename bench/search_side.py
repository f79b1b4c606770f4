"""One side of a comparison: a search tool that stays in its process and is told, line by line, what to do.

    python bench/search_side.py cairn [--no-embedding]
    python bench/search_side.py semble MODEL [--lexical]

Runs by itself under the Python that holds the tool. Each line on stdin is a JSON object, each answer a line on stdout:
`{"index": FOLDER}` gives the CPU seconds that it took, children included, and the files that are in the index;
`{"ask": [QUERY, ...], "repeat": N}` the milliseconds of each query, the best of N.
"""

# ruff: noqa: PLC0415 - each side has one of the two tools only
from __future__ import annotations

import json
import os
import sys
import tempfile
import time


class Cairn:
    """The code under measurement, durable index and all; each folder is a new index in a new home."""

    def __init__(self, arguments: list[str]) -> None:
        from cairn.embedding.static import StaticEmbedder

        self._scratch = tempfile.TemporaryDirectory(prefix="bench-cairn-")
        self._count = 0
        self._model = _Nothing() if "--no-embedding" in arguments else StaticEmbedder()
        self._searcher = None
        # Loading the model is measured by itself.
        self._model.embed([b"warm"])

    def index(self, folder: str) -> list[str]:
        from cairn.core.types import Root
        from cairn.search.searcher import Searcher
        from cairn.store.read.snapshot import open_view
        from cairn.sync.codebase import codebase_at, place_of
        from cairn.sync.report import RunOptions
        from cairn.sync.run import index

        self._count += 1
        home = os.path.join(self._scratch.name, str(self._count))
        codebase = codebase_at(Root(os.path.realpath(folder), is_git=False), {"CAIRN_HOME": home})
        index(codebase, RunOptions(home, embedder=self._model), lambda _: None)
        disk = place_of(codebase, home, self._model.identity).disk()
        view = open_view(disk, "bench")
        self._searcher = Searcher(view, self._model)
        return sorted(key for key, record in view.records().items() if record.skip is None)

    def ask(self, query: str) -> int:
        from cairn.search.types import Mode, SearchRequest

        mode = Mode.LEXICAL if isinstance(self._model, _Nothing) else Mode.HYBRID
        return len(self._searcher.search(SearchRequest(query, mode)).hits)


class _Nothing:
    """A model that does nothing, to see what all the rest costs."""

    cheap = True

    def __init__(self) -> None:
        from cairn.core.fingerprint import EmbeddingIdentity

        self.identity = EmbeddingIdentity("none", "none", "1", 4)

    def embed(self, texts):
        import numpy

        return numpy.full((len(texts), 4), 0.5, numpy.float32)

    def embed_query(self, _text):
        return self.embed([b""])[0]


class Semble:
    """semble from the package index, with the static model of a folder; nothing is kept on disk."""

    def __init__(self, arguments: list[str]) -> None:
        os.environ["SEMBLE_CACHE_DIR"] = tempfile.mkdtemp(prefix="bench-semble-")
        os.environ["HF_HUB_OFFLINE"] = "1"
        from model2vec import StaticModel
        from semble.index.create import create_index_from_path
        from semble.search import search
        from semble.types import ContentType

        self._model = StaticModel.from_pretrained(arguments[0])
        self._alpha = 0.0 if "--lexical" in arguments else None
        self._create, self._search, self._code = create_index_from_path, search, ContentType.CODE
        self._built = ()

    def index(self, folder: str) -> list[str]:
        from pathlib import Path

        self._built = self._create(Path(folder).resolve(), self._model, content=(self._code,))
        top = os.path.realpath(folder)
        paths = {os.path.relpath(os.path.join(top, chunk.file_path), top) for chunk in self._built[2]}
        return sorted(paths)

    def ask(self, query: str) -> int:
        words, vectors, chunks = self._built[:3]
        return len(self._search(query, self._model, vectors, words, chunks, 10, self._alpha, rerank=True))


def main() -> None:
    system = {"cairn": Cairn, "semble": Semble}[sys.argv[1]](sys.argv[2:])
    out = os.fdopen(os.dup(1), "w")
    # What a library prints must not stand among the answers.
    os.dup2(2, 1)
    print("{}", file=out, flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        if "index" in told:
            before = _cpu()
            files = system.index(told["index"])
            answer = {"cpu": _cpu() - before, "files": files}
        else:
            answer = {"ms": [_timed(system, query, told.get("repeat", 5)) for query in told["ask"]]}
        print(json.dumps(answer), file=out, flush=True)


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _timed(system, query: str, repeat: int) -> float:
    took = []
    for _ in range(repeat):
        began = time.perf_counter()
        system.ask(query)
        took.append((time.perf_counter() - began) * 1000)
    # The best of them: on a shared machine the others tell of the neighbours.
    return min(took)


if __name__ == "__main__":
    main()
