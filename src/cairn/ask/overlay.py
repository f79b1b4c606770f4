"""Lay changed files of the working tree over a snapshot, in memory, for a reader that may not publish them.

The files are read, parsed and matched as a run would do it, by the same workers, and nothing is written. How many
files and bytes that may be is bounded: a file beyond the bound keeps what the snapshot says of it, and is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cairn.core.limits import MAX_OVERLAY_BYTES, MAX_OVERLAY_FILES
from cairn.core.types import Candidate, FileFacts, Skip, SkipReason, Unstable
from cairn.embedding.model import Embedder, Vectors, check_vectors
from cairn.store import SnapshotView
from cairn.sync.codebase import Codebase
from cairn.sync.looking import Difference
from cairn.sync.pool import extract_all
from cairn.syntax.identity import CHUNKER_VERSION


class Overlay(NamedTuple):
    """A view with changed files laid over it, and how many files that differ it does not show as they are.

    `left_out` says why, for each changed file that is in no answer.
    """

    view: SnapshotView
    missed: int
    left_out: tuple[SkipReason, ...]


def lay_over(codebase: Codebase, view: SnapshotView, embedder: Embedder, difference: Difference) -> Overlay:
    """Return the snapshot of a view with what differs laid over it; the caller closes the view that is returned."""
    taken = _within_bounds(difference)
    outcomes = extract_all(codebase.root, taken, codebase.config.limits, workers=1, keep=True)
    read: list[FileFacts] = []
    hidden, left_out = list(difference.gone), list[SkipReason]()
    missed = len(difference.unknown) + len(difference.changed) - len(taken)
    for candidate, outcome in zip(taken, outcomes, strict=True):
        if isinstance(outcome, FileFacts):
            read.append(outcome)
        elif isinstance(outcome, Unstable):
            missed += 1
        else:
            # It is no text any more, or may not be read: it is in no answer.
            hidden.append(candidate.key)
            left_out += [outcome.reason] if isinstance(outcome, Skip) else []
    files = list(zip(read, _vectors(read, embedder), strict=True))
    over = view.overlaid(files, hidden, embedder.identity.dimension, CHUNKER_VERSION)
    return Overlay(over, missed, tuple(left_out))


def _within_bounds(difference: Difference) -> list[Candidate]:
    taken, room = [], MAX_OVERLAY_BYTES
    for candidate in difference.changed[:MAX_OVERLAY_FILES]:
        room -= candidate.stat.size
        if room < 0:
            break
        taken.append(candidate)
    return taken


def _vectors(read: list[FileFacts], embedder: Embedder) -> list[Vectors]:
    """Return the vectors of each file's chunks; without meaning where the model is far away: a reader does not wait."""
    dimension = embedder.identity.dimension
    if not embedder.cheap:
        return [np.zeros((len(facts.chunks), dimension), np.float32) for facts in read]
    texts = [facts.source.data[one.start_byte : one.end_byte] for facts in read for one in facts.chunks]
    made = check_vectors(embedder.embed(texts), len(texts), dimension) if texts else np.zeros((0, dimension))
    ends = np.cumsum([len(facts.chunks) for facts in read])
    return [np.asarray(part, np.float32) for part in np.split(made, ends[:-1])] if read else []
