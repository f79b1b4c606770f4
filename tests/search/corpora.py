"""Made-up projects in a store of one segment or of many, and questions about them: what the ranking is tested on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256

from cairn.core.clock import rfc3339
from cairn.core.filetypes import language_of
from cairn.core.types import FileFacts
from cairn.engine.local import LocalEngine
from cairn.store.format.build import SegmentBuilder
from cairn.store.format.tombstones import Tombstone, TombstoneReason
from cairn.store.publish.lease import RunKind
from cairn.store.publish.publish import publish
from cairn.store.publish.staging import Draft, Layer
from cairn.store.publish.writer import Writer, open_writer
from cairn.syntax.identity import CHUNKER_VERSION
from tests.search.trees import viewed
from tests.store.disks import MemoryDisk
from tests.store.little import DIMENSION, FINGERPRINT, GIT, IGNORE, ROOT, STORE_ID, FewProcesses, contents
from tests.store.segments import analyzed
from tests.support.clock import ManualClock
from tests.support.fake_embedder import FakeEmbedder

MODEL = FakeEmbedder(DIMENSION)
Tree = Mapping[str, bytes]


# --- stores -----------------------------------------------------------------------------------------------------------


@lru_cache(4096)
def _facts(key: str, data: bytes) -> FileFacts:
    return analyzed(key, data, language_of(key.encode()))


def store(fs: MemoryDisk, files: Tree) -> None:
    """Make the store hold exactly these files: what is new in a segment of its own, what is gone under tombstones."""
    clock = ManualClock()
    with open_writer(fs, "store", RunKind.SYNC, clock=clock, processes=FewProcesses()) as writer:
        base = {} if writer.view is None else contents(writer.view)
        changed = {key: data for key, data in files.items() if base.get(key) != data}
        gone = [
            Tombstone(key, TombstoneReason.REPLACE if key in files else TombstoneReason.DELETE)
            for key in base
            if files.get(key) != base[key]
        ]
        draft = Draft(
            root=ROOT,
            store_id=STORE_ID,
            fingerprint=FINGERPRINT,
            ignore_fingerprint=IGNORE,
            git=GIT,
            read_at=rfc3339(clock.wall_ns()),
            on_base=writer.base is not None and writer.base.completion is not None,
            layers=(_layer(writer, changed, gone),),
            expected={key: sha256(data).hexdigest() for key, data in files.items()}
            | {key: None for key in base if key not in files},
            files=len(files),
        )
        publish(writer, draft, lambda: True, clock)


def _layer(writer: Writer, files: Tree, gone: list[Tombstone]) -> Layer:
    if not files:
        return Layer(tuple(gone), ())
    builder = SegmentBuilder(DIMENSION, CHUNKER_VERSION)
    for key, data in sorted(files.items()):
        facts = _facts(key, data)
        builder.add(facts, MODEL.embed([data[chunk.start_byte : chunk.end_byte] for chunk in facts.chunks]))
    builder.write(writer.fs, writer.staging.begin())
    return Layer(tuple(gone), (writer.staging.seal(builder.rows, builder.files),))


def layered(tree: Tree, layers: int) -> MemoryDisk:
    """A store of this tree, written in so many steps; each but the last leaves an old version and a ghost behind."""
    fs = MemoryDisk()
    state: dict[str, bytes] = {}
    groups = [sorted(tree)[step::layers] for step in range(layers)]
    for step, group in enumerate(groups[:-1]):
        old = {key: b"# old\n" + tree[key] for key in groups[step + 1]}
        state |= {key: tree[key] for key in group} | old
        store(fs, state | {f"src/ghost_{step}.py": b"class Ghost:\n    def lease_token(self):\n        pass\n"})
    store(fs, tree)
    return fs


@contextmanager
def engine_of(tree: Tree, layers: int = 1) -> Iterator[LocalEngine]:
    with viewed(layered(tree, layers)) as view:
        yield LocalEngine(view)


# --- made up at random ------------------------------------------------------------------------------------------------

_VOCABULARY = (
    "lease token parser reader writer snapshot segment cache session request response header cookie router handler"
    " event loop queue worker pool retry timeout signal socket stream buffer encode decode schema field index query"
    " rank score weight filter scope path glob ignore watch lock file folder text line chunk vector model config test"
)
_WORDS = _VOCABULARY.split()


def _name(chance: random.Random) -> str:
    parts = chance.sample(_WORDS, chance.randint(1, 3))
    return "_".join(parts) if chance.random() < 0.6 else "".join(part.capitalize() for part in parts)


def _function(chance: random.Random, indent: str) -> str:
    body = " ".join(chance.choices(_WORDS, k=chance.randint(3, 12)))
    calls = "".join(f"{indent}    {_name(chance)}({chance.choice(_WORDS)})\n" for _ in range(chance.randint(0, 4)))
    return (
        f"{indent}def {_name(chance)}({chance.choice(_WORDS)}):\n{indent}    # {body}\n{calls}{indent}    return 1\n\n"
    )


def _definition(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return f"class {_name(chance)}:\n{_function(chance, '    ')}"
    return _function(chance, "")


def project(seed: int, files: int) -> dict[str, bytes]:
    """A project of Python files and some prose, the same for the same seed."""
    chance = random.Random(seed)
    tree: dict[str, bytes] = {}
    while len(tree) < files:
        folder = "/".join(chance.choices(["src", "tests", "docs", "vendor", *_WORDS[:12]], k=chance.randint(0, 3)))
        ending = ".md" if chance.random() < 0.1 else ".py"
        key = f"{folder}/{_name(chance)}{ending}".lstrip("/")
        if ending == ".md":
            text = "\n\n".join(" ".join(chance.choices(_WORDS, k=20)) for _ in range(chance.randint(1, 5)))
        else:
            text = "".join(
                f"class {_name(chance)}:\n{_function(chance, '    ')}"
                if chance.random() < 0.3
                else _function(chance, "")
                for _ in range(chance.randint(1, 25))
            )
        tree[key] = text.encode()
    return tree


def questions(seed: int, tree: Tree, count: int) -> list[str]:
    """Questions of every kind: words, names, qualified names, paths, phrases, and mixtures."""
    chance = random.Random(seed)
    paths = sorted(tree)
    kinds = (
        lambda: " ".join(chance.choices(_WORDS, k=chance.randint(1, 8))),
        lambda: _name(chance),
        lambda: f"{_name(chance)}.{_name(chance)}",
        lambda: f"{chance.choice(paths)} {chance.choice(_WORDS)}",
        lambda: f'"{chance.choice(_WORDS)} {chance.choice(_WORDS)}" {chance.choice(_WORDS)}',
        lambda: f"how does the {chance.choice(_WORDS)} {_name(chance)} fix a nowhereword",
        lambda: "nowhereword",
    )
    return [chance.choice(kinds)() for _ in range(count)]
