"""A file that was indexed before its name was held to be that of a secret, as a person meets it after an upgrade."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Person, forked

ALL_NAMES = "[index]\nallow_sensitive = ['secret.yaml', 'deploy_key']\n"
FILES = {"main.py": "def settle():\n    return 1\n", "secret.yaml": "password: moose\n", "deploy_key": "moose\n"}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Somebody whose index was made when no name was held to be that of a secret."""
    person = Person(tmp_path)
    for name, text in FILES.items():
        (person.tree / name).write_text(text)
    settings = person.home / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(ALL_NAMES)
    assert "6 added" in person.cairn("index").stdout
    settings.unlink()
    return person


SAID = (
    "2 files that were indexed are left out now, because of names that say they hold secrets: deploy_key, secret.yaml."
    " `[index] allow_sensitive` in your own settings takes such names in."
)


def test_the_first_sync_says_how_many_files_it_left_out_and_why(person: Person) -> None:
    done = person.cairn("sync")
    assert SAID in " ".join(done.stderr.split())
    assert "2 removed" in done.stdout
    assert "3 sensitive name" in done.stdout
    assert SAID not in " ".join(person.cairn("sync").stderr.split())


def test_the_first_search_says_it_too(person: Person) -> None:
    found = json.loads(person.cairn("search", "--json", "moose").stdout)
    assert {"deploy_key", "secret.yaml"}.isdisjoint(hit["path"] for hit in found["results"])
    assert found["warnings"] == [SAID]
    assert found["coverage"]["skipped"]["sensitive_name"] == 3


# A command of a version that knows other names.
LATER = """
from cairn import thin
from cairn.core import fingerprint
fingerprint.NAMES_VERSION += 1
raise SystemExit(thin.main())
"""


def test_other_rules_for_names_are_another_set_of_files(person: Person) -> None:
    """So the first sync after an upgrade looks at every name, although no file has changed."""

    def published(python: tuple[str, ...] = ("-m", "cairn")) -> bool:
        done = forked([*python, "sync", "--json"], person.tree, person.environment)
        return bool(json.loads(done.stdout)["published"])

    assert published()
    assert not published()
    assert published(("-c", LATER))
    assert not published(("-c", LATER))
