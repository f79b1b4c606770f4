"""A world in which this package is one version ahead: it writes version 2 of an artifact and still reads version 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import cairn.store.format.columns
import cairn.store.format.rows
from cairn.store.format.document import CHUNK_ROWS, MANIFEST, SEGMENT_DATA, Artifact

SNAPSHOT = (MANIFEST, CHUNK_ROWS, SEGMENT_DATA)


@contextmanager
def raised(*artifacts: Artifact, written: int = 2, oldest: int = 1) -> Iterator[None]:
    """Meanwhile these artifacts are written in this version, and read from the oldest on."""
    with ExitStack() as stack:
        for artifact in artifacts:
            before = (artifact.oldest, artifact.newest, artifact.written)
            _set(artifact, oldest, written, written)
            stack.callback(_set, artifact, *before)
        stack.enter_context(mock.patch.object(cairn.store.format.rows, "ROW_SCHEMA", CHUNK_ROWS.written))
        stack.enter_context(mock.patch.object(cairn.store.format.columns, "CONTAINER_FORMAT", SEGMENT_DATA.written))
        yield


def _set(artifact: Artifact, oldest: int, newest: int, written: int) -> None:
    # The very same object is known in many modules, and it is frozen.
    for name, value in (("oldest", oldest), ("newest", newest), ("written", written)):
        object.__setattr__(artifact, name, value)
