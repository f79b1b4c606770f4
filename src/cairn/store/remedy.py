"""The steps that make a store sound again, each a small move that leaves it as readable as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import StoreUnreadable
from cairn.store.accounts import Accounts, accounts_of, run_of
from cairn.store.damage import Look, names_in, pointed_id
from cairn.store.digests import read_digests
from cairn.store.files import read_whole, replace_file
from cairn.store.fs import Fs
from cairn.store.ids import is_segment_name
from cairn.store.layout import (
    DIGESTS,
    GENERATIONS,
    INDEX_STATE,
    LOCK_NAMES,
    LOCKS,
    MAPPING,
    OWN_NAMES,
    POINTER,
    SEGMENTS,
    SNAPSHOTS,
    STAGING,
    WORKSHOP,
    generation_number,
    generation_path,
    is_temp,
    manifest_path,
    segment_folder,
    snapshot_folder,
    temp_path,
)
from cairn.store.manifest import Manifest
from cairn.store.mapping import mapping_lines, mapping_path, read_mapping
from cairn.store.quarantine import Quarantine
from cairn.store.state import decode_state, encode_state, state_of

MEND, FENCE, MOVE, POINT, RENEW = "mend", "fence", "quarantine", "point", "renew"

_NOBODY = "No snapshot accounts for it."


class Step(NamedTuple):
    """One step of a repair. A `late` one waits for a new snapshot.

    `source` is the other name of a manifest that is mended, or the text of a hint that is made again.
    """

    kind: str
    path: str
    why: str
    source: str = ""
    late: bool = False


def treat(fs: Fs, run: str, steps: Iterable[Step], newest: Manifest | None, quarantine: Quarantine) -> None:
    """Take every step that need not wait. Only for the holder of the lease."""
    for step in steps:
        if step.late or step.kind == POINT:
            # The pointer is moved by whoever opens a writer, or by the publish.
            continue
        if step.kind == MEND:
            quarantine.mend(step.source, step.path)
        elif step.kind == MOVE:
            quarantine.take(step.path)
        elif step.kind == FENCE:
            quarantine.fence(int(step.path.rpartition("/")[2]))
        elif step.path == INDEX_STATE and newest is not None:
            data = encode_state(state_of(newest))
            replace_file(fs, INDEX_STATE, temp_path(INDEX_STATE, run), data, safe=False)
        elif step.path != INDEX_STATE:
            replace_file(fs, step.path, temp_path("hint", run), step.source.encode(), safe=False)


def mends(look: Look) -> Iterator[Step]:
    """Manifests that have one of their two names only."""
    for number, manifest in look.mended.items():
        own, place = manifest_path(manifest.snapshot_id), generation_path(number)
        yield Step(MEND, place, "The manifest that won this number has another name only.", own)
    for number, found in look.taken.items():
        if isinstance(found, Manifest) and look.own.get(found.snapshot_id) != found:
            others = [each for each in look.manifests if each.snapshot_id == found.snapshot_id]
            if len(others) == 1:
                own, place = manifest_path(found.snapshot_id), generation_path(number)
                yield Step(MEND, own, "It is not the manifest that was published.", place)


def fences(look: Look, *, late: bool) -> Iterator[Step]:
    """Numbers that are taken by nothing although later ones are taken, or by something unreadable.

    The unreadable ones stay until what was lost with them is there again: else a repair that is killed would leave a
    store that looks sound and is behind.
    """
    numbers = {manifest.generation for manifest in look.manifests}
    taken = look.taken.keys() | numbers
    for number in range(min(numbers, default=0), max(taken, default=0)):
        if number not in taken and number:
            yield Step(FENCE, generation_path(number), "The number is missing between others.")
    for number, found in look.taken.items():
        if isinstance(found, str) and number not in look.mended:
            yield Step(FENCE, generation_path(number), found, late=late)


def strangers(look: Look, retained: Iterable[Manifest]) -> Iterator[Step]:
    """What none of these snapshots accounts for, but for what a killed run has left for the next one."""
    return (Step(MOVE, path, _NOBODY) for path in _unaccounted(look, accounts_of(retained)))


def _unaccounted(look: Look, accounts: Accounts) -> Iterator[str]:
    fs, staged = look.fs, look.staged
    yield from (name for name in names_in(fs, "") if name not in OWN_NAMES and not is_temp(name))
    for run in names_in(fs, SNAPSHOTS):
        folder = snapshot_folder(run)
        if run in accounts.files:
            yield from (f"{folder}/{name}" for name in names_in(fs, folder) if name not in accounts.files[run])
        elif run not in staged:
            yield folder
    for name in names_in(fs, SEGMENTS):
        if name not in accounts.segments and not (is_segment_name(name) and run_of(name) in staged):
            yield segment_folder(name)
    yield from (f"{GENERATIONS}/{name}" for name in names_in(fs, GENERATIONS) if generation_number(name) is None)
    staging = (f"{STAGING}/{name}" for name in names_in(fs, STAGING) if name not in staged)
    yield from (path for path in staging if path != WORKSHOP)
    yield from (f"{LOCKS}/{name}" for name in names_in(fs, LOCKS) if name not in LOCK_NAMES and not is_temp(name))


def pointer(look: Look, newest: Manifest | None, *, late: bool) -> Iterator[Step]:
    """A pointer that does not lead to the newest snapshot."""
    named, there = pointed_id(look.fs), POINTER in names_in(look.fs, "")
    known = {manifest.snapshot_id for manifest in look.manifests}
    if there and named not in known:
        yield Step(MOVE, POINTER, "It does not name a snapshot of this store.")
    if late or (newest is not None and named != newest.snapshot_id):
        why = (
            "It will name the snapshot that the repair publishes." if late else "It does not name the newest snapshot."
        )
        yield Step(POINT, POINTER, why, late=late)


def sides(look: Look, retained: list[Manifest]) -> Iterator[Step]:
    """Side files that say something wrong: they are put aside, and made again."""
    if (why := _wrong_state(look.fs, retained)) is not None:
        yield Step(MOVE, INDEX_STATE, why)
        yield Step(RENEW, INDEX_STATE, why)
    if (why := _wrong_digests(look)) is not None:
        yield Step(MOVE, DIGESTS, why)


def _wrong_state(fs: Fs, retained: list[Manifest]) -> str | None:
    try:
        state = decode_state(read_whole(fs, INDEX_STATE, MAX_STATE_BYTES, "index state"))
    except FileNotFoundError:
        return None
    except StoreUnreadable as problem:
        return problem.sentence
    known = any(state == state_of(each, state.last_sync_at) for each in retained)
    return None if known else "It is the state of no snapshot that is left."


def _wrong_digests(look: Look) -> str | None:
    try:
        remembered = read_digests(look.fs)
    except FileNotFoundError:
        return None
    except StoreUnreadable as problem:
        return problem.sentence
    lies = any(look.remembered.get(stat, digest) != digest for stat, digest in remembered.items())
    return "It remembers files as they are not." if lies else None


def hints(look: Look, retained: Iterable[Manifest]) -> Iterator[Step]:
    """Hints that are missing or lie, of snapshots whose segments can tell better."""
    for manifest in retained:
        keys = _keys_of(look, manifest.snapshot_id)
        if not keys:
            continue
        hint = read_mapping(look.fs, manifest.snapshot_id) or {}
        if any(hint.get(name, frozenset()) != frozenset(found) for name, found in keys.items()):
            why = "It does not say which files the segments hold."
            lines = "".join(line for name in sorted(keys) for line in mapping_lines(name, keys[name]))
            if MAPPING in names_in(look.fs, snapshot_folder(manifest.snapshot_id)):
                yield Step(MOVE, mapping_path(manifest.snapshot_id), why)
            yield Step(RENEW, mapping_path(manifest.snapshot_id), why, lines)


def _keys_of(look: Look, run: str) -> Mapping[str, tuple[str, ...]]:
    """The files of every segment of this run, unless one of them is lost: then the hint is all there is."""
    found = {ref.name: content for ref, content in look.segments.items() if run_of(ref.name) == run}
    if any(content.why is not None for content in found.values()):
        return {}
    return {name: content.keys for name, content in found.items()}
