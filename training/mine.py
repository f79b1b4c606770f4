"""Mines pairs of text and code from git repositories, bare or not.

    python -m training.mine --exclude LIST --out RECORDS OWNER/NAME=FOLDER …

LIST names the repositories that must not be mined, one `owner/name` per line: those that a benchmark asks about.
RECORDS gets one file per repository. The fetched source itself is never kept.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from cairn.core.filetypes import classify_name, language_of
from training.commits import pairs_of_commit
from training.pairs import CODE_LANGUAGES, pairs_of
from training.paths import is_mined
from training.records import Record, names_in, write
from training.repositories import blobs, commits, contents

_MOST_FILE_BYTES = 400_000
_LONGEST_LINE = 1_500
_MOST_COMMITS = 4_000
# What one kind may take of a repository's budget, so that none drowns the others.
_SHARE = {"doc": 1.0, "module": 1.0, "inline": 0.35, "commit": 0.3, "test": 0.12, "heading": 0.12}


class Source(NamedTuple):
    """A repository and the folder it lies in."""

    repository: str
    folder: Path


def mine(source: Source, budget: int) -> list[Record]:
    """The records of one repository, at most about `budget` characters of code of each kind's share."""
    spent: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    found = []
    for records in (_from_files(source), _from_history(source, budget, spent)):
        for record in records:
            # The same helper stands in many places of a repository; one of them is enough.
            key = (record.text, record.code[:200])
            if key not in seen and spent[record.kind] < budget * _SHARE[record.kind]:
                seen.add(key)
                spent[record.kind] += len(record.code)
                found.append(record)
    return found


def _from_files(source: Source) -> Iterator[Record]:
    wanted = [
        blob
        for blob in blobs(source.folder)
        if blob.size <= _MOST_FILE_BYTES
        and is_mined(blob.path)
        and classify_name(blob.path.rpartition("/")[2].encode(), blob.size) is None
    ]
    # In an order of chance, always the same: where the budget ends, every folder has had its part.
    Random(source.repository).shuffle(wanted)
    for blob, data in contents(source.folder, wanted):
        if b"\0" not in data[:4096] and max(map(len, data.split(b"\n"))) <= _LONGEST_LINE:
            yield from pairs_of(source.repository, blob.path, data)


def _from_history(source: Source, budget: int, spent: Counter[str]) -> Iterator[Record]:
    for subject, change in commits(source.folder, _MOST_COMMITS):
        for record in pairs_of_commit(source.repository, subject, change):
            if is_mined(record.path) and language_of(record.path.rpartition("/")[2].encode()) in CODE_LANGUAGES:
                yield record
        if spent["commit"] >= budget * _SHARE["commit"]:
            return


def _mine_into(out: Path, budget: int, source: Source) -> str:
    records = mine(source, budget)
    write(out, source.repository, records)
    kinds = Counter(record.kind for record in records)
    return f"{source.repository}: " + ", ".join(f"{kind} {kinds[kind]}" for kind in sorted(kinds))


def _source(argument: str) -> Source:
    name, _, folder = argument.partition("=")
    if name.count("/") != 1 or not folder:
        raise argparse.ArgumentTypeError(f"{argument!r} is not OWNER/NAME=FOLDER")
    return Source(name, Path(folder))


def main(arguments: list[str]) -> int:
    """Mine every repository that was given, and say what each held; refuse one that is excluded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=_source, metavar="OWNER/NAME=FOLDER")
    parser.add_argument("--exclude", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", type=int, default=6_000_000, help="characters of code from one repository")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    excluded = names_in(options.exclude)
    if refused := [source.repository for source in options.sources if source.repository.lower() in excluded]:
        print(f"excluded, not mined: {', '.join(refused)}", file=sys.stderr)
        return 2
    with ProcessPoolExecutor(options.jobs) as pool:
        for line in pool.map(partial(_mine_into, options.out, options.budget), options.sources):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
