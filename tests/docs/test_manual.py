"""The manual cannot lie: what the code has is in it, and what it has is in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.ask.gate import Status
from cairn.cli.verbs import COMMANDS
from cairn.core import config
from cairn.core.filetypes import LANGUAGES, language_of
from cairn.core.types import SKIP_SENTENCES, SkipReason
from cairn.syntax.languages.pins import PINS
from tests.conformance_report import PROJECT
from tests.docs.keywords import LIBRARY, written
from tests.docs.tables import DOCS, MANUAL, MARKED, TABLES, all_errors, attacks, filled, pages, table

PAGES = {page.name: page.read_text("utf-8") for page in sorted(MANUAL.glob("*.md"))}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(DOCS.parent).as_posix())
def test_the_tables_of_a_page_are_those_of_the_code(page: Path) -> None:
    text = page.read_text("utf-8")
    assert filled(text) == text, "out of date; run: python -m tests.docs.tables --write"


def test_the_arguments_of_the_python_methods_are_the_options_of_their_questions() -> None:
    source = LIBRARY.read_text("utf-8")
    assert written(source) == source, "out of date; run: python -m tests.docs.tables --write"
    assert written(source.replace("max_tokens: int | None = None,", "")) == source


def test_every_table_stands_on_exactly_one_page() -> None:
    placed = [found["name"] for page in pages() for found in MARKED.finditer(page.read_text("utf-8"))]
    assert sorted(placed) == sorted(TABLES)


def test_a_changed_table_is_noticed() -> None:
    page = f"<!-- table: skip reasons -->{chr(10)}{table('skip reasons')}<!-- end -->\n"
    assert filled(page) == page
    assert filled(page.replace("`binary`", "`banana`")) == page


def test_every_command_has_a_heading_and_every_heading_is_a_command() -> None:
    headings = {name for text in PAGES.values() for name in re.findall(r"^## `cairn ([\w-]+)", text, re.MULTILINE)}
    assert headings == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_a_command_are_in_the_manual(command: str) -> None:
    everything = "\n".join(PAGES.values())
    for example in COMMANDS[command].examples:
        assert example in everything


def test_every_skip_reason_has_its_sentence() -> None:
    assert set(SKIP_SENTENCES) == set(SkipReason)
    assert all(sentence.endswith(".") for sentence in SKIP_SENTENCES.values())


def test_a_code_or_reason_named_in_the_manual_exists() -> None:
    """Whatever stands in a cell as `like_this` in a page about codes is one, a status, or a setting that cures."""
    known = {error.code for error in all_errors()} | {word.value for kind in (SkipReason, Status) for word in kind}
    known |= {key for keys in config._USER_KEYS.values() for key in keys}
    for name in ("errors.md", "skip-reasons.md", "exit-status.md"):
        named = set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", PAGES[name]))
        assert named <= known, f"{name}: {named - known}"


def test_a_listed_extension_has_the_language_it_is_listed_under() -> None:
    for name in ("languages", "text languages"):
        for language, extension in re.findall(r"^\| `(\w+)` \|.*?`\.(\w+)`", table(name), re.MULTILINE):
            assert language in LANGUAGES
            # Some extensions are shared; the first bytes of the file settle those.
            assert language_of(b"name." + extension.encode()) == language


@pytest.mark.parametrize(
    "page",
    [
        *sorted(MANUAL.glob("*.md")),
        *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md")),
        *sorted((PROJECT / "docs").rglob("*.md")),
    ],
    ids=lambda page: page.relative_to(PROJECT).as_posix(),
)
def test_a_link_to_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_every_page_is_reachable_from_the_first_one() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)", PAGES["index.md"]))
    assert linked == set(PAGES) - {"index.md"}


def test_the_readme_counts_the_languages_right() -> None:
    assert f"{len(PINS)} languages" in (PROJECT / "README.md").read_text("utf-8")


def test_every_test_that_is_named_for_an_attack_is_there() -> None:
    """A file of tests, or one test in it."""
    for attack in attacks():
        assert attack["tried"]
        assert attack["holds"]
        assert attack["tests"]
        for test in attack["tests"]:
            file, _, name = test.partition("::")
            text = (DOCS.parent / "tests" / file).read_text("utf-8")
            assert f"def {name or 'test_'}" in text, test
            assert not name or re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), test
