"""Decide whether an index is complete, by the marker in the manifest of its newest snapshot; nothing else decides this.

Three cases are told apart. What could not be read says nothing about what is there. A marker that is missing, or
belongs to another root, is no proof. A manifest that is damaged was passed over for an older snapshot, if there is one.
That a store exists proves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from cairn.core.fingerprint import FieldDifference, IndexFingerprint, explain_mismatch
from cairn.errors import Incompatible, NoValidSnapshot, SharedMismatch, StoreError, StoreUnreadable
from cairn.source.root import printable
from cairn.store import Disk, Fs, Home, Manifest, SnapshotView, Store
from cairn.sync.codebase import StorePlace, model_of, sibling_stores

TYPE_CHECKING = False


Differences = tuple[FieldDifference, ...]


class Examined(NamedTuple):
    """The result of `examine`. `view` is the proven snapshot; the caller closes it."""

    proof: Proof
    view: SnapshotView | None = None
    cleared: bool = False
    corrupt: bool = False


def validate_completion_proof(place: StorePlace) -> Proof:
    """Return whether the index of this place is complete, and the wanted one; changes nothing and never raises."""
    try:
        disk = place.disk()
        if disk is None:
            return _or_of_others(place, UNPROVEN)
        with disk:
            found = examine(disk, place)
        if found.view is not None:
            found.view.close()
        return found.proof if found.cleared else _or_of_others(place, found.proof)
    except (OSError, StoreError, StoreUnreadable):
        return Proof(ProofOutcome.PROBE_FAILED, ProofReason.PROBE_FAILED)


def examine(
    disk: Disk, place: StorePlace, *, snapshot: str | None = None, held: SnapshotView | None = None
) -> Examined:
    """Return the proof of an open store, with its snapshot when that is proven; raises what the disk refuses.

    The snapshot is the view that the caller has `held` open, while it is the one that is looked for.
    """
    store = Store(disk, place.path)
    if not store.is_created:
        return Examined(UNPROVEN)
    try:
        view = store.view(snapshot, held)
    except NoValidSnapshot as problem:
        return Examined(Proof(ProofOutcome.STALE_LOCAL, _wrong(problem)), corrupt=True)
    if view is None:
        return Examined(UNPROVEN)
    proof = judge(view.manifest, place)
    if proof.is_valid:
        return Examined(proof, view)
    if view is not held:
        view.close()
    return Examined(proof, cleared=view.manifest.completion is None)


def judge(manifest: Manifest, place: StorePlace) -> Proof:
    """Return what a manifest proves for this place; whether the files that it names are whole is not checked."""
    marker = manifest.completion
    if marker is None:
        return UNPROVEN
    if not same_place(marker.codebase_path, place.root):
        return Proof(ProofOutcome.STALE_LOCAL, ProofReason.PATH_MISMATCH)
    if marker.fingerprint != place.fingerprint.digest:
        return _mismatch(differences(manifest, place.fingerprint))
    return PROVEN


def _wrong(problem: NoValidSnapshot) -> ProofReason:
    other_kind = Store.says_other_kind(problem.__cause__)
    return ProofReason.INVALID_MARKER_KIND if other_kind else ProofReason.INVALID_PAYLOAD


def _mismatch(differs: tuple[str, ...]) -> Proof:
    return Proof(ProofOutcome.FINGERPRINT_MISMATCH, ProofReason.FINGERPRINT_MISMATCH, differs)


def _or_of_others(place: StorePlace, proof: Proof) -> Proof:
    """Return the mismatch with another index of this root when this place has none, else the proof itself."""
    differs = () if proof != UNPROVEN else differing(place)
    return _mismatch(differs) if differs else proof


def same_place(marked: str, root: str) -> bool:
    """Whether both paths lead to one folder; the writer marks resolved paths, so the disk is rarely asked."""
    return marked == root or os.path.realpath(marked) == os.path.realpath(root)


# --- other stores of the same root ------------------------------------------------------------------------------------


def differing(place: StorePlace) -> tuple[str, ...]:
    """Return the fields in which the newest other index of this root differs; empty when there is none."""
    return tuple(field.name for field in _of_the_newest(place))


def _of_the_newest(place: StorePlace) -> Differences:
    found: list[tuple[str, Differences]] = []
    for below in sibling_stores(place):
        with suppress(FileNotFoundError), Home(place.home).disk(below) as disk:
            found += _difference(disk, place.fingerprint)
    return max(found, key=lambda one: one[0], default=("", ()))[1]


def chosen_otherwise(place: StorePlace) -> tuple[str, ...]:
    """Return the fields of `differing` when one of them was somebody's choice; empty when an upgrade explains all."""
    found = _of_the_newest(place)
    return tuple(field.name for field in found) if not all(field.ours for field in found) else ()


class OtherModel(NamedTuple):
    """The model that an index of this root was made with, the one that the settings name, and where the index is."""

    stored: str
    configured: str
    path: str


