"""Every error: a sentence, a stable code, and an exit status.

The docstring is the message. Its first paragraph says what happened, with the error's own fields filled in; the second
says what to do next. Codes are stable (they appear in JSON, logs and the manual); exit bands are published: 2 usage,
10-19 gates, 20-29 source tree, 30-39 configuration, 40-49 semantic tools, 50-59 engine, 70-79 lease, 80-89 publish
refused, 90-99 integrity, 130 interrupted.
"""

from __future__ import annotations

from cairn.errors.base import OUR_TROUBLE, CairnError
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
    EmbeddingModelChangedError,
    InvalidRequest,
    McpMissing,
    RootNotAllowed,
    SocketTaken,
    TokenUnfit,
)
from cairn.errors.stores import (
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
    "IndexerEmpty",
    "IndexerFailed",
    "IndexerMemory",
    "IndexerMissing",
    "IndexerRefused",
    "IndexerTimeout",
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
    "NotNow",
    "NotReady",
    "NotUpgraded",
    "OutOfResources",
    "PathNotFound",
    "PathOutsideRoot",
    "PublishRefused",
    "QueryTimeout",
    "RequiresReindex",
    "RootNotAFolder",
    "RootNotAllowed",
    "RootNotFound",
    "RootNotUtf8",
    "RootUnreadable",
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
]


class UsageError(CairnError):
    """{problem}

    Run `cairn --help` for the commands and their options.
    """

    code = "usage"
    exit_status = 2


class RootNotUtf8(UsageError):
    """The path of the folder {path} is not UTF-8, so no index could say where it is.

    Rename what shows as an `x` and two digits in it, then run the command again; `cairn files` works without.
    """

    code = "root_not_utf8"


class InvalidQuery(UsageError):
    """{problem}

    Put a word in double quotes to look for it as it stands; what comes after `--` is never an operator.
    """

    code = "invalid_query"


class BadContinuation(UsageError):
    """A continuation cannot be used here: {why}.

    Run the search again without it to begin at the first page.
    """

    code = "bad_continuation"


class InvalidPattern(UsageError):
    """The pattern cannot be used: {why}.

    Correct the pattern; to find a text just as it is written, ask for it literally instead of as a regex.
    """

    code = "invalid_pattern"


class BatchUnreadable(UsageError):
    """The batch {path} cannot be read: {why}.

    Name a file with one question per line, or `-` for what comes in on stdin.
    """

    code = "batch_unreadable"


class Interrupted(CairnError):
    """Stopped by you.

    Nothing is lost: what had been published stays. Run the command again when you like.
    """

    code = "interrupted"
    exit_status = 130


# --- 10-19: not now -----------------------------------------------------------------------------------------------


class NotNow(CairnError):
    """The index cannot answer now.

    `cairn status` says where it stands.
    """

    code = "not_now"
    exit_status = 19
    retryable = True


class NotIndexed(NotNow):
    """There is no index of {path}: {why}.

    Run `cairn index` to make one.
    """

    code = "not_indexed"
    exit_status = 10
    retryable = False


class NotReady(NotNow):
    """{path} is being indexed.

    Ask again when the run has ended; `cairn status` shows how far it is.
    """

    code = "not_ready"
    exit_status = 11
    retryable = True


class RequiresReindex(NotNow):
    """The index of {path} was made with other settings or by another version of Cairn (it differs in {differs}).

    Run `cairn reindex` to build one that fits; the old one stays until then.
    """

    code = "requires_reindex"
    exit_status = 12
    retryable = False


class StoreBusy(NotNow):
    """Another run ({kind}, process {pid}) is writing this index.

    It shows its progress in `cairn status`; run the command again when it has ended.
    """

    code = "busy"
    exit_status = 13
    retryable = True


class QueryTimeout(NotNow):
    """The search was stopped after {seconds} seconds, when {done} of {files} files had been searched.

    Search in fewer files (a path or a language), use a simpler pattern, or allow more time.
    """

    code = "timeout"
    exit_status = 14
    retryable = True


