"""The tool that starts runs: it waits a while for what it has started, then tells how far that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.answer.envelope import Envelope, error, retry_later, status_call, with_hints
from cairn.answer.runs import repair_envelope, run_envelope
from cairn.ask.gate import Status
from cairn.ask.runs import Action, Patience, Run, retry_after_ms
from cairn.ask.session import Target
from cairn.ask.whereabouts import where
from cairn.ask.workspace import Workspace
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES
from cairn.errors import CairnError, Cancelled, InvalidRequest, NotIndexed, StoreBusy
from cairn.sync.report import RunReport
from cairn.tools.reading import index_status


def manage_index(workspace: Workspace, arguments: Mapping[str, Any], patience: Patience) -> Envelope:
    """Do something to an index, or say where it stands. Only one run is at work on a codebase."""
    if arguments["action"] == "status":
        return _standing(workspace, workspace.pool.allowed.resolve(arguments.get("path")))
    target = workspace.pool.allowed.managed(arguments.get("path"))
    action = Action(arguments["action"])
    if action is Action.CLEAR and not arguments["force"]:
        raise InvalidRequest(field="force", why="it is missing, and clear empties the index; ask the user first")
    if action is Action.CREATE and arguments["force"]:
        action = Action.REINDEX
    if action is Action.SYNC and (closed := _nothing_to_sync(workspace, target)) is not None:
        return closed
    begun = _begin(workspace, target, action, arguments, patience)
    if isinstance(begun, Envelope):
        return begun
    try:
        over = patience.wait(begun)
    except Cancelled:
        begun.cancel()
        raise
    return _outcome(workspace, target, begun) if over else _standing(workspace, target)


def _nothing_to_sync(workspace: Workspace, target: Target) -> Envelope | None:
    """Why there is no index to bring up to date: only a create or a reindex makes one, never a sync by the way."""
    if where(workspace.pool.status(target)).gate.status in (Status.OK, Status.NOT_READY):
        return None
    return _standing(workspace, target)


def _begin(
    workspace: Workspace, target: Target, action: Action, arguments: Mapping[str, Any], patience: Patience
) -> Run | Envelope:
    """The run, begun; or who is in the way. Our own syncs before searches are waited for: they are over soon."""
    until = patience.clock.monotonic() + patience.seconds
    while True:
        ours = workspace.runs.active(target.codebase.root.path)
        late = patience.clock.monotonic() >= until
        if ours is not None and ours.action is Action.SYNC and not late and patience.wait(ours):
            continue
        refused = _refused(workspace, target)
        if refused is not None:
            return refused
        try:
            return workspace.runs.start(action, target.codebase, allow_degraded=arguments["allowDegraded"])
        except StoreBusy as problem:
            # Somebody's search was faster.
            if late:
                return _busy(workspace, target, problem)


def _outcome(workspace: Workspace, target: Target, run: Run) -> Envelope:
    problem = run.error
    if isinstance(problem, NotIndexed):
        return _standing(workspace, target)
    if isinstance(problem, StoreBusy):
        return _refused(workspace, target) or _busy(workspace, target, problem)
    if problem is not None:
        return _failed(target, problem)
    report, root, warnings = run.report, target.codebase.root.path, target.codebase.config.warnings
    if isinstance(report, RunReport):
        return run_envelope(target.asked, root, report, warnings=warnings, budget=DEFAULT_ENVELOPE_BYTES)
    assert report is not None, "a run that is over says what it came to"
    plan = report.plan
    return repair_envelope(target.asked, root, plan, report, warnings=warnings, budget=DEFAULT_ENVELOPE_BYTES)


def _refused(workspace: Workspace, target: Target) -> Envelope | None:
    """Why nothing can be begun: a run is at work, ours or that of another process."""
    run = workspace.runs.active(target.codebase.root.path)
    status = workspace.pool.status(target)
    writer = run.writer if run is not None else status.writer
    if writer is None or not writer.alive:
        return None
    if (run.is_starting or run.is_beside) if run is not None else writer.kind in (Action.CREATE, Action.REINDEX):
        return _standing(workspace, target)
    return _busy(workspace, target, StoreBusy(kind=writer.kind, pid=writer.pid))


def _standing(workspace: Workspace, target: Target) -> Envelope:
    """Where the index stands, and when to ask again while a run closes its gate."""
    envelope = index_status(workspace.pool, {"path": target.asked})
    return retry_later(envelope, retry_after_ms(workspace.runs.active(target.codebase.root.path)))


def _busy(workspace: Workspace, target: Target, problem: CairnError) -> Envelope:
    later = retry_after_ms(workspace.runs.active(target.codebase.root.path))
    return with_hints(_failed(target, problem), retryAfterMs=later)


def _failed(target: Target, problem: CairnError) -> Envelope:
    root = target.codebase.root.path
    return with_hints(error(problem, path=target.asked, root=root), status=status_call(root))
