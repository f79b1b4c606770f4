"""Every format that was ever released is read, and upgraded, by every later version.

Each folder `v1`, `v2`… is a small store as that version wrote it, with what must be found in it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import cairn.ask.session as session_module
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, whole
from cairn.core.fingerprint import IndexFingerprint
from cairn.search.types import Mode, SearchRequest
from cairn.store.disk import Disk
from cairn.store.format.columns import read_container
from cairn.store.format.layout import FOLDERS
from cairn.store.publish.generations import published, read_claims
from cairn.store.repair.verify import FindingLevel, check
from cairn.sync.codebase import StorePlace
from cairn.sync.upgrade import upgrade_store
from tests.compat.make import CURRENT, EXPECTED, HERE, OF_ONE_DISK, STORE, facts_of, make
from tests.conformance import conforms
from tests.store.little import FewProcesses
from tests.support.clock import ManualClock
from tests.sync.desk import silent

RELEASED = sorted(HERE.glob("v[0-9]*"))
NEVER_CHANGE = (
    "What is written now is not what `tests/compat/{name}` holds. A released format is never changed: raise `written`"
    " and `newest` of the artifact in store/format/document.py, see that the old version is still read and that"
    " `cairn upgrade-store` rewrites it, and run `python -m tests.compat.make`, which writes a new folder."
)


def restored(fixture: Path, home: Path) -> Path:
    """A copy of a store with the rights and empty folders that git does not keep."""
    [manifest, *_] = fixture.glob(f"{STORE}/snapshots/*/manifest.json")
    store = home / "data" / json.loads(manifest.read_bytes())["store_id"]
    shutil.copytree(fixture / STORE, store)
    for folder in FOLDERS:
        (store / folder).mkdir(exist_ok=True)
    for path in (home, *home.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    for segment in (store / "segments").iterdir():
        for file in segment.iterdir():
            file.chmod(0o400)
        segment.chmod(0o500)
    return store


@pytest.fixture(params=RELEASED, ids=lambda folder: folder.name)
def fixture(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def store(fixture: Path, tmp_path: Path) -> Path:
    return restored(fixture, tmp_path / "home")


@pytest.fixture
def disk(store: Path, tmp_path: Path) -> Iterator[Disk]:
    with Disk.at(str(tmp_path / "home"), f"data/{store.name}") as disk:
        yield disk


def expected(fixture: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((fixture / EXPECTED).read_text("utf-8"))
    return found


@conforms("003.UPG3")
def test_a_released_format_is_read_row_by_row(fixture: Path, disk: Disk) -> None:
    assert json.loads(json.dumps(facts_of(disk))) == expected(fixture)
    assert [found for found in check(disk) if found.severity is FindingLevel.ERROR] == []


def test_a_released_format_answers_through_a_session(
    fixture: Path, disk: Disk, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = next(published(disk, read_claims(disk), []))
    fingerprint = IndexFingerprint(newest.config_fields, newest.config_fingerprint)
    # Grammars and models move on, and with them the place: the session is shown the store that belongs to its time.
    place = StorePlace(str(tmp_path / "home"), store.name, fingerprint, newest.canonical_root)
    monkeypatch.setattr(session_module, "place_of", lambda *_: place)
    (tmp_path / "tree").mkdir()
    with Session(whole(str(tmp_path / "tree"), {}), {"CAIRN_HOME": str(tmp_path / "home")}) as session:
        prepare(session, Policy(create=False, sync=False))
        assert session.gate.is_open
        for mode, query, paths in expected(fixture)["answers"]:
            found = session.ask(SearchRequest(query, mode=Mode(mode))).found
            assert found is not None
            assert sorted({hit.path for hit in found.hits}) == paths


@conforms("003.UPG3", "003.UPG4")
def test_a_released_format_is_upgraded_to_the_one_of_today_and_says_the_same(
    fixture: Path, disk: Disk, store: Path
) -> None:
    before, known = expected(fixture), len(list((store / "generations").iterdir()))
    report = upgrade_store(disk, "store", silent, clock=ManualClock(), processes=FewProcesses())
    assert report.published == (fixture != CURRENT)
    found = json.loads(json.dumps(facts_of(disk)))
    assert found["answers"] == before["answers"]
    assert found["snapshots"][0]["files"] == before["snapshots"][0]["files"]
    assert found["snapshots"][-known:] == before["snapshots"], "the older snapshots still open"
    assert upgrade_store(disk, "store", silent, clock=ManualClock(), processes=FewProcesses()).raised == ()


def test_no_fixture_names_a_machine(fixture: Path) -> None:
    for path in fixture.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"/tmp" not in data
            assert b"/home" not in data
    lease = json.loads((fixture / STORE / "locks" / "writer_lease.json").read_bytes())
    assert (lease["hostname"], lease["pid"], lease["released"]) == ("host", 1, True)
    assert not any((fixture / STORE / name).exists() for name in OF_ONE_DISK)


# --- the format of today ----------------------------------------------------------------------------------------------


def shape(value: object) -> object:
    """Which fields a document has and of what kind, whatever they say."""
    if isinstance(value, dict):
        return {name: shape(held) for name, held in value.items() if name not in ("config_fields", "skipped")}
    if isinstance(value, list):
        return [shape(held) for held in value[:1]]
    return "none" if value is None else type(value).__name__


def form_of(store: Path) -> dict[str, object]:
    """How everything in a store is written: names, fields, tables, sections and their order."""
    found: dict[str, object] = {}
    for path in sorted(store.rglob("*")):
        name = path.relative_to(store).as_posix()
        if path.suffix == ".sqlite":
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
                tables = db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
                pragmas = [db.execute(f"PRAGMA {one}").fetchone() for one in ("user_version", "application_id")]
                found[name] = (tables, pragmas)
        elif path.suffix == ".bin":
            data = path.read_bytes()
            found[name] = (data[:12], list(read_container(memoryview(data))))
        elif path.suffix == ".json" or path.parent.name == "generations":
            found[name] = shape(json.loads(path.read_bytes()))
        elif path.suffix == ".jsonl":
            found[name] = [shape(json.loads(line)) for line in path.read_bytes().splitlines()]
        elif path.is_file():
            found[name] = len(path.read_bytes())
    return found


def content_of(store: Path) -> dict[str, object]:
    """What everything in a store says. Rows as rows: the bytes of a database name the library that wrote it."""
    found: dict[str, object] = {}
    for path in sorted(store.rglob("*")):
        name = path.relative_to(store).as_posix()
        if path.suffix == ".sqlite":
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
                found[name] = list(db.iterdump())
        elif path.suffix == ".json" or path.parent.name == "generations":
            document = json.loads(path.read_bytes())
            document.pop("manifest_sha256", None)
            for ref in document.get("segments", ()):
                del ref["sha256"]
            found[name] = document
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def test_the_fixture_of_the_current_format_is_what_is_written_today(tmp_path: Path) -> None:
    why = NEVER_CHANGE.format(name=CURRENT.name)
    assert CURRENT in RELEASED, f"`python -m tests.compat.make` writes {CURRENT.name}"
    make(tmp_path / "now")
    then, now = CURRENT / STORE, tmp_path / "now" / STORE
    assert form_of(now) == form_of(then), why
    # Another grammar, chunker or model gives other rows in the same format; the fingerprint says whether there is one.
    if fingerprint(now) == fingerprint(then):
        assert content_of(now) == content_of(then), why
        assert (tmp_path / "now" / EXPECTED).read_bytes() == (CURRENT / EXPECTED).read_bytes(), why


def fingerprint(store: Path) -> str:
    found = json.loads((store / "index_state.json").read_bytes())["config_fingerprint"]
    assert isinstance(found, str)
    return found
