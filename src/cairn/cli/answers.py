"""How the answer to a search looks: one envelope for programs, a few lines for each result for people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby

from cairn.answer.envelope import Envelope, plain
from cairn.answer.envelope import error as error_envelope
from cairn.answer.gate import closed, gate_error
from cairn.answer.search import SCHEMA, TROUBLE, Answer, Page, Source, nobody_answers, search_answer
from cairn.cli.output import Output, counted
from cairn.search.types import Hit
from cairn.source.root import printable

_TAB = 4
_MOST_LINES_NAMED = 10


def envelope_of(
    answers: Sequence[Answer], page: Page, timings: Sequence[tuple[str, float]], *, ask_id: str | int | None = None
) -> Envelope:
    """The one envelope that says what came of a question."""
    if any(answer.found is not None for answer in answers):
        return search_answer(answers, page, timings=timings, ask_id=ask_id)
    if len(answers) > 1:
        return nobody_answers(answers, ask_id=ask_id)
    [only] = answers
    if only.gate is not None:
        return closed(SCHEMA, only.gate, path=only.path, ask_id=ask_id)
    assert only.error is not None
    return error_envelope(only.error, path=only.path, root=only.root, ask_id=ask_id)


def show(answers: Sequence[Answer], page: Page, *, explain: bool, output: Output) -> None:
    """Print the results; what else there is to know goes to stderr."""
    for number, hit in page.hits:
        show_hit(answers[number].root, hit, explain, output)
    if not page.hits:
        output.line(_nothing(answers))
    left = page.total - page.offset - len(page.hits)
    exhaustive = all(answer.found.exhaustive for answer in answers if answer.found)
    if page.hits and left > 0 and exhaustive:
        output.note(f"{counted(left, 'more result')}; -k shows more of them at once.")
    for answer in answers:
        _notes(answer, output)


def show_hit(root: str, hit: Hit, explain: bool, output: Output) -> None:
    """Where a result stands, what it is in, and its lines."""
    first = hit.match_lines[0] if hit.match_lines else hit.start_line
    if hit.kind == "file":
        output.line(output.styled(output.clickable(root, hit.path), "cyan"))
    else:
        where = output.styled(f"{output.clickable(root, hit.path)}:{first}", "cyan")
        around = f"  {output.styled(plain(hit.symbol), 'bold')} ({hit.kind})" if hit.symbol else ""
        output.line(where + around)
        _show_text(hit, output)
        hidden = [line for line in hit.match_lines if line > hit.end_line]
        if hidden:
            named = ", ".join(f"{line}" for line in hidden[:_MOST_LINES_NAMED])
            output.line(f"  also on {named}{' and more' if len(hidden) > _MOST_LINES_NAMED else ''}")
    if explain:
        parts = "  ".join(f"{name} {part:+.3f}" for name, part in hit.reasons)
        output.line(output.styled(f"  score {hit.score:.4f}{'  = ' if parts else ''}{parts}", "dim"))
    if hit.kind != "file":
        output.line("")


def _show_text(hit: Hit, output: Output) -> None:
    width = len(str(hit.end_line))
    marks = {line: list(group) for line, group in groupby(sorted(hit.marks), key=lambda mark: mark.line)}
    for number, line in enumerate(hit.text.split("\n"), hit.start_line):
        spans = [(mark.start, mark.end) for mark in marks.get(number, [])]
        gutter = output.styled(f"  {number:>{width}} ", "green" if number in hit.match_lines else "dim")
        output.line((gutter + _marked(line, spans, output)).rstrip())


def _marked(line: str, spans: Sequence[tuple[int, int]], output: Output) -> str:
    """The line with its matches in colour; what would steer a terminal is made visible, piece by piece."""
    pieces, at = [], 0
    for start, end in spans:
        if start >= at and end > start:
            pieces += [safe(line[at:start]), output.styled(safe(line[start:end]), "red")]
            at = end
    return "".join([*pieces, safe(line[at:])])


def safe(text: str) -> str:
    """A line of a file, without anything that would steer a terminal."""
    return plain(text.replace("\t", " " * _TAB), limit=len(text) * _TAB + 1)


def _nothing(answers: Sequence[Answer]) -> str:
    searched = sum(answer.found.files for answer in answers if answer.found)
    whole = all(answer.found and answer.found.exhaustive for answer in answers)
    degraded = any(answer.source and answer.source.snapshot.degraded for answer in answers)
    if not searched:
        return "Nothing found: there is no file to search in."
    if whole and not degraded:
        return f"Nothing found in {counted(searched, 'file')}, and all of them were searched."
    return "Nothing found. That is no proof: `--mode regex` searches every line."


def _notes(answer: Answer, output: Output) -> None:
    mark = output.styled("note: ", "yellow", output.stderr)
    shown = printable(os.fsencode(answer.root))
    if answer.gate is not None and answer.found is None:
        problem = gate_error(answer.gate, shown)
        output.note(f"{mark}{plain(problem.sentence)} {plain(problem.advice)}")
    if answer.error is not None:
        output.note(f"{mark}{plain(answer.error.sentence)} {plain(answer.error.advice)}")
    if answer.source is not None:
        source_notes(answer.source, output)


def source_notes(source: Source, output: Output) -> None:
    """What to know of the snapshot that answered."""
    mark = output.styled("note: ", "yellow", output.stderr)
    fresh = source.freshness
    if fresh.trouble is not None:
        output.note(f"{mark}{TROUBLE.format(code=fresh.trouble)} `cairn sync` says more.")
    elif fresh.mode in {"skipped_busy", "skipped_indexing"}:
        output.note(f"{mark}Another run is writing the index; the answer is from its last snapshot.")
    elif fresh.mode == "stale_ok":
        output.note(f"{mark}The index is being built anew; the answer is from the old one.")
    for warning in source.later:
        output.note(mark + plain(warning))
    if source.damaged:
        output.note(f"{mark}A newer snapshot is damaged, so an older one answers; `cairn health` says more.")
    if source.snapshot.degraded:
        failed = counted(source.snapshot.errors, "file")
        output.note(f"{mark}{failed} could not be indexed and {'was' if failed == '1 file' else 'were'} not searched.")
