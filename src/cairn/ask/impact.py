"""Answer what a change reaches: of a definition, of a whole file, or of all that differs from a commit."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Mapping
from typing import NamedTuple

from cairn.ask.meaning import informed
from cairn.ask.questions import IMPACT
from cairn.ask.relations import best_definition, place_of
from cairn.ask.session import Session
from cairn.ask.structure import Asked, file_asked_for, reply_of
from cairn.ask.values import Miss, Reply
from cairn.core.config import Config
from cairn.core.limits import DEFAULT_IMPACT, DEFAULT_IMPACT_DEPTH, MAX_FILE_BYTES, MAX_IMPACT_FILES
from cairn.core.types import FileFacts, Root, StoredFile, Syntax
from cairn.errors import BadPathKey, NotFound, UsageError
from cairn.graph.changed import ChangeKind, FileVersion, changed_symbols, differs_outside
from cairn.graph.facts import Place
from cairn.graph.impact import Changed, Impact, impact_of
from cairn.graph.outline import definition_of, definitions_in, has_outline
from cairn.graph.references import Graph
from cairn.graph.scopes import Tier
from cairn.search.searcher import Searcher
from cairn.semantic.running import scratch_folder
from cairn.source.beneath import Tree
from cairn.source.git import GitFile, GitHistory
from cairn.source.root import path_key
from cairn.source.walk import walk
from cairn.sync.pool import extract_all

_ENDING = re.compile(r"\.[A-Za-z0-9]{1,12}")
_SHA1_HEX = 40


def impact(
    session: Session,
    asked: Asked | None,
    *,
    file: Asked | None = None,
    diff: str | None = None,
    depth: int = DEFAULT_IMPACT_DEPTH,
    min_tier: Tier = Tier.LIKELY,
    limit: int = DEFAULT_IMPACT,
) -> Reply[Impact]:
    """Return what a change of a definition or of a file reaches, or with `diff` all that differs from that commit."""
    IMPACT.check(depth=depth, limit=limit)
    if (asked is None) is (diff is None):
        raise UsageError(problem="Name a definition or a file, or say `--diff`: one of them.")

    def ask(searcher: Searcher) -> Impact | Miss:
        if diff is not None:
            seeds = _of_difference(session, searcher, diff)
        else:
            assert asked is not None, "one of them was named"
            seeds = _of_what_was_named(session, searcher, asked, file)
        if isinstance(seeds, Miss):
            return seeds
        return informed(
            session,
            lambda graph: impact_of(
                graph,
                seeds.changed,
                seeds.files,
                depth=depth,
                min_tier=min_tier,
                limit=limit,
                revision=seeds.revision,
            ),
        )

    def about(told: Impact) -> set[str]:
        return {name for one in told.changed for name in (one.definition.name, one.old_name) if name}

    return reply_of(session, asked.path if asked is not None else session.target.asked, ask, about)


class _Seeds(NamedTuple):
    """What is changed: definitions with their places, and files."""

    changed: list[tuple[Changed, Place | None]]
    files: list[str]
    revision: str = ""


def _of_what_was_named(session: Session, searcher: Searcher, asked: Asked, file: Asked | None) -> _Seeds | Miss:
    graph = session.kept(Graph)
    if file is None and asked.lines is None and os.path.lexists(os.path.join(asked.base, asked.file)):
        record = file_asked_for(session, searcher, asked)
        if not isinstance(record, Miss):
            found = definitions_in(searcher.view, record) if has_outline(record) else []
            return _Seeds([(Changed(one), place_of(graph, one)) for one in found], [record.key])
    one = best_definition(session, searcher, asked, file)
    if isinstance(one, Miss):
        return one
    inside = [
        each
        for each in definitions_in(searcher.view, _record(searcher, one.path))
        if one.start_byte <= each.start_byte and each.end_byte <= one.end_byte and each.start_byte != one.start_byte
    ]
    own: list[tuple[Changed, Place | None]] = [(Changed(each), place_of(graph, each)) for each in (one, *inside)]
    return _Seeds(own, [])


def _record(searcher: Searcher, path: str) -> StoredFile:
    found = searcher.view.file(path)
    assert found is not None, "a definition stands in a file of the snapshot"
    return found


# --- what differs from a commit ---------------------------------------------------------------------------------------


def _of_difference(session: Session, searcher: Searcher, revision: str) -> _Seeds | Miss:
    root = session.target.codebase.root
    git = GitHistory(root)
    commit = git.named(revision) if root.is_git else None
    if commit is None:
        problem = "There is no such commit here." if root.is_git else "This codebase has no git history."
        return Miss(NotFound(problem=problem, advice="`git log` lists the commits"))
    old = {_key(file.raw): file for file in git.files_at(commit) if file.size <= MAX_FILE_BYTES}
    records = {path: record for path, record in searcher.view.records().items() if record.skip is None}
    paths = sorted(path for path in old.keys() | records.keys() if _differs(searcher, old.get(path), records.get(path)))
    # What is left out of the index is no code that anybody asks about.
    paths = [path for path in paths if path and (path in records or _was_code(path, records))][:MAX_IMPACT_FILES]
    before = _old_facts(session, git, {path: old[path] for path in paths if path in old})
    seeds = _Seeds([], [], commit)
    for path in paths:
        _compare(session, searcher, path, before.get(path), records.get(path), seeds)
    return seeds


def _key(raw: bytes) -> str:
    try:
        return path_key(raw)
    except BadPathKey:
        # A tree of git may hold any name.
        return ""


def _was_code(path: str, records: Mapping[str, StoredFile]) -> bool:
    """Whether a file that is gone had an ending that files of the index have."""
    ending = posixpath.splitext(path)[1]
    return bool(ending) and any(other.endswith(ending) for other in records)


def _differs(searcher: Searcher, old: GitFile | None, new: StoredFile | None) -> bool:
    if old is None or new is None:
        return True
    text = searcher.view.text(new.key)
    if text is None or len(text) != old.size:
        return True
    made = hashlib.sha1 if len(old.blob) == _SHA1_HEX else hashlib.sha256
    return made(b"blob %d\0" % len(text) + bytes(text), usedforsecurity=False).hexdigest() != old.blob


class _Old(NamedTuple):
    """A file as it was in the commit."""

    data: bytes
    syntax: Syntax | None


def _compare(
    session: Session, searcher: Searcher, path: str, old: _Old | None, new: StoredFile | None, seeds: _Seeds
) -> None:
    graph = session.kept(Graph)
    text = bytes(searcher.view.text(path) or b"") if new is not None else b""
    symbols = searcher.view.symbols(path) if new is not None and has_outline(new) else []
    was = FileVersion(old.data, old.syntax.symbols) if old and old.syntax else FileVersion(b"", ())
    now = FileVersion(text, symbols)
    language = new.language if new is not None else (old.syntax.language if old and old.syntax else "")
    for one in changed_symbols(was, now):
        gone = one.kind is ChangeKind.REMOVED
        symbol = (was if gone else now).symbols[one.number]
        found = Changed(definition_of(path, language, symbol), one.kind, one.old_name)
        seeds.changed.append((found, None if gone else place_of(graph, found.definition)))
    if new is None or old is None or differs_outside(was, now):
        seeds.files.append(path)


def _old_facts(session: Session, git: GitHistory, files: Mapping[str, GitFile]) -> dict[str, _Old]:
    """Return the files as they were. They are parsed as an index does it: by workers, from files of their own."""
    blobs = git.blobs([file.blob for file in files.values()]) if files else {}
    texts = {path: blobs[file.blob] for path, file in files.items() if file.blob in blobs}
    names = {path: f"f{number}{_ending(path)}" for number, path in enumerate(texts)}
    facts: dict[str, Syntax] = {}
    with scratch_folder(session.home, session.clock) as (disk, folder):
        for path, text in texts.items():
            disk.create_bytes(f"{folder}/{names[path]}", text)
        root = Root(os.path.join(disk.path, folder), is_git=False)
        with Tree(root) as tree:
            candidates = walk(tree, Config()).candidates
        outcomes = extract_all(root, candidates, session.target.codebase.config.limits, workers=1)
        for candidate, outcome in zip(candidates, outcomes, strict=True):
            if isinstance(outcome, FileFacts):
                facts[candidate.key] = outcome.syntax
    return {path: _Old(texts[path], facts.get(names[path])) for path in texts}


def _ending(path: str) -> str:
    ending = posixpath.splitext(path)[1]
    return ending if _ENDING.fullmatch(ending) else ""
