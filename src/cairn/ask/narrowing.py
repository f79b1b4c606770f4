"""Say what a read leaves out although nobody asked for that: files that settings leave out, and text that nobody read.

A filter in the call is asked for. A setting, or a line of `.cairnignore`, is not: somebody else may have written it,
and what it leaves out may hold what was not found. So may text that nobody could search: it is not UTF-8, too large,
or may not be read. The repository's `.gitignore` and what a file is (a link, data, bytes that are no text) say what the
code of a codebase is, and are told in `coverage.skipped` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cairn.core.config import REPO_CONFIG_NAME, Config, LimitConfig
from cairn.core.types import SkipReason
from cairn.search.searcher import Searcher, is_below, narrowing_scope
from cairn.search.types import SearchRequest
from cairn.source.beneath import Tree
from cairn.source.root import printable
from cairn.source.walk import walk_to
from cairn.store import SnapshotView
from cairn.sync.codebase import Codebase

_EXCLUDED = f"The repository's settings ([index] include, exclude in {REPO_CONFIG_NAME}) leave out {{count}}."
_CAIRNIGNORED = ".cairnignore leaves out {count} that no other rule leaves out; `cairn files --skipped` names them."
_UNTRACKED = f"The settings ([index] untracked in {REPO_CONFIG_NAME}) leave out {{count}} that git does not track."
_LOWERED = "The settings ([limits] {name}) leave out {count} for the size."
_NOT_TEXT = (
    "{count} could not be searched, being too large, or not UTF-8 in text or name; `cairn files --skipped` names them."
)
_UNREADABLE = "{count} could not be read and so not searched; `cairn files --skipped` names them."
_UNPARSED = "{count} this name in code that was not parsed; a search by regex shows where."
_SCOPE = (
    f"The repository's settings ([query] scope in {REPO_CONFIG_NAME}) narrow this search to `{{scope}}`; with the scope"
    " `all` it searches everything."
)

_NO_FILE = "No indexed file fits the languages, globs and scope that were asked for, so nothing was searched."
_NOTHING_IN = "{path} {why}, so nothing was searched there."
_SEVERAL = 2
_AS_RAW = ("utf-8", "surrogateescape")
_NO_UTF8 = (SkipReason.NOT_UTF8, SkipReason.NAME_NOT_UTF8)
_COULD_NOT_LOOK = (SkipReason.UNREADABLE, SkipReason.PATH_TOO_LONG)


def narrowed(config: Config, skipped: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """Return a sentence for each reason, besides those that make a file no code, for which files were not searched."""
    found = dict(skipped)
    said = []
    if many := found.get(SkipReason.EXCLUDED, 0):
        said.append(_EXCLUDED.format(count=_counted(many)))
    if many := found.get(SkipReason.CAIRNIGNORED, 0):
        said.append(_CAIRNIGNORED.format(count=_counted(many)))
    if many := found.get(SkipReason.UNTRACKED, 0):
        said.append(_UNTRACKED.format(count=_counted(many)))
    hardest, other = LimitConfig(), sum(found.get(reason, 0) for reason in _NO_UTF8)
    for reason, name, lowered in (
        (SkipReason.TOO_LARGE, "max_file_bytes", config.limits.max_file_bytes < hardest.max_file_bytes),
        (SkipReason.TOO_MANY_CHUNKS, "max_chunks_per_file", _fewer_chunks(config.limits, hardest)),
    ):
        many = found.get(reason, 0)
        if lowered and many:
            said.append(_LOWERED.format(name=name, count=_counted(many)))
        else:
            other += many
    if other:
        said.append(_NOT_TEXT.format(count=_counted(other)))
    if many := sum(found.get(reason, 0) for reason in _COULD_NOT_LOOK):
        said.append(_UNREADABLE.format(count=_counted(many)))
    return tuple(said)


def narrowed_by_syntax(searcher: Searcher, names: Iterable[str]) -> tuple[str, ...]:
    """Return the sentence on code that holds one of these names and was not parsed there, if there is any."""
    many = searcher.unparsed.holding(names)
    return (_UNPARSED.format(count="1 file holds" if many == 1 else f"{many:,} files hold"),) if many else ()


def _fewer_chunks(chosen: LimitConfig, hardest: LimitConfig) -> bool:
    return chosen.max_chunks_per_file < hardest.max_chunks_per_file


def narrowed_to_nothing(codebase: Codebase, view: SnapshotView, request: SearchRequest, files: int) -> list[str]:
    """Return a sentence for each file or folder that was named and of which nothing was searched, and why.

    `files` is how many files of the view were searched.
    """
    if files and len(request.below) < _SEVERAL:
        return []
    paths = [key for key in view.paths() if (record := view.file(key)) is None or record.skip is None]
    empty = [key for key in request.below if not any(is_below(path, (key,)) for path in paths)]
    if not (paths and empty):
        return [_NO_FILE] if paths and not files else []
    with Tree(codebase.root) as tree:
        return [_NOTHING_IN.format(path=_shown(key), why=_why(codebase, tree, view, key)) for key in empty]


def _why(codebase: Codebase, tree: Tree, view: SnapshotView, key: str) -> str:
    record, raw = view.file(key), key.encode(*_AS_RAW)
    reason = record.skip if record is not None else None
    for skip in walk_to(tree, codebase.config, raw, tracked=codebase.tracked).skips:
        if skip.raw == raw or (skip.folder and raw.startswith(skip.raw + b"/")):
            reason = skip.reason
    return f"is left out of the index ({reason.value})" if reason is not None else "holds no indexed file"


def _shown(key: str) -> str:
    return printable(key.encode(*_AS_RAW))


def narrowed_by_scope(config: Config, request: SearchRequest) -> str:
    """Return the sentence on the scope of the settings, where it narrows a search that names none; else nothing."""
    scope = config.query.scope
    if request.scope is not None or scope is None or not narrowing_scope(replace(request, scope=scope)):
        return ""
    return _SCOPE.format(scope=scope)


def _counted(many: int) -> str:
    # A folder that is left out counts as one name, whatever it holds.
    return "1 file or folder" if many == 1 else f"{many:,} files or folders"
