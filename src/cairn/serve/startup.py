"""How a server begins: it catches up with what it slept through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cairn.clock import SYSTEM_CLOCK, Clock
from cairn.serve.desk import Desk
from cairn.serve.guard import Allowed
from cairn.serve.runs import Run
from cairn.serve.watching import Watching
from cairn.sync.report import Gap


class WatchedDesk(Desk):
    """A desk whose codebases are watched: those that are named at once, others from the first question on."""

    def __init__(
        self,
        environ: Mapping[str, str],
        allowed: Allowed,
        clock: Clock = SYSTEM_CLOCK,
        *,
        roots: Sequence[str] = (),
        create: bool = False,
        told: Callable[[Run], None] = lambda _: None,
        found: Callable[[str, Gap], None] = lambda _, __: None,
    ) -> None:
        super().__init__(environ, allowed, clock)
        self.watching = Watching(self, clock, told=told, found=found)
        self.used = self.watching.add
        for root in roots:
            self.watching.add(root, create=create)

    def close(self) -> None:
        """Watch no more, stop the runs and close what is open."""
        self.watching.close()
        super().close()
