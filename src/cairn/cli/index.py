"""Write the index (`cairn index`, `sync`, `reindex`, `clear`), and say which files belong in it (`files`, `why`)."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cairn.answer import envelope
from cairn.answer.envelope import FileRow, SkipRow, file_list
from cairn.cli.output import Output, counted, left_out, sized
from cairn.core.config import LimitConfig, cairn_home
from cairn.core.limits import MAX_ENVELOPE_BYTES, MAX_IGNORE_BYTES
from cairn.core.text import plain
from cairn.core.types import SKIP_SENTENCES, FileFacts, Root, Skip, WalkResult
from cairn.errors import PathNotFound
from cairn.source.beneath import Tree
from cairn.source.git import unanswered
from cairn.source.ignore import IgnoreRule, RuleSet, decide, parse_rules
from cairn.source.root import printable, relative_to_root
from cairn.source.walk import CAIRNIGNORE, GITIGNORE, walk_to
from cairn.sync.codebase import open_codebase
from cairn.sync.pool import extract_all
from cairn.sync.report import FailedFile, RunOptions, RunReport
from cairn.sync.status import proposed_index
from cairn.sync.survey import Survey, survey

# --- `cairn files`: the eligible files, and what is left out and why.


def configure_files(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn files`."""
    parser.add_argument("--skipped", action="store_true", help="list what is left out instead, with the reason")
    parser.add_argument("--after", metavar="PATH", help="with --json: go on after this path (`continuation` names it)")


def run_files(options: argparse.Namespace, output: Output) -> int:
    """List the files on stdout, then say on stderr what the list leaves out."""
    codebase = open_codebase(options.root, os.environ)
    progress = output.progress()
    try:
        found = survey(codebase, progress)
    finally:
        progress.done()
    warnings = _warnings(found, (*codebase.config.warnings, *unanswered(codebase.root)))
    if options.json:
        envelope = file_list(
            path=options.root,
            root=codebase.root.path,
            eligible=[FileRow(file.key, file.size, file.language) for file in found.eligible],
            skipped=[SkipRow(printable(s.raw), s.reason, s.detail, s.folder) for s in found.skips],
            show_skipped=options.skipped,
            collisions=[[printable(raw) for raw in group] for group in found.walked.collisions],
            warnings=warnings,
            after=options.after,
            budget=MAX_ENVELOPE_BYTES,
        )
        output.line(envelope.to_json())
        return 0
    if options.skipped:
        for skip in found.skips:
            output.line(_skip_line(skip, output))
    else:
        for file in found.eligible:
            output.line(printable(file.key.encode()))
    _summary(found, output, options.skipped)
    for warning in warnings:
        output.note(output.styled("note: ", "yellow", output.stderr) + plain(warning))
    return 0


def _skip_line(skip: Skip, output: Output) -> str:
    name = printable(skip.raw) + ("/" if skip.folder else "")
    detail = f"  {output.styled(plain(skip.detail), 'dim')}" if skip.detail else ""
    return f"{output.styled(skip.reason.value, 'cyan')}  {name}{detail}"


def _summary(found: Survey, output: Output, listed_skips: bool) -> None:
    folders = len(found.walked.folders)
    output.note(
        f"{counted(len(found.eligible), 'file')} in {counted(folders, 'folder')}; {len(found.skips):,} left out."
    )
    counts = Counter(skip.reason for skip in found.skips)
    for reason, count in counts.most_common():
        output.note(f"  {reason.value:<20} {count:>7,}  {SKIP_SENTENCES[reason]}")
    if counts and not listed_skips:
        output.note("`cairn files --skipped` lists them; `cairn why PATH` explains one.")


def _warnings(found: Survey, known: tuple[str, ...]) -> list[str]:
    warnings = [*known, *found.walked.warnings]
    for group in found.walked.collisions:
        names = ", ".join(printable(raw) for raw in group)
        warnings.append(f"These names differ only in case or in how they are composed: {names}.")
    for label, count in found.hidden:
        warnings.append(
            f"{label} would hide {counted(count, 'file')} listed here. Cairn does not honour it, so that everyone who"
            " works on this repository gets the same index; use .gitignore or .cairnignore instead."
        )
    warnings += [
        f"{printable(file.raw)} changed each of the {file.attempts} times it was read." for file in found.unstable
    ]
    return warnings


# --- `cairn why PATH`: which rule took a path in or out.


class Explanation(NamedTuple):
    """The skip that decided (None: the path belongs in the index), where, the ignore rule, and the file's facts."""

    skip: Skip | None
    decided_at: bytes
    rule: IgnoreRule | None
    facts: FileFacts | None


