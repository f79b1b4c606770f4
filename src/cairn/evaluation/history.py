"""Questions from a repository's own history: later commits ask an older tree.

The subject of a commit asks, and the one to three source files that it modified answer; only files that were there
already count, and commits that made or removed source files are left out. Nobody wrote these subjects to be searched
with, so they do not lean on the names of the files as judged questions often do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from cairn.core.filetypes import language_of
from cairn.errors import BadPathKey, UsageError
from cairn.evaluation.metric import Lines, Question
from cairn.evaluation.subjects import masked, names_its_file, question
from cairn.search.places import Place, place_of
from cairn.source.git import GitChange
from cairn.source.git_history import GitCommit, GitFile, GitHistory
from cairn.source.root import path_key

DEFAULT_COMMITS = 400
MOST_QUESTIONS = 200
_MOST_LINE = 100_000
_MOST_COMMITS = 20_000
_MOST_TARGETS = 3
# A file that everybody touches would be half of the questions.
_PER_FILE = 5
# Of a short history this share, in fifths, is left to ask.
_FIFTHS = 3
_AROUND_THE_CODE = (
    "asciidoc cmake css csv diff dockerfile gettext gomod gradle html ini json just latex less make markdown meson org"
    " rst scss stylus text toml xml yaml"
)
_NO_SOURCE = frozenset(_AROUND_THE_CODE.split())


class History(NamedTuple):
    """The tree that is asked, the questions, and those of them that are left when the file's name is taken out."""

    base: str
    commits: int
    files: tuple[GitFile, ...]
    plain: tuple[Question, ...]
    masked: tuple[Question, ...]


def history_of(git: GitHistory, name: str, commits: int, most_bytes: int) -> History:
    """The questions of the last so many commits of the main line. A `UsageError` says that there is none."""
    head = git.head()
    if head is None:
        raise UsageError(problem=f"{name} has no git history to take questions from.")
    line = git.ancestors(head, _MOST_LINE)
    back = min(commits, len(line) * _FIFTHS // 5)
    base = line[back]
    files = tuple(file for file in git.files_at(base) if file.size <= most_bytes)
    later = git.commits_between(base, head, _MOST_COMMITS)
    plain = _questions(name, later, git.changes_of([one.id for one in later]) if later else {}, files)
    if not plain:
        raise UsageError(
            problem=f"None of the last {len(later):,} commits of {name} says in its subject what it changed in one to"
            f" {_MOST_TARGETS} source files."
        )
    return History(base, back, files, plain, _masked(plain))


def _questions(
    name: str,
    commits: Sequence[GitCommit],
    changes: Mapping[str, Sequence[GitChange]],
    files: Sequence[GitFile],
) -> tuple[Question, ...]:
    there = {file.raw for file in files}
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for commit in commits:
        text = None if _is_machine(commit.author) else question(commit.subject)
        targets = _targets(changes.get(commit.id, ()), there)
        if text is not None and targets:
            # Nearly the same question again would count twice.
            found.setdefault(text.lower(), (text, targets))
    per_file: Counter[str] = Counter()
    chosen: list[Question] = []
    # An order that depends on nothing but the question, so that the first so many are a fair sample.
    for text, targets in sorted(found.values(), key=lambda one: sha256(one[0].encode()).digest()):
        if len(chosen) < MOST_QUESTIONS and all(per_file[path] < _PER_FILE for path in targets):
            per_file.update(targets)
            category = "named" if names_its_file(text, targets) else "unnamed"
            language = language_of(targets[0].rpartition("/")[2].encode())
            chosen.append(Question(name, language, category, text, tuple(map(Lines, targets))))
    return tuple(chosen)


def _targets(changes: Sequence[GitChange], there: set[bytes]) -> tuple[str, ...]:
    """The source files that a commit modified; none when they are too many, or when it did more than modify."""
    source = [(change, key) for change in changes if (key := _source(change.raw)) is not None]
    if not 1 <= len(source) <= _MOST_TARGETS:
        return ()
    if any(change.status != "M" or change.raw not in there for change, _ in source):
        return ()
    return tuple(sorted(key for _, key in source))


def _source(raw: bytes) -> str | None:
    """The key of a file of the code that runs, None for others: tests and documents follow it, they do not answer."""
    try:
        key = path_key(raw)
    except BadPathKey:
        return None
    own = language_of(raw.rpartition(b"/")[2]) not in _NO_SOURCE and not place_of(key) & ~Place.PACKAGE_INDEX
    return key if own else None


def _is_machine(author: str) -> bool:
    return "bot" in author.lower().replace("[", " ").replace("]", " ").replace("-", " ").split()


def _masked(questions: Sequence[Question]) -> tuple[Question, ...]:
    found = []
    for one in questions:
        text = masked(one.text, [target.path for target in one.targets])
        if text is not None:
            found.append(one._replace(text=text))
    return tuple(found)
