"""The `cairn` command before anything is loaded: a daemon that runs is asked, else the program itself does it.

A person feels every import: `json` and `socket` alone take as long as Python does to start. So the parts of the
standard library that are in C are used as they are, and whatever is not plain is left to the program.
"""

from __future__ import annotations

import os
import sys

from cairn import __version__
from cairn.daemon.frames import OWN, PROTOCOL, hello

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

_INTERRUPTED = 130
_PASSED_ON = ("NO_COLOR", "FORCE_COLOR", "TERM")
_HELLO_SECONDS = 1.0
# Without a word for so long it is asked whether it lives; without one for as long again it does not.
_QUIET_SECONDS = 2.0
_MOST_BYTES = 10 << 20
_MOST_ADDRESS = 107
# The address space that numpy takes with one thread, and some more.
_NUMPY_TAKES = 96 << 20


class Trouble(Exception):
    """The daemon has not answered, so the program does."""


def main() -> int:
    """Run the command line; the exit status."""
    _have_streams()
    try:
        return _run()
    finally:
        _let_notes_go()


def _run() -> int:
    arguments = sys.argv[1:]
    if _may_ask(arguments):
        try:
            return _asked(arguments)
        except (Trouble, OSError, ValueError, StopIteration, ImportError, AttributeError, TypeError):
            # Nothing has been printed yet, whatever it was.
            pass
        except KeyboardInterrupt:
            return _stopped()
    return run_here()


def run_here() -> int:
    """Load the whole program and run the command line; Ctrl-C is answered even while it is loaded."""
    try:
        _look_before_numpy()
        from cairn.cli.main import main as run  # noqa: PLC0415 - loading it takes longer than some people wait

        return run()
    except KeyboardInterrupt:
        return _stopped()
    except (MemoryError, ImportError, OSError) as problem:
        return _starved(problem)


def _look_before_numpy() -> None:
    """Where memory is limited, let numpy be loaded only where it fits, and with one thread.

    Its library ends the process, or interrupts it, when it gets no memory; each of its threads takes a share of that.
    """
    import resource  # noqa: PLC0415 - the program itself loads it

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.meta_path.insert(0, _Room())


class _Room:
    """Finds no module, and raises a `MemoryError` when numpy is looked for where it does not fit."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Tell that others may find it."""
        if name == "numpy":
            bytes(_NUMPY_TAKES)


def _starved(problem: Exception) -> int:
    """Say that not even the program fits in the memory that is left; the exit status for that."""
    try:
        from cairn.errors import OutOfMemory, memory_trouble  # noqa: PLC0415 - the program itself loads it

        told = memory_trouble(problem)
        if told is None:
            raise problem
        shown = OutOfMemory(why=told)
        _let_notes_go(f"cairn: {shown.sentence}\n  {shown.advice}\n")
    except MemoryError:
        _let_notes_go("cairn: There was not enough memory for this command.\n")
    return 1


def _have_streams() -> None:
    """Open the null device in the place of a stream that was closed, as in `cairn files >&-`.

    No other file may get its number: what is printed would be written there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            while os.open(os.devnull, os.O_WRONLY if number else os.O_RDONLY) < number:
                pass
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _let_notes_go(text: str = "") -> None:
    """Write the text and what is still held back of the notes, nowhere when nobody can read them: no failure."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _stopped() -> int:
    """Say that the person has stopped the command; the exit status for that."""
    _let_notes_go(
        "cairn: Stopped by you.\n"
        "  Nothing is lost: what had been published stays. Run the command again when you like.\n"
    )
    return _INTERRUPTED


def _may_ask(arguments: list[str]) -> bool:
    if not arguments or arguments[0] in OWN or arguments[0].startswith("-"):
        return False
    return not any(one == "--offline" or one.partition("=")[0] == "--batch" for one in arguments)


def _asked(arguments: list[str]) -> int:
    """The exit status that the daemon gives, with all that it says printed."""
    home = os.environ.get("CAIRN_HOME") or os.path.join(os.environ.get("HOME") or os.path.expanduser("~"), ".cairn")
    if not os.path.isabs(home) or sys.flags.optimize:
        raise Trouble
    wire = _Wire(_dialled(home))
    try:
        _greet(wire)
        wire.send({"id": 1, "command": _typed(arguments)})
        return _printed(wire)
    except KeyboardInterrupt:
        wire.send({"cancel": 1})
        raise
    finally:
        wire.close()


