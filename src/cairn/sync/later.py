"""`--read-only`: read a store of a later format as far as this version knows it, because somebody asked for that.

Nothing is written meanwhile: no lease, no catching up, not even when the store was last used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cairn.store.versions import reading_newer

Met = Mapping[str, int]


@contextmanager
def reading(read_only: bool) -> Iterator[Met]:
    """What is read inside may be of a later format if that was asked for; gives the later versions that were met."""
    if not read_only:
        yield {}
        return
    with reading_newer() as met:
        yield met


def later_warnings(met: Met) -> list[str]:
    """What an answer says that came out of a later format; nothing when it did not."""
    if not met:
        return []
    listed = ", ".join(f"{name} {version}" for name, version in sorted(met.items()))
    return [f"The index has a later format ({listed}); what this version of Cairn does not know of it is left out."]
