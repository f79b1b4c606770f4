r"""What is true? Everything that lasts is written here, and only through `Disk`.

This module is the door: nobody outside imports anything below it. Behind it are five rooms. `format` says what the
bytes of a segment, a manifest and the side files mean; `publish` takes the lease, stages batches and makes them the
newest snapshot or leaves everything as it was; `read` opens the newest snapshot that is whole, and nothing that is
published or collected later changes an open view; `tend` merges segments and takes away what nobody needs; `repair`
reads every byte again and mends what is damaged. The folder of a store is described byte by byte in `docs/FORMAT.md`.

    >>> import os, pathlib
    >>> import cairn
    >>> _ = pathlib.Path("ledger.py").write_text("def settle(account):\n    return account\n\nsettle(1)\n")
    >>> cairn.open(".").close()

    >>> from cairn.store.disk import Disk
    >>> from cairn.store.read.snapshot import open_view
    >>> home = os.environ["CAIRN_HOME"]
    >>> [store] = os.listdir(f"{home}/data")
    >>> with Disk.at(home, f"data/{store}") as disk, open_view(disk, store) as view:
    ...     view.manifest.generation, list(view.paths()), view.counts().files
    ...     bytes(view.text("ledger.py"))[:20]
    (1, ['ledger.py'], 1)
    b'def settle(account):'

What is heavy (numpy) is imported when a name that needs it is first used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.store.disk import Disk
    from cairn.store.format.manifest import Completion, decode_completion, encode_completion
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
    from cairn.store.read.live import LivePart, Outline, Passage, Reach, live_parts
    from cairn.store.read.snapshot import SnapshotView
    from cairn.store.registry import RunOutcome, Tracked
    from cairn.store.repair import RepairScope

__all__ = [
    "FIELDS",
    "SHARED",
    "ChunkRow",
    "Completion",
    "Disk",
    "FileWriter",
    "Fs",
    "LivePart",
    "Map",
    "Outline",
    "Passage",
    "Postings",
    "Reach",
    "RepairScope",
    "RunOutcome",
    "RunProgress",
    "SnapshotView",
    "Tracked",
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
    "cairn.store.format.manifest": ("Completion", "decode_completion", "encode_completion"),
    "cairn.store.format.postings": ("FIELDS", "Postings", "approximate", "quantize"),
    "cairn.store.format.rows": ("ChunkRow",),
    "cairn.store.format.side_files": ("RunProgress",),
    "cairn.store.fs": (
        *("SHARED", "FileWriter", "Fs", "Map"),
        *("database_of", "remove_file", "remove_tree", "store_trouble"),
    ),
    "cairn.store.read.live": ("LivePart", "Outline", "Passage", "Reach", "live_parts"),
    "cairn.store.read.snapshot": ("SnapshotView",),
    "cairn.store.registry": ("RunOutcome", "Tracked"),
    "cairn.store.repair": ("RepairScope",),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACE_OF[name]), name)
