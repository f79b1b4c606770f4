"""Who came first: every published manifest holds a number that exactly one caller could win.

A manifest is published at the moment its file gets its second name, `generations/N`. An empty file there is a fence: a
writer that took the lease from another one puts it in the way first, so that a sleeper's manifest for that number can
never win, whenever it wakes. The pointer only says where to begin to look: a number that was won later counts more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from cairn.core.limits import MAX_MANIFEST_BYTES
from cairn.errors import LeaseLost, StoreCorrupt
from cairn.store.format.layout import (
    GENERATIONS,
    POINTER,
    decode_pointer,
    generation_number,
    generation_path,
    manifest_path,
)
from cairn.store.format.manifest import Manifest, decode_manifest
from cairn.store.fs import Fs, read_whole

_MOST_POINTER_BYTES = 1_024


class Claims(NamedTuple):
    """The pointer (None: missing or damaged), and the numbers that are taken from its own on, in order."""

    pointed: Manifest | None
    damage: StoreCorrupt | None
    later: tuple[int, ...]

    @property
    def newest(self) -> int:
        """The highest number that is taken; 0 when none is."""
        return self.later[-1] if self.later else self.pointed.generation if self.pointed else 0


def read_claims(fs: Fs) -> Claims:
    """Read the pointer once and look ahead from there; without a pointer every number in the folder counts."""
    try:
        pointed, damage = _pointed(fs), None
    except StoreCorrupt as found:
        pointed, damage = None, found
    if pointed is None:
        return Claims(None, damage, tuple(_numbers(fs)))
    ahead = pointed.generation + 1
    while _is_taken(fs, ahead):
        ahead += 1
    return Claims(pointed, None, tuple(range(pointed.generation + 1, ahead)))


def published(fs: Fs, claims: Claims, damage: list[StoreCorrupt]) -> Iterator[Manifest]:
    """The manifests that were published, newest first. Whether the artifacts they name are whole is not looked at here.

    Damaged ones are passed over, since an older one is better than none, and added to `damage`.
    """
    if claims.damage is not None:
        damage.append(claims.damage)
    for number in reversed(claims.later):
        yield from _sound(fs, number, damage)
    if claims.pointed is not None:
        yield claims.pointed
        for number in reversed(_numbers(fs)):
            if number < claims.pointed.generation:
                yield from _sound(fs, number, damage)


def read_generation(fs: Fs, number: int) -> Manifest | None:
    """The manifest that won this number; None for a fence. Raises `StoreUnreadable` when it is damaged."""
    data = _read(fs, generation_path(number))
    if not data:
        return None
    manifest = decode_manifest(data)
    if manifest.generation != number:
        raise StoreCorrupt(artifact=f"generation {number}", why="it is the manifest of another number")
    return manifest


def plant_fence(fs: Fs, after: int) -> int:
    """Take the next free number for nobody, and make that safe; the number that was taken."""
    number = after + 1
    while True:
        try:
            fs.create_bytes(generation_path(number), b"")
        except FileExistsError:
            # Its winner was faster than our fence: it was published before we came, and we go on from there.
            number += 1
            continue
        fs.sync_folder(GENERATIONS)
        return number


def claim(fs: Fs, manifest: Manifest) -> None:
    """Publish: from here on this manifest is the newest. `LeaseLost` when its number is taken, by fence or rival."""
    try:
        fs.claim(manifest_path(manifest.snapshot_id), generation_path(manifest.generation))
    except FileExistsError:
        raise LeaseLost(ours=manifest.lease_epoch, theirs="another") from None
    fs.sync_folder(GENERATIONS)


def is_published(fs: Fs, snapshot: str) -> bool:
    """Whether the manifest of this snapshot has won a number. One that is there but has not is no snapshot at all."""
    with contextlib.suppress(FileNotFoundError, StoreCorrupt):
        own = _read(fs, manifest_path(snapshot))
        # Bytes, not inodes: in a store that was copied the two names are two files.
        if own == _read(fs, generation_path(decode_manifest(own).generation)):
            return True
    # There, one name can be damaged and the other whole, so that it still answers: it must not be taken apart.
    newest = next(published(fs, read_claims(fs), []), None)
    return newest is not None and newest.snapshot_id == snapshot


def _pointed(fs: Fs) -> Manifest | None:
    try:
        data = read_whole(fs, POINTER, _MOST_POINTER_BYTES, "pointer")
    except FileNotFoundError:
        return None
    snapshot = decode_pointer(data)
    try:
        manifest = decode_manifest(_read(fs, manifest_path(snapshot)))
    except FileNotFoundError:
        raise StoreCorrupt(artifact="pointer", why="the snapshot that it names is not there") from None
    if manifest.snapshot_id != snapshot:
        raise StoreCorrupt(artifact="manifest", why="it is that of another snapshot")
    return manifest


def _read(fs: Fs, path: str) -> bytes:
    return read_whole(fs, path, MAX_MANIFEST_BYTES, "manifest")


def _sound(fs: Fs, number: int, damage: list[StoreCorrupt]) -> Iterator[Manifest]:
    try:
        manifest = read_generation(fs, number)
    except FileNotFoundError:
        # It was collected since we looked.
        return
    except StoreCorrupt as found:
        damage.append(found)
        return
    if manifest is not None:
        yield manifest


def _numbers(fs: Fs) -> list[int]:
    try:
        names = fs.list_folder(GENERATIONS)
    except FileNotFoundError:
        return []
    return sorted(number for name in names if (number := generation_number(name)) is not None)


def _is_taken(fs: Fs, number: int) -> bool:
    try:
        fs.stat(generation_path(number))
    except FileNotFoundError:
        return False
    return True
