"""What differs when an index belongs to a group: everybody uses the same one, and everybody can read what is in it."""

from __future__ import annotations

import os

from cairn.errors import SharedMismatch
from cairn.source.root import printable
from cairn.store.fs import Fs
from cairn.store.manifest import Manifest
from cairn.store.sharing import modes_of
from cairn.sync.place import Place
from cairn.sync.proof import differing

DIRTY = "The group's index was made from files with changes that are not committed."
UNTRACKED = "The group's index takes in files that git does not track: every member can read them."


def refuse_second(place: Place, root: str) -> None:
    """Nothing, unless this would be a second index of a root in the home of a group: `SharedMismatch` says why.

    A member with other settings would else make an index that the others never see.
    """
    if not modes_of(place.home).shared or os.path.isdir(place.path):
        return
    if fields := differing(place):
        raise SharedMismatch(path=printable(os.fsencode(root)), fields=", ".join(fields))


def told_to_group(fs: Fs, manifest: Manifest | None) -> tuple[str, ...]:
    """What the members of a group should know of a snapshot; nothing for a store of one user."""
    if manifest is None or manifest.completion is None or not fs.modes.shared:
        return ()
    told = ((DIRTY, manifest.git.dirty), (UNTRACKED, manifest.git.untracked_included))
    return tuple(sentence for sentence, holds in told if holds)
