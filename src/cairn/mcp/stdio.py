"""MCP over stdin and stdout, for as long as the host is there: until the end of the input, or of the host itself."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import NoReturn

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_LOOK_SECONDS = 0.5


def serve_stdio(server: Server[None], host: int) -> NoReturn:
    """Serve until the host, the process of this id, goes; then end the process.

    What still waits in a thread, for the input or for a run, is not waited for: the next run takes over what a killed
    one has left.
    """
    _leave_with(host)
    status = 0
    try:
        anyio.run(_serve, server)
    except* (BrokenPipeError, ConnectionError):
        # The host has closed its end while we were answering.
        pass
    except* KeyboardInterrupt:
        status = 130
    except* Exception:
        status = 1
        if os.environ.get("CAIRN_DEBUG"):
            traceback.print_exc()
    _leave(status)


async def _serve(server: Server[None]) -> None:
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _leave_with(parent: int) -> None:
    """End when this parent does.

    The end of the input does not tell it all: when the host is killed, another of its children may still hold the
    pipe. The signal that the kernel could send comes when the *thread* that started us ends, which in some hosts is
    soon. So the parent is looked at.
    """

    def watch() -> None:
        never = threading.Event()
        while not never.wait(_LOOK_SECONDS):
            if os.getppid() != parent:
                _leave(0)

    threading.Thread(target=watch, name="cairn parent", daemon=True).start()


def _leave(status: int) -> NoReturn:
    sys.stderr.flush()
    os._exit(status)
