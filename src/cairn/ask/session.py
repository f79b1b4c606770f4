"""Open a codebase to be asked, for the command line, for `cairn.open` and for a server.

Before it reads, a session may need a step (index a folder the first time, catch up with its files); the reading itself
changes nothing. The snapshot stays open, so that the next question is answered at once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from cairn.ask.gate import Gate, GateFacts, Status, decide
from cairn.ask.narrowing import narrowed, narrowed_by_scope, narrowed_by_syntax, narrowed_to_nothing
from cairn.ask.overlay import lay_over
from cairn.ask.values import Answer, Page, Source
from cairn.core.clock import SYSTEM_CLOCK, Clock, rfc3339
from cairn.core.config import cairn_home
from cairn.core.fingerprint import query_fingerprint
from cairn.core.limits import ENGINE_SEARCH_SECONDS, LAST_USED_SECONDS, MAX_CODEBASES, MAX_RESULTS
from cairn.core.types import SkipReason
from cairn.edit.journal import cut_sentences
from cairn.embedding.choose import choose
from cairn.embedding.model import Embedder
from cairn.engine.contract import RowSearch
from cairn.errors import BadContinuation, CairnError, PathNotFound, SourceError, StoreError, UsageError
from cairn.search.budget import fit
from cairn.search.continuation import decode, question_digest, snapshot_of
from cairn.search.rank import RANKING_VERSION
from cairn.search.searcher import Searcher, question_of
from cairn.search.symbols import qualified_parts
from cairn.search.types import Mode, SearchRequest
from cairn.source.git import unanswered
from cairn.source.root import path_key, printable, relative_to_root
from cairn.store import SnapshotView, WriterInfo
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.looking import Compared, Difference, compare
from cairn.sync.remote.copy import RemoteView
from cairn.sync.report import Freshness
from cairn.sync.status import (
    Standing,
    State,
    later_warnings,
    proposed_index,
    reading,
    sealed_part,
    silence_sentence,
    snapshot_info,
    stand,
)
from cairn.sync.stores import note_use

NOT_CHECKED = Freshness("not_checked")
_POINTER = "The pointer of the index is damaged, and the newest snapshot was found without it; `cairn repair` mends it."


Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Target:
    """A codebase that was named, and the folders or files in it that are meant (empty: all of it)."""

    asked: str
    codebase: Codebase
    below: tuple[str, ...] = ()


def whole(folder: str, environ: Mapping[str, str]) -> Target:
    """Return the codebase that holds this folder, all of it."""
    return Target(folder, open_codebase(folder, environ))


def find_targets(paths: Sequence[str], environ: Mapping[str, str], cwd: str | None = None) -> list[Target]:
    """Return the codebases that hold these files and folders, each once, in the order in which they were named.

    Relative paths are read from `cwd`, without it from the working folder of this process. Raises `PathNotFound`, and
    `UsageError` for too many codebases.
    """
    here = cwd or os.getcwd()
    found: dict[str, Target] = {}
    for path in paths:
        full = path if cwd is None else os.path.join(cwd, path)
        if not os.path.exists(full):
            raise PathNotFound(path=printable(os.fsencode(path)), root=printable(os.fsencode(here)))
        codebase = open_codebase(full if os.path.isdir(full) else os.path.dirname(full) or ".", environ)
        inside = relative_to_root(codebase.root, path, here)
        below: tuple[str, ...] = (path_key(inside),) if inside else ()
        known = found.get(codebase.root.path)
        if known is not None:
            # Whoever names the root as well wants all of the codebase.
            below = (*known.below, *below) if known.below and below else ()
        found[codebase.root.path] = Target(known.asked if known else path, codebase, below)
    if len(found) > MAX_CODEBASES:
        raise UsageError(problem=f"{len(found)} codebases are named, and {MAX_CODEBASES} are the most for one search.")
    return list(found.values())


@dataclass(slots=True)
class _Open:
    """A searcher, and what was made of its view to answer questions."""

    searcher: Searcher
    kept: dict[Callable[[SnapshotView], object], object] = field(default_factory=dict, init=False)


@dataclass(slots=True)
class _OpenOverlay(_Open):
    """The same with changed files laid over the snapshot."""

    difference: Difference
    missed: int
    left_out: tuple[SkipReason, ...]

    @property
    def digest(self) -> str:
        """Names the files that are laid over the snapshot, and those that are hidden."""
        return question_digest(sorted(self.searcher.view.working.items()), list(self.difference.gone))


@dataclass(slots=True)
class _OpenPart(_Open):
    """What a run that is still at work has sealed, which may answer before there is a snapshot."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """The last comparison of the files with a snapshot: when it began, and what came of it."""

    began: float
    snapshot: str
    fresh: Freshness
    found: Compared | None = None

    @property
    def difference(self) -> Difference | None:
        return self.found.difference if self.found is not None else None


class _CompareTimeout(Exception):
    """The files have been compared for long enough."""


class Session(AbstractContextManager["Session"]):
    """One codebase, kept open to be asked. It reads and writes nothing but a note that its store was used.

    `cairn.ask.prepare.prepare` comes before the first question, and again when time has passed. `trouble`, when set, is
    the answer to every question until the next look. A `read_only` session also accepts an index of a later format, and
    then no step is done before the read.
    """

    def __init__(
        self,
        target: Target,
        environ: Mapping[str, str],
        clock: Clock = SYSTEM_CLOCK,
        *,
        read_only: bool = False,
        embedder: Embedder | None = None,
    ) -> None:
        self.target = target
        self.read_only = read_only
        self._later: tuple[str, ...] = ()
        self.environ = environ
        self.clock = clock
        codebase = target.codebase
        self._place = place_of(codebase, cairn_home(environ))
        self.embedder = embedder or choose(codebase.config.embedding, environ)
        self._remote = RemoteView(codebase.config, self._place, environ, self.embedder.identity, clock)
        self._standing = Standing(State.NOT_INDEXED)
        # What the snapshot itself answers with, and what it does with changed files laid over it.
        self._plain: _Open | None = None
        self._over: _OpenOverlay | None = None
        self._part: _OpenPart | None = None
        self._compared: _Compared | None = None
        self._is_covered = False
        self._fresh = Freshness("not_checked")
        self._gate = decide(GateFacts(self.root, State.NOT_INDEXED))
        self._next_check = self._next_note = -1.0
        self.probe_failed = False
        self.trouble: CairnError | None = None
        # The seconds that the step before the read took, where a caller has measured it.
        self.step_seconds = 0.0
        # What to do when the session is closed, before anything is let go.
        self.at_end: list[Callable[[], None]] = []

    def now(self) -> float:
        """Return the time of the session's clock."""
        return self.clock.monotonic()

    @property
    def root(self) -> str:
        return self.target.codebase.root.path

    @property
    def home(self) -> str:
        """The user's folder of Cairn."""
        return self._place.home

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the snapshot; a second call does nothing."""
        while self.at_end:
            self.at_end.pop()()
        self._let_go_of_part()
        self._let_go()
        self._remote.close()

    def _let_go(self) -> None:
        self._uncover()
        if self._standing.view is not None:
            self._standing.view.close()
        self._standing, self._plain, self._compared = Standing(State.NOT_INDEXED), None, None

    def _uncover(self) -> None:
        """Let go of the files that are laid over the snapshot."""
        over, self._over = self._over, None
        if over is not None:
            over.searcher.view.close()

    def _let_go_of_part(self) -> None:
        """Let go of what a run had sealed."""
        part, self._part = self._part, None
        if part is not None:
            part.searcher.view.close()

    @property
    def _is_part(self) -> bool:
        """Whether what a run has sealed answers, instead of a snapshot."""
        return self._gate.facts.part

    @property
    def _open(self) -> _Open | None:
        """What answers."""
        if self._is_part:
            return self._part
        return self._over if self._is_covered and self._over is not None else self._plain

    # --- before a question --------------------------------------------------------------------------------------------

    def rests(self) -> bool:
        """Whether the store could not be read a moment ago, so that what is open answers without another try."""
        return self._gate.is_open and self.trouble is None and self.now() < self._next_check

    def rest(self, seconds: float) -> None:
        """Try to read the store again after so many seconds."""
        self._next_check = self.now() + seconds

    def vouch(self, fresh: Freshness) -> None:
        """Answer from the snapshot alone: somebody has watched the files since it was compared with them."""
        if self._is_part:
            return
        self._is_covered, self._fresh = False, fresh

    def compare(self, came: float, until: float) -> None:
        """Compare the files with the open snapshot and lay what differs over it; write nothing.

        A comparison that began after `came` counts for everybody who waited for it. One that has not ended at `until`
        is given up, and the answer says so. Both are times of the session's clock.
        """
        view = self._standing.view
        if view is None or not self._gate.is_open or self._is_part:
            return
        last = self._compared
        if last is None or last.began < came or last.snapshot != view.manifest.snapshot_id:
            last = self._compared = self._look_at_files(view, until)
            if last.difference is not None:
                self._cover(view, last.difference)
        # What an earlier comparison found is nearer to the files than the snapshot is.
        self._is_covered = self._over is not None
        fresh = last.fresh
        if self._over is not None and last.difference is not None:
            fresh = replace(fresh, mode="unfinished" if self._over.missed else "overlay", missed=self._over.missed)
        elif last.difference is not None and self._fresh.mode != NOT_CHECKED.mode:
            # Why the index was not brought up to date is still told; that it need not be, is known now.
            fresh = replace(self._fresh, checked_at=fresh.checked_at, verified=True)
        self._fresh = fresh

    def _look_at_files(self, view: SnapshotView, until: float) -> _Compared:
        began, checked = self.now(), rfc3339(self.clock.wall_ns())
        snapshot = view.manifest.snapshot_id
        before = self._compared
        last = before.found if before is not None and before.snapshot == snapshot else None

        def tick() -> None:
            if self.now() > until:
                raise _CompareTimeout

        try:
            found = compare(self.target.codebase, self._place, view, tick, clock=self.clock, last=last)
        except _CompareTimeout:
            return _Compared(began, snapshot, Freshness("unfinished"))
        except CairnError as problem:
            return _Compared(began, snapshot, Freshness("unfinished", trouble=problem.code))
        except OSError:
            return _Compared(began, snapshot, Freshness("unfinished", trouble=SourceError.code))
        return _Compared(
            began, snapshot, Freshness("synced", found.difference.total, checked, snapshot=snapshot), found
        )

    def _cover(self, view: SnapshotView, difference: Difference) -> None:
        """Lay what differs over the snapshot; what is laid over it already is not read again."""
        if self._over is not None and self._over.difference == difference and not self._over.missed:
            return
        self._uncover()
        if difference.total:
            made = lay_over(self.target.codebase, view, self.embedder, difference)
            # A server has the rows of the snapshot and not of these files.
            self._over = _OpenOverlay(Searcher(made.view, self.embedder), difference, made.missed, made.left_out)

    def look(
        self,
        fresh: Freshness = NOT_CHECKED,
        *,
        stale_ok: bool = False,
        starting: WriterInfo | None = None,
        why: str = "",
        again: bool = True,
        part_ok: bool = False,
    ) -> None:
        """Hold the newest snapshot, and decide whether it may answer.

        `fresh` is what the step before the read achieved, `why` is why there is no index. `starting` is a full run that
        may not have taken its lease yet: it closes the gate from its start. Without `again` the open snapshot is known
        to be the newest. With `part_ok` a gate that a run closes is opened by what that run has done so far.
        """
        self.trouble = None
        self._next_check = -1.0
        self._is_covered = False
        rules = self._rules
        try:
            standing = self._stand() if again else self._standing
        except StoreError as problem:
            if self._plain is None:
                raise
            # The store cannot be read just now, and the snapshot that is open still answers.
            self.probe_failed = True
            self._fresh = Freshness("sync_failed", trouble=problem.code)
        else:
            self.probe_failed = False
            if starting is not None and standing.writer is None:
                standing = replace(standing, state=State.INDEXING, writer=starting)
            if standing is not self._standing:
                self._hold(standing)
            if fresh.mode == "synced" and rules is not None and self._rules != rules:
                fresh = replace(fresh, mode="reconciled_ignore_change")
            self._fresh = Freshness("stale_ok") if standing.state is State.INDEXING and standing.view else fresh
        self._decide(stale_ok, why)
        if part_ok and self._gate.status is Status.NOT_READY:
            self._answer_in_part()
        if not self._is_part:
            self._let_go_of_part()

    def _answer_in_part(self) -> None:
        """Open the gate with what the run at work has sealed, if it has and how much of the whole that is is known."""
        writer = self._standing.writer
        files = writer.progress.tree if writer is not None and writer.progress is not None else 0
        if writer is None or not files:
            return
        before, self._part = self._part, None
        held = before.searcher.view if before is not None else None
        view = sealed_part(self._place, writer, held)
        if before is not None and view is not held:
            # Where there is a new view, it goes on to read what this one has open.
            before.kept.clear()
            if view is None:
                before.searcher.view.close()
        if view is None:
            return
        self._part = before if view is held else _OpenPart(Searcher(view, self.embedder))
        live = view.counts()
        self._fresh = Freshness("partial", done=min(live.files + live.skip_records, files), files=files)
        self._gate = decide(replace(self._gate.facts, part=True))

    def _stand(self, snapshot: str | None = None) -> Standing:
        with reading(self.read_only) as met:
            standing = stand(self._place, snapshot=snapshot, held=self._standing.view, clock=self.clock)
        self._later = tuple(later_warnings(met))
        return standing

    def hold_snapshot(self, name: str) -> None:
        """Hold the snapshot of this name, for the next page of an answer. `BadContinuation` when it is gone.

        The name of a snapshot with changed files laid over it names these too.
        """
        snapshot, _, overlay = name.partition("~")
        standing = self._stand(snapshot)
        if standing.view is None:
            raise BadContinuation(why="the index has changed since it was given")
        self._hold(replace(standing, state=State.INDEXED))
        self._is_covered = bool(overlay)
        if overlay and (self._over is None or self._over.digest != overlay):
            raise BadContinuation(why="the files have changed since it was given")
        self._fresh = Freshness("not_checked")
        self._decide(stale_ok=False, why="")

    def _hold(self, standing: Standing) -> None:
        held, new = self._standing.view, standing.view
        if held is not None and new is not None and held.manifest.snapshot_id == new.manifest.snapshot_id:
            # The same snapshot: keep its open view, and what was built from it.
            if new is not held:
                new.close()
            self._standing = replace(standing, view=held)
            rows = self._rows_there(self._standing)
            if self._plain is not None and rows is not self._plain.searcher.remote:
                self._plain.searcher = Searcher(held, self.embedder, rows)
            return
        self._let_go()
        self._remote.close()
        self._standing = standing
        if new is not None:
            self._plain = _Open(Searcher(new, self.embedder, self._rows_there(standing)))

    def _rows_there(self, standing: Standing) -> RowSearch | None:
        """Return the server's rows of the snapshot that answers; None while a run makes the index anew."""
        if standing.view is None or standing.state is not State.INDEXED:
            return None
        return self._remote.rows_of(standing.view.manifest)

    def _decide(self, stale_ok: bool, why: str) -> None:
        standing = self._standing
        differs = standing.differs
        if standing.view is not None and standing.view.manifest.config_fingerprint != self._place.fingerprint.digest:
            differs = ("index",)
        facts = GateFacts(
            self.root,
            standing.state,
            differs,
            standing.failed,
            standing.writer,
            self.held,
            why,
            proof=standing.proof,
            stale=standing.stale,
            strict=self.target.codebase.config.search.catchup_reads == "block",
        )
        self._gate = decide(facts, stale_ok=stale_ok)

    @property
    def held(self) -> str | None:
        """The id of the snapshot that is open, whether or not it may answer."""
        view = self._standing.view
        return view.manifest.snapshot_id if view is not None else None

    @property
    def _rules(self) -> str | None:
        view = self._standing.view
        return view.manifest.ignore_fingerprint if view is not None else None

    # --- questions ----------------------------------------------------------------------------------------------------

    @property
    def gate(self) -> Gate:
        return self._gate

    @property
    def was_busy(self) -> bool:
        """Whether the step before the read was left out because another run was at work."""
        return self._fresh.mode == "skipped_busy"

    @property
    def snapshot(self) -> str | None:
        """The id of the snapshot that answers; None while none does."""
        return self.held if self._gate.is_open and not self._is_part else None

    @property
    def pages_on(self) -> str:
        """The name of what answers, as the token of a next page holds it; empty when no snapshot answers."""
        return f"{self.snapshot}{self._overlay}" if self.snapshot else ""

    @property
    def _overlay(self) -> str:
        return f"~{self._over.digest}" if self._is_covered and self._over is not None else ""

    def asked_here(self, request: SearchRequest) -> SearchRequest:
        """Return the request with the scope and the folders of this codebase."""
        scope = request.scope or self.target.codebase.config.query.scope
        return replace(request, below=self.target.below, scope=scope)

    def ask(self, request: SearchRequest) -> Answer:
        """Return the answer to a question, or why there is none; raises an error of the question itself."""
        asked, root = self.target.asked, self.root
        if self.trouble is not None:
            return Answer(asked, root, error=self.trouble)
        if self._open is None or not self._gate.is_open:
            return Answer(asked, root, gate=self._gate)
        here, codebase = self.asked_here(request), self.target.codebase
        found = self._open.searcher.search(here)
        self._note_use()
        source, scoped = self._source(), narrowed_by_scope(codebase.config, request)
        said = [scoped] if scoped else []
        said += narrowed_to_nothing(codebase, self._open.searcher.view, here, found.files)
        if request.mode is Mode.SYMBOL:
            said += narrowed_by_syntax(self._open.searcher, [qualified_parts(request.query)[1]])
        if said:
            source = replace(source, narrowed=(*said, *source.narrowed))
        return Answer(asked, root, source=source, found=found)

    @contextmanager
    def server_until(self, until: float) -> Iterator[None]:
        """Let no question to a search server last beyond this time of the clock, inside the block."""
        self._remote.limit(until)
        try:
            yield
        finally:
            self._remote.limit(None)

    def opened(self) -> tuple[Searcher, Source] | None:
        """Return what answers questions about structure, and its source; None when the gate is closed."""
        if self.trouble is not None:
            raise self.trouble
        if self._open is None or not self._gate.is_open:
            return None
        self._note_use()
        return self._open.searcher, self._source()

    def kept(self, make: Callable[[SnapshotView], Made]) -> Made:
        """What `make` makes of the open snapshot, made once and kept for as long as that stays open."""
        assert self._open is not None, "only what is open can be asked"
        kept = self._open.kept
        if make not in kept:
            kept[make] = make(self._open.searcher.view)
        return cast("Made", kept[make])

    def _note_use(self) -> None:
        now = self.clock.monotonic()
        if self.read_only or now < self._next_note:
            return
        self._next_note = now + LAST_USED_SECONDS
        note_use(self._place, self.clock)

    def _source(self) -> Source:
        view = self._open.searcher.view if self._is_part and self._open is not None else self._standing.view
        assert view is not None, "an open gate has something behind it"
        manifest = view.manifest
        proposed = proposed_index(self.target.codebase, self.home, self.clock)
        skipped = self._skipped or manifest.skipped
        return Source(
            snapshot=snapshot_info(manifest, active=True),
            index_fingerprint=manifest.config_fingerprint,
            ignore_fingerprint=manifest.ignore_fingerprint,
            query_fingerprint=query_fingerprint(self.target.codebase.config, RANKING_VERSION),
            skipped=skipped,
            freshness=self._fresh,
            writer=self._standing.writer,
            damaged=view.stands_in,
            later=(
                *cut_sentences(self.home, self.root),
                *unanswered(self.target.codebase.root),
                *self._later,
                *([_POINTER] if view.damage and not view.stands_in else []),
                *([] if proposed is None else [proposed.sentence]),
                *filter(None, [silence_sentence(self._standing.writer)]),
                *self._remote_said(),
            ),
            working=self._open.searcher.view.working if self._open else {},
            overlay=self._overlay,
            probe_failed=self.probe_failed or self._remote.probe_failed,
            engine_proof=self._remote.unproven,
            proposed=proposed,
            narrowed=narrowed(self.target.codebase.config, skipped),
        )

    @property
    def _skipped(self) -> tuple[tuple[str, int], ...]:
        """The names that are left out by reason, where the files were compared for this answer; else nothing."""
        if not (self._is_covered or self._fresh.verified) or self._compared is None or self._compared.found is None:
            return ()
        counts = Counter(dict(self._compared.found.skipped))
        if self._is_covered and self._over is not None:
            counts.update(reason.value for reason in self._over.left_out)
        return tuple(sorted(counts.items()))

    def _remote_said(self) -> Sequence[str]:
        return self._remote.said(self._open.searcher.engine_trouble if self._open else None)