def made_by_other_model(place: StorePlace) -> OtherModel | None:
    """Return the index of this root by another model; None when the wanted model has an index, or no model has."""
    configured = model_of(place.fingerprint.fields)
    found: list[tuple[str, OtherModel]] = []
    if configured is None or _is_complete(place.disk()):
        return None
    for below in sibling_stores(place):
        with suppress(FileNotFoundError, Incompatible), Home(place.home).disk(below) as disk:
            manifest = Store(disk).newest()
            stored = model_of(manifest.config_fields) if manifest is not None and manifest.completion else None
            if manifest is not None and stored is not None and stored != configured:
                found.append((manifest.created_at, OtherModel(stored, configured, disk.path)))
    return max(found)[1] if found else None


def _is_complete(disk: Disk | None) -> bool:
    if disk is None:
        return False
    with disk:
        newest = Store(disk).newest() if Store(disk).is_created else None
        return newest is not None and newest.completion is not None


def _difference(disk: Disk, wanted: IndexFingerprint) -> Iterator[tuple[str, Differences]]:
    """Yield when the newest snapshot of another store was made, and the fields in which it differs."""
    try:
        manifest = Store(disk).newest()
    except Incompatible:
        # A later version of Cairn wrote this index: it exists, and this version cannot read it.
        yield "", (FieldDifference("schemaVersion", None, None, ours=True),)
        return
    if manifest is not None and manifest.completion is not None:
        yield manifest.created_at, _of_its_languages(disk, _fields(manifest, wanted))


def _of_its_languages(disk: Disk, differs: Differences) -> Differences:
    """Return the differences, without the grammars of languages of which the index holds no file."""
    if not any(field.name.startswith(_GRAMMAR) for field in differs):
        return differs
    with suppress(OSError, StoreError, StoreUnreadable):
        view = Store(disk).view()
        if view is not None:
            with view:
                here = {f"{_GRAMMAR}{record.language}" for record in view.records().values()}
            kept = tuple(one for one in differs if not one.name.startswith(_GRAMMAR) or one.name in here)
            return kept or (FieldDifference(_OTHER_GRAMMARS, None, None, ours=True),)
    return differs


_GRAMMAR = "grammar."
_OTHER_GRAMMARS = "grammars of languages that it holds no file of"


def differences(manifest: Manifest, wanted: IndexFingerprint) -> tuple[str, ...]:
    """Return the names of the fields in which a snapshot's fingerprint differs from the wanted one."""
    return tuple(field.name for field in _fields(manifest, wanted))


def _fields(manifest: Manifest, wanted: IndexFingerprint) -> Differences:
    return explain_mismatch(IndexFingerprint(manifest.config_fields, manifest.config_fingerprint), wanted)


class ProofOutcome(StrEnum):
    """What an examination of the completion proof came to. `probe_failed` says nothing about what is there."""

    VALID = "valid"
    STALE_LOCAL = "stale_local"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    PROBE_FAILED = "probe_failed"


class ProofReason(StrEnum):
    """Why the proof does not hold. There are six reasons; a seventh needs its message, its tests and its page too."""

    MISSING_MARKER_DOC = "missing_marker_doc"
    INVALID_MARKER_KIND = "invalid_marker_kind"
    PATH_MISMATCH = "path_mismatch"
    INVALID_PAYLOAD = "invalid_payload"
    FINGERPRINT_MISMATCH = "fingerprint_mismatch"
    PROBE_FAILED = "probe_failed"


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether an index is proven to be complete, and if not, why; `differs` names the fields of another fingerprint."""

    outcome: ProofOutcome
    reason: ProofReason | None = None
    differs: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        return self.outcome is ProofOutcome.VALID


PROVEN = Proof(ProofOutcome.VALID)
UNPROVEN = Proof(ProofOutcome.STALE_LOCAL, ProofReason.MISSING_MARKER_DOC)


# --- The index of a group: everybody uses the same index, and everybody can read what is in it.


DIRTY = "The group's index was made from files with changes that are not committed."
UNTRACKED = "The group's index takes in files that git does not track: every member can read them."


def refuse_second(place: StorePlace, root: str) -> None:
    """Raise `SharedMismatch` when this place would be a second index of a root in the home of a group.

    Without that, a member with other settings would make an index that the other members never see.
    """
    if not Home(place.home).shared or os.path.isdir(place.path):
        return
    if fields := differing(place):
        raise SharedMismatch(path=printable(os.fsencode(root)), fields=", ".join(fields))


def told_to_group(fs: Fs, manifest: Manifest | None) -> tuple[str, ...]:
    """Return what the members of a group should know of a snapshot; empty for a store of one user."""
    if manifest is None or manifest.completion is None or not fs.modes.shared:
        return ()
    told = ((DIRTY, manifest.git.dirty), (UNTRACKED, manifest.git.untracked_included))
    return tuple(sentence for sentence, holds in told if holds)
