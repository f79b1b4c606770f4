"""How many of the definitions that universal-ctags finds in a real repository do we find?

    python -m bench.extraction LANGUAGE=FOLDER [LANGUAGE=FOLDER …] [--show-misses N]

FOLDER is a checked-out repository. Both tools get exactly the files of that language that our own walk takes in, less
those too large to parse. A definition is found when we have one of its name on its line or a neighbour; one that has
the name and holds the line, but begins elsewhere, is `moved` and does not count. `bench.ctags` says which of ctags'
kinds are compared. What we find beyond ctags is told for information: it may be right or wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bench import ctags
from bench.ctags import NOT_COMPARED, Tag
from cairn.core.config import Config
from cairn.core.filetypes import language_of
from cairn.core.limits import MAX_PARSE_BYTES
from cairn.core.types import ParseState, SourceFile
from cairn.source.beneath import Tree
from cairn.source.root import find_root
from cairn.source.stable_read import read_stable
from cairn.source.walk import walk
from cairn.syntax.analyze import analyze
from cairn.syntax.languages.pins import PINS
from cairn.syntax.parse import line_starts

TARGET = 0.95
HEAD_BYTES = 4_096

# --- what we find -------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """One of our definitions: the line of its name, and the lines it spans."""

    name: str
    kind: str
    line: int
    first: int
    last: int


class Harvest(NamedTuple):
    """The files of one language and what we find in each. `too_large` ones are cut by lines and not compared."""

    folder: str
    by_path: dict[str, list[Found]]
    size: int
    too_large: int
    unparsed: int


def our_definitions(language: str, folder: str) -> Harvest:
    root = find_root(folder)
    by_path: dict[str, list[Found]] = {}
    size = too_large = unparsed = 0
    with Tree(root) as tree:
        for candidate in walk(tree, Config()).candidates:
            name = candidate.raw.rpartition(b"/")[2]
            # A name that leaves its language open is settled by the first bytes; ctags wants one name per line.
            if (language_of(name) != language and not _is_open(name)) or b"\n" in candidate.raw:
                continue
            outcome = read_stable(tree, candidate)
            if not isinstance(outcome, SourceFile) or language_of(name, outcome.data[:HEAD_BYTES]) != language:
                continue
            if len(outcome.data) > MAX_PARSE_BYTES:
                too_large += 1
                continue
            syntax, _ = analyze(outcome.data, language)
            lines = line_starts(outcome.data)
            by_path[os.fsdecode(candidate.raw)] = [
                Found(each.name, each.kind, bisect_right(lines, each.name_byte), each.start_line, each.end_line)
                for each in syntax.symbols
            ]
            size += len(outcome.data)
            unparsed += syntax.state is ParseState.LINES
    return Harvest(root.path, by_path, size, too_large, unparsed)


def _is_open(name: bytes) -> bool:
    return b"." not in name or name.endswith((b".h", b".ts")) or language_of(name) == "text"


# --- one against the other ----------------------------------------------------------------------------------------

_QUALIFIER = re.compile(r".*[\w)\]](?:\.|::|:|\\)(?=[\w~])")
_ENDING = re.compile(r"^(?!operator)(\w+)[?!=]$")


def plain(name: str) -> str:
    """A name without qualifiers, blanks, quotes and Ruby's closing marks: the two tools spell these differently."""
    return _ENDING.sub(r"\1", _QUALIFIER.sub("", "".join(name.replace("`", "").split())))


class Verdicts(NamedTuple):
    """What became of each definition of ctags, and which of ours it has not."""

    found: list[Tag]
    moved: list[Tag]
    missed: list[Tag]
    extra: list[Found]


def compare(tags: Iterable[Tag], ours: Mapping[str, Sequence[Found]], *, clauses: bool = False) -> Verdicts:
    """Pair the definitions of both, each at most once, the nearest first.

    One name on one line is one definition, however many kinds or marks ctags gives it (`size` and `size=`). With
    `clauses` ours begins at a type signature of many lines, perhaps, and ctags' at the equation below: both are one.
    """
    verdicts = Verdicts([], [], [], [])
    by_path: defaultdict[str, list[Tag]] = defaultdict(list)
    for tag in {(tag.path, tag.line, plain(tag.name)): tag for tag in tags}.values():
        by_path[tag.path].append(tag)
    for path, definitions in ours.items():
        _compare_file(by_path[path], definitions, verdicts, verdicts.found if clauses else verdicts.moved)
    return verdicts


