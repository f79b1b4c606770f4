"""The token that programs show to speak to the server over HTTP: a file that only its user can read."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Mapping

from cairn.config import BEARER_NAME, cairn_home
from cairn.errors import TokenUnfit
from cairn.serve.agents import files
from cairn.serve.agents.edits import Unfit
from cairn.source.root import printable

# 256 bits; what somebody has written by hand must have at least 128 (22 characters of 6 bits).
_BYTES = 32
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{22,512}\n?")


def token_path(environ: Mapping[str, str]) -> str:
    """Where it is kept."""
    return os.path.join(cairn_home(environ), BEARER_NAME)


def token_of(environ: Mapping[str, str]) -> str:
    """The token of this user, made now when there is none. `TokenUnfit` when others can read it, or it is none."""
    path = token_path(environ)
    try:
        found = files.look(path)
        if found.data is None:
            files.replace(found, f"{secrets.token_urlsafe(_BYTES)}\n".encode(), private=True)
            found = files.look(path)
        if stat.S_IMODE(os.stat(found.path).st_mode) & 0o077:
            raise Unfit("others can read it")
        if found.data is None or not _TOKEN.fullmatch(found.data):
            raise Unfit("it holds no token")
        return found.data.decode().strip()
    except (Unfit, OSError) as problem:
        raise TokenUnfit(path=printable(os.fsencode(path)), why=problem) from None
