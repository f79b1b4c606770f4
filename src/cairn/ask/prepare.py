"""Do the step before a read, alike for every face: compare the files, or index a folder that was never indexed.

A `Policy` says what may be done. A `Worker` does it: the thread that asks (`prepare`), or the background runs of a
server (`Workspace.prepared`). When the step fails, the read does not: the last snapshot answers, and the answer says
so. Some folders are indexed only by an explicit command: the root of the disk, a home, folders of the system.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from cairn.ask.gate import GateFacts
from cairn.ask.session import NOT_CHECKED, Session
from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.limits import PARTIAL_SECONDS, RECENT_SYNC_SECONDS, SYNC_BEFORE_SEARCH_SECONDS
from cairn.core.progress import Phase, Progress, Tell
from cairn.core.types import Root
from cairn.errors import CairnError, Cancelled, NotIndexed, SourceError, StoreBusy
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.walk import walk
from cairn.store import RunOutcome, WriterInfo
from cairn.sync import run
from cairn.sync.codebase import Codebase
from cairn.sync.report import Freshness, RunOptions
from cairn.sync.status import State, StoreStatus

# A read does not wait for another run: it answers from the last snapshot.
_WAIT_SECONDS = 0.2
# So long another process has to begin with a first index, and so often it is looked how far it is.
_BEGIN_SECONDS, _LOOK_SECONDS = 5.0, 0.1

# These folders, and those below them, are not indexed automatically, unless they are a repository.
_OF_THE_SYSTEM = frozenset({
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/nix", "/proc", "/run",
    "/sbin", "/snap", "/sys", "/usr", "/var/cache", "/var/lib", "/var/log", "/var/spool", "/Applications", "/Library",
    "/System", "/private/etc",
})  # fmt: skip
# These hold folders of people and of projects, which may be indexed; they themselves are not.
_SHARED = frozenset({
    "/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/var/tmp", "/var/www",  # noqa: S108 - names, not used
    "/Users", "/Volumes", "/private", "/private/tmp",
})  # fmt: skip

# A run that publishes, compacts or collects is not stopped: it has nothing left to undo.
_TO_THE_END = frozenset({Phase.PUBLISHING, Phase.COMPACTING, Phase.COLLECTING})

Consent = Callable[[int], bool]
"""Asked with the number of files whether a large folder may be indexed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be done before a read, and how long its caller waits for it.

    `create` allows to index a folder that was never indexed (`consent` is asked before a large one), `sync` to compare
    the files and take in what has changed, for at most `seconds`. `stale_ok` takes an old snapshot while a new index is
    built, `part_ok` what is done of an index that is still being made. With `rests` a comparison that failed a moment
    ago is not tried again. With `overlay` an index that is not up to date in time is read with the changed files laid
    over it. `begin` has another process make a first index, where what is done of it may answer, and says whether one
    does. `tell` hears how far the work is.
    """

    create: bool = True
    sync: bool = True
    stale_ok: bool = False
    part_ok: bool = False
    rests: bool = True
    overlay: bool = False
    seconds: float = SYNC_BEFORE_SEARCH_SECONDS
    consent: Consent = lambda _: False
    begin: Callable[[Codebase], bool] = lambda _: False
    tell: Tell = lambda _: None


AS_IT_IS = Policy(create=False, sync=False)
"""Read the newest snapshot and do nothing before."""


class Worker(Protocol):
    """Who carries out a step: the thread that asks, or the background runs of a server."""

    def has_run(self, root: str) -> bool:
        """Whether a run of this worker is writing the index of a root."""

    def catch_up(self, codebase: Codebase, policy: Policy) -> Freshness:
        """Bring an index that can answer up to date; after a failure it still answers as it was."""

    def create(self, codebase: Codebase, policy: Policy) -> tuple[Freshness, str]:
        """Index a folder that was never indexed, or return why that is not done automatically."""


def step(facts: GateFacts, codebase: Codebase, policy: Policy, worker: Worker) -> tuple[Freshness, str]:
    """Do what the policy allows and the index needs; return its freshness, and why there is no index if there is none.

    An index that was cleared, is damaged, or was made with other settings is filled only by an explicit command.
    """
    root = codebase.root.path
    if facts.state is State.INDEXED and not facts.differs:
        if not policy.sync:
            return NOT_CHECKED, ""
        if facts.writer is not None and not worker.has_run(root):
            return Freshness("skipped_indexing"), ""
        return worker.catch_up(codebase, policy), ""
    never = facts.state is State.NOT_INDEXED and not (facts.failed or facts.differs or facts.stale)
    if not policy.create or not (never or worker.has_run(root)):
        return NOT_CHECKED, ""
    return worker.create(codebase, policy)


def prepare(session: Session, policy: Policy) -> None:
    """Do the step in this thread, then let the session hold the newest snapshot."""
    if session.rests():
        return
    session.look(stale_ok=policy.stale_ok, part_ok=policy.part_ok)
    if session.probe_failed:
        # The store cannot be read just now, and the snapshot that is open still answers.
        session.rest(RECENT_SYNC_SECONDS)
        return
    if session.read_only:
        policy = replace(policy, create=False, sync=False)
    fresh, why = step(session.gate.facts, session.target.codebase, policy, _InThisThread(session))
    # Most syncs find nothing: the open snapshot is then the newest, and is not opened again.
    if fresh is not NOT_CHECKED or why:
        newer = fresh.mode == "synced" and fresh.snapshot != session.held
        again = newer or session.held is None
        session.look(fresh, stale_ok=policy.stale_ok, part_ok=policy.part_ok, why=why, again=again)


class _InThisThread:
    """Does a step in the thread that asks."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._options = RunOptions(session.home, wait_seconds=_WAIT_SECONDS, embedder=session.embedder)

    def has_run(self, root: str) -> bool:
        del root
        return False

    def catch_up(self, codebase: Codebase, policy: Policy) -> Freshness:
        return catch_up(codebase, self._options, policy.tell, seconds=policy.seconds, clock=self._session.clock)

    def create(self, codebase: Codebase, policy: Policy) -> tuple[Freshness, str]:
        environ, clock = self._session.environ, self._session.clock
        if policy.part_ok:
            why = why_not_unasked(codebase, environ, self._options.home, tell=policy.tell, consent=policy.consent)
            if why:
                return NOT_CHECKED, why
            policy = replace(policy, consent=lambda _: True)
            begun = policy.begin(codebase) or self._begin_here(codebase)
            if begun and self._answers_soon(policy):
                is_made = self._session.gate.facts.state is State.INDEXED
                return self.catch_up(codebase, policy) if is_made else Freshness("skipped_indexing"), ""
        try:
            fresh = create(codebase, self._options, policy.tell, consent=policy.consent, environ=environ, clock=clock)
        except NotIndexed as refused:
            return NOT_CHECKED, str(refused.fields["why"])
        except StoreBusy:
            fresh = Freshness("skipped_busy")
        return fresh, ""

    def _begin_here(self, codebase: Codebase) -> bool:
        """Begin with the index in a thread, which goes on until what has begun it ends: without a daemon."""
        beside = _Beside(codebase, self._options, self._session.clock)
        self._session.at_end.append(beside.end)
        return True

    def _answers_soon(self, policy: Policy) -> bool:
        """Whether the index is being made: part of it answers, or it goes on for longer than the policy has.

        A run of this process ends with the command, so it gets some seconds even when part of it answers at once.
        """
        session, begun = self._session, False
        came, may_end = session.now(), bool(session.at_end)
        least = came + (PARTIAL_SECONDS if may_end else 0.0)
        while session.now() < came + policy.seconds:
            session.look(part_ok=True)
            writer = session.gate.facts.writer
            if session.gate.is_open and (session.now() >= least or session.gate.facts.state is State.INDEXED):
                return True
            if may_end and session.now() >= least and not session.gate.is_open and _is_indexing(writer):
                # What is done is sealed when a run ends, and the next one takes it over: that can answer.
                session.at_end.pop()()
                may_end = not self._begin_here(session.target.codebase)
                came, begun, writer = session.now(), False, None
            if writer is None and (begun or session.now() > came + _BEGIN_SECONDS):
                # It has failed, or was never begun.
                return False
            begun = writer is not None
            if writer is not None and writer.progress is not None:
                told = writer.progress
                policy.tell(Progress(Phase(told.phase), told.done, told.total, current_file=told.current_file))
            session.clock.sleep(_LOOK_SECONDS)
        return True


