"""The wheel: the same bytes from the same source wherever it is built, what is in it, and the list of its parts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from cairn import __version__
from tests.conformance_report import PROJECT
from tests.supply import sbom

NEEDED = ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "src", "requirements")


def copied(to: Path, *, backwards: bool = False) -> Path:
    """The source as a release is made of it: what git tracks, copied in one order or the other."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *NEEDED],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in sorted(filter(None, listed.stdout.split("\0")), reverse=backwards):
        if (PROJECT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, to / name)
    return to


def built(source: Path, **environ: str) -> Path:
    """The wheel that is built of this source."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(source / "out")]
    alone = {"PATH": os.environ["PATH"], "HOME": str(source)}
    subprocess.run(command, cwd=source, env=alone | environ, check=True, capture_output=True)
    [wheel] = (source / "out").iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(copied(tmp_path_factory.mktemp("one")))


def test_the_wheel_has_the_same_bytes_wherever_and_whenever_it_is_built(wheel: Path, tmp_path: Path) -> None:
    other = copied(tmp_path / "a folder of another name", backwards=True)
    for number, path in enumerate(sorted(other.rglob("*"))):
        os.utime(path, (number * 1_000, 1_700_000_000 + number))
        if path.is_file():
            path.chmod(path.stat().st_mode & 0o700)
    again = built(other, TZ="Asia/Kolkata", LC_ALL="C", PYTHONHASHSEED="7", USER="somebody")
    assert (again.name, hashlib.sha256(again.read_bytes()).digest()) == (
        wheel.name,
        hashlib.sha256(wheel.read_bytes()).digest(),
    )
    # That they can differ at all.
    changed = other / "src" / "cairn" / "aio.py"
    changed.write_text(changed.read_text() + "\n")
    shutil.rmtree(other / "out")
    assert built(other).read_bytes() != wheel.read_bytes()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as found:
        names = set(found.namelist())
    about = f"{sbom.NAME}-{__version__}"
    source = copied_names()
    assert {name for name in names if name.startswith("cairn/")} == source
    rest = {name for name in names if not name.startswith("cairn/")}
    assert rest == {
        f"{about}.data/scripts/cairn",
        *(f"{about}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")),
        f"{about}.dist-info/sboms/{sbom.MADE.name}",
    }


def copied_names() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src/cairn"],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {name.removeprefix("src/") for name in filter(None, listed.stdout.split("\0")) if (PROJECT / name).is_file()}


def test_the_wheel_carries_the_list_of_its_parts(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as found:
        [name] = [one for one in found.namelist() if "/sboms/" in one]
        listed = json.loads(found.read(name))
        told = found.read(next(one for one in found.namelist() if one.endswith("METADATA"))).decode()
    assert listed == sbom.parts()
    # Whatever an installer is asked to bring by default is a part.
    wanted = {one.lower() for one in re.findall(r"^Requires-Dist: ([\w.-]+)(?![^\n]*extra ==)", told, re.MULTILINE)}
    assert wanted
    assert wanted <= {part["name"].lower() for part in listed["components"]}


# --- the list of parts ------------------------------------------------------------------------------------------------


def test_the_list_of_parts_is_that_of_the_lock() -> None:
    assert sbom.main([]) == 0, "write it anew: python -m tests.supply.sbom --write"
    locked = sbom.pins(sbom.LOCK)
    listed = sbom.parts()
    assert [(part["name"], part["version"]) for part in listed["components"]] == [pin[:2] for pin in locked]
    references = [part["bom-ref"] for part in listed["components"]]
    assert len(set(references)) == len(references)
    # What is installed here is what is listed.
    for pin in locked:
        if not pin.marker:
            assert metadata.version(pin.name) == pin.version


def test_the_list_names_no_machine_no_time_and_no_host() -> None:
    text = sbom.MADE.read_text("utf-8")
    assert not re.search(r"https?:|/home/|/tmp/|timestamp|serialNumber", text)


def test_a_change_of_the_lock_makes_the_list_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "runtime.txt"
    lock.write_text(sbom.LOCK.read_text().replace("numpy==", "numpy==9."))
    before = sbom.text()
    monkeypatch.setattr(sbom, "LOCK", lock)
    assert sbom.text() != before
    assert sbom.main([]) == 1


def test_every_file_of_both_locks_is_pinned_by_version_and_by_hash() -> None:
    for lock in (sbom.LOCK, sbom.LOCK.with_name("dev.txt")):
        text = lock.read_text("utf-8")
        for block in re.split(r"\n(?=\S)", text.strip()):
            assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block.splitlines()[0]
        assert "://" not in text
        assert "--index" not in text
    of_dev = set(sbom.pins(sbom.LOCK.with_name("dev.txt")))
    assert set(sbom.pins(sbom.LOCK)) <= of_dev
    needed = tomllib.loads((PROJECT / "pyproject.toml").read_text())["build-system"]["requires"]
    # The builder is locked too.
    assert {tuple(one.split("==")) for one in needed} <= {pin[:2] for pin in of_dev}
