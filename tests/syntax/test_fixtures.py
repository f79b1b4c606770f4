"""Every language against a written sample: what is defined, called and imported, read and approved by a person.

`CAIRN_UPDATE_GOLDEN=1` rewrites the expectations; read the diff before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cairn.syntax.languages.pins import PINS
from tests.syntax.fixtures import facts_of, render, samples

STRUCTURED_TEXT = {"markdown", "json", "yaml", "toml", "html", "css", "sql"}


@pytest.mark.parametrize("sample", samples(), ids=lambda path: path.parent.name)
def test_a_sample_of_each_language_gives_the_approved_facts(sample: Path) -> None:
    expected = sample.parent / "expected.txt"
    found = render(sample.read_bytes(), sample.parent.name)
    if os.environ.get("CAIRN_UPDATE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()


@pytest.mark.parametrize("sample", samples(), ids=lambda path: path.parent.name)
def test_a_sample_is_large_enough_to_mean_something(sample: Path) -> None:
    facts = facts_of(sample.read_bytes(), sample.parent.name)
    assert len(facts.symbols) >= 12
    if sample.parent.name not in STRUCTURED_TEXT:
        assert sum(reference.kind == "call" for reference in facts.references) >= 8
        assert len(facts.imports) >= 5


def test_every_language_with_a_grammar_has_a_sample() -> None:
    assert {path.parent.name for path in samples()} == set(PINS)
