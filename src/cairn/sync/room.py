"""Free space on a disk without a byte left, and keep the promise that what is said of an index that answers is true.

A command that frees space needs a few pages for its lease and for what it publishes. They are kept for it: a reserve in
the folder of all stores, and what a store remembers to save time, which the next run makes again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from cairn.errors import CairnError, StoreError, StoreFull, StoreUnreadable
from cairn.errors.stores import nothing_answers, promises_an_answer
from cairn.store import Home, Store
from cairn.sync.codebase import StorePlace

Done = TypeVar("Done")


def freeing(home: str, work: Callable[[], Done], place: StorePlace | None = None) -> Done:
    """Do what frees space; where there is no room for that itself, give up first what was kept for it."""
    try:
        return work()
    except StoreFull:
        gave_up = Home(home).reserve.give_up()
        if not (_forget(place) or gave_up):
            raise
    try:
        return work()
    finally:
        Home(home).reserve.keep(again=gave_up)


def _forget(place: StorePlace | None) -> bool:
    """Remove what the store remembers to save time; whether there was any of it."""
    with contextlib.suppress(OSError, StoreError):
        disk = None if place is None else place.disk()
        if disk is not None:
            with disk:
                return Store(disk).notes.forget()
    return False


@contextlib.contextmanager
def truthful(place: StorePlace) -> Iterator[None]:
    """Take back from errors raised inside that the last good snapshot still answers, where there is none that does."""
    try:
        yield
    except CairnError as problem:
        if promises_an_answer(problem) and not _answers(place):
            nothing_answers(problem)
        raise


def _answers(place: StorePlace) -> bool:
    from cairn.sync.proof import examine  # noqa: PLC0415 - only when something has gone wrong

    with contextlib.suppress(OSError, StoreError, StoreUnreadable):
        disk = place.disk()
        if disk is None:
            return False
        with disk:
            found = examine(disk, place)
            if found.view is not None:
                found.view.close()
                return True
    return False
