from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tree_sitter import Language

from cairn.core.filetypes import LANGUAGES
from cairn.errors import GrammarMismatch
from cairn.syntax import languages
from cairn.syntax.languages import SPECS, checksum_of, identities, identity, load
from cairn.syntax.pins import PINS, Pin
from tests.conformance import conforms


@conforms("003.AD1")
def test_every_grammar_is_pinned_by_version_and_checksum_and_is_the_one_installed() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]
    assert PINS.keys() == SPECS.keys()
    for name, spec in SPECS.items():
        assert f"{spec.distribution}=={PINS[name].version}" in project
        assert importlib.metadata.version(spec.distribution) == PINS[name].version
        grammar = load(name)
        assert grammar is not None
        assert grammar.parser.language is not None
        assert checksum_of(grammar.parser.language) == PINS[name].checksum


@conforms("003.AD2")
def test_another_grammar_version_checksum_or_query_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity("go")
    for pin in (Pin("0.0.1", PINS["go"].checksum), Pin(PINS["go"].version, "0" * 16)):
        monkeypatch.setitem(PINS, "go", pin)
        assert identity("go") != before
    monkeypatch.undo()
    assert identity("go") == before
    monkeypatch.setattr(languages, "query_text", lambda spec: "(comment) @comment")
    assert identity("go") != before


def test_a_grammar_that_is_not_the_pinned_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import tree_sitter_json
    import tree_sitter_toml

    assert checksum_of(Language(tree_sitter_json.language())) != checksum_of(Language(tree_sitter_toml.language()))
    monkeypatch.setattr(tree_sitter_json, "language", tree_sitter_toml.language)
    load.cache_clear()
    with pytest.raises(GrammarMismatch):
        load("json")
    monkeypatch.undo()
    load.cache_clear()
    assert load("json") is not None


def test_the_fingerprint_of_all_grammars_loads_none_of_them() -> None:
    code = (
        "import sys; from cairn.syntax.languages import identities; identities();"
        "print([m for m in sys.modules if m.startswith('tree_sitter_')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_language_with_a_grammar_has_a_name_in_the_table_of_files() -> None:
    assert SPECS.keys() <= LANGUAGES
    assert load("a language nobody has") is None
    assert [name for name, _ in identities()] == sorted(SPECS)