def _compare_file(tags: Sequence[Tag], ours: Sequence[Found], verdicts: Verdicts, held: list[Tag]) -> None:
    free: defaultdict[str, list[Found]] = defaultdict(list)
    for definition in ours:
        free[plain(definition.name)].append(definition)
    # Every exact pair is made before any near one: of two neighbours with one name neither takes the other's partner.
    for reach, verdict in ((0, verdicts.found), (1, verdicts.found), (None, held)):
        left: list[Tag] = []
        for tag in tags:
            same_name = free[plain(tag.name)]
            partner = next((each for each in same_name if _fits(each, tag.line, reach)), None)
            if partner is None:
                left.append(tag)
            else:
                same_name.remove(partner)
                verdict.append(tag)
        tags = left
    verdicts.missed.extend(tags)
    verdicts.extra.extend(definition for unpaired in free.values() for definition in unpaired)


def _fits(ours: Found, line: int, reach: int | None) -> bool:
    if reach is None:
        return ours.first <= line <= ours.last
    return min(abs(ours.line - line), abs(ours.first - line)) <= reach


# --- the report ---------------------------------------------------------------------------------------------------


def report(language: str, harvest: Harvest, verdicts: Verdicts, show_misses: int) -> None:
    found, moved, missed = (Counter(tag.kind for tag in tags) for tags in verdicts[:3])
    counted = found + moved + missed
    repository = os.path.basename(harvest.folder)
    print(f"{language}: {repository}, {len(harvest.by_path):,} files, {harvest.size / 1e6:.1f} MB", end="")
    print(f"; {harvest.too_large} too large to parse, left out" if harvest.too_large else "", end="")
    print(f"; {harvest.unparsed} not parsed in time" if harvest.unparsed else "")
    if not counted:
        print("  ctags finds no definition here")
        return
    recall = found.total() / counted.total()
    print(
        f"  {counted.total():,} definitions by ctags: {found.total():,} found, {moved.total():,} moved, "
        f"{missed.total():,} missed; recall {recall:.3f} "
        f"(at least {TARGET}: {'reached' if recall >= TARGET else 'NOT reached'})"
    )
    for kind, count in counted.most_common():
        print(f"    {kind:<16}{count:>8,}  {found[kind] / count:.3f}")
    extra = Counter(definition.kind for definition in verdicts.extra)
    print(f"  ours alone: {', '.join(f'{kind} {count:,}' for kind, count in extra.most_common()) or 'none'}")
    for state in ("missed", "moved"):
        for tag in getattr(verdicts, state)[:show_misses]:
            # Names of a strange repository: what is not printable is escaped.
            print(f"  {state}: {ascii(tag.path)[1:-1]}:{tag.line}: {tag.kind} {ascii(tag.name)[1:-1]}")


def measure(language: str, folder: str, show_misses: int) -> None:
    peer = ctags.peer_of(language)
    if peer is None:
        why = f"not compared: {NOT_COMPARED[language]}" if language in NOT_COMPARED else "not supported by ctags"
        print(f"{language}: {why}")
        return
    harvest = our_definitions(language, folder)
    tags = ctags.definitions(peer, harvest.folder, list(harvest.by_path))
    report(language, harvest, compare(tags, harvest.by_path, clauses=peer.clauses), show_misses)


def pair(text: str) -> tuple[str, str]:
    """LANGUAGE=FOLDER, checked."""
    language, _, folder = text.partition("=")
    if language not in PINS:
        raise argparse.ArgumentTypeError(f"no language {language!r}; there are {', '.join(sorted(PINS))}")
    if not os.path.isdir(folder):
        raise argparse.ArgumentTypeError(f"{folder!r} is not a folder; write LANGUAGE=FOLDER")
    return language, folder


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", type=pair, metavar="LANGUAGE=FOLDER")
    parser.add_argument("--show-misses", type=int, default=0, metavar="N", help="print the first N that we have not")
    options = parser.parse_args(arguments)
    if not ctags.is_there():
        sys.exit(ctags.MISSING)
    for language, folder in options.pairs:
        measure(language, folder, options.show_misses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
