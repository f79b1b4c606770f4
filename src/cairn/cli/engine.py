"""Keep the copy of an index on a search server: send it, bring it back, say where it stands (`cairn engine`)."""

from __future__ import annotations

import argparse
import os

from cairn.answer.stores import engine_report, proof_fields
from cairn.cli.output import Output, counted
from cairn.core.config import cairn_home
from cairn.core.text import plain
from cairn.sync.codebase import open_codebase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.sync.remote.copy import EngineReport

_LOCAL = "Rows are searched on this machine; `[engine]` in your own config.toml can name a server."


def configure_engine(parser: argparse.ArgumentParser) -> None:
    """Add the action of `cairn engine`."""
    parser.add_argument("action", choices=("push", "pull", "status"), help="send, bring back, or say how it stands")


def run_engine(options: argparse.Namespace, output: Output) -> int:
    """Do the action and print the result; returns the error's exit status when the server does not answer."""
    codebase = open_codebase(options.root, os.environ)
    home = cairn_home(os.environ)
    # Imported here because it needs numpy, and `--help` does not.
    from cairn.sync.remote.copy import engine_status, push  # noqa: PLC0415
    from cairn.sync.remote.pull import pull  # noqa: PLC0415

    progress = output.progress()
    try:
        if options.action == "status":
            report = engine_status(codebase, home)
        else:
            report = (push if options.action == "push" else pull)(codebase, home, progress.tell)
    finally:
        progress.done()
    if options.json:
        envelope = engine_report(
            path=options.root,
            root=codebase.root.path,
            action=options.action,
            engine=_fields(report),
            warnings=codebase.config.warnings,
        )
        output.line(envelope.to_json())
    else:
        output.line(plain(_summary(options.action, report)))
        if report.trouble is not None:
            output.note(plain(report.trouble.advice))
    return 0 if report.trouble is None else report.trouble.exit_status


def _fields(report: EngineReport) -> dict[str, object]:
    trouble = report.trouble
    return {
        "kind": report.kind,
        "uri": report.uri,
        "collection": report.collection,
        "version": report.version,
        "healthy": trouble is None,
        "health": "ok" if trouble is None else trouble.code,
        "proof": proof_fields(report.proof),
        "trouble": None if trouble is None else {"code": trouble.code, "message": plain(trouble.sentence)},
        "snapshot": report.snapshot_id,
        "segments": report.segments,
        "rows": report.rows,
        "segmentsThere": report.there,
        "segmentsMoved": report.sent,
        "rowsMoved": report.sent_rows,
        "orphans": report.orphans,
        "complete": _is_complete(report),
    }


def _summary(action: str, report: EngineReport) -> str:
    if report.kind == "local":
        return _LOCAL
    if report.trouble is not None:
        return report.trouble.sentence
    where = f"{report.collection} on {report.uri} ({report.version})"
    moved = f"{counted(report.sent, 'segment')} with {counted(report.sent_rows, 'row')}"
    if action == "push":
        return f"Sent {moved} to {where}; the snapshot is complete there."
    if action == "pull":
        return f"Brought {moved} from {where}." if report.sent else f"Nothing newer is in {where}."
    if report.snapshot_id is None:
        return f"There is no snapshot here yet; {where} answers."
    whole = "complete there" if _is_complete(report) else "not complete there; `cairn engine push` sends it"
    verb = "is" if report.segments == 1 else "are"
    return f"{report.there} of {counted(report.segments, 'segment')} {verb} in {where}, and the snapshot is {whole}."


def _is_complete(report: EngineReport) -> bool:
    """Whether the marker says that the copy is complete, and all its segments are still there."""
    return report.marked and report.there == report.segments
