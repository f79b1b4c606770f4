"""An index that a group shares, as its members and everybody else meet it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.members import ANNE, BILL, CARL, GROUP, Office, load_everything, open_office, why_not
from tests.conformance import conforms
from tests.support.commands import Person

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    load_everything(tmp_path_factory.mktemp("first"))


@pytest.fixture
def office() -> Iterator[Office]:
    with open_office() as office:
        yield office


def rights(folder: Path) -> set[tuple[str, int, int]]:
    """(kind, mode, group) of all that lies below."""
    found = set()
    for path in (folder, *folder.rglob("*")):
        kind = "folder" if path.is_dir() else "sealed" if "segments" in path.parts else "file"
        found.add((kind, stat.S_IMODE(path.lstat().st_mode), path.lstat().st_gid))
    return found


@conforms("003.PERM1")
@pytest.mark.parametrize("umask", [0o777, pytest.param(0o000, marks=pytest.mark.long)])
def test_members_write_search_and_tidy_up_one_index_together(office: Office, umask: int) -> None:
    made = office.cairn(ANNE, "index", "--shared", umask=umask)
    assert made.status == 0, made
    expected = {("folder", 0o2770, GROUP), ("file", 0o660, GROUP), ("sealed", 0o440, GROUP)}
    assert rights(office.home) == expected

    office.put("thief.py", "def thief():\n    return 'stolen'\n")
    office.commit()
    synced = office.cairn(BILL, "sync", "--json", umask=umask)
    assert synced.status == 0, synced
    assert json.loads(synced.stdout)["published"]
    assert rights(office.home) == expected
    owners = {path.lstat().st_uid for path in office.home.rglob("*")}
    assert owners == {ANNE.uid, BILL.uid}, "each has written some of it"

    for member in (ANNE, BILL):
        found = office.cairn(member, "search", "thief", "--json", umask=umask)
        assert found.status == 0, found
        assert "thief.py" in found.stdout
        assert office.cairn(member, "health", umask=umask).status == 0
    assert not json.loads(office.cairn(ANNE, "sync", "--json").stdout)["published"], "both see the same tree"
    assert office.cairn(BILL, "reindex", umask=umask).status == 0
    assert office.cairn(ANNE, "clear", umask=umask).status == 0
    assert rights(office.home) == expected


def test_somebody_outside_the_group_is_refused_and_changes_nothing(office: Office) -> None:
    assert office.cairn(ANNE, "index", "--shared").status == 0
    before = sorted((str(path), path.lstat().st_mtime_ns) for path in office.home.rglob("*"))
    for command in (("status",), ("search", "lease"), ("sync",), ("index", "--shared")):
        refused = office.cairn(CARL, *command)
        assert refused.status in (31, 83), (command, refused)
        assert "Permission denied" in refused.stderr
    # Where all may look in, the group still decides.
    office.home.chmod(0o2775)
    for folder in (office.home / "data", office.store()):
        folder.chmod(0o2775)
    for command in (("status",), ("sync",)):
        refused = office.cairn(CARL, *command)
        assert (refused.status, "you are not in its group" in refused.stderr) == (96, True), (command, refused)
    assert sorted((str(path), path.lstat().st_mtime_ns) for path in office.home.rglob("*")) == before


def test_what_a_killed_run_of_one_member_left_is_cleared_away_by_another(office: Office) -> None:
    assert office.cairn(ANNE, "index", "--shared").status == 0
    lease = json.loads((office.store() / "locks/writer_lease.json").read_text())
    assert lease["released"]
    # What Anne's killed run left behind is Anne's; Bill clears it away.
    staging = office.store() / "staging" / lease["staging_txn_id"]
    (staging / "0").mkdir(parents=True)
    (staging / "0" / "rows.sqlite").write_bytes(b"half")
    for path in (staging, staging / "0", staging / "0" / "rows.sqlite"):
        os.chown(path, ANNE.uid, GROUP)
        path.chmod(0o2770 if path.is_dir() else 0o660)
    office.put("more.py", "def more():\n    return 1\n")
    office.commit()
    assert office.cairn(BILL, "sync").status == 0
    assert not staging.exists()
    assert office.cairn(BILL, "health").status == 0


@conforms("003.SID4")
def test_a_member_with_other_settings_is_told_which_and_makes_no_second_index(office: Office) -> None:
    assert office.cairn(BILL, "sync").status == 85, "nobody has asked for an index of the group"
    assert office.cairn(ANNE, "index", "--shared").status == 0
    settings = office.home / "config.toml"
    settings.write_text("[limits]\nmax_file_bytes = 1000\n")
    settings.chmod(0o644)
    for command in (("reindex",), ("index", "--shared")):
        refused = office.cairn(BILL, *command)
        assert refused.status == 97, (command, refused)
        assert "these differ: limits.maxFileBytes." in refused.stderr
    settings.unlink()
    office.store()
    assert office.cairn(BILL, "search", "lease").status == 0


def test_what_the_repository_proposes_is_taken_up_by_any_member_who_asks_for_it(office: Office) -> None:
    assert office.cairn(ANNE, "index", "--shared").status == 0
    office.put(".cairn.toml", "[limits]\nmax_file_bytes = 1000\n")
    # Until then the group's index goes on to answer, and to be kept up to date.
    assert office.cairn(BILL, "sync").status == 0
    found = office.cairn(BILL, "search", "lease")
    assert found.status == 0
    assert "asks for another index" in found.stderr
    office.store()
    assert office.cairn(BILL, "reindex").status == 0
    for member in (ANNE, BILL):
        found = office.cairn(member, "search", "lease")
        assert (found.status, "asks for another index" in found.stderr) == (0, False)


@conforms("003.PERM2")
def test_the_policy_of_an_index_is_the_one_it_was_made_with(office: Office, tmp_path: Path) -> None:
    assert office.cairn(ANNE, "index", "--shared").status == 0
    assert office.cairn(BILL, "index", "--shared").status == 0
    (office.home / "config.toml").write_text("[store]\nshared = false\n")
    (office.home / "config.toml").chmod(0o644)
    refused = office.cairn(BILL, "sync")
    assert refused.status == 95
    assert "was made for a group, and was asked for as one for one user" in refused.stderr
    own = Person(tmp_path)
    assert own.cairn("index").status == 0
    refused = own.cairn("index", "--shared")
    assert refused.status == 95
    assert "was made for one user, and was asked for as one for a group" in refused.stderr


def test_the_setting_makes_new_indexes_of_the_group(office: Office) -> None:
    (office.home / "config.toml").write_text("[store]\nshared = true\n")
    (office.home / "config.toml").chmod(0o644)
    assert office.cairn(BILL, "search", "lease").status == 0
    assert (office.store() / "sharing.json").exists()
    assert office.cairn(ANNE, "search", "lease").status == 0


def test_no_member_can_name_a_server_for_the_text_of_the_others(office: Office) -> None:
    assert office.cairn(ANNE, "index", "--shared").status == 0
    settings = office.home / "config.toml"
    settings.write_text('[embedding]\nprovider = "http"\nurl = "http://127.0.0.1:1/v1"\nmodel = "m"\ndimension = 8\n')
    for owner, bits, victim, status in (
        (ANNE.uid, 0o644, BILL, 30),
        (BILL.uid, 0o664, BILL, 30),
        (0, 0o666, BILL, 30),
        (BILL.uid, 0o644, BILL, 97),
        (0, 0o644, BILL, 97),
    ):
        os.chown(settings, owner, GROUP)
        settings.chmod(bits)
        refused = office.cairn(victim, "sync")
        assert refused.status == status, (owner, bits, refused)
        assert ("others may write it" in refused.stderr) is (status == 30)


@conforms("003.GIT4")
def test_what_is_not_committed_is_left_out_or_told_to_the_group(office: Office) -> None:
    office.put("mine.py", "def mine():\n    return 1\n")
    made = office.cairn(ANNE, "index", "--shared", "--json")
    assert json.loads(made.stdout)["warnings"] == []
    coverage = json.loads(made.stdout)["coverage"]
    assert (coverage["indexed"], coverage["skipped"]["untracked"]) == (1, 1)

    def flags() -> tuple[bool, bool]:
        git = json.loads((office.store() / "index_state.json").read_text())["git"]
        return git["dirty"], git["untracked_included"]

    assert flags() == (False, False)
    office.put("lease.py", "class Lease:\n    changed = True\n")
    synced = json.loads(office.cairn(BILL, "sync", "--json").stdout)
    assert flags() == (True, False)
    assert synced["warnings"] == ["The group's index was made from files with changes that are not committed."]
    status = office.cairn(ANNE, "status", "--json")
    assert json.loads(status.stdout)["warnings"] == synced["warnings"]
    assert synced["warnings"][0] in office.cairn(ANNE, "status").stderr
    health = json.loads(office.cairn(BILL, "health", "--json").stdout)
    assert [(row["code"], row["severity"]) for row in health["results"]] == [("shared_dirty", "warning")]
    assert health["healthy"]


@conforms("003.GIT4")
def test_untracked_files_that_a_repository_asks_for_are_told_to_the_group(office: Office) -> None:
    office.put(".cairn.toml", "[index]\nuntracked = true\n")
    office.commit()
    office.put("mine.py", "def mine():\n    return 1\n")
    made = json.loads(office.cairn(ANNE, "index", "--shared", "--json").stdout)
    told = "The group's index takes in files that git does not track: every member can read them."
    assert told in made["warnings"]
    assert json.loads((office.store() / "index_state.json").read_text())["git"]["untracked_included"]
    assert told in json.loads(office.cairn(BILL, "status", "--json").stdout)["warnings"]
    health = json.loads(office.cairn(BILL, "health", "--json").stdout)
    assert "shared_untracked" in [row["code"] for row in health["results"]]


def test_in_a_home_of_the_group_no_indexer_is_run_and_the_advice_leads_somewhere(office: Office) -> None:
    assert office.cairn(ANNE, "index", "--shared").status == 0
    before = sorted(str(path) for path in office.home.rglob("*"))
    refused = office.cairn(ANNE, "semantic", "refresh")
    assert refused.status == 17, refused
    assert "a folder that a group shares" in refused.stderr
    assert "CAIRN_HOME" in refused.stderr
    # Either would break what the group has, or is what they have done already.
    assert "chmod" not in refused.stderr
    assert "--shared" not in refused.stderr
    assert sorted(str(path) for path in office.home.rglob("*")) == before
    for member in (ANNE, BILL):
        assert office.cairn(member, "semantic", "jobs").status == 0
        assert office.cairn(member, "refs", "Lease").status == 0
    assert "semantic" not in office.cairn(BILL, "gc", "--stores", "--unused-days", "0", "--force").stderr
