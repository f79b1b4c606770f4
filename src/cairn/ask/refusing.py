"""Check a codebase before a server begins to serve it; imports nothing heavy, since a daemon may do all the rest."""

from __future__ import annotations

from cairn.errors import EmbeddingModelChangedError
from cairn.sync.codebase import Codebase, place_of
from cairn.sync.proof import made_by_other_model


def refuse_other_model(codebase: Codebase, home: str) -> None:
    """Raise `EmbeddingModelChangedError` when the only index of this codebase was made with another model.

    Vectors of two models do not mix.
    """
    found = made_by_other_model(place_of(codebase, home))
    if found is not None:
        raise EmbeddingModelChangedError(stored=found.stored, configured=found.configured, path=found.path)
