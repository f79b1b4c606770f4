"""Answer questions about the structure of an open codebase: one function each, for every face.

The questions read the snapshot that the session holds and change nothing. The text of a file comes from the snapshot;
the disk is read only to say whether the file has changed since, or why it is not in the index.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from typing import NamedTuple

from cairn.ask.meaning import informed, layered
from cairn.ask.narrowing import narrowed_by_syntax
from cairn.ask.questions import SIMILAR, SYMBOL
from cairn.ask.session import Session
from cairn.ask.values import Miss, Reply, Similar, Symbols, Told
from cairn.core.collector import no_cycle_collection
from cairn.core.filetypes import is_code
from cairn.core.limits import DEFAULT_RESULTS
from cairn.core.text import unescaped
from cairn.core.types import SKIP_SENTENCES, SkipReason, StoredFile
from cairn.errors import Ambiguous, NotFound, Unsupported, UsageError
from cairn.graph.importers import imported_as
from cairn.graph.naming import NamingOutcome, nearest, resolve
from cairn.graph.outline import Definition, FileOutline, FileText, Lines, definition_of, has_outline, outline, passage
from cairn.graph.references import Graph
from cairn.search.continuation import decode, question_digest
from cairn.search.searcher import Searcher
from cairn.search.symbols import qualified_parts
from cairn.search.types import SymbolMatch
from cairn.source.beneath import Tree
from cairn.source.fresh import DiskState, disk_state, spellings
from cairn.source.root import path_key, printable, relative_to_root
from cairn.source.walk import walk_to

_COLUMN = re.compile(r"(.+:[0-9]{1,9}):[0-9]{1,9}")
_SPAN = re.compile(r"(?P<file>.+):(?P<first>[0-9]{1,9})(?P<to>-(?P<last>[0-9]{1,9})?)?")
_NAME = re.compile(r"\w+(?:(?:\.|::|#)\w+)*")
_MOST_NEAR = 5
_MOST_COMPARED = 200
_EXACT = "exact"
_MOST_SHOWN = 200


class Asked(NamedTuple):
    """A file as the caller named it, read from the folder `base`, and lines of it. `path` is all that was said."""

    path: str
    file: str
    base: str
    lines: Lines | None = None


def asked_of(said: str, base: str) -> Asked:
    """Return what `FILE`, `FILE:A`, `FILE:A-` or `FILE:A-B` means from this folder; a file of that very name wins.

    `FILE:A:COLUMN`, as answers show a use, is line A.
    """
    column = _COLUMN.fullmatch(said)
    with_column = column is not None and not os.path.lexists(os.path.join(base, column[1]))
    span = _SPAN.fullmatch(column[1] if column and with_column else said)
    if span is None or os.path.lexists(os.path.join(base, said)):
        return Asked(said, said, base)
    first = int(span["first"])
    last = int(span["last"]) if span["last"] else (None if span["to"] else first)
    return Asked(said, span["file"], base, checked_lines(first, last))


def checked_lines(first: int, last: int | None) -> Lines:
    """Return the lines; raises `UsageError` when they are none."""
    if first < 1 or (last is not None and last < first):
        raise UsageError(problem="Lines are counted from 1, and the last one does not come before the first.")
    return first, last


# --- the questions ----------------------------------------------------------------------------------------------------


def file_outline(session: Session, asked: Asked, *, symbol: str | None = None) -> Reply[FileOutline]:
    """Return the definitions of a file; with `symbol` only that definition and those inside it."""

    def ask(searcher: Searcher) -> FileOutline | Miss:
        file = file_asked_for(session, searcher, asked)
        if isinstance(file, Miss):
            return file
        if not has_outline(file):
            return not_parsed(file)
        found = outline(searcher.view, file, asked.lines)
        found = replace(found, definitions=informed(session, lambda graph: layered(graph, found.definitions)))
        if symbol is None:
            return found
        one = one_definition(searcher, symbol, file.key)
        if isinstance(one, Miss):
            return one
        inside = [d for d in found.definitions if one.start_byte <= d.start_byte and d.end_byte <= one.end_byte]
        return replace(found, definitions=tuple(inside))

    return reply_of(session, asked.path, ask)


def read_file(session: Session, asked: Asked) -> Reply[FileText]:
    """Return lines of a file as they were indexed, and whether the file on disk is still the same."""

    def ask(searcher: Searcher) -> FileText | Miss:
        file = file_asked_for(session, searcher, asked)
        if isinstance(file, Miss):
            return file
        found = passage(searcher.view, file, asked.lines or (1, None))
        if asked.lines is not None and found.start_line > found.lines:
            return beyond(file.key, found.lines)
        with Tree(session.target.codebase.root) as tree:
            state = disk_state(tree, spellings(_raw(session, asked), file.key), file)
        return replace(found, disk=state.value)

    return reply_of(session, asked.path, ask)


def find_symbol(
    session: Session,
    name: str,
    *,
    kinds: Sequence[str] = (),
    languages: Sequence[str] = (),
    exact: bool = False,
    limit: int = DEFAULT_RESULTS,
    offset: int = 0,
    continuation: str | None = None,
) -> Reply[Symbols]:
    """Return the definitions whose name fits, best first; with `exact` the one that is meant, or why there is none.

    `offset` definitions are passed over. `continuation` asks for the next page instead; the session holds the snapshot
    that it names.
    """
    SYMBOL.check(limit=limit, offset=offset)
    if not name.strip():
        raise UsageError(problem="A name is missing.")
    if exact and (kinds or languages):
        raise UsageError(problem="An exact name takes no kind and no language: it means one definition or none.")

    def ask(searcher: Searcher) -> Symbols | Miss:
        if exact:
            one = named(session, searcher, name)
            files = searcher.view.manifest.counts.files_indexed
            return one if isinstance(one, Miss) else Symbols((replace(one, way=_EXACT),), 1, files)
        question = question_digest(session.root, name, sorted(kinds), sorted(languages))
        first = offset if continuation is None else decode(continuation, session.pages_on, question)
        within = (lambda _, language: language in languages) if languages else None
        found = searcher.symbols(name, kinds=kinds, within=within, limit=first + limit)
        shown = tuple(map(_matched, found.symbols[first:]))
        if not first and not (found.symbols and found.symbols[0].way == _EXACT):
            led = _led(session, name)
            if led is not None and (not kinds or led.kind in kinds) and (not languages or led.language in languages):
                return Symbols((replace(led, way=_EXACT),), 1, found.coverage.files)
        return Symbols(shown, found.total, found.coverage.files, first, question)

    return reply_of(session, name, ask, lambda _: (qualified_parts(name)[1],))


def similar_code(
    session: Session, asked: Asked, *, same_file: bool = False, limit: int = DEFAULT_RESULTS
) -> Reply[Similar]:
    """Return the chunks that are similar to the one on a line of a file."""
    if asked.lines is None:
        raise UsageError(problem="Say which line: FILE:LINE.")
    SIMILAR.check(limit=limit)
    line = asked.lines[0]

    def ask(searcher: Searcher) -> Similar | Miss:
        file = file_asked_for(session, searcher, asked)
        if isinstance(file, Miss):
            return file
        text = bytes(searcher.view.text(file.key) or b"")
        lines = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
        if line > lines:
            return beyond(file.key, lines)
        at = sum(map(len, text.split(b"\n", line - 1)[: line - 1])) + line - 1
        found = searcher.similar(file.key, at, same_file=same_file, limit=limit)
        return Similar(*found) if found else beyond(file.key, lines)

    return reply_of(session, asked.path, ask)


# --- parts ------------------------------------------------------------------------------------------------------------


def reply_of(
    session: Session,
    path: str,
    ask: Callable[[Searcher], Told | Miss],
    about: Callable[[Told], Iterable[str]] | None = None,
) -> Reply[Told]:
    """Return the open snapshot's reply to a question, or a reply that says that the gate is closed.

    `about` returns the names that the reply is about, where code that was not parsed may hold more of them.
    """
    opened = session.opened()
    if opened is None:
        return Reply(path, session.root, session.gate)
    searcher, source = opened
    with no_cycle_collection():
        value = ask(searcher)
        names = () if about is None else _name_in(path) if isinstance(value, Miss) else about(value)
        source = replace(source, narrowed=(*source.narrowed, *narrowed_by_syntax(searcher, names)))
    if isinstance(value, Miss):
        return Reply(path, session.root, session.gate, source, miss=value)
    return Reply(path, session.root, session.gate, source, value)


def _name_in(said: str) -> tuple[str, ...]:
    """Return the name that was asked for, when it is one and no place or file."""
    return (qualified_parts(said)[1],) if _NAME.fullmatch(said) and not is_code(said.encode()) else ()


def _raw(session: Session, asked: Asked) -> bytes:
    return relative_to_root(session.target.codebase.root, asked.file, asked.base)


def file_asked_for(session: Session, searcher: Searcher, asked: Asked) -> StoredFile | Miss:
    """Return the record of the file, or why the snapshot has none; raises an error for a path outside the root."""
    raw = _raw(session, asked)
    file = _record(searcher, raw) if raw else None
    if file is None and "\\" in asked.file:
        # The name as it was printed, with escapes for what would steer a terminal.
        meant = _raw(session, asked._replace(file=unescaped(asked.file)))
        file = _record(searcher, meant) if meant else None
    if file is not None and file.skip is None:
        return file
    return Miss(_left_out(raw, file.skip) if file and file.skip else _not_there(session, searcher, raw))


def _record(searcher: Searcher, raw: bytes) -> StoredFile | None:
    """Return the record of a file by its name; of two spellings of one name, one keeps its spelling as its key."""
    key = path_key(raw)
    return searcher.view.file(raw.decode("utf-8", "surrogateescape")) or searcher.view.file(key)


def _not_there(session: Session, searcher: Searcher, raw: bytes) -> NotFound:
    """Return why the snapshot has no such file, by the same walk that an index is made with."""
    shown, codebase = printable(raw) or ".", session.target.codebase
    with Tree(codebase.root) as tree:
        try:
            tree.lstat(raw)
        except (FileNotFoundError, NotADirectoryError):
            near = _nearest_file(searcher, path_key(raw))
            advice = f"The nearest one is {_shown(near)}" if near else "`cairn files` lists what is there"
            return NotFound(problem=f"There is no file {shown} in the index, and none on disk.", advice=advice)
        except OSError:
            # The walk below names the reason.
            pass
        walked = walk_to(tree, codebase.config, raw, tracked=codebase.tracked)
        found = any(candidate.raw == raw for candidate in walked.candidates)
        if found and not _may_be_read(tree, raw):
            return _left_out(raw, SkipReason.UNREADABLE)
    if found:
        problem = f"{shown} is not in the index yet: it came after the last snapshot."
        return NotFound(problem=problem, advice="Run `cairn sync` to take it in")
    for skip in walked.skips:
        if skip.raw == raw or (skip.folder and raw.startswith(skip.raw + b"/")):
            return _left_out(raw, skip.reason)
    return NotFound(problem=f"{shown} is a folder.", advice="Name a file in it; `cairn files` lists them")


def _nearest_file(searcher: Searcher, key: str) -> str:
    """Return the file whose name is nearest: one of that name in another folder, or one like it in the same."""
    folder, _, name = key.rpartition("/")
    paths = list(searcher.view.paths())
    same = [path for path in paths if path.rpartition("/")[2] == name]
    like = get_close_matches(key, [path for path in paths if path.rpartition("/")[0] == folder], 1)
    return next(iter(get_close_matches(key, same, 1, 0) or like), "")


def has_changed(session: Session, asked: Asked, file: StoredFile) -> Miss | None:
    """Return the miss for a place in a file whose bytes are not those that were indexed; None where they are."""
    with Tree(session.target.codebase.root) as tree:
        state = disk_state(tree, spellings(_raw(session, asked), file.key), file)
    if state is DiskState.SAME:
        return None
    problem = f"{_shown(file.key)} is not as it was indexed, so its lines are others now."
    return Miss(NotFound(problem=problem, advice="`cairn sync` brings the index up to date"))


def _may_be_read(tree: Tree, raw: bytes) -> bool:
    try:
        os.close(tree.open_file(raw))
    except PermissionError:
        return False
    except OSError:
        # Any other trouble may be gone by the next sync.
        return True
    return True


def not_parsed(file: StoredFile) -> Miss:
    """Return the miss for a file without an outline, with what can be asked of it instead."""
    problem = (
        f"Cairn knows no definitions of {_shown(file.key)}: as {file.language} it was cut by lines and not parsed."
    )
    reads = "`cairn read` shows its text and `cairn search` finds what is in it"
    return Miss(Unsupported(problem=problem, advice=f"{reads}; the manual lists the languages that are parsed"))


def _left_out(raw: bytes, reason: SkipReason) -> NotFound:
    problem = f"{printable(raw)} is left out of the index ({reason.value}). {SKIP_SENTENCES[reason]}"
    return NotFound(problem=problem, advice="`cairn why` with its path names the rule")


def beyond(path: str, lines: int) -> Miss:
    """Return the miss for a line that a file does not have."""
    many = f"{lines:,} line{'' if lines == 1 else 's'}"
    problem = f"{_shown(path)} has {many} in the index, and no such one."
    return Miss(NotFound(problem=problem, advice="`cairn sync` brings the index up to date"))


def one_definition(searcher: Searcher, name: str, path: str | None) -> Definition | Miss:
    """Return the one definition that a name means, in a file or anywhere; else a miss with candidates."""

    def near(part: str) -> list[Definition]:
        within = None if path is None else (lambda key, _: key == path)
        known = [_matched(one) for one in searcher.symbols(part, within=within, limit=_MOST_COMPARED).symbols]
        own = re.split(r"\W+", name)[-1].lower()
        return sorted(known, key=lambda one: -SequenceMatcher(None, own, one.name.lower()).ratio())[:_MOST_NEAR]

    found = resolve(searcher.view, name, path=path, near=lambda wanted: nearest(near, wanted))
    if found.outcome is NamingOutcome.OK:
        return found.definitions[0]
    shown = _shown(name[:_MOST_SHOWN])
    if found.outcome is NamingOutcome.AMBIGUOUS:
        error = Ambiguous(count=found.total, name=shown, place=_shown(found.definitions[0].place))
        return Miss(error, found.definitions, found.total)
    where = f" in {_shown(path)}" if path else ""
    advice = "The nearest names are listed" if found.definitions else "`cairn search` finds code by its meaning too"
    return Miss(NotFound(problem=f"Nothing{where} is called {shown}.", advice=advice), found.definitions)


def named(session: Session, searcher: Searcher, name: str) -> Definition | Miss:
    """Return the one definition that a name or an import path means in the codebase; else a miss with candidates."""
    one = one_definition(searcher, name, None)
    if isinstance(one, Definition):
        return one
    led = _led(session, name)
    if led is None or (one.candidates and isinstance(one.error, Ambiguous) and led not in one.candidates):
        return one
    return led


def _led(session: Session, name: str) -> Definition | None:
    return imported_as(session.kept(Graph).names, name)


def _matched(match: SymbolMatch) -> Definition:
    return definition_of(match.path, match.language, match.symbol, way=match.way)


def _shown(name: str) -> str:
    return printable(name.encode("utf-8", "surrogateescape"))
