"""`cairn mcp`: the tools for coding agents, over stdin and stdout or over HTTP."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import NoReturn

from cairn import __version__
from cairn.cli.output import Output
from cairn.config import DAEMON_OFF, cairn_home, load_config, read_user_config, user_config_path
from cairn.errors import CairnError, McpMissing, UsageError
from cairn.source.root import find_root, printable
from cairn.sync.codebase import open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.serve.calls import Calls
    from cairn.serve.desk import Desk
    from cairn.serve.mcp import McpServer

_PORT = 8717
_MOST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn mcp`."""
    parser.add_argument("--http", action="store_true", help="serve over HTTP on this machine, for those with the token")
    parser.add_argument("--port", type=int, default=None, metavar="N", help=f"the port for --http (default: {_PORT})")
    parser.add_argument(
        "--structured", action="store_true", help="answer with structured content and schemas instead of text"
    )


def run(options: argparse.Namespace, output: Output) -> int:
    """Serve until the agent goes, or the user stops it."""
    # To load what follows takes a second, in which the agent may go.
    host = os.getppid()
    if options.port is not None and not (options.http and 0 <= options.port <= _MOST_PORT):
        raise UsageError(problem=f"--port takes a number up to {_MOST_PORT}, together with --http.")
    # A folder that is not there is told now; whether it may be served, and all else, when it is asked about.
    roots = [find_root(root).path for root in options.root or ["."]]
    if len(options.root or ()) == 1:
        _refuse_other_model(roots[0])
    try:
        from cairn.serve.mcp import mcp_server  # noqa: PLC0415 - an extra that most installs do without
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] in {"mcp", "mcp_types", "anyio"}:
            raise McpMissing from None
        raise
    if not os.environ.get("CAIRN_DEBUG"):
        # What the libraries below log may hold what was asked and answered.
        logging.disable(logging.CRITICAL)
    server = mcp_server(_calls(roots, options), version=__version__, structured=options.structured)
    if options.http:
        return _over_http(server, _PORT if options.port is None else options.port, output)
    return _over_stdio(server, host, output)


def _refuse_other_model(root: str) -> None:
    """Who serves one codebase alone does not begin where it could answer nothing; wrong settings are told later."""
    from cairn.serve.refusing import refuse_other_model  # noqa: PLC0415 - only then

    try:
        codebase = open_codebase(root, os.environ)
    except CairnError:
        return
    refuse_other_model(codebase, cairn_home(os.environ))


def _calls(roots: list[str], options: argparse.Namespace) -> Calls:
    """Who answers: the daemon, unless the user wants none or its settings cannot be read."""
    from cairn.serve.calls import OwnDesk, ThroughDaemon  # noqa: PLC0415 - see above

    own = OwnDesk(lambda: _desk(roots), lambda: _is_indexed(roots))
    try:
        user = read_user_config(os.environ)
        path = user_config_path(os.environ)
        settings = load_config(None, user.data, user_file=path, user_alone=user.alone).serve
        home = cairn_home(os.environ)
    except CairnError:
        # Whoever asks is told.
        return own
    if options.offline or settings.daemon == DAEMON_OFF:
        return own
    return ThroughDaemon(home, os.environ, roots, own)


def _desk(roots: list[str]) -> Desk:
    from cairn.serve.guard import Allowed  # noqa: PLC0415 - brings numpy; hello is said without it
    from cairn.serve.startup import WatchedDesk  # noqa: PLC0415

    return WatchedDesk(os.environ, Allowed(os.environ, roots), roots=roots)


def _is_indexed(roots: list[str]) -> bool:
    """Whether an indexer has been set up for one of the codebases that are served."""
    from cairn.semantic.catalog import has_contexts  # noqa: PLC0415 - only a list of tools needs it
    from cairn.semantic.database import SemanticDatabase  # noqa: PLC0415

    return any(has_contexts(SemanticDatabase(cairn_home(os.environ), root)) for root in roots)


def _over_stdio(server: McpServer, host: int, output: Output) -> NoReturn:
    from cairn.serve.mcp_stdio import serve_stdio  # noqa: PLC0415 - see above

    if sys.stdin.isatty():
        output.note("This is for coding agents: they start it and speak to it over stdin (`cairn install`).")
    serve_stdio(server, host)


def _over_http(server: McpServer, port: int, output: Output) -> int:
    from cairn.serve.mcp_http import serve_http  # noqa: PLC0415 - see above
    from cairn.serve.token import token_of, token_path  # noqa: PLC0415

    def ready(address: str) -> None:
        where = printable(os.fsencode(token_path(os.environ)))
        output.note(f"Serving {address}; send `Authorization: Bearer` and what {where} holds. Ctrl-C stops it.")
        output.stderr.flush()

    try:
        serve_http(server, token_of(os.environ), port, ready)
    except KeyboardInterrupt:
        # How one stops a server.
        return 0
    return 0
