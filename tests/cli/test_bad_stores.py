"""Stores and homes that cannot be used: one sentence, what to do, the right status, and nothing touched."""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.store.format.document import MANIFEST, WRITER_LEASE, Artifact, seal
from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person, Typed

WRITING, READING = ("index", "sync", "reindex", "clear"), ("status", "snapshots", "health")


def store(home: Path) -> Path:
    [found] = (home / "data").iterdir()
    return found


def ask(*arguments: str) -> Typed:
    out, err = io.StringIO(), io.StringIO()
    return Typed(main(arguments, Output(out, err)), out.getvalue(), err.getvalue())


def disk(home: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a home about every name, and every byte, but when it was last read.

    The registry is left out, and with it the times of the home itself: that a run failed is remembered there.
    """
    found = {}
    for path in sorted(home.rglob("*")):
        if path.parent == home and path.name.startswith("registry.db"):
            continue
        at = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(at.st_mode) else b""
        found[str(path)] = (*at[:7], at.st_mtime_ns, at.st_ctime_ns, hashlib.sha256(data).hexdigest())
    return found


def refused(home: Path, command: str, status: int, code: str, sentence: str) -> None:
    """The command is refused in this way, in words and as an envelope, and leaves everything as it was."""
    before = disk(home) if home.exists() else {}
    said = ask(command)
    assert (said.status, said.stdout) == (status, ""), (command, said)
    first, advice = said.stderr.splitlines()
    assert first.startswith("cairn: ")
    assert sentence in first
    assert advice.startswith("  ")
    assert advice.endswith(".")
    answered = ask(command, "--json")
    assert (answered.status, answered.stderr) == (status, "")
    envelope = json.loads(answered.stdout)
    check(envelope, "cairn.error/1")
    assert envelope["error"]["code"] == code
    assert (disk(home) if home.exists() else {}) == before, command


# --- from the future --------------------------------------------------------------------------------------------------


def rewrite(path: Path, artifact: Artifact, digest_field: str, version: int) -> None:
    """The same document as a later version would have written it."""
    document = json.loads(path.read_bytes())
    del document[digest_field], document["schema_version"]
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(seal(replace(artifact, written=version), digest_field, document))
    path.chmod(mode)


def from_the_future(home: Path) -> None:
    for path in (*store(home).glob("snapshots/*/manifest.json"), *store(home).glob("generations/*")):
        rewrite(path, MANIFEST, "manifest_sha256", 999)


@conforms("003.DOWN1", "003.VER2")
@pytest.mark.parametrize("command", [*WRITING, *READING])
def test_a_store_of_a_later_version_is_refused_by_its_number(home: Path, command: str) -> None:
    from_the_future(home)
    refused(home, command, 92, "incompatible", "has format version 999; this version of Cairn reads 1 to 1.")


@pytest.mark.parametrize("command", ["sync", "reindex", "clear"])
def test_a_lease_of_a_later_version_stops_the_writers(home: Path, indexed: Person, command: str) -> None:
    rewrite(store(home) / "locks/writer_lease.json", WRITER_LEASE, "lease_sha256", 999)
    with OneMoreFile(indexed):
        refused(home, command, 92, "incompatible", "The writer lease of the index has format version 999")
    assert ask("status").status == 0


class OneMoreFile:
    """In the tree for a while, so that a sync has something to do."""

    def __init__(self, person: Person) -> None:
        self.path = person.tree / "more.py"

    def __enter__(self) -> None:
        self.path.write_text("x = 1\n")

    def __exit__(self, *_: object) -> None:
        self.path.unlink()


# --- not ours ---------------------------------------------------------------------------------------------------------


def everything(home: Path) -> Iterator[Path]:
    yield home
    yield home / "data"
    yield store(home)


def test_nothing_is_read_or_written_where_others_may_write(home: Path) -> None:
    for folder in everything(home):
        for mode in (0o770, 0o707):
            folder.chmod(mode)
            for command in ("sync", "status"):
                refused(home, command, 85, "store_not_ours", f"{folder} is no safe place for a store: others may write")
        folder.chmod(0o700)
    assert ask("status").status == 0


def test_a_store_of_another_user_is_refused(home: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    for folder in everything(home):
        os.chown(folder, 12_345, -1)
        for command in ("sync", "status"):
            refused(
                home, command, 85, "store_not_ours", f"{folder} is no safe place for a store: it belongs to another"
            )
        os.chown(folder, 0, -1)


# --- a home that is none ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["index", "status"])
def test_a_home_must_be_a_folder_at_an_absolute_path(home: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_HOME", "home")
    refused(home, command, 30, "config_invalid", "CAIRN_HOME cannot be used: it must be an absolute path.")
    file = home.with_name("file")
    file.write_text("")
    monkeypatch.setenv("CAIRN_HOME", str(file))
    refused(file, command, 85, "store_not_ours", f"{file} is no safe place for a store: it is a file")
    gone = home.with_name("gone") / "deeper"
    monkeypatch.setenv("CAIRN_HOME", str(gone))
    if command == "index":
        refused(gone.parent, command, 82, "store_io", str(gone))
    else:
        assert ask(command).status == 10
    assert not gone.parent.exists()


def test_a_folder_that_is_not_there_is_named(home: Path) -> None:
    before = disk(home)
    for command in (*WRITING, *READING):
        said = ask(command, "--root", "nowhere")
        assert (said.status, said.stdout) == (21, "")
        assert said.stderr.startswith("cairn: There is no folder at nowhere.\n  Check the spelling, ")
    assert disk(home) == before


READ_ONLY = """
import subprocess, sys
mount, home, python = sys.argv[1], sys.argv[2], sys.executable
subprocess.run([mount, "--bind", home, home], check=True)
subprocess.run([mount, "-o", "remount,ro,bind", home], check=True)
for command in ("sync", "reindex", "status"):
    found = subprocess.run([python, "-m", "cairn", command], capture_output=True, text=True)
    print(found.returncode, found.stderr.partition(chr(10))[0])
"""


def test_a_home_that_is_read_only_can_be_read_but_not_written(home: Path, indexed: Person) -> None:
    if os.geteuid() == 0:
        mount = shutil.which("mount") or "mount"
        command = ["unshare", "--mount", sys.executable, "-c", READ_ONLY, mount, str(home)]
        with OneMoreFile(indexed):
            before = disk(home)
            found = subprocess.run(command, capture_output=True, text=True, check=False)
            assert disk(home) == before
        if found.returncode:
            pytest.skip(f"nothing can be mounted here: {found.stderr.strip().splitlines()[-1]}")
        *written, read = found.stdout.splitlines()
        for line in written:
            assert line.startswith(f"83 cairn: You may not use {store(home)} as a store (Read-only file system).")
        assert read.startswith("0 ")
        return
    folders = [path for path in (*home.rglob("*"), home) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o500)
    with OneMoreFile(indexed):
        refused(home, "sync", 83, "store_unwritable", f"You may not use {store(home)} as a store (Permission denied).")
    assert ask("status").status == 0
    for folder in reversed(folders):
        folder.chmod(0o700)


# --- damaged ----------------------------------------------------------------------------------------------------------


def without_manifests(home: Path) -> None:
    for path in (*store(home).glob("snapshots/*/manifest.json"), *store(home).glob("generations/*")):
        path.chmod(0o600)
        path.write_bytes(b"{}")


def without_segments(home: Path) -> None:
    for folder in store(home).glob("segments/*"):
        folder.chmod(0o700)
        shutil.rmtree(folder)


@pytest.mark.parametrize("damage", [without_manifests, without_segments])
def test_a_damaged_store_says_so_and_a_reindex_mends_it(
    home: Path, indexed: Person, damage: Callable[[Path], None]
) -> None:
    damage(home)
    before = disk(home)
    # Without their segments there are still manifests to be listed.
    for command in ("status", "health", *(("snapshots",) if damage is without_manifests else ())):
        said, answered = ask(command), ask(command, "--json")
        assert (said.status, answered.status) == (90, 90), (command, said)
        assert "Traceback" not in said.stdout + said.stderr
        json.loads(answered.stdout)
    assert disk(home) == before
    assert ask("reindex").status == 0
    assert ask("status").status == 0


# --- a machine that gives out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["sync", pytest.param("status", marks=pytest.mark.long)])
def test_too_few_open_files_are_named_as_the_reason(home: Path, indexed: Person, command: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = disk(home)
    statuses = set()
    with OneMoreFile(indexed):
        for most in range(4, 14, 3):
            found = subprocess.run(
                [sys.executable, "-c", _FEW_FILES, str(most), command, "--json"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert "Traceback" not in found.stderr, (most, found.stderr)
            statuses.add(found.returncode)
            if found.returncode:
                envelope = json.loads(found.stdout)
                check(envelope, "cairn.error/1")
                assert envelope["error"]["code"] in ("out_of_resources", "store_out_of_resources"), envelope
    assert statuses & {29, 84}
    assert statuses <= {0, 29, 84}
    if command == "status":
        assert disk(home) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


# All that is imported comes first: what is tested is a store that cannot be opened, not a Python that cannot start.
_FEW_FILES = """
import resource, sys
import cairn.cli.index, cairn.cli.store, cairn.sync.run, cairn.sync.catchup, cairn.embedding.static
import cairn.store.publish.writer
from cairn.cli.main import main
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
sys.exit(main(sys.argv[2:]))
"""
