"""Confine a sync to named files, because the rest has been watched since the last whole comparison.

A scoped sync claims nothing more: its snapshot is dated as that comparison, so that the next whole one distrusts the
same time stamps, and what the snapshot says of all other files is what that comparison found. `OutOfScope` asks for a
whole comparison wherever a name alone cannot be judged: a folder that came or went, a rule, a link, another commit,
another writer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cairn.core.config import Config
from cairn.core.limits import MAX_HINTED_FILES
from cairn.core.types import SkipReason, StoredFile, WalkResult
from cairn.errors import BadPathKey
from cairn.source.beneath import Tree
from cairn.source.fresh import Dirt
from cairn.source.linked import Linked
from cairn.source.root import path_key
from cairn.source.walk import RULE_FILES, walk_some

Hinted = frozenset[bytes]
Skipped = Counter[SkipReason]


class OutOfScope(Exception):
    """The named files cannot be judged by themselves: everything must be compared."""


@dataclass(slots=True)
class SeenTree:
    """What the last whole comparison saw, updated by scoped syncs since. `skips` are names without a record.

    `records` counts the files that were read and left out; `dirt` says why the work tree differs from its commit.
    """

    snapshot_id: str
    began_ns: int
    config: Config
    ignore_files: Mapping[str, bytes]
    folders: frozenset[bytes]
    skips: dict[bytes, SkipReason]
    skipped: Skipped
    records: Skipped
    has_links: bool
    dirt: Dirt


@dataclass(slots=True)
class Seen:
    """What a server keeps of a codebase between runs; empty until a run has compared everything.

    `tree` may be used only by a caller that names every file that has changed since. `linked` are the files that may
    change without an event; None until a walk has looked for them. `folders` are those that the last whole comparison
    entered, whatever became of it: events must be heard in all of them.
    """

    tree: SeenTree | None = None
    linked: Linked | None = None
    folders: frozenset[bytes] | None = None

    def keep_if(self, began_ns: int) -> None:
        """Drop what was seen, unless it comes from the comparison that began at this time."""
        if self.tree is not None and self.tree.began_ns != began_ns:
            self.tree = None

    def follow(self, before: str, after: str) -> None:
        """Adopt the id of the snapshot that a merge of segments has made of the same files."""
        if self.tree is not None and self.tree.snapshot_id == before:
            self.tree.snapshot_id = after


def seen_tree(
    snapshot_id: str, began_ns: int, config: Config, walked: WalkResult, known: Iterable[StoredFile], dirt: Dirt
) -> SeenTree:
    """Return what a server keeps of a whole comparison."""
    skips = {skip.raw: skip.reason for skip in walked.skips}
    return SeenTree(
        snapshot_id,
        began_ns,
        config,
        {file.key: file.data for file in walked.ignore_files},
        frozenset(walked.folders),
        skips,
        Counter(skips.values()),
        _left_out(known),
        has_links=walked.links > 0,
        dirt=dirt,
    )


@dataclass(slots=True)
class Scope:
    """The named files of one scoped sync, with what is known of all others."""

    seen: SeenTree
    hinted: Hinted
    before: dict[str, StoredFile] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The keys under which the named files may be recorded."""
        found = []
        for raw in self.hinted:
            try:
                found.append(path_key(raw))
            except BadPathKey:
                # A name without a valid key is never indexed.
                continue
        return found

    def walk(self, tree: Tree, config: Config) -> WalkResult:
        """Return what a walk would find of the named files; raises `OutOfScope` when they cannot be judged alone."""
        if config != self.seen.config or len(self.hinted) > MAX_HINTED_FILES:
            raise OutOfScope
        if any(raw.rpartition(b"/")[2] in RULE_FILES or raw in self.seen.folders for raw in self.hinted):
            raise OutOfScope
        found = walk_some(tree, config, self.hinted)
        if found is None or not self._is_same_frame(found):
            raise OutOfScope
        # A folder on the way that was left out before is left out for the same reason now: it is no news.
        return replace(found, skips=tuple(skip for skip in found.skips if skip.raw in self.hinted))

    def _is_same_frame(self, found: WalkResult) -> bool:
        """Whether the folders on the way, and the rules in them, are those of the whole comparison."""
        folders = set(found.folders)
        if not folders <= self.seen.folders or not folders.isdisjoint(self.hinted):
            return False
        if any(_above(raw) in self.seen.folders and _above(raw) not in folders for raw in self.hinted):
            return False
        if any(skip.raw not in self.hinted and skip.raw not in self.seen.skips for skip in found.skips):
            return False
        rules = {file.key: file.data for file in found.ignore_files}
        on_the_way = {_key_below(raw, name) for raw in folders for name in RULE_FILES}
        return rules == {key: self.seen.ignore_files[key] for key in on_the_way if key in self.seen.ignore_files}

    def is_same_set(self, walked: WalkResult) -> bool:
        """Whether the same names are left out for the same reasons: what links lead to depends on that."""
        return {skip.raw: skip.reason for skip in walked.skips} == {
            raw: self.seen.skips[raw] for raw in self.hinted if raw in self.seen.skips
        }

    def rest(self) -> Skipped:
        """Return how many names other than these are left out, by reason."""
        found = self.seen.skipped + self.seen.records
        found.subtract(self.seen.skips[raw] for raw in self.hinted if raw in self.seen.skips)
        found.subtract(_left_out(self.before.values()))
        return +found

    def settle(self, snapshot_id: str, walked: WalkResult, known: Iterable[StoredFile], dirt: Dirt) -> None:
        """Update what was seen with the result for the named files."""
        seen = self.seen
        old = [seen.skips.pop(raw) for raw in self.hinted if raw in seen.skips]
        seen.skips.update((skip.raw, skip.reason) for skip in walked.skips)
        seen.skipped.subtract(old)
        seen.skipped.update(skip.reason for skip in walked.skips)
        seen.records.subtract(_left_out(self.before.values()))
        seen.records.update(_left_out(known))
        seen.snapshot_id, seen.dirt = snapshot_id, dirt


def _left_out(records: Iterable[StoredFile]) -> Skipped:
    return Counter(record.skip for record in records if record.skip is not None)


def _above(raw: bytes) -> bytes:
    return raw.rpartition(b"/")[0]


def _key_below(raw: bytes, name: bytes) -> str:
    return path_key(raw + b"/" + name if raw else name)
