"""A sync that looks at named files only, because somebody has watched the rest since the last whole comparison.

It claims nothing more: its snapshot is as old as that comparison, so that the next whole one distrusts the same time
stamps, and what it says of all other files is what that one has found. Wherever a name alone cannot be judged (a folder
that came or went, a rule, a link, another commit, another writer), `OutOfScope` asks for the whole comparison.
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
from cairn.source.root import path_key
from cairn.source.walk import RULE_FILES, walk_some

Hinted = frozenset[bytes]
Skipped = Counter[SkipReason]


class OutOfScope(Exception):
    """What was named cannot be judged by itself: everything is to be compared."""


@dataclass(slots=True)
class SeenTree:
    """What a whole comparison saw, and what was looked at since. `skips` are names that no record tells of.

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
    """Who serves a codebase keeps this between its runs; empty until one of them has compared everything.

    It is worth something only to a caller that names every file which has changed since.
    """

    tree: SeenTree | None = None

    def keep_if(self, began_ns: int) -> None:
        """Another comparison of everything found nothing: only if it was ours is all else as we know it."""
        if self.tree is not None and self.tree.began_ns != began_ns:
            self.tree = None

    def follow(self, before: str, after: str) -> None:
        """The same files are in another snapshot now, because segments were merged."""
        if self.tree is not None and self.tree.snapshot_id == before:
            self.tree.snapshot_id = after


def seen_tree(
    snapshot_id: str, began_ns: int, config: Config, walked: WalkResult, known: Iterable[StoredFile], dirt: Dirt
) -> SeenTree:
    """What is to be kept of a whole comparison."""
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
    """The named files of one run, with what is known of all others."""

    seen: SeenTree
    hinted: Hinted
    before: dict[str, StoredFile] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The names under which the files may be recorded."""
        found = []
        for raw in self.hinted:
            try:
                found.append(path_key(raw))
            except BadPathKey:
                # Such a name is never indexed.
                continue
        return found

    def walk(self, tree: Tree, config: Config) -> WalkResult:
        """What a walk would find of the named files, and nothing else."""
        if config != self.seen.config or len(self.hinted) > MAX_HINTED_FILES:
            raise OutOfScope
        if any(raw.rpartition(b"/")[2] in RULE_FILES or raw in self.seen.folders for raw in self.hinted):
            raise OutOfScope
        found = walk_some(tree, config, self.hinted)
        if found is None or not self._is_same_frame(found):
            raise OutOfScope
        # A folder that was left out before, and what is in it, is left out for the same reason now.
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
        """How many names besides these are left out, by reason."""
        found = self.seen.skipped + self.seen.records
        found.subtract(self.seen.skips[raw] for raw in self.hinted if raw in self.seen.skips)
        found.subtract(_left_out(self.before.values()))
        return +found

    def settle(self, snapshot_id: str, walked: WalkResult, known: Iterable[StoredFile], dirt: Dirt) -> None:
        """From now on this is what is known of the named files."""
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
