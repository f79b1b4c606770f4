"""From the subject of a commit to a question, as far as it is one; and the same without what gives the file away."""

from __future__ import annotations

import re
from collections.abc import Iterable


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
# What is done around the code, or to its looks.
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
    """What a subject asks; None when it does not say what in the code has changed."""
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
    """The question without the words that are in a file's name; None when too little is left to ask with."""
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
