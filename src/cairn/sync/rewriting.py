"""Segments that a run writes again in the same publish: to forget a text at once, or to make room.

A file that somebody tells us to leave out (an ignore rule, a setting, a name that is now held to be sensitive) must not
go on lying in an old segment under a tombstone: the segments that hold any copy of it are written again without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cairn.core.limits import MAX_SEGMENTS_PER_SNAPSHOT
from cairn.core.types import Skip, SkipReason
from cairn.source.root import path_key
from cairn.store.compact import holders, rewrite
from cairn.store.draft import Rewrite
from cairn.store.tiers import loads_of, plan
from cairn.store.writer import Writer

_TOLD = frozenset(
    {
        SkipReason.IGNORED,
        SkipReason.EXCLUDED,
        SkipReason.UNTRACKED,
        SkipReason.SENSITIVE_NAME,
    }
)


def told_to_leave_out(gone: Iterable[str], skips: Iterable[Skip]) -> frozenset[str]:
    """Of the files that leave the index, those that a rule leaves out, by their own name or that of a folder."""
    rules = {path_key(skip.raw) for skip in skips if skip.reason in _TOLD}
    return frozenset(key for key in gone if not rules.isdisjoint(_and_above(key)))


def _and_above(key: str) -> Iterable[str]:
    parts = key.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


@dataclass(slots=True)
class Rewriter:
    """What one run writes again. The same wish is fulfilled once, however often its publish is tried."""

    writer: Writer
    forgotten: frozenset[str] = frozenset()
    _done: dict[tuple[frozenset[str], bool], tuple[Rewrite, ...]] = field(default_factory=dict)

    def forget(self, keys: frozenset[str]) -> None:
        """Leave no copy of the text of these files in any segment."""
        self.forgotten |= keys

    def rewrites(self, new_batches: int) -> tuple[Rewrite, ...]:
        """What replaces segments of the base, when that many batches come on top."""
        view = self.writer.view
        if view is None:
            return ()
        crowded = len(view.manifest.segments) + new_batches > MAX_SEGMENTS_PER_SNAPSHOT
        if not crowded and not self.forgotten:
            return ()
        wish = (self.forgotten, crowded)
        if wish not in self._done:
            wanted = holders(view, self.forgotten)
            groups = plan(loads_of(view), everything=crowded, also=wanted) if crowded or wanted else []
            self._done[wish] = rewrite(self.writer, groups, self.forgotten)
        return self._done[wish]
