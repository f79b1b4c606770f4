"""MCP over stdin and stdout, for as long as the host is there: until the end of the input, or of the host itself."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import BinaryIO, Literal, NoReturn

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from cairn.core.limits import MAX_MESSAGE_BYTES
from cairn.mcp.messages import Refused, read, write

_LOOK_SECONDS = 0.5
# Of what is longer than a message may be, so much is read that it shows.
_LINE_BYTES = MAX_MESSAGE_BYTES + 2


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
    except* Exception as trouble:
        status, first = 1, trouble.exceptions[0]
        sys.stderr.write(f"cairn: The server cannot go on: {type(first).__name__} (CAIRN_DEBUG=1 shows where).\n")
        if os.environ.get("CAIRN_DEBUG"):
            traceback.print_exc()
    _leave(status)


async def _serve(server: Server[None]) -> None:
    received, sent = _taken(0, "rb"), _taken(1, "wb")
    to_server, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    turn = anyio.Lock()

    async def say(line: bytes) -> None:
        async with turn:
            await anyio.to_thread.run_sync(_written, sent, line + b"\n", abandon_on_cancel=True)

    async def hear() -> None:
        async with to_server:
            while line := await anyio.to_thread.run_sync(_line, received, abandon_on_cancel=True):
                message = read(line.rstrip(b"\r\n")) if line.strip() else None
                if isinstance(message, Refused):
                    await say(message.to_bytes())
                elif message is not None:
                    await to_server.send(SessionMessage(message))

    async def answer() -> None:
        async with from_server:
            async for one in from_server:
                await say(write(one.message))

    async with anyio.create_task_group() as group:
        group.start_soon(hear)
        group.start_soon(answer)
        await server.run(messages, answers, server.create_initialization_options())


def _taken(number: int, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Return a standard stream for ourselves: other readers of it find its end, and other prints go to stderr."""
    own = os.dup(number)
    if number:
        os.dup2(2, number)
    else:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, number)
        os.close(nothing)
    # A thread may still wait for it when all else has ended, so it is never closed.
    return os.fdopen(own, mode, closefd=False)


def _line(received: BinaryIO) -> bytes:
    """Return the next line, of one that is too long only the beginning; nothing at the end of the input."""
    line = rest = received.readline(_LINE_BYTES)
    while len(rest) == _LINE_BYTES and not rest.endswith(b"\n"):
        rest = received.readline(_LINE_BYTES)
    return line


def _written(sent: BinaryIO, line: bytes) -> None:
    sent.write(line)
    sent.flush()


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
