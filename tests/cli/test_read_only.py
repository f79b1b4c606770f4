"""An index of a later format is read only by who asks for it, as far as it is known, and never written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cairn.store.format.document import MANIFEST
from tests.cli.test_bad_stores import ask, disk, store
from tests.conformance import conforms
from tests.schemas import check
from tests.store.future import document, make_later, put
from tests.support.commands import Person

COMMANDS = (("search", "lease"), ("status",), ("snapshots",), ("health",))
SAID = (
    "The index has a later format (chunk row schema 2, data file of a segment 2, manifest 2); what this version of"
    " Cairn does not know of it is left out."
)


def answered(*arguments: str) -> dict[str, Any]:
    said = ask(*arguments, "--json")
    envelope: dict[str, Any] = json.loads(said.stdout)
    check(envelope, envelope["schema"])
    return envelope


@conforms("003.DOWN2")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_a_later_format_is_read_by_who_asks_for_it_and_nothing_is_written(home: Path, command: tuple[str, ...]) -> None:
    now = answered(*command)
    make_later(store(home))
    # So long ago that every other reader would note that it is in use.
    put(store(home) / "last_used", b"2020-01-01T00:00:00Z\n")
    before = disk(home)
    refused = ask(*command)
    assert (refused.status, refused.stdout) == (92, "")
    assert "has format version 2; this version of Cairn reads 1 to 1." in refused.stderr
    later = answered(*command, "--read-only")
    [said] = later["warnings"]
    assert said.startswith("The index has a later format (")
    assert "manifest 2" in said
    for field in ("results", "files_indexed", "state", "counts", "status"):
        assert later.get(field) == now.get(field), field
    told = ask(*command, "--read-only")
    assert told.status == 0
    assert said in told.stderr
    assert disk(home) == before, "not a byte, and not a time, of the store has changed"


@conforms("003.DOWN2")
def test_a_search_that_only_reads_does_not_look_at_the_files_first(home: Path, indexed: Person) -> None:
    make_later(store(home))
    extra = indexed.tree / "extra.py"
    extra.write_text("def lease_of_tomorrow():\n    pass\n")
    try:
        answer = answered("search", "lease_of_tomorrow", "--read-only")
    finally:
        extra.unlink()
    assert answer["freshness"]["mode"] == "not_checked"
    assert not any(found["path"] == "extra.py" for found in answer["results"])
    assert answer["warnings"] == [SAID]


def test_a_search_that_only_reads_does_not_index_the_folder_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(tmp_path / "other")
    monkeypatch.chdir(person.tree)
    monkeypatch.setenv("CAIRN_HOME", str(person.home))
    assert ask("search", "lease", "--read-only").status == 10
    assert not (person.home / "data").exists()


def test_the_next_page_of_a_later_format_is_read_the_same_way(home: Path) -> None:
    make_later(store(home))
    first = answered("search", "lease", "-k", "1", "--read-only")
    second = answered("search", "lease", "-k", "1", "--read-only", "--continue", first["continuation"])
    assert second["warnings"] == [SAID]
    assert second["results"][0]["path"] != first["results"][0]["path"]


def test_an_index_of_today_is_read_the_same_way_and_nothing_is_said(home: Path) -> None:
    before = disk(home)
    for command in COMMANDS:
        assert answered(*command, "--read-only")["warnings"] == []
    assert disk(home) == before


@pytest.mark.parametrize("command", ["sync", "index", "reindex", "clear", "upgrade-store"])
def test_there_is_no_such_option_for_who_writes(home: Path, command: str) -> None:
    assert ask(command, "--read-only").status == 2
    make_later(store(home))
    before = disk(home)
    assert ask(command).status == 92
    assert disk(home) == before


def test_damage_is_no_later_format(home: Path) -> None:
    make_later(store(home))
    for path in store(home).glob("segments/*/data.bin"):
        put(path, path.read_bytes()[:-1] + b"?")
    assert ask("status", "--read-only").status == 90


def test_a_later_format_in_which_a_known_field_is_another_is_refused_by_its_number(home: Path) -> None:
    for path in (*store(home).glob("snapshots/*/manifest.json"), *store(home).glob("generations/*")):
        if json.loads(path.read_bytes())["schema_version"] == 1:
            document(path, MANIFEST, "manifest_sha256", 7, counts={"everything": 1})
    said = ask("status", "--read-only")
    assert said.status == 92
    assert "has format version 7" in said.stderr
