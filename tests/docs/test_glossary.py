"""The glossary explains each word once, in order, and with a sentence of its own."""

from __future__ import annotations

import re

from tests.docs.tables import DOCS

PAGE = (DOCS / "glossary.md").read_text("utf-8")
WORDS = ("segment", "snapshot", "lease", "claim", "tombstone", "tier", "gate", "context", "staging", "barrier")
WORDS += ("generation", "fingerprint", "capability", "view", "root", "store", "manifest", "session", "marker")


def terms(text: str) -> list[str]:
    return re.findall(r"^- \*\*([a-z ]+)\*\*: \S", text, re.MULTILINE)


def test_every_entry_is_a_word_and_a_sentence() -> None:
    entries = re.findall(r"^- .*(?:\n  .*)*", PAGE, re.MULTILINE)
    assert len(entries) == len(terms(PAGE))
    assert not [entry for entry in entries if not entry.endswith((".", ".)"))]


def test_a_word_is_explained_once_and_stands_in_order() -> None:
    parts = [terms(part) for part in PAGE.split("\n## ")[1:]]
    everything = [word for part in parts for word in part]
    assert len(everything) == len(set(everything))
    assert all(part == sorted(part) for part in parts)
    assert set(WORDS) <= set(everything)


def test_the_glossary_of_the_format_explains_no_word_that_is_not_here() -> None:
    format_page = (DOCS / "FORMAT.md").read_text("utf-8")
    assert set(terms(format_page)) <= set(terms(PAGE))
