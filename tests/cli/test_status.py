"""`cairn status` as a person meets it, on real indexes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output, Surroundings
from cairn.cli.store import exit_status
from cairn.sync.status import State, StoreStatus
from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_folder_that_is_not_indexed_gets_a_sentence_what_to_do_and_exit_status_10(me: Person) -> None:
    found = me.cairn("status")
    assert (found.status, found.stdout) == (10, f"{me.tree} is not indexed.\n")
    assert found.stderr == "Run `cairn index` to index it.\n"
    answer = json.loads(me.cairn("status", "--json").stdout)
    check(answer, "cairn.status/1")
    assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert answer["files_indexed"] == 0


def test_an_indexed_folder_is_described_line_by_line(me: Person) -> None:
    me.commit()
    assert me.cairn("index").status == 0
    (me.tree / "src" / "lease.py").write_text("x = 1\n")
    found = me.cairn("status", "--root", "src")
    assert found.status == 0
    first, *lines = found.stdout.splitlines()
    assert first == f"{me.tree} is indexed."
    told = {line[:12].strip(): line[12:].strip() for line in lines}
    assert list(told) == [
        *("state", "files", "snapshot", "commit", "left out", "model", "last sync"),
        *("on disk", "of that", "free"),
    ]
    assert told["files"].startswith("3 in 3 chunks")
    assert told["commit"] == me.head()[:12]
    assert told["left out"] == "4: 1 binary, 1 ignored, 1 sensitive name, 1 vcs internal"
    assert str(me.home) in told["on disk"]
    assert re.fullmatch(r"[0-9.]+ kB live, [0-9.,]+ (kB|bytes) other", told["of that"])
    assert told["free"].endswith("B left on that disk")


def test_the_disk_budget_is_shown_part_by_part(me: Person) -> None:
    me.cairn("index")
    (me.tree / "src" / "lease.py").write_text("x = 1\n")
    me.cairn("sync")
    (me.home / "cache" / "embeddings").mkdir(parents=True, mode=0o700)
    (me.home / "cache" / "embeddings" / "1.pack").write_bytes(b"12345" * 1000)
    (store,) = (me.home / "data").iterdir()
    for folder in (me.home / "cache", me.home / "cache" / "embeddings"):
        folder.chmod(0o700)
    (store / "quarantine").mkdir(mode=0o700)
    (store / "quarantine" / "odd").write_bytes(b"123")
    (store / "staging" / "unpublished").write_bytes(b"1234567")
    told = me.cairn("status").stdout
    assert "5.0 kB of vectors for all indexes, at most 536.9 MB" in told
    assert "7 bytes not published yet, 3 bytes in quarantine" in told
    answer = json.loads(me.cairn("status", "--json").stdout)
    check(answer, "cairn.status/1")
    disk = answer["disk"]
    assert (disk["stagingBytes"], disk["quarantineBytes"], disk["embeddingCacheBytes"]) == (7, 3, 5000)
    assert answer["store"]["bytes"] == sum(
        disk[part] for part in ("liveBytes", "olderBytes", "stagingBytes", "quarantineBytes", "otherBytes")
    )
    assert answer["store"]["bytes"] == sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    assert disk["freeBytes"] > 0
    # What the snapshot before reads and this one does not is a part of its own.
    assert disk["liveBytes"] > 0
    assert disk["olderBytes"] > 0


def test_json_is_one_envelope_of_the_published_schema(me: Person) -> None:
    me.cairn("index")
    found = me.cairn("status", "--json")
    assert (found.status, found.stderr) == (0, "")
    answer = json.loads(found.stdout)
    check(answer, "cairn.status/1")
    assert (answer["state"], answer["files_indexed"], answer["is_indexing"]) == ("indexed", 3, False)
    assert answer["codebaseRoot"] == str(me.tree)


def test_a_cleared_index_is_told_apart_from_none(me: Person) -> None:
    me.cairn("index")
    me.cairn("clear")
    found = me.cairn("status")
    assert (found.status, found.stdout.splitlines()[0]) == (10, f"The index of {me.tree} was cleared.")


def test_a_damaged_store_is_told_with_its_own_exit_status(me: Person) -> None:
    me.cairn("index")
    me.damage()
    found = me.cairn("status")
    assert (found.status, found.stdout.splitlines()[0]) == (90, f"Store corrupt: no snapshot of {me.tree} is whole.")
    assert "cairn repair" in found.stderr
    answer = json.loads(me.cairn("status", "--json").stdout)
    check(answer, "cairn.status/1")
    assert answer["message"].startswith("Store corrupt")


def test_an_index_under_other_settings_is_mentioned(me: Person) -> None:
    me.cairn("index")
    (me.home / "config.toml").write_text("[limits]\nmax_file_bytes = 1000\n")
    found = me.cairn("status")
    assert found.status == 12
    assert "1 other index of this folder" in found.stderr


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (State.INDEXED, 0),
        (State.NOT_INDEXED, 10),
        (State.CLEARED, 10),
        (State.INDEXING, 11),
        (State.CORRUPT, 90),
    ],
)
def test_every_state_has_the_exit_status_that_the_manual_gives_it(state: State, status: int) -> None:
    assert exit_status(StoreStatus(state, "/r", "", "")) == status
    manual = Path(__file__).parents[2] / "docs" / "manual" / "status.md"
    rows = [line for line in manual.read_text("utf-8").splitlines() if line.startswith(f"| `{state.value}` |")]
    assert [row.rsplit("|", 2)[1].strip() for row in rows] == [str(status)]


@conforms("003.RDR8")
def test_who_reads_without_the_daemon_is_told_for_how_long_a_snapshot_stays(me: Person) -> None:
    assert me.cairn("index").status == 0

    def told(*options: str) -> tuple[str, str]:
        out, err = io.StringIO(), io.StringIO()
        around = Surroundings(me.environment)
        assert main(["status", "--root", str(me.tree), *options], Output(out, err, {}, around=around)) == 0
        return out.getvalue(), err.getvalue()

    said = "stands still for longer than 10 minutes"
    assert said in told("--offline")[1]
    [warning] = json.loads(told("--offline", "--json")[0])["warnings"]
    assert said in warning
    assert said not in told()[1]
