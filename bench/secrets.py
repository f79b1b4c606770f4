# ruff: noqa: A005 - the name that the benchmark is asked for by; nothing here uses the module of the standard library
"""How often `core/secrets.py` is right: `python -m bench.secrets [FOLDER…] [--each N] [--show]`.

Of each folder every line of text is looked at, and those on which something would be hidden from an agent are counted;
`--show` prints them for whoever judges them. What must be found is drawn when this runs: tokens of providers, private
keys, random values under the names of secrets in the ways in which people write assignments. Nothing of it is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.secrets import NAMES, PLACES, TOKENS, VALUES, private_key

from cairn.core.limits import MAX_FILE_BYTES
from cairn.core.secrets import hidden, secret_lines, secrets_in

_SEED = 65
_WORDS = ["correct", "horse", "battery", "staple", "open", "sesame", "winter", "summer", "dragon", "monkey"]


class Tree(NamedTuple):
    """What was found in a folder; `places` are the lines, each with its kind."""

    files: int
    lines: int
    size: int
    seconds: float
    places: list[tuple[str, int, str, str]]


def tree(folder: Path) -> Tree:
    """Look through every text below a folder."""
    files = lines = size = 0
    seconds, places = 0.0, []
    for path in _texts(folder):
        data = path.read_bytes()[:MAX_FILE_BYTES]
        if b"\0" in data[:8_192]:
            continue
        files, lines, size = files + 1, lines + data.count(b"\n"), size + len(data)
        began = time.process_time()
        found = secrets_in(data)
        seconds += time.process_time() - began
        kinds = {data.count(b"\n", 0, one.start) + 1: one.kind for one in reversed(found)}
        text = data.split(b"\n")
        for line in secret_lines(data):
            shown = text[line - 1].strip().decode("utf-8", "replace")[:160]
            places.append((str(path.relative_to(folder)), line, kinds[line], shown))
    return Tree(files, lines, size, seconds, places)


def _texts(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {".git"})
        for name in sorted(names):
            path = Path(at, name)
            if path.is_file() and not path.is_symlink():
                yield path


def recall(each: int) -> dict[str, tuple[int, int]]:
    """For each kind how many were found, and how many there were."""
    rng, found, drawn = random.Random(_SEED), Counter[str](), Counter[str]()

    def count(kind: str, text: str, secret: str) -> None:
        data = text.encode()
        drawn[kind] += 1
        found[kind] += secret not in hidden(data, secrets_in(data)).decode()

    for kind, draw in TOKENS.items():
        for place in PLACES:
            for _ in range(each):
                token = draw(rng)
                count(f"token: {kind}", place.format(name="value", secret=token), token)
    for kind, draw in VALUES.items():
        for place in PLACES:
            for name in NAMES:
                for _ in range(each):
                    secret = draw(rng)
                    count(f"value: {kind}", place.format(name=name, secret=secret), secret)
    for place in PLACES:
        for name in NAMES:
            for _ in range(each):
                secret = f"{rng.choice(_WORDS)}-{rng.choice(_WORDS)}-{rng.randrange(100)}"
                count("words that somebody chose", place.format(name=name, secret=secret), secret)
    for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
        for _ in range(10 * each):
            key = private_key(rng, kind)
            data = key.encode()
            shown = hidden(data, secrets_in(data)).decode()
            drawn["lines of private keys"] += key.count("\n") - 2
            found["lines of private keys"] += sum(line not in shown for line in key.splitlines()[1:-1])
    return {kind: (found[kind], drawn[kind]) for kind in drawn}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.secrets", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args(arguments)
    for folder in options.folders:
        one = tree(folder)
        share = 10_000 * len(one.places) / max(1, one.lines)
        speed = one.size / 1e6 / max(one.seconds, 1e-9)
        kinds = dict(Counter(kind for _, _, kind, _ in one.places))
        print(
            f"{folder.name}: {one.files:,} files, {one.lines:,} lines, {len(one.places)} hidden ({share:.2f} in 10,000)"
        )
        print(f"  {kinds}, {speed:.0f} MB/s of CPU time")
        for place in one.places if options.show else ():
            print("  ", *place)
    sums = Counter[str]()
    for kind, (found, drawn) in recall(options.each).items():
        group = kind.partition(":")[0]
        sums[f"{group} found"] += found
        sums[f"{group} of"] += drawn
        print(f"{kind}: {found:,} of {drawn:,} ({100 * found / drawn:.1f} %)")
    for group in dict.fromkeys(kind.rpartition(" ")[0] for kind in sums):
        found, drawn = sums[f"{group} found"], sums[f"{group} of"]
        print(f"all of {group}: {found:,} of {drawn:,} ({100 * found / drawn:.1f} %)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
