r"""What is true? The store holds everything that lasts, and every write to a store goes through `Disk`.

This module is the door: other packages import from here, and from nothing below. A `Store` is one open store. It gives
its `newest` manifest, a `view` of a snapshot, a `Writer` that holds the lease, and it can `publish`, `check` and do its
`upkeep`. A `Home` is the folder that holds all stores of a user or of a group. Behind the door are five rooms:

- `format` says what the bytes of segments, manifests and side files mean;
- `publish` takes the lease, stages batches and makes them the newest snapshot, or leaves the store as it was;
- `read` opens the newest snapshot that is whole; what is published or collected later does not change an open view;
- `tend` merges segments, collects old snapshots and rewrites old formats;
- `repair` reads every byte again and mends what is damaged.

`docs/FORMAT.md` describes the folder of a store byte by byte.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.store import Home, Store
    >>> home = os.environ["CAIRN_HOME"]
    >>> [name] = os.listdir(f"{home}/data")
    >>> with Home(home).open_store(f"data/{name}") as disk, Store(disk).view() as view:
    ...     view.manifest.generation, list(view.paths()), view.counts().files
    ...     bytes(view.text("ledger.py"))[:20]
    (1, ['ledger.py'], 1)
    b'def settle(account):'

Modules that need numpy are imported when one of their names is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.store.disk import Disk
    from cairn.store.door import Home, Store, WriterInfo
    from cairn.store.format.manifest import Completion, GitState, Manifest, decode_completion, encode_completion
    from cairn.store.format.postings import FIELDS, Postings, approximate, quantize
    from cairn.store.format.rows import ChunkRow
    from cairn.store.format.side_files import RunProgress
    from cairn.store.fs import (
        SHARED,
        FileWriter,
        Fs,
        Map,
        database_of,
        remove_file,
        remove_tree,
        store_trouble,
    )
    from cairn.store.publish.lease import RunKind
    from cairn.store.publish.staging import Draft
    from cairn.store.publish.writer import Writer
    from cairn.store.read.live import LivePart, NamedUses, Outline, Passage, Reach, live_parts
    from cairn.store.read.snapshot import SnapshotView
    from cairn.store.registry import Registry, RunOutcome, Tracked
    from cairn.store.repair import RepairPlan, RepairScope

__all__ = [
    "FIELDS",
    "SHARED",
    "ChunkRow",
    "Completion",
    "Disk",
    "Draft",
    "FileWriter",
    "Fs",
    "GitState",
    "Home",
    "LivePart",
    "Manifest",
    "Map",
    "NamedUses",
    "Outline",
    "Passage",
    "Postings",
    "Reach",
    "Registry",
    "RepairPlan",
    "RepairScope",
    "RunKind",
    "RunOutcome",
    "RunProgress",
    "SnapshotView",
    "Store",
    "Tracked",
    "Writer",
    "WriterInfo",
    "approximate",
    "database_of",
    "decode_completion",
    "encode_completion",
    "live_parts",
    "quantize",
    "remove_file",
    "remove_tree",
    "store_trouble",
]

_PLACES = {
    "cairn.store.disk": ("Disk",),
    "cairn.store.door": ("Home", "Store", "WriterInfo"),
    "cairn.store.format.manifest": ("Completion", "GitState", "Manifest", "decode_completion", "encode_completion"),
    "cairn.store.format.postings": ("FIELDS", "Postings", "approximate", "quantize"),
    "cairn.store.format.rows": ("ChunkRow",),
    "cairn.store.format.side_files": ("RunProgress",),
    "cairn.store.fs": (
        *("SHARED", "FileWriter", "Fs", "Map"),
        *("database_of", "remove_file", "remove_tree", "store_trouble"),
    ),
    "cairn.store.publish.lease": ("RunKind",),
    "cairn.store.publish.staging": ("Draft",),
    "cairn.store.publish.writer": ("Writer",),
    "cairn.store.read.live": ("LivePart", "NamedUses", "Outline", "Passage", "Reach", "live_parts"),
    "cairn.store.read.snapshot": ("SnapshotView",),
    "cairn.store.registry": ("Registry", "RunOutcome", "Tracked"),
    "cairn.store.repair": ("RepairPlan", "RepairScope"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACE_OF[name]), name)
