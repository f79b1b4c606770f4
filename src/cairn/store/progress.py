"""progress.json: where the run that holds the lease stands, for others to see. A side file."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass

from cairn.core.limits import MAX_STATE_BYTES
from cairn.errors import StoreUnreadable
from cairn.store.document import is_time, seal, unseal
from cairn.store.files import read_whole, remove_file, replace_file
from cairn.store.fs import Fs
from cairn.store.ids import is_snapshot_id
from cairn.store.layout import PROGRESS, temp_path
from cairn.store.tombstones import is_path_key
from cairn.store.versions import RUN_PROGRESS

_DIGEST = "progress_sha256"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run, its phase, how many of its files are done, and the one it is at. `total` is 0 while it is not known."""

    run_id: str
    phase: str
    done: int
    total: int
    current_file: str | None
    updated_at: str

    @property
    def fraction(self) -> float:
        """How much is done, from 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total else 0.0


def save_progress(fs: Fs, progress: RunProgress) -> None:
    """Let others see it. A disk that will not take it is no reason to stop."""
    data = seal(RUN_PROGRESS, _DIGEST, asdict(progress))
    with contextlib.suppress(OSError):
        replace_file(fs, PROGRESS, temp_path(PROGRESS, progress.run_id), data, safe=False)


def load_progress(fs: Fs) -> RunProgress | None:
    """The progress that was saved last; None when there is none that can be read."""
    with contextlib.suppress(OSError, StoreUnreadable):
        data = read_whole(fs, PROGRESS, MAX_STATE_BYTES, RUN_PROGRESS.name)
        fields = unseal(RUN_PROGRESS, _DIGEST, data, MAX_STATE_BYTES)
        return RunProgress(
            run_id=fields.text("run_id", is_snapshot_id),
            phase=fields.text("phase", str.isalpha),
            done=fields.number("done"),
            total=fields.number("total"),
            current_file=fields.text_or_none("current_file", is_path_key),
            updated_at=fields.text("updated_at", is_time),
        )
    return None


def forget_progress(fs: Fs) -> None:
    """The run is over."""
    with contextlib.suppress(OSError):
        remove_file(fs, PROGRESS)
