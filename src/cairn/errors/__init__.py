"""What went wrong, and what helps? Every error is a sentence, advice, a stable code and an exit status.

`base.CairnError` is the base of all; the other modules hold the errors of a part of Cairn: `asking`, `edits`,
`engines`, `semantic`, `serving`, `source` and `stores`.

    >>> from cairn.errors import CairnError, PathNotFound
    >>> problem = PathNotFound(path="ledger.py", root="/home/me/bank")
    >>> problem.code, problem.exit_status, isinstance(problem, CairnError)
    ('path_not_found', 28, True)
    >>> str(problem) == problem.sentence
    True

The tree, each error with its exit status:

    CairnError 1
        AddressTaken 1
        AnswerUnwritable 1
        AssertionsDisabled 1
        Cancelled 1
        DaemonBusy 1
        DaemonFailed 1
        DaemonRunning 1
        DeadlinePassed 1
        EmbeddingModelChangedError 1, also RuntimeError
        McpMissing 1
        OutOfMemory 1
        SecretsInPatch 1
        SocketTaken 1
        TokenUnfit 1
        InvalidRequest 2
        RootNotAllowed 2
        RootNotManaged 2
        UsageError 2
            BadContinuation 2
            BatchUnreadable 2
            InvalidPattern 2
            InvalidQuery 2
            RootIsBare 2
            RootNotUtf8 2
        IndexNotReadyError 19
            NotIndexed 10
            IndexingInProgressError 11
                StoreBusy 13
            RequiresReindex 12, also EmbeddingModelChangedError
            QueryTimeout 14
        NotFound 15
        Ambiguous 16
        Unsupported 17
        SourceError 20
            RootNotFound 21
            RootNotAFolder 22
            RootUnreadable 23
            PathOutsideRoot 24
            BadPathKey 25
            GitFailed 26
            WatchFailed 27
            PathNotFound 28
            OutOfResources 29
        ConfigError 30
            ConfigUnreadable 31
            GrammarMismatch 32
            NameCollision 33
            SettingsRefused 34
            SecretsNotSent 35
        SemanticError 49
            SemanticUnreadable 40
            IndexerMissing 41
            IndexerRefused 42
            IndexerFailed 43
                IndexerTimeout 44
                IndexerMemory 45
                IndexerEmpty 46
            SemanticBusy 47
            NoContext 48
        EmbeddingFailed 50
            ModelDamaged 51
            ModelUnavailable 52
        EngineError 53
            EngineUnreachable 54
            EngineRefused 55
            EngineForeign 56
            EngineMissing 57
            EngineDamaged 58
            EngineFull 59
        EditError 60
            EditRefused 61
            EditCut 62
            EditBusy 63
            EditUnreadable 64
            EditStopped 65
        LeaseError 70
            LeaseLost 71
                LeaseLapsed 73
            LeaseStuck 72
        StoreError 80
            StoreFull 81
            StoreIo 82
            StoreUnwritable 83
            StoreOutOfResources 84
            StoreNotOurs 85
            PublishRefused 86
                TreeMoving 87
                FilesFailed 88
                TooManySegments 89
            SharingDiffers 95
            SharedUnfit 96
            SharedMismatch 97
            DiskUnfit 98
        StoreUnreadable 99
            NoValidSnapshot 90
            StoreCorrupt 91
            Incompatible 92
            IndexDrifted 93
            NotUpgraded 94
        Interrupted 130

The docstring of a class is its message. The first paragraph says what happened, with the fields of the error filled in;
the second says what to do next. Codes are stable (they appear in JSON, logs and the manual). Exit statuses come in
bands: 2 usage, 10-19 gates, 20-29 source tree, 30-39 configuration, 40-49 semantic tools, 50-59 models and engines,
60-69 edits of the tree, 70-79 lease, 80-89 publish refused, 90-99 integrity, 130 interrupted.
"""

from __future__ import annotations

