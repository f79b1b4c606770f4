"""The pending changes of one root, kept until a run takes them: changed names, or that anything may have changed."""

from __future__ import annotations

import threading

from cairn.core.clock import Clock, rfc3339
from cairn.core.limits import MAX_HINTED_FILES, WATCH_DEBOUNCE_MS
from cairn.errors import WatchFailed
from cairn.source.watch import Watch

# A tree that never is quiet is compared all the same, once in so long.
_LONGEST_WAIT_SECONDS = 1.0
# A run that failed is tried again after this time, which doubles up to a minute.
_FIRST_REST_SECONDS, _LONGEST_REST_SECONDS = 0.5, 60.0


class PendingChanges:
    """The events of one root. Several threads ask: who waits for events, who searches, and the run that ends.

    `watch` is None where nothing can be heard; `why` says then why, and everything is compared once in a while. That is
    often where others change the files `unheard`.
    """

    def __init__(self, root: str, clock: Clock) -> None:
        self.root = root
        self.watch: Watch | None = None
        self.why = ""
        self.unheard = False
        self.overflows = 0
        self.last_event_at: str | None = None
        self._clock = clock
        self._lock = threading.Lock()
        self._names: set[bytes] = set()
        self._everything = True
        self._first = self._last = clock.monotonic()
        self._failures = 0
        self._not_before = 0.0

    # --- listening ----------------------------------------------------------------------------------------------------

    def listen(self, watch: Watch) -> None:
        """Hear what this one tells from now on; everything is to be compared once."""
        with self._lock:
            self.watch, self.why, self.unheard = watch, "", False
            self._all()

    def hear(self) -> None:
        """Take in what has been told by now."""
        with self._lock:
            if self.watch is None:
                return
            try:
                hints = self.watch.take()
            except WatchFailed as problem:
                self._deaf(str(problem.fields["why"]))
                return
            if hints is None:
                return
            now = self._clock.monotonic()
            self._first = self._first if self.waits else now
            self._last = now
            self.last_event_at = rfc3339(self._clock.wall_ns())
            self.overflows += hints.overflow
            self._names |= hints.raws
            if hints.overflow or len(self._names) > MAX_HINTED_FILES:
                self._all()

    def add(self, names: frozenset[bytes]) -> None:
        """Let these names wait, of which no event has told."""
        with self._lock:
            if names and not self._everything:
                now = self._clock.monotonic()
                self._first = self._first if self.waits else now
                self._last = now
                self._names |= names

    def fail(self, why: str, *, unheard: bool = False) -> None:
        """Nothing can be heard, for this reason; `unheard`: others change the files."""
        with self._lock:
            self.unheard = unheard
            self._deaf(why)

    def cover(self, folders: frozenset[bytes]) -> None:
        """Listen to these folders, as a comparison of everything has found them."""
        with self._lock:
            if self.watch is None:
                return
            try:
                if self.watch.follow(folders):
                    # What happened in it before nobody has told.
                    self._all()
            except WatchFailed as problem:
                self._deaf(str(problem.fields["why"]))

    def close(self) -> None:
        """Listen no more; a second call does nothing."""
        with self._lock:
            if self.watch is not None:
                self.watch.close()
                self.watch = None

    def _deaf(self, why: str) -> None:
        if self.watch is not None:
            self.watch.close()
        self.watch, self.why = None, why
        self._all()

    def _all(self) -> None:
        self._names.clear()
        self._everything = True

    # --- what waits ---------------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """Whether something has changed that no run has taken."""
        return self._everything or bool(self._names)

    @property
    def pending(self) -> int:
        """How many names wait to be compared."""
        return len(self._names)

    def due(self) -> float | None:
        """When what waits is to be compared: once the tree is quiet for a moment. None when nothing waits."""
        with self._lock:
            if not self.waits:
                return None
            quiet = min(self._last + WATCH_DEBOUNCE_MS / 1000, self._first + _LONGEST_WAIT_SECONDS)
            return max(quiet, self._not_before)

    def want_all(self) -> None:
        """Everything is to be compared, whatever was told."""
        with self._lock:
            self._all()

    def wait(self, seconds: float) -> None:
        """Not now."""
        with self._lock:
            self._not_before = self._clock.monotonic() + seconds

    def take(self) -> frozenset[bytes] | None:
        """What waits, which the caller now compares: these names, or None for everything."""
        with self._lock:
            taken = None if self._everything else frozenset(self._names)
            self._names.clear()
            self._everything = False
            return taken

    def put_back(self, hinted: frozenset[bytes] | None) -> None:
        """It was not compared: it waits again, a little longer each time."""
        with self._lock:
            if hinted is None:
                self._all()
            elif not self._everything:
                self._names |= hinted
            rest = min(_FIRST_REST_SECONDS * 2**self._failures, _LONGEST_REST_SECONDS)
            self._failures = min(self._failures + 1, 16)
            self._not_before = self._clock.monotonic() + rest

    def done(self) -> None:
        """What was taken is compared."""
        with self._lock:
            self._failures, self._not_before = 0, 0.0
