from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tree_sitter import Language

from cairn.core.filetypes import LANGUAGES
from cairn.errors import GrammarMismatch
from cairn.syntax import languages
from cairn.syntax.languages import checksum_of, identities, identity, load
from cairn.syntax.languages.pins import PINS
from tests.conformance import conforms
from tests.syntax import pins

IDENTITIES = Path(__file__).parent.parent / "golden" / "syntax" / "identities.txt"


@conforms("003.AD1")
def test_every_grammar_is_pinned_by_version_and_checksum_and_is_the_one_installed() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]
    for name, pin in PINS.items():
        assert f"{pin.distribution}=={pin.version}" in project
        assert importlib.metadata.version(pin.distribution) == pin.version
        grammar = load(name)
        assert grammar is not None
        assert grammar.parser.language is not None
        assert checksum_of(grammar.parser.language) == pin.checksum


@conforms("003.AD2")
def test_another_grammar_version_checksum_or_query_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity("go")
    for pin in (PINS["go"]._replace(version="0.0.1"), PINS["go"]._replace(checksum="0" * 16)):
        monkeypatch.setitem(PINS, "go", pin)
        assert identity("go") != before
    monkeypatch.undo()
    assert identity("go") == before
    monkeypatch.setattr(languages, "query_text", lambda name: "(comment) @comment")
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
    assert PINS.keys() <= LANGUAGES
    assert load("a language nobody has") is None
    assert [name for name, _ in identities()] == sorted(PINS)


def test_the_list_of_languages_is_the_one_that_their_folders_and_the_installed_grammars_make() -> None:
    assert (pins.FOLDER / "pins.py").read_text("utf-8") == pins.text(), "run `python -m tests.syntax.pins --write`"
    assert {name: traits.name for name, traits in pins.all_traits().items()} == {name: name for name in PINS}


def test_what_an_index_is_made_with_is_what_was_approved() -> None:
    # Another identity makes everybody index anew: it changes with a grammar or a query, never with where these stand.
    written = "".join(f"{name}: {identity}\n" for name, identity in identities())
    if os.environ.get("CAIRN_UPDATE_GOLDEN"):
        IDENTITIES.write_text(written)
    assert written == IDENTITIES.read_text()


def test_only_those_languages_are_loaded_that_are_asked_for() -> None:
    code = (
        "import sys; from cairn.syntax.languages import identities, traits_of; identities(); traits_of('go');"
        "print([m for m in sys.modules if m.startswith('cairn.syntax.languages.') and not m.endswith('.pins')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['cairn.syntax.languages.go', 'cairn.syntax.languages.go.traits']"
