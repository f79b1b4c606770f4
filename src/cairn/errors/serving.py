"""Errors of what is asked by programs over a wire."""

from __future__ import annotations

from cairn.errors.base import CairnError


class InvalidRequest(CairnError):
    """The argument {field} cannot be used: {why}.

    Correct it and call again; the description of the tool lists what it takes.
    """

    code = "invalid_request"
    exit_status = 2


class RootNotAllowed(CairnError):
    """{path} is not in a folder that an agent may use ({roots}).

    Ask about a folder that is served or indexed; the user can add others as `allowed_roots` under `[serve]` in their
    own config.toml.
    """

    code = "root_not_allowed"
    exit_status = 2


class RootNotManaged(CairnError):
    """The index of {path} is read here and not changed ({roots}).

    Ask the user to run the command there, or to add the folder as `managed_roots` under `[serve]` in their own
    config.toml.
    """

    code = "root_not_managed"
    exit_status = 2


class SecretsInPatch(CairnError):
    """The patch holds text that looks like a secret, on {count} of its lines, so it is not given to an agent.

    Ask the user to run the same command in a terminal: `cairn` shows the whole patch there.
    """

    code = "secrets_in_patch"
    exit_status = 1


class Cancelled(CairnError):
    """The call was cancelled.

    What had been published stays; call again when you like.
    """

    code = "cancelled"
    exit_status = 1
    retryable = True


class McpMissing(CairnError):
    """`cairn mcp` needs the MCP package, version 2.3 or later, which is not installed.

    Install it: `pip install 'codecairn[mcp]'`. Everything else works without it.
    """

    code = "mcp_missing"
    exit_status = 1


class TokenUnfit(CairnError):
    """The token in {path} cannot be used: {why}.

    Remove that file, and `cairn mcp --http` makes a new one that only you can read.
    """

    code = "token_unfit"
    exit_status = 1


class AddressTaken(CairnError):
    """Port {port} cannot be used: {why}.

    Choose another one with --port, or 0 for any that is free.
    """

    code = "address_taken"
    exit_status = 1


class DaemonBusy(CairnError):
    """The daemon takes no more requests just now: {why}.

    Ask again in {retry_after_ms} milliseconds.
    """

    code = "daemon_busy"
    exit_status = 1
    retryable = True


class DeadlinePassed(CairnError):
    """The request was not answered in the time it had.

    Ask again; `cairn daemon status` shows what keeps the daemon busy.
    """

    code = "deadline_passed"
    exit_status = 1
    retryable = True


class SocketTaken(CairnError):
    """The daemon cannot listen at {path}: {why}.

    Move away what is there, then run `cairn daemon start`; until then every command reads the index by itself.
    """

    code = "socket_taken"
    exit_status = 1


class DaemonRunning(CairnError):
    """Another daemon of yours is running.

    `cairn daemon status` shows it, and `cairn daemon stop` ends it.
    """

    code = "daemon_running"
    exit_status = 1


class DaemonFailed(CairnError):
    """The daemon {what}.

    See the last lines of {log}. Every command works without it and reads the index by itself.
    """

    code = "daemon_failed"
    exit_status = 1
