"""Check whether everything in a store is as it should be: every byte is read, and no remembered digest is used.

The fault suites run this check after every step, and `cairn health` runs it too. An *error* is a broken promise; a
*leftover* is something that a killed writer left and that the next one will clear away.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from cairn.core.limits import MAX_MANIFEST_BYTES, MAX_STATE_BYTES
from cairn.errors import StoreCorrupt, StoreUnreadable
from cairn.store.format.conform import segment_problems
from cairn.store.format.layout import (
    FOLDERS,
    GENERATIONS,
    INDEX_STATE,
    LOCK_NAMES,
    LOCKS,
    OWN_NAMES,
    POINTER,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    generation_number,
    generation_path,
    is_sighting,
    manifest_path,
    segment_folder,
    snapshot_folder,
)
from cairn.store.format.manifest import Manifest
from cairn.store.format.seal import Remembered
from cairn.store.format.side_files import IndexState, decode_state, state_of
from cairn.store.fs import Fs, read_whole
from cairn.store.publish.generations import Claims, read_claims, read_generation
from cairn.store.publish.tidy import accounts_of
from cairn.store.read.snapshot import Part, assemble, live_counts, read_tombstones


class FindingLevel(StrEnum):
    """How bad a finding is: a broken promise, or something to tidy up."""

    ERROR = "error"
    LEFTOVER = "leftover"


class Finding(NamedTuple):
    """Something that is not as it should be; `code` is stable, `place` is a path below the store."""

    code: str
    severity: FindingLevel
    place: str
    message: str

    @property
    def is_error(self) -> bool:
        """Whether a promise is broken, so that tidying up is not enough."""
        return self.severity is FindingLevel.ERROR


def check(fs: Fs) -> list[Finding]:
    """Return every finding, in a fixed order; none in a store that is sound and tidy."""
    before, findings = _taken(fs), _check(fs)
    while findings and not before <= (now := _taken(fs)):
        # A collector removed snapshots during the check: what was missing proves nothing, so check again.
        before, findings = now, _check(fs)
    return findings


def _check(fs: Fs) -> list[Finding]:
    # Read the pointer and the state first: what they name was published earlier, even while a run goes on.
    claims, state = read_claims(fs), _read_state(fs)
    generations = dict(_generations(fs))
    manifests = [found for found in generations.values() if isinstance(found, Manifest)]
    findings = [
        *_damaged(generations),
        *_pointer(claims, manifests),
        *_order(manifests),
        *_own_names(fs, manifests),
        *_state(state, manifests),
        *_strangers(fs, manifests),
        *_modes(fs),
    ]
    for manifest in manifests:
        findings += _content(fs, manifest, deep=manifest is manifests[-1])
    return findings


# --- generations, pointer and state -----------------------------------------------------------------------------------


def _taken(fs: Fs) -> set[int]:
    """Return every generation that is taken."""
    return {number for name in _names(fs, GENERATIONS) if (number := generation_number(name)) is not None}


def _generations(fs: Fs) -> Iterator[tuple[int, Manifest | str | None]]:
    """Yield every generation that is taken, with its manifest, None for a fence, or a sentence about its damage."""
    for number in sorted(_taken(fs)):
        try:
            yield number, read_generation(fs, number)
        except FileNotFoundError:
            # The generation was collected since the folder was listed.
            continue
        except StoreUnreadable as problem:
            yield number, problem.sentence


def _damaged(generations: Mapping[int, Manifest | str | None]) -> Iterator[Finding]:
    for number, found in generations.items():
        if isinstance(found, str):
            yield _error("generation_damaged", f"{GENERATIONS}/{number}", found)


def _pointer(claims: Claims, manifests: list[Manifest]) -> Iterator[Finding]:
    if claims.damage is not None:
        yield _error("pointer_damaged", POINTER, claims.damage.sentence)
    elif claims.pointed is None and manifests:
        yield _leftover("pointer_missing", POINTER, "A snapshot was published and the pointer does not name it yet.")
    elif claims.pointed is not None and claims.pointed not in manifests:
        yield _error("pointer_unclaimed", POINTER, "It names a snapshot that never won a number.")
    elif claims.pointed is not None and claims.pointed != manifests[-1]:
        yield _leftover("pointer_behind", POINTER, "A later snapshot was published and the pointer is still behind.")


def _order(manifests: list[Manifest]) -> Iterator[Finding]:
    """Check that epochs and stores follow the order of the generations, and that no snapshot claimed two."""
    for before, after in pairwise(manifests):
        place = manifest_path(after.snapshot_id)
        if after.lease_epoch < before.lease_epoch:
            yield _error("epoch_went_back", place, "A later snapshot was published under an older lease.")
        if (before.store_id, before.canonical_root) != (after.store_id, after.canonical_root):
            yield _error("mixed_stores", place, "It belongs to another store than the snapshot before.")
    for snapshot, count in Counter(manifest.snapshot_id for manifest in manifests).items():
        if count > 1:
            yield _error("published_twice", manifest_path(snapshot), "One snapshot has won two numbers.")


def _own_names(fs: Fs, manifests: list[Manifest]) -> Iterator[Finding]:
    """Check that both names of each manifest lead to the same bytes."""
    for manifest in manifests:
        place = manifest_path(manifest.snapshot_id)
        try:
            own = read_whole(fs, place, MAX_MANIFEST_BYTES, "manifest")
            same = own == read_whole(fs, generation_path(manifest.generation), MAX_MANIFEST_BYTES, "manifest")
        except (FileNotFoundError, StoreCorrupt):
            same = False
        if not same:
            yield _error("manifest_differs", place, "It is not the manifest that was published.")


def _read_state(fs: Fs) -> IndexState | str | None:
    """Return what `index_state.json` says, or a sentence about its damage; None when it is missing."""
    try:
        return decode_state(read_whole(fs, INDEX_STATE, MAX_STATE_BYTES, "index state"))
    except FileNotFoundError:
        return None
    except StoreUnreadable as problem:
        return problem.sentence


def _state(state: IndexState | str | None, manifests: list[Manifest]) -> Iterator[Finding]:
    """Check that the index state is that of some published snapshot; it lags behind when its writer was killed."""
    if isinstance(state, str):
        yield _leftover("state_damaged", INDEX_STATE, state)
    elif state is not None and not any(state == state_of(each, state.last_sync_at) for each in manifests):
        yield _error("state_wrong", INDEX_STATE, "It is the state of no snapshot that was published.")


# --- artifacts --------------------------------------------------------------------------------------------------------


def _content(fs: Fs, manifest: Manifest, *, deep: bool) -> Iterator[Finding]:
    """Read and hash the artifacts that a manifest names; `deep` also checks every row of them."""
    place = manifest_path(manifest.snapshot_id)
    with ExitStack() as files:
        try:
            buried = read_tombstones(fs, manifest.tombstones)
            parts = assemble(fs, manifest.segments, buried, Remembered(), files)
            if deep:
                yield from _rows(parts)
            yield from _counts(place, manifest, parts)
            yield from _twice(place, parts)
        except FileNotFoundError:
            # An artifact vanished during the check. Unless it was collected, something else removed it.
            yield _error("artifact_damaged", place, "A part of it is gone.")
        except StoreCorrupt as problem:
            yield _error("artifact_damaged", place, problem.sentence)


def _rows(parts: Iterable[Part]) -> Iterator[Finding]:
    for part in parts:
        folder = segment_folder(part.ref.name)
        yield from (_error("rows_wrong", folder, problem) for problem in segment_problems(part.segment))


def _counts(place: str, manifest: Manifest, parts: Iterable[Part]) -> Iterator[Finding]:
    live = live_counts(parts)
    if (live.files, live.chunks) != (manifest.counts.files_indexed, manifest.counts.chunks_live):
        yield _error("counts_wrong", place, "Its counts are not what can be read through it.")


def _twice(place: str, parts: Iterable[Part]) -> Iterator[Finding]:
    seen: set[str] = set()
    for part in parts:
        live = {key for file_id, key in enumerate(part.segment.keys()) if file_id not in part.hidden}
        if live & seen:
            yield _error("file_twice", place, "A file is live in two segments.")
        seen |= live


# --- names and permissions that do not belong -------------------------------------------------------------------------


def _strangers(fs: Fs, manifests: list[Manifest]) -> Iterator[Finding]:
    """Report names that no manifest accounts for, and everything in staging."""
    accounts = accounts_of(manifests)
    known: dict[str, Collection[str]] = {
        "": OWN_NAMES,
        SNAPSHOTS: accounts.runs,
        SEGMENTS: accounts.segments,
        LOCKS: set(LOCK_NAMES) - {"lease_guard.lock"},
        **{snapshot_folder(run): names for run, names in accounts.files.items()},
    }
    for folder, names in known.items():
        for name in _names(fs, folder):
            if name not in names and not (folder == LOCKS and is_sighting(name)):
                yield _leftover("stranger", f"{folder}/{name}".lstrip("/"), "No snapshot accounts for it.")
    for name in _names(fs, GENERATIONS):
        if generation_number(name) is None:
            yield _leftover("stranger", f"{GENERATIONS}/{name}", "No snapshot accounts for it.")
    for name in _names(fs, STAGING):
        yield _leftover("staging", f"{STAGING}/{name}", "A run that has not published left it.")


def _modes(fs: Fs) -> Iterator[Finding]:
    """Check that only the user, or the group, may read and write, and that nobody may write sealed files."""
    modes = fs.modes
    folders, files = (modes.folder, modes.sealed_folder), (modes.file, modes.sealed_file)
    for folder in ("", *FOLDERS):
        for name in _names(fs, folder):
            path = f"{folder}/{name}".lstrip("/")
            try:
                found = fs.stat(path)
            except OSError as error:
                # A running writer has removed the file meanwhile, or its name is none that Cairn gives.
                if error.errno not in (errno.ENOENT, errno.EINVAL):
                    raise
                continue
            allowed = folders if found.is_folder else files
            # Without setgid, files made in the folder would get the wrong group.
            if found.mode & (0o777 | allowed[0]) not in allowed:
                yield _error("mode_wrong", path, "Its rights are not those of this store.")


def _names(fs: Fs, folder: str) -> list[str]:
    try:
        return fs.list_folder(folder)
    except FileNotFoundError:
        return []


def _error(code: str, place: str, message: str) -> Finding:
    return Finding(code, FindingLevel.ERROR, place, message)


def _leftover(code: str, place: str, message: str) -> Finding:
    return Finding(code, FindingLevel.LEFTOVER, place, message)
