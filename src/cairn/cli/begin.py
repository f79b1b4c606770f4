"""Have the daemon make the first index of a folder, so that a command can answer from what is done of it and end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping

from cairn.core.config import DAEMON_OFF, cairn_home
from cairn.daemon.client import Abandoned, Connection, Gone, ensure_daemon
from cairn.daemon.frames import BadFrame
from cairn.sync.codebase import Codebase


def begin_in_daemon(codebase: Codebase, environ: Mapping[str, str]) -> bool:
    """Ask the daemon, which is started when there is none, for a first index; False where there is to be no daemon.

    What becomes of it is seen at the store.
    """
    if codebase.config.serve.daemon == DAEMON_OFF:
        return False
    daemon = ensure_daemon(cairn_home(environ), environ, "cli")
    if daemon is None:
        return False
    # The person has named this folder, and agreed to an index of it.
    threading.Thread(target=_ask, args=(daemon, codebase.root.path), name="cairn begin", daemon=True).start()
    return True


def _ask(daemon: Connection, root: str) -> None:
    arguments = {"action": "create", "path": root}
    with contextlib.suppress(Gone, Abandoned, BadFrame):
        daemon.request("tool", {"name": "manage_index", "arguments": arguments, "served": [root]})
