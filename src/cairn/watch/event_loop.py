"""Wait for file events of many roots at once, and for a wake-up by another thread."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from typing import Generic, TypeVar

Who = TypeVar("Who")


class EventLoop(Generic[Who]):
    """One thread waits; any other may add a descriptor, or wake it, which is all where the system has no epoll."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._who: dict[int, Who] = {}
        self._epoll = select.epoll() if hasattr(select, "epoll") else None
        self._woken = threading.Event()
        self._wake = -1
        if self._epoll is not None:
            self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            self._epoll.register(self._wake, select.EPOLLIN)

    def listen(self, who: Who, descriptor: int) -> None:
        """Wait for this descriptor too. One that was closed meanwhile is waited for no more by itself."""
        with self._lock:
            if self._epoll is None or self._epoll.closed:
                return
            for known in [number for number, one in self._who.items() if one is who and number != descriptor]:
                del self._who[known]
            self._who[descriptor] = who
            with contextlib.suppress(FileExistsError):
                self._epoll.register(descriptor, select.EPOLLIN)

    def forget(self, who: Who) -> None:
        """Wait for nothing of this one; before its descriptor is closed."""
        with self._lock:
            for descriptor in [number for number, one in self._who.items() if one is who]:
                del self._who[descriptor]
                if self._epoll is not None:
                    with contextlib.suppress(OSError, ValueError):
                        self._epoll.unregister(descriptor)

    def wake(self) -> None:
        """Let the one who waits go on."""
        if self._epoll is None:
            self._woken.set()
            return
        with self._lock:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def wait(self, seconds: float) -> list[Who]:
        """Who has something to tell, after so long at most."""
        if self._epoll is None:
            self._woken.wait(seconds)
            self._woken.clear()
            return []
        ready = [descriptor for descriptor, _ in self._epoll.poll(seconds)]
        with self._lock:
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
            return [self._who[number] for number in ready if number in self._who]

    def close(self) -> None:
        """Let go of the descriptors, once nobody waits."""
        with self._lock:
            if self._epoll is not None and not self._epoll.closed:
                self._epoll.close()
                os.close(self._wake)
                self._wake = -1
