"""How many requests of each kind there were, and how long the last of them took."""

from __future__ import annotations

import threading
from collections import deque

from cairn.answer.daemon import KindRow

_LAST = 512
_MOST_KINDS = 64
_OTHER = "other"


class Figures:
    """Counts by kind. Clients choose what they ask for, so the kinds are bounded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, kind: str, milliseconds: float, *, failed: bool) -> None:
        with self._lock:
            if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
                kind = _OTHER
            count, failures = self._counts.get(kind, (0, 0))
            self._counts[kind] = count + 1, failures + failed
            self._times.setdefault(kind, deque(maxlen=_LAST)).append(milliseconds)

    @property
    def total(self) -> int:
        with self._lock:
            return sum(count for count, _ in self._counts.values())

    def kinds(self) -> list[KindRow]:
        """All kinds in the order of their names."""
        with self._lock:
            found = [(kind, *self._counts[kind], sorted(self._times[kind])) for kind in sorted(self._counts)]
        return [
            KindRow(kind, count, failed, _quantile(times, 0.5), _quantile(times, 0.95))
            for kind, count, failed, times in found
        ]


def _quantile(ordered: list[float], part: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 3)
