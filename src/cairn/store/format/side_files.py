"""Write and read four side files of a store: `index_state.json`, `progress.json`, `last_used` and `settings.toml`.

Each can be thrown away and made again. The index state says nothing that the active manifest does not say. Its unknown
fields are ignored (the digest covers them): a later writer may add what an older reader can do without.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime

from cairn.core.clock import Clock, rfc3339
from cairn.core.limits import LAST_USED_SECONDS, MAX_CONFIG_BYTES, MAX_STATE_BYTES
from cairn.core.progress import BEHIND_THE_FILES
from cairn.errors import StoreUnreadable
from cairn.store.format.document import (
    INDEX_STATE,
    RUN_PROGRESS,
    is_absolute_path,
    is_git_id,
    is_sha256,
    is_store_id,
    is_time,
    seal,
    unseal,
)
from cairn.store.format.layout import (
    LAST_USED,
    PROGRESS,
    RANDOM_BYTES,
    SETTINGS,
    is_snapshot_id,
    snapshot_id,
    temp_path,
)
from cairn.store.format.manifest import GitState, Manifest
from cairn.store.format.tombstones import is_path_key
from cairn.store.fs import Fs, read_whole, remove_file, replace_file

# --- progress.json: how far the run that holds the lease is -----------------------------------------------------------


_PROGRESS_DIGEST = "progress_sha256"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The phase of a run, how many of its files are done, and the current one. `total` is 0 while it is unknown.

    `tree` is how many files the index will hold, those that were done before included; 0 while that is unknown.
    """

    run_id: str
    phase: str
    done: int
    total: int
    current_file: str | None
    updated_at: str
    tree: int = 0

    @property
    def fraction(self) -> float:
        """The part that is done, from 0 to 1: of the files, all of which are done when it publishes."""
        if not self.total:
            return 1.0 if self.phase in BEHIND_THE_FILES else 0.0
        return min(self.done / self.total, 1.0)


def save_progress(fs: Fs, progress: RunProgress) -> None:
    """Save the progress for other processes to see; errors of the disk are ignored."""
    data = seal(RUN_PROGRESS, _PROGRESS_DIGEST, asdict(progress))
    with contextlib.suppress(OSError):
        replace_file(fs, PROGRESS, temp_path(PROGRESS, progress.run_id), data, safe=False)


def load_progress(fs: Fs) -> RunProgress | None:
    """Return the progress that was saved last; None when it is missing or cannot be read."""
    with contextlib.suppress(OSError, StoreUnreadable):
        data = read_whole(fs, PROGRESS, MAX_STATE_BYTES, RUN_PROGRESS.name)
        fields = unseal(RUN_PROGRESS, _PROGRESS_DIGEST, data, MAX_STATE_BYTES)
        return RunProgress(
            run_id=fields.text("run_id", is_snapshot_id),
            phase=fields.text("phase", str.isalpha),
            done=fields.number("done"),
            total=fields.number("total"),
            current_file=fields.text_or_none("current_file", is_path_key),
            updated_at=fields.text("updated_at", is_time),
            tree=fields.number("tree") if fields.has("tree") else 0,
        )
    return None


def forget_progress(fs: Fs) -> None:
    """Remove the saved progress, because the run is over."""
    with contextlib.suppress(OSError):
        remove_file(fs, PROGRESS)


# --- last_used: when a store last gave an answer or took a snapshot, so that unused stores can be found ---------------


_MOST_BYTES = 64


def last_used(fs: Fs) -> int | None:
    """Return when the store was last used, in nanoseconds; None without a note.

    When the note cannot be read, this is the time of the file's last change.
    """
    try:
        found = fs.stat(LAST_USED)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = fs.read(LAST_USED, _MOST_BYTES).decode("ascii").removesuffix("\n")
        if is_time(text):
            return int(datetime.fromisoformat(text).timestamp()) * 1_000_000_000
    return found.mtime_ns


