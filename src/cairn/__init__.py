"""Cairn: the code index that tells the truth.

    import cairn

    with cairn.open(".") as code:
        for hit in code.search("where is the lease stolen", k=5):
            print(hit.path, hit.start_line, hit.symbol)

Everything public is exported here; nothing else is promised. What is heavy is imported when it is first used.
"""

from __future__ import annotations

from cairn.errors import (
    Ambiguous,
    CairnError,
    ConfigError,
    EmbeddingFailed,
    InvalidPattern,
    InvalidQuery,
    NotFound,
    NotIndexed,
    QueryTimeout,
    SourceError,
    StoreBusy,
    StoreError,
    StoreUnreadable,
    Unsupported,
    UsageError,
)
from cairn.errors import NotNow as IndexNotReadyError
from cairn.errors import NotReady as IndexingInProgressError
from cairn.errors import RequiresReindex as EmbeddingModelChangedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cairn.graph.calls import CallGraph
    from cairn.graph.outline import Definition, FileOutline
    from cairn.graph.passage import FileText
    from cairn.graph.repo_map import RepoMap
    from cairn.graph.uses import Use, Uses
    from cairn.library import Code
    from cairn.search.types import Hit
    from cairn.sync.report import Progress

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
    "IndexingInProgressError",
    "InvalidPattern",
    "InvalidQuery",
    "NotFound",
    "NotIndexed",
    "Progress",
    "QueryTimeout",
    "RepoMap",
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
]


def open(path: str = ".", *, progress: Callable[[Progress], None] | None = None) -> Code:  # noqa: A001
    """The codebase that holds this folder, ready to be searched: indexed when it never was, else brought up to date.

    `progress` is told where the work stands. Raises `IndexNotReadyError` when there is no index and none may be made.
    """
    from cairn.library import open_code  # noqa: PLC0415 - numpy, the store and the grammars take a tenth of a second

    return open_code(path, progress)


def __getattr__(name: str) -> object:
    if name == "Code":
        from cairn.library import Code  # noqa: PLC0415

        return Code
    if name == "Progress":
        from cairn.sync.report import Progress  # noqa: PLC0415

        return Progress
    if name in ("Definition", "FileOutline"):
        from cairn.graph import outline  # noqa: PLC0415

        return getattr(outline, name)
    if name == "CallGraph":
        from cairn.graph.calls import CallGraph  # noqa: PLC0415

        return CallGraph
    if name == "FileText":
        from cairn.graph.passage import FileText  # noqa: PLC0415

        return FileText
    if name == "RepoMap":
        from cairn.graph.repo_map import RepoMap  # noqa: PLC0415

        return RepoMap
    if name in ("Use", "Uses"):
        from cairn.graph import uses  # noqa: PLC0415

        return getattr(uses, name)
    if name == "Hit":
        from cairn.search.types import Hit  # noqa: PLC0415

        return Hit
    raise AttributeError(f"module 'cairn' has no attribute {name!r}")
