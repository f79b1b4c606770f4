"""What may stand under a key of a settings file: one check for each kind of value.

A check gets the value and says what is wrong with it by raising `Bad`; it returns the value in its final form.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cairn import limits

MAX_SHOWN_CHARS = 48
MAX_TYPE_CHARS = 32
MAX_NAME_CHARS = 200
MAX_URL_CHARS = 1_000

Check = Callable[[object], object]


class Bad(Exception):
    """Why a value is refused, as the end of the sentence `KEY ...`."""


def shown(text: str) -> str:
    """A name from the file, quoted, escaped and short: what a hostile name can say in a sentence is limited."""
    clipped = text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."
    return ascii(clipped)


def boolean(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Bad("must be true or false")
    return value


def one_of(*allowed: str) -> Check:
    """One of these texts."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise Bad("must be " + " or ".join(f'"{one}"' for one in allowed))
        return value

    return check


def from_one_to(most: int) -> Check:
    """A whole number from 1 on."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise Bad(f"must be a whole number from 1 to {most}")
        return value

    return check


def at_most(cap: int) -> Check:
    """A limit that may be lowered."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Bad(f"must be a whole number from 1 to {cap}")
        if not 1 <= value <= cap:
            raise Bad(f"must be from 1 to {cap}: the limit can be lowered, never raised or switched off")
        return value

    return check


def list_of(one: Callable[[str], str]) -> Check:
    """A list of texts, each checked; sorted and without doubles."""

    def check(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Bad("must be a list of texts")
        if len(value) > limits.MAX_CONFIG_GLOBS:
            raise Bad(f"has {len(value)} entries; at most {limits.MAX_CONFIG_GLOBS} are allowed")
        return tuple(sorted({one(item) for item in value}))

    return check


def path_glob(pattern: str) -> str:
    """A pattern relative to the root, as in an ignore file but without `!`: settings can only take away."""
    named = shown(pattern)
    if len(pattern.encode()) > limits.MAX_PATTERN_BYTES:
        raise Bad(f"holds {named}, which is longer than {limits.MAX_PATTERN_BYTES} bytes")
    if not pattern or pattern != pattern.strip():
        raise Bad(f"holds {named}; a pattern is not empty and has no blanks around it")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in pattern):
        raise Bad(f"holds {named}; a pattern has no control characters")
    if pattern[0] in "!#":
        raise Bad(f"holds {named}; a pattern cannot begin with {pattern[0]}")
    if pattern[0] == "/":
        raise Bad(f"holds {named}; write it relative to the root, without the first /")
    # `..` would lead out of the root, an address holds `//`, and neither `.` nor an empty part ever matches a name.
    if any(part in ("", ".", "..") for part in pattern.removesuffix("/").split("/")):
        raise Bad(f"holds {named}; the parts of a pattern cannot be empty, . or ..")
    return pattern


def folder(path: str) -> str:
    """A folder of this machine: absolute, or below the user's home."""
    if not path.startswith(("/", "~/")) or len(path) > MAX_URL_CHARS or not path.isprintable():
        raise Bad(f"holds {shown(path)}; a folder is an absolute path, or one that begins with ~/")
    return path


def programs(value: object) -> tuple[tuple[str, str], ...]:
    """A table of programs: the name of each, and where it is on this machine."""
    if not isinstance(value, dict):
        raise Bad("must be a table of programs")
    for name, path in value.items():
        if not _PROGRAM.fullmatch(name) or not isinstance(path, str):
            raise Bad(f"holds {shown(name)}; write the name of an indexer, and the path of its program as a text")
    return tuple(sorted((name, folder(path)) for name, path in value.items()))


_PROGRAM = re.compile(r"[a-z][a-z0-9-]{0,63}")
_TYPE = re.compile(r"[a-z0-9][a-z0-9_+-]*(?:\.[a-z0-9_+-]+)*")


def file_type(name: str) -> str:
    """An extension."""
    if len(name) > MAX_TYPE_CHARS or not _TYPE.fullmatch(name):
        raise Bad(f'holds {shown(name)}; a type is an extension in small letters without its dot, such as "csv"')
    return name


# What is wrong with these is said without showing them: an address may hold a password, and people paste keys.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_URL = re.compile(
    rf"(https?)://({_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])(?::([0-9]{{1,5}}))?(?:/[A-Za-z0-9._~!$&'()*+,;=:%-]*)*"
)
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def is_loopback(url: str) -> bool:
    """Whether a checked address is one of this machine's own, so that nothing leaves it."""
    found = _URL.fullmatch(url)
    return found is not None and _LOOPBACK.fullmatch(found[2]) is not None


def url(value: object) -> str:
    """The whole address of the call, whether it was given whole or as the base of a server."""
    return server(value).removesuffix("/embeddings") + "/embeddings"


def server(value: object) -> str:
    """The address of a server; in the clear only on this machine."""
    found = _URL.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_URL_CHARS else None
    if not isinstance(value, str) or found is None or int(found[3] or 1) not in range(1, 1 << 16):
        raise Bad("must be the address of a server in full, without user, password, ? or #")
    if found[1] != "https" and not is_loopback(value):
        raise Bad("must begin with https: only a server on this machine may be asked without encryption")
    return value.rstrip("/")


def variable(value: object) -> str:
    """The name of an environment variable."""
    if not isinstance(value, str) or len(value) > MAX_NAME_CHARS or not _VARIABLE.fullmatch(value):
        raise Bad("must be the name of an environment variable in capitals, never the key itself")
    return value


def model_name(value: object) -> str:
    """A name that a person reads."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or not value.isprintable():
        raise Bad(f"must be a name of 1 to {MAX_NAME_CHARS} printable characters")
    return value


def prefix(value: object) -> str:
    """A text that is put before others."""
    if not isinstance(value, str) or len(value) > limits.MAX_EMBED_PREFIX_CHARS:
        raise Bad(f"must be a text of at most {limits.MAX_EMBED_PREFIX_CHARS} characters")
    return value
