"""`cairn why PATH`: which rule took a path in or out."""

from __future__ import annotations

import argparse
import os
from typing import NamedTuple

from cairn.answer import envelope
from cairn.cli.output import Output
from cairn.config import LimitConfig
from cairn.errors import PathNotFound
from cairn.limits import MAX_IGNORE_BYTES
from cairn.source.beneath import Tree
from cairn.source.ignore import Rule, RuleSet, decide, parse_rules
from cairn.source.root import printable, relative_to_root
from cairn.source.walk import CAIRNIGNORE, GITIGNORE, walk_to
from cairn.sync.codebase import open_codebase
from cairn.sync.pool import extract_all
from cairn.types import SKIP_SENTENCES, FileFacts, Root, Skip, WalkResult


class Explanation(NamedTuple):
    """The skip that decided (None: the path is indexed), where, the ignore rule behind it, and what the file holds."""

    skip: Skip | None
    decided_at: bytes
    rule: Rule | None
    facts: FileFacts | None


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn why`."""
    parser.add_argument("path", metavar="PATH", help="a file or folder inside the root")


def run(options: argparse.Namespace, output: Output) -> int:
    """Explain one path."""
    codebase = open_codebase(options.root, os.environ)
    raw = relative_to_root(codebase.root, options.path, os.getcwd() if options.root == "." else options.root)
    with Tree(codebase.root) as tree:
        _must_exist(tree, raw)
        walked = walk_to(tree, codebase.config, raw, tracked=codebase.tracked)
        found = _explain(codebase.root, tree, raw, walked, codebase.config.limits)
    if options.json:
        output.line(_envelope(options.path, codebase.root.path, raw, found).to_json())
    else:
        _print(raw, found, output)
    return 0


def _must_exist(tree: Tree, raw: bytes) -> None:
    try:
        tree.lstat(raw)
    except (FileNotFoundError, NotADirectoryError):
        raise PathNotFound(path=printable(raw), root=tree.path) from None
    except OSError:
        # Something is there that may not be looked at: the walk says so in its own words.
        return


def _explain(root: Root, tree: Tree, raw: bytes, walked: WalkResult, limits: LimitConfig) -> Explanation:
    for candidate in walked.candidates:
        if candidate.raw == raw:
            outcome = next(extract_all(root, [candidate], limits))
            late = outcome if isinstance(outcome, Skip) else None
            facts = outcome if isinstance(outcome, FileFacts) else None
            return Explanation(late, raw, _ignore_rule(tree, raw, is_folder=False), facts)
    above = [skip for skip in walked.skips if skip.raw == raw or (skip.folder and raw.startswith(skip.raw + b"/"))]
    if above:
        skip = above[0]
        return Explanation(skip, skip.raw, _ignore_rule(tree, skip.raw, is_folder=skip.folder), None)
    return Explanation(None, raw, _ignore_rule(tree, raw, is_folder=True), None)


def _ignore_rule(tree: Tree, raw: bytes, *, is_folder: bool) -> Rule | None:
    """The line of an ignore file that had the last word about this path, if any had."""

    def load(folder: bytes, name: str = GITIGNORE) -> RuleSet | None:
        path = folder + b"/" + name.encode() if folder else name.encode()
        data = tree.read_small(path, MAX_IGNORE_BYTES)
        return parse_rules(data, path.decode("utf-8", "replace")) if data is not None else None

    decided = decide(raw, is_folder, load, load(b"", CAIRNIGNORE))
    return decided[1] if decided else None


def _envelope(asked: str, root: str, raw: bytes, found: Explanation) -> envelope.Envelope:
    rule = envelope.Rule(found.rule.source, found.rule.line, found.rule.pattern) if found.rule else None
    return envelope.why(
        path=asked,
        root=root,
        file=printable(raw),
        reason=found.skip.reason if found.skip else None,
        detail=found.skip.detail if found.skip else "",
        rule=rule,
        chain=[envelope.ChainLink(printable(found.decided_at), found.skip is None, rule)],
    )


def _print(raw: bytes, found: Explanation, output: Output) -> None:
    name = output.styled(printable(raw) or ".", "bold")
    if found.skip is None:
        output.line(f"{name} is indexed." if found.facts else f"{name} is a folder that is walked.")
    else:
        output.line(f"{name} is left out: {output.styled(found.skip.reason.value, 'cyan')}.")
        output.line(f"  {SKIP_SENTENCES[found.skip.reason]}")
        if found.decided_at != raw:
            output.line(f"  Decided for the folder {printable(found.decided_at)}/ and everything below it.")
        if found.skip.detail and found.rule is None:
            output.line(f"  {envelope.plain(found.skip.detail)}")
    if found.rule is not None:
        verb = "takes it in" if found.rule.negated else "leaves it out"
        pattern = envelope.plain(found.rule.pattern)
        output.line(f"  {envelope.plain(found.rule.source)} line {found.rule.line} {verb}: {pattern}")
    if found.facts is not None:
        _print_facts(found.facts, output)


def _print_facts(facts: FileFacts, output: Output) -> None:
    syntax = facts.syntax
    output.line(
        f"  {syntax.language}, {syntax.state.value}: {len(syntax.symbols):,} definitions,"
        f" {len(syntax.references):,} uses, {len(syntax.imports):,} imports, {len(facts.chunks):,} chunks"
    )
    if syntax.partial:
        ranges = ", ".join(f"{first}-{last}" for first, last in syntax.partial[:5])
        output.line(f"  not understood: lines {ranges}{' and more' if len(syntax.partial) > 5 else ''}")
