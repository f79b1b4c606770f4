"""Keep what the tree looked like at the last sync, as a side file that proves that nothing has changed since.

The tree memory holds the listing of the tree and the few things outside the tree that a walk depends on. It counts only
together with the snapshot it was written for. Without it, or when it is damaged, a sync walks the whole tree.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cairn.core.clock import Clock
from cairn.core.config import Config
from cairn.core.fingerprint import Canonical, canonical_json, membership
from cairn.core.limits import MAX_TREE_BYTES
from cairn.core.types import Skip, SkipReason
from cairn.errors import GitFailed
from cairn.source.beneath import Tree
from cairn.source.git import Git
from cairn.source.listing import TreeListing, decode_listing, encode_listing, unchanged
from cairn.store import Fs, Manifest, Store
from cairn.sync.codebase import Codebase

_DIGEST_BYTES = 32
_HAS_TARGET = frozenset({SkipReason.ALIAS, SkipReason.LINK_TARGET_SKIPPED})
# Of what the reasons mean for which names are left out: what was counted by other ones is counted anew.
_REASONS_VERSION = 2
_OF_LINKS = _HAS_TARGET | {SkipReason.OUTSIDE_ROOT, SkipReason.SYMLINK_LOOP, SkipReason.BROKEN_LINK}


@dataclass(frozen=True, slots=True)
class TreeMemory:
    """A listing, the snapshot that mirrors it, when its walk began, git's head then, and the rules outside the tree.

    `links` maps the raw path of each link, in hex, to where it leads: that may change in a folder that is not listed.
    """

    snapshot_id: str
    synced_at_ns: int
    head: str | None
    rules: str
    links: dict[str, str]
    listing: TreeListing


def rules_of(config: Config) -> str:
    """Return the settings that decide about membership, or refuse a tree, and may come from outside of it."""
    fixed: dict[str, Canonical] = {"collisions": config.index.collisions, "reasons": _REASONS_VERSION}
    return canonical_json(fixed | membership(config))


def links_of(skips: Iterable[Skip]) -> dict[str, str]:
    """Return where the links of a walk lead, as a `TreeMemory` keeps it: the reason, or the target in hex."""
    return {
        skip.raw.hex(): os.fsencode(skip.detail).hex() if skip.reason in _HAS_TARGET else skip.reason.value
        for skip in skips
        if skip.reason in _OF_LINKS
    }


def _leads(tree: Tree, raw: bytes) -> str:
    found = tree.resolve_link(raw)
    return found.reason.value if found.reason is not None else (found.target or b"").hex()


def load_memory(fs: Fs) -> TreeMemory | None:
    """Return the tree memory; None when there is none that can be believed."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        data = Store(fs).notes.tree()
        digest, rest = data[:_DIGEST_BYTES], memoryview(data)[_DIGEST_BYTES:]
        if sha256(rest).digest() == digest:
            head, _, listing = bytes(rest).partition(b"\n")
            fields = json.loads(head)
            decoded = decode_listing(listing)
            if decoded is not None:
                return TreeMemory(listing=decoded, **fields)
    return None


def save_memory(fs: Fs, run: str, memory: TreeMemory) -> None:
    """Write the tree memory; when the disk does not take it, the next sync walks the tree."""
    fields: dict[str, Any] = {
        "snapshot_id": memory.snapshot_id,
        "synced_at_ns": memory.synced_at_ns,
        "head": memory.head,
        "rules": memory.rules,
        "links": memory.links,
    }
    rest = canonical_json(fields).encode() + b"\n" + encode_listing(memory.listing)
    if len(rest) + _DIGEST_BYTES <= MAX_TREE_BYTES:
        Store(fs).notes.keep_tree(run, sha256(rest).digest() + rest)


def is_unchanged(
    codebase: Codebase,
    manifest: Manifest,
    memory: TreeMemory | None,
    clock: Clock,
    tick: Callable[[], None] = lambda: None,
) -> bool:
    """Whether the tree is still the one that this snapshot mirrors. Reads names and stat tuples, no file.

    `tick` is called now and then, and may raise.
    """
    if memory is None or memory.snapshot_id != manifest.snapshot_id or memory.rules != rules_of(codebase.config):
        return False
    # A degraded snapshot must try its failed files again; which files git tracks is not part of a listing.
    if manifest.degraded or codebase.tracked is not None:
        return False
    try:
        if Git(codebase.root, clock=clock).head() != memory.head:
            return False
    except GitFailed:
        return False
    with Tree(codebase.root) as tree:
        if not unchanged(tree, memory.listing, synced_at_ns=memory.synced_at_ns, tick=tick):
            return False
        return all(_leads(tree, bytes.fromhex(raw)) == target for raw, target in memory.links.items())
