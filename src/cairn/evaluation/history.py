"""Questions from a repository's own history: later commits ask an older tree.

The subject of a commit asks, and the one to three source files that it modified answer; only files that were there
already count, and commits that made or removed source files are left out. Nobody wrote these subjects to be searched
with, so they do not lean on the names of the files as judged questions often do.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import NamedTuple

from cairn.core.filetypes import language_of
from cairn.core.limits import MIB
from cairn.errors import BadPathKey, UsageError
from cairn.evaluation.scoring import JudgedQuestion, Lines
from cairn.search.places import FileRole, place_of
from cairn.source.git import GitChange, GitCommit, GitFile, GitHistory
from cairn.source.root import path_key

# --- questions from subjects of commits -------------------------------------------------------------------------------


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LONGEST = 160
_FEWEST_WORDS, _FEWEST_TELLING, _FEWEST_LEFT = 4, 2, 3

# `fix(parser)!: ` and its kin; of the second group nothing is asked that the source answers.
_TYPE = re.compile(r"([A-Za-z]{2,12})(?:\([^)]{1,40}\))?!?:\s+")
_CODE_TYPES = _set_of(
    "fix fixes fixed feat feature refactor perf bug bugfix hotfix improvement security enhance enhancement types minor"
    " update new breaking major"
)
_OTHER_TYPES = _set_of(
    "doc docs test tests testing ci build chore style release revert dep deps bench lint fmt format typo version"
    " changelog merge wip website example examples"
)
# Ticket numbers, tags in brackets and emoji before the words; numbers of issues and addresses anywhere.
_BEFORE = re.compile(
    r"\s*(?:\[[^\]]{1,40}\]|:[a-z0-9_+-]+:|[^\x00-\x7f]+|[*+-]\s|[A-Z][A-Z0-9]{1,11}-\d+\s*[:.-]?|#\d+:?)\s*"
)
_NUMBER = re.compile(
    r"[(\[]?\s*(?<!\w)(?:(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|issue|pr):?\s*)?(?:[\w./-]*#|gh-)\d+\s*[)\]]?",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")
# Words of subjects about work around the code, or about its formatting.
_AROUND = re.compile(
    r"\b(?:bump\w*|reverts?|reverted|backport\w*|cherry.?pick\w*|change ?log|releases?|released|typos?|spelling|lint\w*"
    r"|clippy|\w+fmt|white ?spaces?|(?:re)?format(?:s|ted|ting)?|code ?style|indentation|copyright|licen[cs]es?"
    r"|read ?me|docs?|docstrings?|documentation|comments?|dependenc(?:y|ies)|deps|requirements|workflows?|ci|docker\w*"
    r"|tests?|testing|specs?|coverage|benchmarks?|wip|fixup|squash|translations?|versions?|todos?|nits?|warnings"
    r"|unused imports?|merge)\b|\bv?\d+\.\d+\.\d+\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][\w'.:/-]*")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LITTLE = _set_of(
    "a an and are as at be been by can do does for from had has have how if in into is it its no not of on only or our"
    " per should so some than that the their them then there these they this to up use used uses using via was we were"
    " what when where which while who why will with without you your"
)
_DEEDS = _set_of(
    "add adds added adding fix fixes fixed fixing remove removes removed make makes made update updates updated allow"
    " allows ensure improve improves change changes changed support handle handles avoid refactor move set get simplify"
    " prevent cleanup clean introduce implement drop more all also minor small better new old issue bug"
)
_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "ies", "ed", "er", "es", "s", "y", "e")


def question(subject: str) -> str | None:
    """Return the question in a subject; None when the subject does not say what in the code has changed."""
    text = subject.strip()
    if len(text) > _LONGEST or text.endswith(("...", "\u2026")):
        return None
    before = ""
    while text != before:
        before = text
        text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
        kind = _TYPE.match(text)
        if kind and kind[1].lower() in _OTHER_TYPES:
            return None
        if kind and kind[1].lower() in _CODE_TYPES:
            text = text[kind.end() :]
    text = re.sub(r"[`\"]", "", _NUMBER.sub(" ", _ADDRESS.sub(" ", text)))
    text = " ".join(text.split()).strip(" .:;,-")
    words = _WORD.findall(text)
    telling = [word for word in words if word.lower() not in _LITTLE and word.lower() not in _DEEDS]
    if not text.isascii() or _AROUND.search(text) or len(words) < _FEWEST_WORDS or len(telling) < _FEWEST_TELLING:
        return None
    return text


def names_its_file(text: str, paths: Iterable[str]) -> bool:
    """Whether a word of the question is in the name of a file."""
    known = _parts_of_names(paths)
    return any(_gives_away(word, known) for word in text.split())


def masked(text: str, paths: Iterable[str]) -> str | None:
    """Return the question without the words that are in a file's name; None when too little is left to ask."""
    known = _parts_of_names(paths)
    kept = " ".join(word for word in text.split() if not _gives_away(word, known))
    left = [word for word in _WORD.findall(kept) if word.lower() not in _LITTLE]
    return kept if len(left) >= _FEWEST_LEFT else None


def _parts_of_names(paths: Iterable[str]) -> frozenset[str]:
    names = [path.rpartition("/")[2].partition(".")[0] for path in paths]
    return frozenset(part for name in names for part in (*_parts(name), _flat(name)) if len(part) > 1)