class NotFound(CairnError):
    """{problem}

    {advice}.
    """

    code = "not_found"
    exit_status = 15


class Ambiguous(CairnError):
    """{count} definitions are called {name}.

    Name one of them by its place, such as {place}, or with more of the names around it.
    """

    code = "ambiguous"
    exit_status = 16


class Unsupported(CairnError):
    """{problem}

    {advice}.
    """

    code = "unsupported"
    exit_status = 17


# --- 20-29: the source tree ---------------------------------------------------------------------------------------


class SourceError(CairnError):
    """The folder {path} could not be read.

    Check that it exists and that you may read it.
    """

    code = "source_unreadable"
    exit_status = 20


class RootNotFound(SourceError):
    """There is no folder at {path}.

    Check the spelling, or pass another folder with `--root`.
    """

    code = "root_not_found"
    exit_status = 21


class RootNotAFolder(SourceError):
    """{path} is a file, not a folder.

    Pass the folder that holds it with `--root`.
    """

    code = "root_not_a_folder"
    exit_status = 22


class RootUnreadable(SourceError):
    """You may not read the folder {path} ({why}).

    Change its permissions, or pass another folder with `--root`.
    """

    code = "root_unreadable"
    exit_status = 23


class PathOutsideRoot(SourceError):
    """{path} is outside the root {root}.

    Pass a path inside that folder, or another root with `--root`.
    """

    code = "path_outside_root"
    exit_status = 24


class BadPathKey(SourceError):
    """{path} is not a path inside a repository: {why}.

    Use a relative path with `/` between its parts and no `..` in it.
    """

    code = "bad_path_key"
    exit_status = 25


class GitFailed(SourceError):
    """git could not answer `{what}` in {path}: {why}.

    The folder is scanned without git's help; run `git fsck` there if this goes on.
    """

    code = "git_failed"
    exit_status = 26
    retryable = True


class WatchFailed(SourceError):
    """The folder {path} cannot be watched: {why}.

    Changes are still found by scanning; on Linux, raising `fs.inotify.max_user_watches` often helps.
    """

    code = "watch_failed"
    exit_status = 27


class PathNotFound(SourceError):
    """There is nothing at {path} under {root}.

    Check the spelling; `cairn files` lists what is there.
    """

    code = "path_not_found"
    exit_status = 28


class OutOfResources(SourceError):
    """The system gave out while the folder was read: {why}.

    Close some programs, or raise the limit (`ulimit -n` for open files), then run the command again.
    """

    code = "out_of_resources"
    exit_status = 29
    retryable = True


# --- 30-39: configuration -----------------------------------------------------------------------------------------


class ConfigError(CairnError):
    """The configuration {file} cannot be used: {why}.

    Correct that file; nothing was changed.
    """

    code = "config_invalid"
    exit_status = 30


class ConfigUnreadable(ConfigError):
    """The configuration {file} cannot be read: {why}.

    Make it a plain, readable UTF-8 file of at most 64 KiB, or remove it.
    """

    code = "config_unreadable"
    exit_status = 31


class NameCollision(ConfigError):
    """Files whose names differ only in case or composition: {paths}.

    Rename one of them, or set `collisions = "keep"` under `[index]` in your own config.toml to index them all.
    """

    code = "name_collision"
    exit_status = 33


class SettingsRefused(ConfigError):
    """{path} was left as it is: {why}.

    Set that right and run the command again, or write the entry by hand: `cairn install other` prints it.
    """

    code = "settings_refused"
    exit_status = 34


class GrammarMismatch(ConfigError):
    """The installed grammar for {language} is not {wanted}, which this version of Cairn is made for.

    Install Cairn again with its pinned requirements, so that what is indexed here means the same everywhere.
    """

    code = "grammar_mismatch"
    exit_status = 32


class AssertionsDisabled(CairnError):
    """Python runs with assertions switched off (`-O` or PYTHONOPTIMIZE).

    Cairn checks itself with assertions; start it without that option.
    """

    code = "assertions_disabled"
    exit_status = 1
