"""Is every place of a name found? What `cairn refs` looks at, beside every word in the files that is code to Pygments.

    python -m bench.occurrences ROOT… [--names N] [--seed N] [--home PATH] [--show N]

For each repository so many names of definitions are drawn, each name alike. A place counts when the whole word stands
in an indexed file of the same family of languages, outside of what the lexer of Pygments calls a comment or a string.
Found is what the index knows as a definition, an import or a use, and what the text shows besides.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Name, String
from pygments.util import ClassNotFound

from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, whole
from cairn.graph.references import Graph
from cairn.syntax.languages import has_uses

Spot = tuple[str, int, str]

_WORD = re.compile(rb"(?<!\w)[A-Za-z_]\w*")
_IN_QUOTES = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_IN_LONG_BRACKETS = re.compile(rb"(?<=[\]{}().,:;])\[(=*)\[.*?\]\1\]", re.DOTALL)
_WORD_WITH_DOLLAR = re.compile(rb"(?<![\w$])[A-Za-z_$][\w$]*")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", type=Path, nargs="+", metavar="ROOT")
    parser.add_argument("--names", type=int, default=300)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--show", type=int, default=0, help="print so many places that were missed")
    options = parser.parse_args()
    print("| repository | names | places | found | recall | more found |\n|---|---|---|---|---|---|")
    for repo in options.roots:
        with tempfile.TemporaryDirectory(prefix="bench-occurrences-") as scratch:
            environ = {**os.environ, "CAIRN_HOME": str(options.home or scratch)}
            with Session(whole(str(repo.resolve()), environ), environ) as session:
                prepare(session, Policy(consent=lambda _: True, seconds=3600))
                graph = session.kept(Graph)
                _print(repo.name, graph, recall(graph, options.names, options.seed), options.show)
    return 0


class Recall(NamedTuple):
    """The places of drawn names that Pygments calls code, and those that were found: a file, a byte and the name."""

    names: int
    wanted: set[Spot]
    found: set[Spot]

    @property
    def missed(self) -> list[Spot]:
        return sorted(self.wanted - self.found)

    @property
    def share(self) -> float:
        return 1 - len(self.missed) / max(1, len(self.wanted))


def recall(graph: Graph, names: int, seed: int) -> Recall:
    """What is found of so many names, which are drawn alike from those of all definitions."""
    languages = graph.names.modules.files.languages
    parsed = sorted(path for path, language in languages.items() if has_uses(language))
    defined = sorted({s.name for path in parsed for s in graph.view.symbols(path) if _WORD.fullmatch(s.name.encode())})
    drawn = set(random.Random(seed).sample(defined, min(names, len(defined))))
    family = {path: graph._family(path) for path in parsed}
    homes: dict[str, set[str]] = {
        each: {family[p] for p in graph.view.files_defining(each) if p in family} for each in drawn
    }
    wanted = {
        (path, at, word) for path in parsed for at, word in _words(graph, path, drawn) if family[path] in homes[word]
    }
    return Recall(len(drawn), wanted, set(_found(graph, drawn, family, homes)))


def _print(name: str, graph: Graph, found: Recall, show: int) -> None:
    missed, more = found.missed, len(found.found - found.wanted)
    row = f"{found.names} | {len(found.wanted)} | {len(found.wanted) - len(missed)} | {found.share:.4f} | {more}"
    print(f"| {name} | {row} |")
    languages = graph.names.modules.files.languages
    print("  missed by language:", dict(Counter(languages[path] for path, _, _ in missed)), flush=True)
    for path, at, word in random.Random(show).sample(missed, min(show, len(missed))):
        text = graph.names.facts(path).text
        start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        line = text.count(b"\n", 0, at) + 1
        print(f"  {path}:{line} [{word}] {text[start:end].decode(errors='replace').strip()[:150]}")


def _words(graph: Graph, path: str, drawn: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the drawn names in a file that Pygments does not call a comment or a string."""
    data = graph.names.facts(path).text
    # In JavaScript `$` is a letter: `Box` is no place of `$Box`.
    word = _WORD_WITH_DOLLAR if graph.names.facts(path).traits.lexis.letters else _WORD
    here = [(m.start(), m[0].decode()) for m in word.finditer(data) if m[0].decode() in drawn]
    if not here:
        return
    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        return
    lexer.stripnl = lexer.stripall = False
    lexer.ensurenl = False
    quiet, at = bytearray(len(data) + 1), 0
    if lexer.name == "Lua":
        # Pygments takes `([[` for three brackets, and what follows for code.
        for match in _IN_LONG_BRACKETS.finditer(data):
            quiet[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    for _, kind, value in lexer.get_tokens_unprocessed(data.decode("utf-8", "surrogateescape")):
        length = len(value.encode("utf-8", "surrogateescape"))
        is_comment = kind in Comment and kind is not Comment.Preproc
        if is_comment or (kind in String and kind is not String.Interpol):
            quiet[at : at + length] = b"\1" * length
        elif kind is Name.Attribute and '"' in value:
            # A whole `[InlineData("a name")]` of C# is one token, with the strings in it.
            for match in _IN_QUOTES.finditer(data, at, at + length):
                quiet[match.start() : match.end()] = b"\1" * (match.end() - match.start())
        at += length
    yield from ((start, word) for start, word in here if not quiet[start])


def _found(
    graph: Graph, drawn: set[str], family: dict[str, str], homes: dict[str, set[str]]
) -> Iterator[tuple[str, int, str]]:
    for name in drawn:
        for path, symbol in graph.view.symbols_named(name):
            yield path, symbol.name_byte, name
        for path, use in graph.view.references_named(name):
            yield path, use.start_byte, name
        asked = {path for path, own in family.items() if own in homes[name]}
        for each in graph.occurrences.of(name, asked.__contains__).places:
            yield each.path, each.use.start_byte, name


if __name__ == "__main__":
    raise SystemExit(main())
