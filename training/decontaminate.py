"""Parts the records into those to learn from and those to measure with, and drops what both sides share.

    python -m training.decontaminate --records RECORDS --held-out LIST --out FOLDER [--evaluation CHECKOUT …]

LIST names the held-out repositories, one `owner/name` per line. A CHECKOUT is the work tree of a repository that a
benchmark asks about. A record is dropped when two of its lines, and half of them, stand in a held-out repository or in
a checkout: projects carry copies of one another. FOLDER gets `train` and `held-out`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from training.records import Record, names_in, read, repositories, write

# Shorter lines (`return result`, `} else {`) stand everywhere and prove nothing.
_LEAST_LINE_CHARS = 22
_MOST_FILE_BYTES = 1_500_000


def line_keys(text: str) -> list[int]:
    """A number for each line that is long enough to be somebody's own, blanks aside."""
    lines = ("".join(line.split()) for line in text.split("\n"))
    return [hash(line) for line in lines if len(line) >= _LEAST_LINE_CHARS]


def overlaps(code: str, known: Set[int]) -> bool:
    """Whether half of the lines, and at least two of them, are known; a single line is enough where it is all."""
    keys = line_keys(code)
    shared = sum(key in known for key in keys)
    return (shared >= 2 and 2 * shared >= len(keys)) or shared == len(keys) == 1


def clean(records: Iterable[Record], known: Set[int]) -> list[Record]:
    """The records that share no code with what is known."""
    return [record for record in records if not overlaps(record.code, known)]


def _texts_below(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(parent, name) for name in names):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_FILE_BYTES:
                data = path.read_bytes()
                if b"\0" not in data[:4096]:
                    yield data.decode("utf-8", "replace")


def main(arguments: list[str]) -> int:
    """Write both parts, and say for each repository how much was dropped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--evaluation", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    known = {key for folder in options.evaluation for text in _texts_below(folder) for key in line_keys(text)}
    held_out = [name for name in repositories(options.records) if name.lower() in names_in(options.held_out)]
    for name in held_out:
        records = list(read(options.records, name))
        known.update(key for record in records for key in line_keys(record.code))
        write(options.out / "held-out", name, records)
    total = dropped = 0
    for name in sorted(set(repositories(options.records)) - set(held_out)):
        records = list(read(options.records, name))
        kept = clean(records, known)
        write(options.out / "train", name, kept)
        total, dropped = total + len(records), dropped + len(records) - len(kept)
        print(f"{name}: {len(records) - len(kept)} of {len(records)} dropped")
    print(f"{dropped} of {total} records dropped; {len(held_out)} repositories held out")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
