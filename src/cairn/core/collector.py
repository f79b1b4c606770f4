"""A pause for Python's cycle collector, where hundreds of thousands of values are made and none is part of a cycle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# So many objects that were put aside unseen are worth a search of all: cycles among them are found by nothing else.
_MOST_POSTPONED = 500_000
_postponed = 0


@contextmanager
def no_cycle_collection() -> Iterator[None]:
    """Inside, nothing is searched for cycles; reference counts free everything as always.

    A walk makes two tuples for every file and an extraction three objects for every match; looking for cycles among
    them would cost a seventh of the time.
    """
    global _postponed  # noqa: PLW0603 - the collector is one for the whole process, too
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # Both together put everything among the old objects, without a look at it. Left among the young ones,
                # it would all be searched at the next allocation, and the pause would have saved little.
                _postponed += gc.get_count()[0]
                gc.freeze()
                gc.unfreeze()
            gc.enable()
            if _postponed > _MOST_POSTPONED:
                _postponed = 0
                gc.collect()
