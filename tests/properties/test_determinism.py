"""The same tree gives the same bytes, whatever the order in its folders, the hash seed, the language or the cores."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cairn.store.read.snapshot import open_view
from tests.conformance import conforms
from tests.sync.desk import Desk

INDEX = """
    import os, random, sys
    from pathlib import Path
    from tests.sync.desk import Desk, Model, ahead, silent
    from cairn.sync import run

    real, chance = os.scandir, random.Random(sys.argv[3])

    class Shuffled:
        def __init__(self, entries):
            self.entries = chance.sample(entries, len(entries))
        def __enter__(self):
            return self
        def __exit__(self, *_):
            pass
        def __iter__(self):
            return iter(self.entries)

    def scandir(*arguments):
        with real(*arguments) as found:
            return Shuffled(list(found))

    os.scandir = scandir
    desk = Desk.__new__(Desk)
    desk.tree, desk.home, desk.model, desk.clock = Path(sys.argv[1]), Path(sys.argv[2]), Model(), ahead()
    run.index(desk.codebase, desk.options(workers=int(sys.argv[4])), silent, clock=desk.clock)
"""
LOCALES, ZONES = ("C", "C.UTF-8", "POSIX", "tr_TR.UTF-8"), ("UTC", "Asia/Kathmandu", "America/St_Johns")


def grow(tree: Path, order: int = 0) -> None:
    """Forty files of several languages, made in an order of their own."""
    made = {}
    for number in range(40):
        suffix = ("py", "go", "md", "c", "txt")[number % 5]
        made[f"{'I' * (number % 3)}{'pkg' if number % 2 else 'lib'}/İ{number}.{suffix}"] = (
            f"# part {number}\ndef function_{number}(x):\n    return other_{number % 7}(x)\n" * (1 + number % 4)
        )
    made["image.bin2"] = "\0"
    names = sorted(made)
    random.Random(order).shuffle(names)
    for name in names:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[name], encoding="utf-8")


def built(tree: Path, home: Path, seed: int) -> tuple[dict[str, str], str]:
    """The digests of all sealed files, and the manifest without what is made up anew each time."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONHASHSEED": str(seed),
        "LC_ALL": LOCALES[seed % len(LOCALES)],
        "TZ": ZONES[seed % len(ZONES)],
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-c", textwrap.dedent(INDEX), str(tree), str(home), str(seed), str(1 + seed % 3)]
    subprocess.run(command, env=environment, check=True, cwd=Path(__file__).parents[2])
    [store] = (home / "data").iterdir()
    segments = {
        f"{path.parent.name.rpartition('_')[2]}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (store / "segments").glob("*/*")
    }
    run = (store / "ACTIVE_SNAPSHOT").read_text().strip()
    manifest = (store / "snapshots" / run / "manifest.json").read_text().replace(run, "RUN")
    fields = json.loads(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", manifest))
    assert fields.pop("manifest_sha256")
    return segments, json.dumps(fields, sort_keys=True)


def compare(tmp_path: Path, seeds: range) -> None:
    tree = (tmp_path / "tree").resolve()
    grow(tree)
    results = [built(tree, tmp_path / f"home{seed}", seed) for seed in seeds]
    assert len(results[0][0]) == 2
    assert all(result == results[0] for result in results)


@conforms("003.ID3")
def test_the_same_tree_gives_the_same_segments_and_manifests(tmp_path: Path) -> None:
    compare(tmp_path, range(2))


@pytest.mark.long
def test_the_same_tree_gives_the_same_segments_and_manifests_in_twenty_surroundings(tmp_path: Path) -> None:
    compare(tmp_path, range(20))


@conforms("003.ID3")
def test_a_tree_that_was_made_again_elsewhere_has_the_same_text_terms_and_ids(tmp_path: Path) -> None:
    # Only what stands for the file on this disk differs: its times and its inode.
    found = []
    for order in (1, 2):
        desk = Desk(tmp_path / str(order))
        grow(desk.tree, order)
        desk.index()
        with desk.place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            rows = {key: [row.row_id for row in view.chunks(key)] for key in view.records()}
            records = {
                key: record._replace(stat=record.stat._replace(mtime_ns=0, ctime_ns=0, inode=0))
                for key, record in view.records().items()
            }
        [data] = (Path(desk.place.path) / "segments").glob("*/data.bin")
        found.append((rows, records, hashlib.sha256(data.read_bytes()).hexdigest()))
    assert found[0] == found[1]
    assert len(found[0][0]) == 41
