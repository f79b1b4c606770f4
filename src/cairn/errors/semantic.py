"""Errors of the semantic layer, 40-49: without it everything else goes on."""

from __future__ import annotations

from cairn.errors.base import CairnError


class SemanticError(CairnError):
    """What indexers know could not be used.

    Answers go on without it, only less sure.
    """

    code = "semantic_error"
    exit_status = 49


class SemanticUnreadable(SemanticError):
    """The semantic index {path} cannot be used: {why}.

    Run `cairn semantic refresh`; answers go on without it, only less sure.
    """

    code = "semantic_unreadable"
    exit_status = 40


class SemanticBusy(SemanticError):
    """Somebody else is writing the semantic facts in {path}.

    Run the command again in a moment; answers go on meanwhile.
    """

    code = "semantic_busy"
    exit_status = 47
    retryable = True


class NoContext(SemanticError):
    """Nothing here is for an indexer to look at: {why}.

    `cairn semantic discover` shows which parts of this codebase an indexer understands, and why.
    """

    code = "no_context"
    exit_status = 48


class IndexerMissing(SemanticError):
    """{indexer}, which reads {family}, is not there: {why}.

    Install it: `{install}`. Everything else works without it.
    """

    code = "indexer_missing"
    exit_status = 41


class IndexerRefused(SemanticError):
    """{indexer} was not run, because it runs the build of the project, and you have not said that you trust {path}.

    If you do, add the folder to `trusted_roots` under `[semantic]` in your own config.toml.
    """

    code = "indexer_refused"
    exit_status = 42


class IndexerFailed(SemanticError):
    """{indexer} failed on {context}: {why}.

    What was known before still is. When the project does not build, mend that, and run `cairn semantic refresh` again.
    """

    code = "indexer_failed"
    exit_status = 43


class IndexerTimeout(IndexerFailed):
    """{indexer} was stopped on {context}: {why}.

    What was known before still is. `seconds` under `[semantic]` in your own config.toml gives it more time.
    """

    code = "indexer_timeout"
    exit_status = 44


class IndexerMemory(IndexerFailed):
    """{indexer} was stopped on {context}: {why}.

    What was known before still is. `memory_mib` under `[semantic]` in your own config.toml gives it more room.
    """

    code = "indexer_memory"
    exit_status = 45


class IndexerEmpty(IndexerFailed):
    """{indexer} said nothing of any file of {context}: {why}.

    What was known before still is. Look at what it needs to read this project.
    """

    code = "indexer_empty"
    exit_status = 46