def text_of(session: Session, path: str) -> bytes | None:
    """Return the text of a file as the session answers from it; None where no such file answers."""
    found = session._open.searcher.view.text(path) if session._open is not None else None
    return None if found is None else bytes(found)


# --- several codebases as one -----------------------------------------------------------------------------------------


def ask_all(
    sessions: Sequence[Session], request: SearchRequest, continuation: str | None = None
) -> tuple[list[Answer], Page]:
    """Return the answers of all codebases, and one page of their results together, the best first.

    Raises a `UsageError`; any other error of one codebase is that codebase's answer, and the others still answer.
    """
    asked = [session.asked_here(request) for session in sessions]
    question = question_digest(
        *([session.root, question_of(one)] for session, one in zip(sessions, asked, strict=True))
    )
    offset = 0
    if continuation is not None:
        snapshots = "+".join(session.pages_on for session in sessions if session.snapshot)
        offset = decode(continuation, snapshots, question)
    if len(sessions) == 1:
        answer = sessions[0].ask(replace(request, offset=offset))
        found = answer.found
        if found is None:
            return [answer], Page((), 0, 0, question)
        hits = tuple((0, hit) for hit in found.hits)
        return [answer], Page(hits, found.total, offset, question, found.shortened)
    # The first `reach` results of all codebases are among the first `reach` of each.
    reach = min(MAX_RESULTS, offset + request.limit)
    # One deadline for all codebases, with an even share of the rest for each: a server that does not answer takes none
    # of the next one's time. A codebase without its server's help is answered from this machine, and says so.
    until = sessions[0].now() + ENGINE_SEARCH_SECONDS
    answers = []
    for left, session in zip(range(len(sessions), 0, -1), sessions, strict=True):
        now = session.now()
        with session.server_until(now + (until - now) / left):
            answers.append(_asked_beside(session, replace(request, limit=reach, max_tokens=None)))
    ranked = [(number, hit) for number, answer in enumerate(answers) if answer.found for hit in answer.found.hits]
    ranked.sort(key=lambda pair: -pair[1].score)
    total = sum(answer.found.total for answer in answers if answer.found)
    shown = ranked[offset : offset + request.limit]
    if request.max_tokens is not None:
        shown = shown[: len(fit([hit for _, hit in shown], request.max_tokens))]
    return answers, Page(tuple(shown), total, offset, question, last=MAX_RESULTS)


def _asked_beside(session: Session, request: SearchRequest) -> Answer:
    try:
        return session.ask(request)
    except UsageError:
        raise
    except CairnError as problem:
        return Answer(session.target.asked, session.root, error=problem)


def hold_page(sessions: Sequence[Session], continuation: str) -> None:
    """Let every session hold the snapshot that a token names for it."""
    snapshots = snapshot_of(continuation).split("+")
    if len(snapshots) != len(sessions):
        raise BadContinuation(why="it belongs to another query")
    for session, snapshot in zip(sessions, snapshots, strict=True):
        session.hold_snapshot(snapshot)
