"""Run a catch-up over named files: the steps of a whole run, each for these files only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cairn.core.types import ChangeSet
from cairn.source.changes import NO_HINTS, detect
from cairn.source.fresh import Dirt, find_dirt_among
from cairn.source.git import Git
from cairn.source.linked import Linked, linked_files
from cairn.source.listing import ListingRecorder
from cairn.store import GitState, Manifest
from cairn.sync.catchup import CatchUp, Look, Outcome, head_of, wall_ns
from cairn.sync.scope import OutOfScope, Scope


@dataclass(kw_only=True)
class ScopedCatchUp(CatchUp):
    """A `CatchUp` of the files in its scope; after `OutOfScope`, a whole run adopts the batches it has sealed."""

    scope: Scope
    looked: bool = False
    looked_at_ns: int = 0

    def _start(self) -> tuple[Manifest | None, int]:
        base, view = self.writer.base, self.writer.view
        if base is None or view is None or base.snapshot_id != self.scope.seen.snapshot_id or self.writer.adopted:
            raise OutOfScope
        self.known = {key: record for key in self.scope.keys if (record := view.file(key)) is not None}
        self.scope.before = dict(self.known)
        counts = view.counts()
        self.rest_files = counts.files + counts.skip_records - len(self.known)
        self.rest_skipped = self.scope.rest()
        return base, 0

    def _look(self) -> Look:
        """Look at the named files; everything else, and the time it is trusted from, is as the base says.

        The first look takes the commit from the base, too: it is read again right before the claim, and once is enough.
        """
        base = self.writer.base
        assert base is not None, "seen when it began"
        git = Git(self.task.codebase.root, clock=self.clock)
        head = base.git.head_sha
        if self.looked:
            self._require_same_commit(git, base)
        self.looked = True
        self.looked_at_ns = self.clock.wall_ns()
        walked = self.scope.walk(self.tree, self.task.codebase.config)
        dirt = self._dirt(git) if head is not None else False
        state = GitState(head, bool(dirt), base.git.untracked_included)
        began_ns = wall_ns(base.created_at)
        return Look(walked, ListingRecorder(), began_ns, state, base.ignore_fingerprint, (), dirt)

    def _require_same_commit(self, git: Git, base: Manifest) -> None:
        if head_of(git)[0] != base.git.head_sha:
            raise OutOfScope

    def _is_current(self, base: Manifest, look: Look) -> bool:
        current = super()._is_current(base, look)
        if current:
            # Nothing will be published, so no check before a claim reads the commit.
            self._require_same_commit(Git(self.task.codebase.root, clock=self.clock), base)
        return current

    def _dirt(self, git: Git) -> Dirt:
        before = self.scope.seen.dirt
        dirt = find_dirt_among(git, self.tree, self.scope.hinted | ({before} if isinstance(before, bytes) else set()))
        if before and not dirt:
            # The file that made the tree dirty does so no more; only a look at all files tells whether another one
            # does.
            raise OutOfScope
        return dirt

    def _compare(self, look: Look, base: Manifest | None, *, first: bool) -> ChangeSet:
        changes = detect(look.walked, self.known, self._reader(), synced_at_ns=None, hints=NO_HINTS)
        if self._meets_a_new_link(look):
            # Which other file of the tree it is, only a look at all of them tells.
            raise OutOfScope
        keeps_names = not (changes.add or changes.delete or changes.rename or changes.skips)
        if self.scope.seen.has_links and not (keeps_names and self.scope.is_same_set(look.walked)):
            # A link may lead to one of the names that came, went or changed its reason.
            raise OutOfScope
        return changes

    def _require_all(self) -> None:
        if self.passing_skips:
            raise OutOfScope
        super()._require_all()

    def _remember(self, snapshot: str, look: Look) -> None:
        self.scope.settle(snapshot, look.walked, self.known.values(), look.dirt)
        if self.task.seen is not None:
            others = {raw: stat for raw, stat in self._linked.items() if raw not in self.scope.hinted}
            self.task.seen.linked = {**others, **linked_files(look.walked, self.looked_at_ns)}

    def _meets_a_new_link(self, look: Look) -> bool:
        """Whether a file that had one name has several now."""
        return not self._linked.keys() >= set(look.walked.linked)

    @property
    def _linked(self) -> Linked:
        seen = self.task.seen
        return (seen.linked if seen is not None else None) or {}

    def _outcome(self, manifest: Manifest | None, look: Look, adopted: int) -> Outcome:
        # The bytes of the other files were not counted.
        return replace(super()._outcome(manifest, look, adopted), source_bytes=0)
