"""What is damaged in a store, and how is it mended? `verify` reads every byte, `salvage` plans and mends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from cairn.store.publish.lease import LEASE


class RepairScope(StrEnum):
    """How much a repair has to do: nothing, tidy the store, read some files again, or read all of them."""

    NONE = "none"
    TIDY = "tidy"
    FILES = "files"
    FULL = "full"

    @property
    def catches_up(self) -> bool:
        """Whether files are read again."""
        return self in (RepairScope.FILES, RepairScope.FULL)

    @property
    def is_full(self) -> bool:
        """Whether all files are read again."""
        return self is RepairScope.FULL

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to do."""
        return self is RepairScope.NONE


@dataclass(frozen=True, slots=True)
class RepairAction:
    """One step of a repair: its kind (a stable word), the path below the store, and why."""

    kind: str
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a repair would do. `base` is the snapshot it builds on, `files` how many files it expects to read."""

    scope: RepairScope
    actions: tuple[RepairAction, ...] = ()
    files: int = 0
    base: str | None = None

    def taking_over(self, why: str) -> RepairPlan:
        """Return the same plan for a store whose lease is first taken from a run without a heartbeat."""
        scope = RepairScope.TIDY if self.scope.is_nothing else self.scope
        return replace(self, scope=scope, actions=(RepairAction("take_over", LEASE, why), *self.actions))