def _greet(wire: _Wire) -> None:
    """Passes when the daemon is of our version and has our settings. One of an older version is asked to leave."""
    ours = hello(__version__, os.getpid(), "cli", os.environ)
    wire.send(ours)
    reply = wire.receive(_HELLO_SECONDS)
    said = reply.get("hello") or reply.get("refused") or {}
    expected = PROTOCOL, __version__, ours["hello"]["settings"]
    if (said.get("protocol"), said.get("version"), said.get("settings")) == expected:
        return
    if said.get("version") != __version__:
        from cairn.daemon.client import is_older  # noqa: PLC0415

        if is_older(said.get("version"), __version__):
            wire.send({"id": 0, "leave": {}})
    raise Trouble


def _typed(arguments: list[str]) -> dict[str, Any]:
    """What was typed, where, and what the answer is printed on."""
    seen = sys.stderr.isatty()
    terminal = {
        "stdout": sys.stdout.isatty(),
        "stderr": seen,
        "columns": os.get_terminal_size(sys.stderr.fileno()).columns if seen else 0,
    }
    environ = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"argv": arguments, "cwd": os.getcwd(), "environ": environ, "terminal": terminal}


def _printed(wire: _Wire) -> int:
    """Print what comes. The answer itself waits for its end: until then the program can still give it."""
    held: list[tuple[str, str]] = []
    while True:
        message = wire.receive(_QUIET_SECONDS, ping=1)
        held += [(name, message[name]) for name in ("out", "err") if name in message]
        if held and held[0][0] == "err":
            # Nothing of the answer is held back: it is about how far the work is.
            _write(held)
            held.clear()
        if "exit" in message:
            try:
                _write(held)
            except BrokenPipeError:
                # `cairn search x | head`: the reader has what it wanted. Nothing more may be written, not even at exit.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return 0
            return int(message["exit"])
        if "direct" in message or "error" in message:
            raise Trouble


def _write(pieces: list[tuple[str, str]]) -> None:
    for name, text in pieces:
        stream = sys.stdout if name == "out" else sys.stderr
        # A terminal that is not UTF-8 must show an escape, never end the command.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        if name == "out":
            stream.write(text)
            stream.flush()
        else:
            _let_notes_go(text)


# --- the wire ---------------------------------------------------------------------------------------------------------


class _Wire:
    """Frames to the daemon and back, without what `cairn.daemon` would load for them."""

    def __init__(self, stream: socket) -> None:
        self._stream = stream
        self._came = b""

    def close(self) -> None:
        self._stream.close()

    def send(self, message: dict[str, Any]) -> None:
        body = _json_of(message).encode("ascii")
        self._stream.sendall(len(body).to_bytes(4, "big") + body)

    def receive(self, seconds: float, *, ping: int | None = None) -> dict[str, Any]:
        """The next message. One who says nothing for so long is asked whether it lives, or is given up."""
        self._stream.settimeout(seconds)
        quiet = False
        while True:
            length = int.from_bytes(self._came[:4], "big")
            if length > _MOST_BYTES:
                raise Trouble
            if len(self._came) >= 4 + length and len(self._came) >= 4:
                body, self._came = self._came[4 : 4 + length], self._came[4 + length :]
                return _value_of(body.decode())
            try:
                part = self._stream.recv(1 << 16)
            except TimeoutError:
                if quiet or ping is None:
                    raise Trouble from None
                quiet = True
                self.send({"ping": ping})
                continue
            if not part:
                raise Trouble
            quiet = False
            self._came += part


def _dialled(home: str) -> socket:
    """A socket at whose other end is a process of the same user."""
    from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket  # noqa: PLC0415

    path, folder = os.path.join(home, "run", "daemon.sock"), -1
    stream = socket(AF_UNIX, SOCK_STREAM)
    try:
        stream.settimeout(_HELLO_SECONDS)
        if len(os.fsencode(path)) > _MOST_ADDRESS:
            # The system takes no longer name, but it takes one through an open folder.
            folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            path = f"/proc/self/fd/{folder}/daemon.sock"
        stream.connect(path)
        credentials = stream.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
        if int.from_bytes(credentials[4:8], sys.byteorder) != os.geteuid():
            raise Trouble
    except BaseException:
        stream.close()
        raise
    finally:
        if folder >= 0:
            os.close(folder)
    return stream


def _json_of(value: object) -> str:
    from _json import encode_basestring_ascii as quoted  # noqa: PLC0415

    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(name)}:{_json_of(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json_of, value)) + "]"
    return str(value)


class _Reading:
    """How the scanner of `json` is to read."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _value_of(text: str) -> dict[str, Any]:
    from _json import make_scanner  # noqa: PLC0415

    value, end = make_scanner(_Reading)(text, 0)  # type: ignore[arg-type]
    if end != len(text) or not isinstance(value, dict):
        raise Trouble
    return value