def _gives_away(word: str, known: frozenset[str]) -> bool:
    own = [part for part in (*_parts(word), _flat(word)) if part and part not in _LITTLE]
    return any(_alike(part, name) for part in own for name in known)


def _alike(one: str, other: str) -> bool:
    if one == other or _root(one) == _root(other):
        return True
    return min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))


def _root(word: str) -> str:
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
    return word[: len(word) - len(ending)]


def _parts(text: str) -> list[str]:
    return [part.lower() for part in _PART.findall(text)]


def _flat(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


# --- an old revision as a folder --------------------------------------------------------------------------------------


# git is asked for so much at once: far below what is taken from it.
_STEP_BYTES = 32 * MIB


class Exported(NamedTuple):
    """The folder of the exported files, and a home for the index made of them; both are temporary."""

    tree: str
    home: str


@contextmanager
def exported(
    git: GitHistory, files: Sequence[GitFile], done: Callable[[int], None] = lambda _: None
) -> Iterator[Exported]:
    """Write these files, as their blobs are, into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="cairn-eval-") as scratch:
        tree = os.path.join(scratch, "tree")
        os.mkdir(tree)
        written = 0
        for step in _steps(files):
            blobs = git.blobs([file.blob for file in step])
            for file in step:
                if file.blob in blobs:
                    _write(tree, file.raw, blobs[file.blob])
                written += 1
                done(written)
        yield Exported(tree, os.path.join(scratch, "home"))


def _steps(files: Sequence[GitFile]) -> Iterator[list[GitFile]]:
    step: list[GitFile] = []
    size = 0
    for file in files:
        if step and size + file.size > _STEP_BYTES:
            yield step
            step, size = [], 0
        step.append(file)
        size += file.size
    if step:
        yield step


def _write(tree: str, raw: bytes, data: bytes) -> None:
    try:
        # A tree object may hold any name, `..` and `/etc/passwd` too.
        path_key(raw)
    except BadPathKey:
        return
    path = os.path.join(os.fsencode(tree), raw)
    # One name may be a file and a folder at once, or too long, in a tree that git itself would not check out.
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)


DEFAULT_COMMITS = 400
MOST_QUESTIONS = 200
_MOST_LINE = 100_000
_MOST_COMMITS = 20_000
_MOST_TARGETS = 3
# A file that everybody touches would be half of the questions.
_PER_FILE = 5
# The share of a short history, in fifths, that gives questions.
_FIFTHS = 3
_AROUND_THE_CODE = (
    "asciidoc cmake css csv diff dockerfile gettext gomod gradle html ini json just latex less make markdown meson org"
    " rst scss stylus text toml xml yaml"
)
_NO_SOURCE = frozenset(_AROUND_THE_CODE.split())


class History(NamedTuple):
    """The base revision that is asked, its files, the questions, and the questions without the words of file names."""

    base: str
    commits: int
    files: tuple[GitFile, ...]
    plain: tuple[JudgedQuestion, ...]
    masked: tuple[JudgedQuestion, ...]


def history_of(git: GitHistory, name: str, commits: int, most_bytes: int) -> History:
    """Return the questions of the last commits of the main line; raises `UsageError` when there is none."""
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
) -> tuple[JudgedQuestion, ...]:
    there = {file.raw for file in files}
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for commit in commits:
        text = None if _is_machine(commit.author) else question(commit.subject)
        targets = _targets(changes.get(commit.id, ()), there)
        if text is not None and targets:
            # Nearly the same question again would count twice.
            found.setdefault(text.lower(), (text, targets))
    per_file: Counter[str] = Counter()
    chosen: list[JudgedQuestion] = []
    # An order that depends on nothing but the question, so that the first so many are a fair sample.
    for text, targets in sorted(found.values(), key=lambda one: sha256(one[0].encode()).digest()):
        if len(chosen) < MOST_QUESTIONS and all(per_file[path] < _PER_FILE for path in targets):
            per_file.update(targets)
            category = "named" if names_its_file(text, targets) else "unnamed"
            language = language_of(targets[0].rpartition("/")[2].encode())
            chosen.append(JudgedQuestion(name, language, category, text, tuple(map(Lines, targets))))
    return tuple(chosen)


def _targets(changes: Sequence[GitChange], there: set[bytes]) -> tuple[str, ...]:
    """Return the source files that a commit modified; none when they are too many, or added or removed."""
    source = [(change, key) for change in changes if (key := _source(change.raw)) is not None]
    if not 1 <= len(source) <= _MOST_TARGETS:
        return ()
    if any(change.status != "M" or change.raw not in there for change, _ in source):
        return ()
    return tuple(sorted(key for _, key in source))


def _source(raw: bytes) -> str | None:
    """Return the key of a source file that is no test, document or other by-product; None for other files."""
    try:
        key = path_key(raw)
    except BadPathKey:
        return None
    own = language_of(raw.rpartition(b"/")[2]) not in _NO_SOURCE and not place_of(key) & ~FileRole.PACKAGE_INDEX
    return key if own else None


def _is_machine(author: str) -> bool:
    return "bot" in author.lower().replace("[", " ").replace("]", " ").replace("-", " ").split()


def _masked(questions: Sequence[JudgedQuestion]) -> tuple[JudgedQuestion, ...]:
    found = []
    for one in questions:
        text = masked(one.text, [target.path for target in one.targets])
        if text is not None:
            found.append(one._replace(text=text))
    return tuple(found)
