"""`cairn watch`: catch up with the files of one codebase, then keep its index up with them until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import threading

from cairn.answer.envelope import plain
from cairn.cli.index import notes, summary
from cairn.cli.output import Output
from cairn.config import cairn_home
from cairn.errors import NotIndexed
from cairn.source.root import printable
from cairn.sync.codebase import Codebase, open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.serve.runs import Run
    from cairn.serve.startup import WatchedDesk
    from cairn.sync.report import Gap

_LOOK_SECONDS = 0.1
# How soon it is noticed that nothing is left to watch.
_STILL_SECONDS = 1.0


def configure(parser: argparse.ArgumentParser) -> None:
    """`cairn watch` has only the options that all commands have."""


def run(options: argparse.Namespace, output: Output) -> int:
    """Watch until the user stops it, somebody clears the index, or the folder goes."""
    codebase = open_codebase(options.root, os.environ)
    from cairn.answer.gate import gate_error  # noqa: PLC0415 - see below
    from cairn.answer.runs import status_gate  # noqa: PLC0415
    from cairn.serve.guard import Allowed  # noqa: PLC0415 - brings numpy; a wrong root is told before
    from cairn.serve.refusing import refuse_other_model  # noqa: PLC0415
    from cairn.serve.startup import WatchedDesk  # noqa: PLC0415
    from cairn.sync.status import look  # noqa: PLC0415

    root, home = codebase.root.path, cairn_home(os.environ)
    refuse_other_model(codebase, home)
    shown = _Shown(options, output, codebase)
    desk = WatchedDesk(
        os.environ, Allowed(os.environ, [root]), roots=[root], create=True, told=shown.run, found=shown.gap
    )
    try:
        while True:
            _catch_up(desk, root, output)
            watched = root in desk.watching.state()
            if watched:
                output.note(f"{_how(desk, root)} {printable(os.fsencode(root))}; Ctrl-C stops it.")
                output.stderr.flush()
                while not shown.cleared.wait(_STILL_SECONDS) and root in desk.watching.state():
                    pass
            # A folder that has gone is told as such by this.
            gate = status_gate(look(open_codebase(root, os.environ), home))
            if not (watched and gate.is_open):
                raise gate_error(gate, printable(os.fsencode(root)))
            # It had gone, and is there again.
            desk.watching.add(root, create=True)
    except KeyboardInterrupt:
        # How one stops it.
        return 0
    finally:
        desk.close()


def _catch_up(desk: WatchedDesk, root: str, output: Output) -> None:
    """Show how far the first comparison is, until it is over."""
    progress = output.progress()
    try:
        while not desk.watching.caught_up(root, _LOOK_SECONDS):
            going = desk.runs.active(root)
            if going is not None and going.progress is not None:
                progress.tell(going.progress)
    finally:
        progress.done()


def _how(desk: WatchedDesk, root: str) -> str:
    state = desk.watching.state()[root]
    if state["mode"] == "watching":
        return "Watching"
    return f"Changes cannot be heard here ({plain(state['why'] or '')}). Every five minutes Cairn compares"


class _Shown:
    """Tells in lines what runs find and do."""

    def __init__(self, options: argparse.Namespace, output: Output, codebase: Codebase) -> None:
        self._options, self._output, self._codebase = options, output, codebase
        self.cleared = threading.Event()

    def gap(self, _: str, gap: Gap) -> None:
        self._output.note(gap.sentence)
        self._output.stderr.flush()

    def run(self, ended: Run) -> None:
        from cairn.serve.reports import run_envelope  # noqa: PLC0415
        from cairn.sync.report import RunReport  # noqa: PLC0415

        output, report = self._output, ended.report
        if isinstance(ended.error, NotIndexed):
            self.cleared.set()
        elif ended.error is not None:
            output.note(f"{output.styled('note: ', 'yellow', output.stderr)}{plain(ended.error.sentence)}")
        elif isinstance(report, RunReport) and report.published:
            if self._options.json:
                output.line(run_envelope(self._options.root, self._codebase, report).to_json())
            else:
                output.line(summary(report, "sync"))
                notes(report, (), output)
        output.stdout.flush()
        output.stderr.flush()
