"""The pairs that a history holds: the subject of a commit, and what it changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from training.records import Record

_MOST_FILES = 8
_MOST_HUNKS = 2
_LEAST_ADDED_LINES = 3
_MOST_SUBJECT_CHARS = 200
_MOST_CODE_CHARS = 1000

_NUMBER = re.compile(r"\(?#\d+\)?|\[[^\]]*\]")
# `fix(parser): …` keeps `parser`, which says where.
_CONVENTIONAL = re.compile(r"^\w+(?:\(([^)]*)\))?!?:\s")
_SAYS_LITTLE = re.compile(
    r"(?:merge|bump|release|revert|update (?:depend|version)|version|prepare|fix (?:lint|typo|format))"
    r"|.*\b(?:typos?|lint|changelog)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_FILE = re.compile(r"^diff --git .*\n", re.MULTILINE)
_NEW_NAME = re.compile(r"^\+\+\+ b/(.*?)\t?$", re.MULTILINE)
# The first hunk of a new file is its licence, and little else fits.
_LICENCE = re.compile(r"copyright (?:\(c\)|©|\d{4})|licensed under|SPDX-License", re.IGNORECASE)
_HUNK = re.compile(r"^@@[^@\n]*@@", re.MULTILINE)


def subject_of(raw: str) -> str:
    """A commit's subject as a question; empty when it says little (a merge, a release, a typo)."""
    text = _CONVENTIONAL.sub(lambda found: f"{found[1] or ''} ", _NUMBER.sub("", raw)).strip()
    if len(_WORD.findall(text)) < 3 or _SAYS_LITTLE.match(text):
        return ""
    return text[:_MOST_SUBJECT_CHARS]


def pairs_of_commit(repository: str, raw: str, change: str) -> Iterator[Record]:
    """At most two hunks of a commit that has a subject worth asking and touches few files."""
    subject, files = subject_of(raw), _FILE.split(change)[1:]
    if not subject or len(files) > _MOST_FILES:
        return
    given = 0
    for file in files:
        named = _NEW_NAME.search(file)
        if named is None:
            continue
        for hunk in _HUNK.split(file)[1:]:
            lines = hunk.split("\n")[1:]
            if sum(line.startswith("+") and len(line) > 8 for line in lines) < _LEAST_ADDED_LINES:
                continue
            code = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
            if _LICENCE.search(code):
                continue
            yield Record("commit", repository, named[1], "", subject, code[:_MOST_CODE_CHARS])
            given += 1
            if given == _MOST_HUNKS:
                return
