"""`cairn mcp`: the tools for coding agents, over stdin and stdout or over HTTP."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import NoReturn

from cairn import __version__
from cairn.cli.output import Output
from cairn.errors import McpMissing, UsageError
from cairn.source.root import find_root, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    try:
        from cairn.serve.mcp import mcp_server  # noqa: PLC0415 - an extra that most installs do without
    except ImportError as problem:
        if (problem.name or "").partition(".")[0] in {"mcp", "mcp_types", "anyio"}:
            raise McpMissing from None
        raise
    if not os.environ.get("CAIRN_DEBUG"):
        # What the libraries below log may hold what was asked and answered.
        logging.disable(logging.CRITICAL)
    server = mcp_server(lambda: _desk(roots), version=__version__, structured=options.structured)
    if options.http:
        return _over_http(server, _PORT if options.port is None else options.port, output)
    return _over_stdio(server, host, output)


def _desk(roots: list[str]) -> Desk:
    from cairn.serve.desk import Desk  # noqa: PLC0415 - brings numpy; hello is said without it
    from cairn.serve.guard import Allowed  # noqa: PLC0415

    return Desk(os.environ, Allowed(os.environ, roots))


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