def configure_why(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn why`."""
    parser.add_argument("path", metavar="PATH", help="a file or folder inside the root")


def run_why(options: argparse.Namespace, output: Output) -> int:
    """Explain why one path belongs in the index or is left out, by the files alone."""
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
        # The path exists and may not be looked at: the walk names the reason.
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


def _ignore_rule(tree: Tree, raw: bytes, *, is_folder: bool) -> IgnoreRule | None:
    """Return the line of an ignore file that decided about this path; None when no line did."""

    def load(folder: bytes, name: str = GITIGNORE) -> RuleSet | None:
        path = folder + b"/" + name.encode() if folder else name.encode()
        data = tree.read_small(path, MAX_IGNORE_BYTES)
        return parse_rules(data, path.decode("utf-8", "replace")) if data is not None else None

    decided = decide(raw, is_folder, load, load(b"", CAIRNIGNORE))
    return decided[1] if decided else None


def _envelope(asked: str, root: str, raw: bytes, found: Explanation) -> envelope.Envelope:
    rule = envelope.RuleRow(found.rule.source, found.rule.line, found.rule.pattern) if found.rule else None
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
        output.line(f"{name} belongs in the index." if found.facts else f"{name} is a folder that is walked.")
    else:
        output.line(f"{name} is left out: {output.styled(found.skip.reason.value, 'cyan')}.")
        output.line(f"  {SKIP_SENTENCES[found.skip.reason]}")
        if found.decided_at != raw:
            output.line(f"  Decided for the folder {printable(found.decided_at)}/ and everything below it.")
        if found.skip.detail and found.rule is None:
            output.line(f"  {plain(found.skip.detail)}")
    if found.rule is not None:
        verb = "takes it in" if found.rule.negated else "leaves it out"
        pattern = plain(found.rule.pattern)
        output.line(f"  {plain(found.rule.source)} line {found.rule.line} {verb}: {pattern}")
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


_MOST_FAILURES_SHOWN = 10


def configure_index(parser: argparse.ArgumentParser) -> None:
    """Add the options of the four runs; `cairn clear` cannot be degraded."""
    if parser.get_default("command") != "clear":
        parser.add_argument(
            "--allow-degraded", action="store_true", help="publish without the files that cannot be indexed"
        )
    if parser.get_default("command") == "index":
        parser.add_argument("--shared", action="store_true", help="make the index for your group, not for you alone")


def run_index(options: argparse.Namespace, output: Output) -> int:
    """Do the run of the command, and print its result in one line."""
    # numpy and the grammars are loaded by a run, never by `--help`; a wrong root is reported before they are.
    shared = getattr(options, "shared", False)
    codebase = open_codebase(options.root, os.environ, shared=shared)
    from cairn.ask.prepare import unwanted  # noqa: PLC0415
    from cairn.sync import run as engine  # noqa: PLC0415

    command, warnings = options.command, codebase.config.warnings
    if codebase.proposal is not None and command == "sync" and codebase.config.index.auto_reindex:
        command = "reindex"
    proposed = proposed_index(codebase, cairn_home(os.environ)) if command == "sync" else None
    if proposed is not None:
        warnings = (*warnings, proposed.sentence)
    runs: dict[str, Callable[..., RunReport]] = {
        "index": engine.index,
        "sync": engine.sync,
        "reindex": engine.reindex,
        "clear": engine.clear,
    }
    settings = RunOptions(
        home=cairn_home(os.environ),
        allow_degraded=getattr(options, "allow_degraded", False),
        shared=shared or None,
    )
    if os.path.realpath(options.root) != codebase.root.path:
        whole, part = (printable(os.fsencode(one)) for one in (codebase.root.path, options.root))
        done = "of which the index is cleared" if command == "clear" else "all of which is indexed"
        output.note(f"{part} lies in the repository {whole}, {done}.")
    if command != "clear" and (why := unwanted(codebase.root, os.environ, settings.home)):
        output.note(
            f"{printable(os.fsencode(codebase.root.path))} is {why}, and all of it is indexed; Ctrl-C ends that."
        )
    progress = output.progress()
    try:
        report = runs[command](codebase, settings, progress.tell)
    finally:
        progress.done()
    if options.json:
        from cairn.answer.runs import run_envelope  # noqa: PLC0415

        output.line(run_envelope(options.root, codebase.root.path, report, warnings=warnings).to_json())
        return 0
    output.line(summary(report, options.command))
    notes(report, warnings, output)
    return 0


def summary(report: RunReport, command: str) -> str:
    """Return one line: what is indexed now, what changed, what is left out, and what it takes on disk."""
    if command == "clear":
        done = "Cleared" if report.published else "There was nothing to clear"
        return f"{done}; `cairn index` fills the index again."
    parts = [_done(report, command)]
    if report.skipped:
        parts.append(f"Left out {left_out(report.skipped)}.")
    ratio = f" ({report.store_bytes / report.source_bytes:.1f} times the source)" if report.source_bytes else ""
    parts.append(f"The index takes {sized(report.store_bytes)} on disk{ratio}.")
    return " ".join(parts)


def _done(report: RunReport, command: str) -> str:
    holds = f"{counted(report.files_indexed, 'file')} ({counted(report.chunks_live, 'chunk')})"
    if not report.published:
        verb = "Already indexed" if command == "index" else "Nothing has changed"
        return f"{verb}: {holds}."
    changes = report.changes
    words = [
        f"{count:,} {word}"
        for count, word in (
            (changes.added, "added"),
            (changes.modified, "changed"),
            (changes.renamed, "renamed"),
            (changes.deleted, "removed"),
        )
        if count
    ]
    return f"Indexed {holds} in {report.seconds:.1f} s{': ' if words else ''}{', '.join(words)}."


def notes(report: RunReport, config_warnings: Sequence[str], output: Output) -> None:
    """Print what else there is to know: files that failed, work that was adopted, warnings."""
    mark = output.styled("note: ", "yellow", output.stderr)
    if report.adopted:
        output.note(f"{counted(report.adopted, 'file')} had been prepared by a run that was stopped.")
    if report.failed:
        output.note(f"{mark}{counted(len(report.failed), 'file')} could not be indexed:")
    for failed in report.failed[:_MOST_FAILURES_SHOWN]:
        output.note(f"  {_name(failed)}: {plain(failed.message)}")
    if len(report.failed) > _MOST_FAILURES_SHOWN:
        output.note(f"  and {len(report.failed) - _MOST_FAILURES_SHOWN:,} more; --json lists them.")
    for warning in (*config_warnings, *report.warnings):
        output.note(mark + plain(warning))


def _name(failed: FailedFile) -> str:
    return printable(os.fsencode(failed.path))