def _is_indexing(writer: WriterInfo | None) -> bool:
    """Whether a run has said that it has indexed files, and not yet that it publishes."""
    told = writer.progress if writer is not None else None
    return told is not None and told.phase == Phase.INDEXING.value and told.done > 0


class _Beside:
    """A first index that this process makes in a thread; what it has sealed at its end, the next run takes over."""

    def __init__(self, codebase: Codebase, options: RunOptions, clock: Clock) -> None:
        self._codebase, self._options, self._clock = codebase, options, clock
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="cairn first index", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Let the run end soon, and wait for that."""
        self._is_over.set()
        self._thread.join()

    def _work(self) -> None:
        # Whoever waits sees that there is no run any more, and meets the same trouble.
        with suppress(CairnError, OSError):
            run.index(self._codebase, self._options, self._tell, clock=self._clock)

    def _tell(self, at: Progress) -> None:
        if self._is_over.is_set() and at.phase not in _TO_THE_END:
            raise Cancelled


class _OutOfTime(Exception):
    """The comparison of the files has taken its time."""


def create(
    codebase: Codebase,
    options: RunOptions,
    tell: Tell,
    *,
    consent: Consent,
    environ: Mapping[str, str],
    clock: Clock = SYSTEM_CLOCK,
) -> Freshness:
    """Index a folder that was never indexed; raises `NotIndexed` with the reason when only a command may do that."""
    why = why_not_unasked(codebase, environ, options.home, tell=tell, consent=consent)
    if why:
        raise NotIndexed(path=printable(os.fsencode(codebase.root.path)), why=why)
    checked = rfc3339(clock.wall_ns())
    report = run.index(codebase, options, tell, clock=clock)
    return Freshness("synced", report.changes.total, checked, snapshot=report.snapshot_id, left_out=report.left_out)


def may_begin(status: StoreStatus) -> bool:
    """Whether a server that begins with this codebase may make its first index.

    There never was one; or a process was killed that made it, and what that has begun is finished.
    """
    if status.state is not State.NOT_INDEXED or status.differs or status.stale:
        return False
    known = status.tracked
    return not status.failed or (known is not None and known.last_run_outcome is RunOutcome.BEGUN)


def why_not_unasked(
    codebase: Codebase,
    environ: Mapping[str, str],
    home: str,
    *,
    tell: Tell = lambda _: None,
    consent: Consent = lambda _: False,
) -> str:
    """Return why a folder that was never indexed is left alone until somebody asks for an index; empty when it is not.

    The one rule of all faces and servers. `consent` is asked before a folder with more files than the user allows.
    """
    why = unwanted(codebase.root, environ, home)
    if why is not None:
        return f"{why} is not indexed unless you ask for it"
    if not codebase.config.search.auto_index:
        return "the settings of the user leave it to them to index a folder (`auto_index`)"
    files = _count(codebase, tell)
    if files > codebase.config.index.ask_above and not consent(files):
        return f"it holds {files:,} files, which takes a while"
    return ""


def catch_up(
    codebase: Codebase,
    options: RunOptions,
    tell: Tell,
    *,
    seconds: float = SYNC_BEFORE_SEARCH_SECONDS,
    clock: Clock = SYSTEM_CLOCK,
) -> Freshness:
    """Bring an index that can answer up to date within these seconds; after a failure it still answers as it was."""
    until = clock.monotonic() + seconds

    def tell_in_time(at: Progress) -> None:
        if at.phase not in _TO_THE_END and clock.monotonic() > until:
            raise _OutOfTime
        tell(at)

    checked = rfc3339(clock.wall_ns())
    try:
        report = run.sync(codebase, replace(options, upkeep=False), tell_in_time, clock=clock)
    except StoreBusy:
        return Freshness("skipped_busy")
    except _OutOfTime:
        return Freshness("sync_failed", trouble="timeout")
    except CairnError as problem:
        return Freshness("sync_failed", trouble=problem.code)
    except OSError:
        return Freshness("sync_failed", trouble=SourceError.code)
    return Freshness("synced", report.changes.total, checked, snapshot=report.snapshot_id, left_out=report.left_out)


def unwanted(root: Root, environ: Mapping[str, str], home: str) -> str | None:
    """Return what a folder is that only an explicit command indexes; None for every other folder."""
    path = root.path
    if path == "/":
        return "the root of the disk"
    homes = {os.path.realpath(known) for known in (environ.get("HOME"), os.path.expanduser("~")) if known}
    if any(known == path or known.startswith(f"{path}/") for known in homes if known != "/"):
        return "a home folder"
    if path in _SHARED or path in _OF_THE_SYSTEM:
        return "a folder of the system"
    if not root.is_git and any(path.startswith(f"{known}/") for known in _OF_THE_SYSTEM):
        return "a folder of the system"
    own = os.path.realpath(home)
    if path == own or path.startswith(f"{own}/"):
        return "the folder of Cairn's own data"
    return None


def _count(codebase: Codebase, tell: Tell) -> int:
    with Tree(codebase.root) as tree:
        walked = walk(
            tree,
            codebase.config,
            tracked=codebase.tracked,
            progress=lambda names: tell(Progress(Phase.WALKING, names)),
        )
    return len(walked.candidates)
