"""Large stores of made-up text, and how long a query on them takes beside a bare scan of the same vectors."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import simsimd

from bench.little_store import DIMENSION, _Builders, _draft
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.types import Chunk, FileFacts, FileStat, ParseState, SourceFile, Syntax
from cairn.embedding.static import StaticEmbedder
from cairn.search.searcher import Searcher
from cairn.search.types import SearchRequest
from cairn.store.disk import Disk
from cairn.store.format.postings import quantize
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Layer
from cairn.store.publish.writer import open_writer
from cairn.store.read.snapshot import open_view
from cairn.syntax.chunks import KIND
from cairn.syntax.identity import CHUNKER_VERSION, chunk_hash, chunk_id

CHUNKS_PER_FILE, WORDS_PER_CHUNK, VOCABULARY = 10, 40, 20_000
SEGMENTS = 8
QUERIES = 15


class Timed(NamedTuple):
    """Milliseconds of the median query, and of the median bare scan, on so many chunks."""

    chunks: int
    query: float
    scan: float


def at_scale(home: Path, chunks: int) -> Timed:
    """Make a store of made-up text with random vectors and ask it."""
    chance = random.Random(chunks)
    words = _vocabulary(chance)
    with Disk.at(str(home), f"data/{chunks}", create=True) as disk:
        with open_writer(disk, "bench", RunKind.CREATE) as writer:
            builders = _Builders(writer, chunks // SEGMENTS + 1)
            numbers = np.random.default_rng(chunks)
            for facts in _files(chance, words, chunks // CHUNKS_PER_FILE):
                made = numbers.standard_normal((CHUNKS_PER_FILE, DIMENSION), np.float32)
                builders.add(facts, made / np.linalg.norm(made, axis=1, keepdims=True))
            layers = (Layer((), tuple(builders.finish())),)
            assert publish(writer, _draft(layers, builders.files, on_base=False), lambda: True, SYSTEM_CLOCK)
        with open_view(disk, "bench") as view:
            return _asked(view, chance, words, chunks)


def _asked(view, chance: random.Random, words: list[str], chunks: int) -> Timed:
    model = StaticEmbedder()
    searcher = Searcher(view, model)
    # Three words as people mix them: one that is common, two that are not.
    queries = [" ".join([words[chance.randrange(200)], *chance.choices(words[200:], k=2)]) for _ in range(QUERIES)]
    searcher.search(SearchRequest(queries[0]))
    table = np.random.default_rng(1).integers(-127, 128, (chunks, DIMENSION), np.int8)
    asked, scanned = [], []
    for query in queries:
        wanted, _ = quantize(model.embed_query(query)[None, :])
        scanned.append(_ms(lambda wanted=wanted: simsimd.cdist(table, wanted, metric="dot")))
        asked.append(_ms(lambda query=query: searcher.search(SearchRequest(query))))
    return Timed(chunks, statistics.median(asked), statistics.median(scanned))


def _ms(job: Callable[[], object], rounds: int = 5) -> float:
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        job()
        took.append((time.perf_counter() - began) * 1000)
    # The best of them: on a shared machine the others tell of the neighbours.
    return min(took)


def _vocabulary(chance: random.Random) -> list[str]:
    """Made-up words that can be pronounced, so that they are taken apart as words are."""
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        found["".join(chance.choices(syllables, k=chance.randint(2, 4)))] = None
    return list(found)


def _files(chance: random.Random, words: list[str], count: int) -> Iterator[FileFacts]:
    # A few words are everywhere and most are rare, as in all text.
    weights = [1 / (rank + 3) for rank in range(len(words))]
    stock = chance.choices(words, weights, k=2_000_000)
    for number in range(count):
        chunks, text, line = [], b"", 1
        for ordinal in range(CHUNKS_PER_FILE):
            at = chance.randrange(len(stock) - WORDS_PER_CHUNK)
            body = (" ".join(stock[at : at + WORDS_PER_CHUNK]) + "\n").encode()
            content = chunk_hash(body)
            identity = chunk_id(content, CHUNKER_VERSION, KIND)
            start = len(text)
            text += body
            chunks.append(Chunk(ordinal, start, len(text), line, line, KIND, (), (), content, identity))
            line += 1
        key = f"{stock[number % len(stock)]}/{number:06d}_{stock[-1 - number % len(stock)]}.txt"
        stat = FileStat(len(text), 1, 1, 1)
        source = SourceFile(key, key.encode(), text, sha256(text).hexdigest(), stat)
        yield FileFacts(source, Syntax("text", ParseState.LINES), tuple(chunks))
