"""Cairn: the code index that tells the truth.

    import cairn

    with cairn.open(".") as code:
        for hit in code.search("where is the lease stolen", k=5):
            print(hit.path, hit.start_line, hit.symbol)

Everything public is exported here; nothing else is promised. What is heavy is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from cairn.ask.indexing import Indexing
    from cairn.ask.library import Code
    from cairn.core.progress import Progress
    from cairn.errors import (
        Ambiguous,
        CairnError,
        ConfigError,
        EmbeddingFailed,
        EmbeddingModelChangedError,
        IndexingInProgressError,
        IndexNotReadyError,
        InvalidPattern,
        InvalidQuery,
        NotFound,
        NotIndexed,
        QueryTimeout,
        RequiresReindex,
        SourceError,
        StoreBusy,
        StoreError,
        StoreUnreadable,
        Unsupported,
        UsageError,
    )
    from cairn.graph.calls import CallGraph
    from cairn.graph.outline import Definition, FileOutline, FileText
    from cairn.graph.repo_map import RepoMap
    from cairn.graph.uses import Use, Uses
    from cairn.search.types import Hit

__version__ = "0.1.0"
__all__ = [
    "Ambiguous",
    "CairnError",
    "CallGraph",
    "Code",
    "ConfigError",
    "Definition",
    "EmbeddingFailed",
    "EmbeddingModelChangedError",
    "FileOutline",
    "FileText",
    "Hit",
    "IndexNotReadyError",
    "Indexing",
    "IndexingInProgressError",
    "InvalidPattern",
    "InvalidQuery",
    "NotFound",
    "NotIndexed",
    "Progress",
    "QueryTimeout",
    "RepoMap",
    "RequiresReindex",
    "SourceError",
    "StoreBusy",
    "StoreError",
    "StoreUnreadable",
    "Unsupported",
    "UsageError",
    "Use",
    "Uses",
    "__version__",
    "open",
    "start_indexing",
]


def open(path: str | PathLike[str] = ".", *, progress: Callable[[Progress], None] | None = None) -> Code:  # noqa: A001
    """Open the codebase that holds this folder: index it when it never was, else bring its index up to date.

    Where another process indexes it for the first time, that is waited for. `progress` is called with a `Progress`
    while files are indexed. Raises `IndexNotReadyError` when there is no index
    and none can be made, and `SourceError` when the folder cannot be read.
    """
    from cairn.ask import library  # noqa: PLC0415 - numpy, the store and the grammars take a tenth of a second

    return library.Code(library.open_session(path, progress))


def start_indexing(
    path: str | PathLike[str] = ".",
    *,
    background: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> Indexing:
    """Index this folder, or bring its index up to date, while the program goes on; without `background`, here and now.

    `wait_for_completion()` of the result waits for the end. `progress` is called with a `Progress`, from the thread
    that indexes. Raises `IndexingInProgressError` while another run is at work on the folder.
    """
    from cairn.ask import indexing  # noqa: PLC0415 - see `open`

    return indexing.start_indexing(path, background=background, progress=progress)


_PLACES = {
    "Code": "cairn.ask.library",
    "Indexing": "cairn.ask.indexing",
    "Progress": "cairn.core.progress",
    "Definition": "cairn.graph.outline",
    "FileOutline": "cairn.graph.outline",
    "CallGraph": "cairn.graph.calls",
    "FileText": "cairn.graph.outline",
    "RepoMap": "cairn.graph.repo_map",
    "Use": "cairn.graph.uses",
    "Uses": "cairn.graph.uses",
    "Hit": "cairn.search.types",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'cairn' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - a command that a daemon answers needs none of this

    return getattr(import_module(_PLACES.get(name, "cairn.errors")), name)