from cairn.errors.asking import (
    Ambiguous,
    AnswerUnwritable,
    BadContinuation,
    BatchUnreadable,
    EmbeddingModelChangedError,
    IndexingInProgressError,
    IndexNotReadyError,
    Interrupted,
    InvalidPattern,
    InvalidQuery,
    NotFound,
    NotIndexed,
    OutOfMemory,
    QueryTimeout,
    RequiresReindex,
    RootIsBare,
    RootNotUtf8,
    StoreBusy,
    Unsupported,
    UsageError,
)
from cairn.errors.base import OUR_TROUBLE, CairnError, memory_trouble
from cairn.errors.edits import EditBusy, EditCut, EditError, EditRefused, EditStopped, EditUnreadable
from cairn.errors.engines import (
    EmbeddingFailed,
    EngineDamaged,
    EngineError,
    EngineForeign,
    EngineFull,
    EngineMissing,
    EngineRefused,
    EngineUnreachable,
    ModelDamaged,
    ModelUnavailable,
)
from cairn.errors.semantic import (
    IndexerEmpty,
    IndexerFailed,
    IndexerMemory,
    IndexerMissing,
    IndexerRefused,
    IndexerTimeout,
    NoContext,
    SemanticBusy,
    SemanticError,
    SemanticUnreadable,
)
from cairn.errors.serving import (
    AddressTaken,
    Cancelled,
    DaemonBusy,
    DaemonFailed,
    DaemonRunning,
    DeadlinePassed,
    InvalidRequest,
    McpMissing,
    RootNotAllowed,
    RootNotManaged,
    SecretsInPatch,
    SocketTaken,
    TokenUnfit,
)
from cairn.errors.source import (
    AssertionsDisabled,
    BadPathKey,
    ConfigError,
    ConfigUnreadable,
    GitFailed,
    GrammarMismatch,
    NameCollision,
    OutOfResources,
    PathNotFound,
    PathOutsideRoot,
    RootNotAFolder,
    RootNotFound,
    RootUnreadable,
    SecretsNotSent,
    SettingsRefused,
    SourceError,
    WatchFailed,
)
from cairn.errors.stores import (
    DiskUnfit,
    FilesFailed,
    Incompatible,
    IndexDrifted,
    LeaseError,
    LeaseLapsed,
    LeaseLost,
    LeaseStuck,
    NotUpgraded,
    NoValidSnapshot,
    PublishRefused,
    SharedMismatch,
    SharedUnfit,
    SharingDiffers,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreIo,
    StoreNotOurs,
    StoreOutOfResources,
    StoreUnreadable,
    StoreUnwritable,
    TooManySegments,
    TreeMoving,
)

__all__ = [
    "OUR_TROUBLE",
    "AddressTaken",
    "Ambiguous",
    "AnswerUnwritable",
    "AssertionsDisabled",
    "BadContinuation",
    "BadPathKey",
    "BatchUnreadable",
    "CairnError",
    "Cancelled",
    "ConfigError",
    "ConfigUnreadable",
    "DaemonBusy",
    "DaemonFailed",
    "DaemonRunning",
    "DeadlinePassed",
    "DiskUnfit",
    "EditBusy",
    "EditCut",
    "EditError",
    "EditRefused",
    "EditStopped",
    "EditUnreadable",
    "EmbeddingFailed",
    "EmbeddingModelChangedError",
    "EngineDamaged",
    "EngineError",
    "EngineForeign",
    "EngineFull",
    "EngineMissing",
    "EngineRefused",
    "EngineUnreachable",
    "FilesFailed",
    "GitFailed",
    "GrammarMismatch",
    "Incompatible",
    "IndexDrifted",
    "IndexNotReadyError",
    "IndexerEmpty",
    "IndexerFailed",
    "IndexerMemory",
    "IndexerMissing",
    "IndexerRefused",
    "IndexerTimeout",
    "IndexingInProgressError",
    "Interrupted",
    "InvalidPattern",
    "InvalidQuery",
    "InvalidRequest",
    "LeaseError",
    "LeaseLapsed",
    "LeaseLost",
    "LeaseStuck",
    "McpMissing",
    "ModelDamaged",
    "ModelUnavailable",
    "NameCollision",
    "NoContext",
    "NoValidSnapshot",
    "NotFound",
    "NotIndexed",
    "NotUpgraded",
    "OutOfMemory",
    "OutOfResources",
    "PathNotFound",
    "PathOutsideRoot",
    "PublishRefused",
    "QueryTimeout",
    "RequiresReindex",
    "RootIsBare",
    "RootNotAFolder",
    "RootNotAllowed",
    "RootNotFound",
    "RootNotManaged",
    "RootNotUtf8",
    "RootUnreadable",
    "SecretsInPatch",
    "SecretsNotSent",
    "SemanticBusy",
    "SemanticError",
    "SemanticUnreadable",
    "SettingsRefused",
    "SharedMismatch",
    "SharedUnfit",
    "SharingDiffers",
    "SocketTaken",
    "SourceError",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreIo",
    "StoreNotOurs",
    "StoreOutOfResources",
    "StoreUnreadable",
    "StoreUnwritable",
    "TokenUnfit",
    "TooManySegments",
    "TreeMoving",
    "Unsupported",
    "UsageError",
    "WatchFailed",
    "memory_trouble",
]
