"""One clock for every test: time passes when the test says so, when somebody sleeps, or with every look at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Self

from cairn.core.clock import SYSTEM_CLOCK, Clock

# An autumn day of 2026, later than every file of a fixture and earlier than every date that a test moves to.
START_NS = 1_790_000_000_000_000_000


class ManualClock:
    """A `cairn.core.clock.Clock` whose four hands the test moves: wall, monotonic, boot and CPU time.

    The hands stand still until something moves them:

    - `advance` moves wall, monotonic and boot time together, as time that passes does; `move` moves each hand by
      itself, `set_wall_ns` puts the wall clock to a date, as a person or a time server does.
    - `sleep` returns at once and advances the clock by as much. `slept` lists what was asked for, and `on_sleep` is
      called then, so that a test can let something happen meanwhile. With `passes=False` the hands stay.
    - `step` seconds pass with every look at wall, monotonic or boot time, `cpu_step` seconds of CPU with every look at
      CPU time. `reads` counts the looks at each hand by its name, and `on_read` is called by each of them.

    Two clocks with the same `origin` count as the monotonic clock of one boot; without one nobody can tell.
    A clock that `over_system` made adds its hands to those of the machine, so that real time passes besides.
    """

    def __init__(
        self,
        wall_ns: int = START_NS,
        *,
        monotonic: float = 0.0,
        boottime: float = 0.0,
        cpu: float = 0.0,
        step: float = 0.0,
        cpu_step: float = 0.0,
        passes: bool = True,
        on_sleep: Callable[[], object] | None = None,
        on_read: Callable[[], object] | None = None,
        beneath: Clock | None = None,
        origin: str = "a manual clock",
    ) -> None:
        self._wall_ns, self._monotonic, self._boottime, self._cpu = wall_ns, monotonic, boottime, cpu
        self._beneath, self._origin = beneath, origin
        self.step, self.cpu_step, self.passes = step, cpu_step, passes
        self.on_sleep, self.on_read = on_sleep, on_read
        self.slept: list[float] = []
        self.reads: Counter[str] = Counter()

    @classmethod
    def over_system(
        cls,
        ahead: float = 0.0,
        *,
        passes: bool = True,
        on_sleep: Callable[[], object] | None = None,
        on_read: Callable[[], object] | None = None,
    ) -> Self:
        """Return a clock that runs with the machine's clocks, so many seconds ahead of them; it never really sleeps."""
        made = cls(0, passes=passes, on_sleep=on_sleep, on_read=on_read, beneath=SYSTEM_CLOCK, origin="")
        made.advance(ahead)
        return made

    # --- what a test does ---------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass. They cost no CPU time."""
        self.move(wall=seconds, monotonic=seconds, boottime=seconds)

    def move(self, *, wall: float = 0.0, monotonic: float = 0.0, boottime: float = 0.0, cpu: float = 0.0) -> None:
        """Move each hand by its own number of seconds, for clocks that disagree.

        A suspended machine moves its wall and boot time, a time server only the wall time, work the CPU time.
        """
        self._wall_ns += round(wall * 1e9)
        self._monotonic += monotonic
        self._boottime += boottime
        self._cpu += cpu

    def set_wall_ns(self, wall_ns: int) -> None:
        """Put the wall clock to this time; the other hands stay where they are."""
        self._wall_ns = wall_ns - (self._beneath.wall_ns() if self._beneath else 0)

    # --- what the code under test does --------------------------------------------------------------------------------

    def wall_ns(self) -> int:
        self._looked("wall")
        return self._wall_ns + (self._beneath.wall_ns() if self._beneath else 0)

    def monotonic(self) -> float:
        self._looked("monotonic")
        return self._monotonic + (self._beneath.monotonic() if self._beneath else 0.0)

    def boottime(self) -> float:
        self._looked("boottime")
        return self._boottime + (self._beneath.boottime() if self._beneath else 0.0)

    def cpu(self) -> float:
        self._looked("cpu")
        return self._cpu + (self._beneath.cpu() if self._beneath else 0.0)

    def origin(self) -> str:
        return self._origin

    def sleep(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("nobody can sleep for less than no time")
        self.slept.append(seconds)
        if self.passes:
            self.advance(seconds)
        if self.on_sleep is not None:
            self.on_sleep()

    def _looked(self, hand: str) -> None:
        self.reads[hand] += 1
        if hand == "cpu":
            self.move(cpu=self.cpu_step)
        else:
            self.advance(self.step)
        if self.on_read is not None:
            self.on_read()
