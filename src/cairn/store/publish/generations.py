"""Claim and read generations: every published manifest holds a number that exactly one caller could claim.

A manifest is published at the moment its file gets its second name, `generations/N`. An empty file there is a fence: a
writer that takes over the lease first puts a fence at the next number, so that the manifest of a sleeper can never
claim that number, whenever the sleeper wakes. The pointer only says where to begin to look: a number that was claimed
later counts more.
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
    """The manifest that the pointer names (None: missing or damaged), and the later numbers taken, in order."""

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
    """Yield the published manifests, newest first. Whether their artifacts are whole is not checked here.

    Damaged manifests are left out, since an older snapshot is better than none, and added to `damage`.
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
    """Return the manifest that claimed this number; None for a fence. Raises `StoreUnreadable` when it is damaged."""
    data = _read(fs, generation_path(number))
    if not data:
        return None
    manifest = decode_manifest(data)
    if manifest.generation != number:
        raise StoreCorrupt(artifact=f"generation {number}", why="it is the manifest of another number")
    return manifest


def plant_fence(fs: Fs, after: int) -> int:
    """Put a fence at the next free number, safely, and return that number."""
    number = after + 1
    while True:
        try:
            fs.create_bytes(generation_path(number), b"")
        except FileExistsError:
            # Another writer claimed this number before the fence: its snapshot is published, so try the next number.
            number += 1
            continue
        fs.sync_folder(GENERATIONS)
        return number


def claim(fs: Fs, manifest: Manifest) -> None:
    """Publish: from here on this manifest is the newest. `LeaseLost` when its number is taken by a fence or a rival."""
    try:
        fs.claim(manifest_path(manifest.snapshot_id), generation_path(manifest.generation))
    except FileExistsError:
        raise LeaseLost(ours=manifest.lease_epoch, theirs="another") from None
    fs.sync_folder(GENERATIONS)


def is_published(fs: Fs, snapshot: str) -> bool:
    """Return whether the manifest of this snapshot has claimed a number; without that it is no snapshot at all."""
    with contextlib.suppress(FileNotFoundError, StoreCorrupt):
        own = _read(fs, manifest_path(snapshot))
        # Compare bytes, not inodes: in a store that was copied with `cp` the two names are two files.
        if own == _read(fs, generation_path(decode_manifest(own).generation)):
            return True
    # In a copied store one of the two files can be damaged and the other whole, so that the snapshot still answers: it
    # must not be withdrawn.
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
        # The generation was collected since the folder was listed.
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
