"""What can be wrong with a command or a question, and the index that cannot answer it now (2, 10-19, 130)."""

from __future__ import annotations

from cairn.errors.base import CairnError


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


class RootIsBare(UsageError):
    """The folder {path} is a bare git repository: it holds files of git and none of a work tree.

    Clone it (`git clone PATH`), and index the clone.
    """

    code = "root_is_bare"


class InvalidQuery(UsageError):
    """{problem}

    Change what is named here, and ask again.
    """

    code = "invalid_query"


class BadContinuation(UsageError):
    """A continuation cannot be used here: {why}.

    Run the search again without it to begin at the first page.
    """

    code = "bad_continuation"


class InvalidPattern(UsageError):
    r"""The pattern cannot be used: {why}.

    Correct the pattern; a backslash before a sign lets it stand for itself, as in `f\(x\)`.
    """

    code = "invalid_pattern"


class BatchUnreadable(UsageError):
    """The batch {path} cannot be read: {why}.

    Name a file with one question per line, or `-` for what comes in on stdin.
    """

    code = "batch_unreadable"


class AnswerUnwritable(CairnError):
    """The answer could not be written: {why}.

    Free some space, or write it somewhere else, then run the command again.
    """

    code = "answer_unwritable"
    exit_status = 1


class OutOfMemory(CairnError):
    """There was not enough memory for this command: {why}.

    Close some programs, or raise its limit (`ulimit -v`), then run it again; what had been published stays.
    """

    code = "out_of_memory"
    exit_status = 1
    retryable = True


class Interrupted(CairnError):
    """Stopped by you.

    Nothing is lost: what had been published stays. Run the command again when you like.
    """

    code = "interrupted"
    exit_status = 130


# --- 10-19: not now -----------------------------------------------------------------------------------------------


class IndexNotReadyError(CairnError):
    """The index cannot answer now.

    `cairn status` says where it stands.
    """

    code = "not_now"
    exit_status = 19
    retryable = True


class NotIndexed(IndexNotReadyError):
    """There is no index of {path}: {why}.

    Run `cairn index` to make one.
    """

    code = "not_indexed"
    exit_status = 10
    retryable = False


class IndexingInProgressError(IndexNotReadyError):
    """{path} is being indexed.

    Ask again when the run has ended; `cairn status` shows how far it is. `--partial` (`allowPartial`) answers from what
    is done.
    """

    code = "not_ready"
    exit_status = 11
    retryable = True


# Another model is one of the settings in which an index can differ: `RequiresReindex` is caught as this one, too.
class EmbeddingModelChangedError(CairnError, RuntimeError):
    """Embedding model changed from '{stored}' to '{configured}'; the index at {path} holds vectors of the old one.

    Run `cairn reindex` to build the index anew beside it, or set the model back in your config.toml.
    """

    code = "embedding_model_changed"
    exit_status = 1


class RequiresReindex(IndexNotReadyError, EmbeddingModelChangedError):
    """The index of {path} was made with other settings or by another version of Cairn (it differs in {differs}).

    Run `cairn reindex` to build one that fits; the old one stays until then.
    """

    code = "requires_reindex"
    exit_status = 12
    retryable = False


# Whoever waits for a run at work catches both by one name.
class StoreBusy(IndexingInProgressError):
    """Another run ({kind}, process {pid}) is writing this index.

    It shows its progress in `cairn status`; run the command again when it has ended, or when a run without a heartbeat
    has shown none for two minutes.
    """

    code = "busy"
    exit_status = 13
    retryable = True


class QueryTimeout(IndexNotReadyError):
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