def touch_used(fs: Fs, clock: Clock) -> None:
    """Note that the store is in use, unless that was noted within the hour; errors are ignored."""
    # The time of a clock that is far out of range cannot be written.
    with contextlib.suppress(OSError, ValueError, OverflowError):
        now = clock.wall_ns()
        before = last_used(fs)
        # A time in the future was noted before the clock was set back: it would make the store look used until then.
        if before is not None and 0 <= now - before < LAST_USED_SECONDS * 1_000_000_000:
            return
        # The temporary file is named after a run that does not exist, so the next writer clears it away if this process
        # is killed here.
        temp = temp_path(LAST_USED, snapshot_id(now, secrets.token_bytes(RANDOM_BYTES)))
        replace_file(fs, LAST_USED, temp, f"{rfc3339(now)}\n".encode(), safe=False)


# --- settings.toml: what the repository asked for when the index was made, so that a later wish is known as one ------


def load_settings(fs: Fs) -> bytes:
    """Return the settings file of the repository that the rows follow; empty without one, or when it is not known."""
    try:
        return fs.read(SETTINGS, MAX_CONFIG_BYTES)
    except OSError:
        return b""


def save_settings(fs: Fs, data: bytes) -> None:
    """Save these bytes unless they are there already; errors are ignored."""
    if data == load_settings(fs):
        return
    with contextlib.suppress(OSError):
        # As above: no run has this name.
        temp = temp_path(SETTINGS, snapshot_id(0, secrets.token_bytes(RANDOM_BYTES)))
        replace_file(fs, SETTINGS, temp, data, safe=False)


OK, DEGRADED = "ok", "degraded"

_DIGEST = "state_sha256"


@dataclass(frozen=True, slots=True)
class IndexState:
    """The facts about a store that are asked for most.

    A failed run publishes nothing, so `last_result` is that of the active snapshot.
    """

    store_id: str
    canonical_root: str
    config_fingerprint: str
    ignore_fingerprint: str
    active_snapshot_id: str
    git: GitState
    last_sync_at: str
    last_result: str


def state_of(manifest: Manifest, synced_at: str | None = None) -> IndexState:
    """Return the state that follows from the active manifest; `synced_at` is a later sync that found no change."""
    return IndexState(
        store_id=manifest.store_id,
        canonical_root=manifest.canonical_root,
        config_fingerprint=manifest.config_fingerprint,
        ignore_fingerprint=manifest.ignore_fingerprint,
        active_snapshot_id=manifest.snapshot_id,
        git=manifest.git,
        last_sync_at=manifest.created_at if synced_at is None else synced_at,
        last_result=DEGRADED if manifest.degraded else OK,
    )


def encode_state(state: IndexState) -> bytes:
    """Return the bytes of `index_state.json`. Raises ValueError for a state that could not be read back."""
    git = {
        "last_head_sha": state.git.head_sha,
        "dirty": state.git.dirty,
        "untracked_included": state.git.untracked_included,
    }
    fields = {
        "store_id": state.store_id,
        "canonical_root": state.canonical_root,
        "config_fingerprint": state.config_fingerprint,
        "ignore_fingerprint": state.ignore_fingerprint,
        "active_snapshot_id": state.active_snapshot_id,
        "git": git,
        "last_sync_at": state.last_sync_at,
        "last_result": state.last_result,
    }
    data = seal(INDEX_STATE, _DIGEST, fields)
    try:
        decode_state(data)
    except StoreUnreadable as error:
        raise ValueError(error.sentence) from error
    return data


def decode_state(data: bytes) -> IndexState:
    """Return the state in these bytes. Refuses damage and unreadable versions; `state_of` can make the state again."""
    fields = unseal(INDEX_STATE, _DIGEST, data, MAX_STATE_BYTES)
    git = fields.object("git")
    state = IndexState(
        store_id=fields.text("store_id", is_store_id),
        canonical_root=fields.text("canonical_root", is_absolute_path),
        config_fingerprint=fields.text("config_fingerprint", is_sha256),
        ignore_fingerprint=fields.text("ignore_fingerprint", is_sha256),
        active_snapshot_id=fields.text("active_snapshot_id", is_snapshot_id),
        git=GitState(
            head_sha=git.text_or_none("last_head_sha", is_git_id),
            dirty=git.flag("dirty"),
            untracked_included=git.flag("untracked_included"),
        ),
        last_sync_at=fields.text("last_sync_at", is_time),
        last_result=fields.text("last_result", (OK, DEGRADED).__contains__),
    )
    if state.store_id[-16:] != state.config_fingerprint[:16]:
        fields.refuse("store_id is that of another fingerprint")
    return state
