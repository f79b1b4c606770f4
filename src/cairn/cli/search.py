"""Find code (`cairn search`); a folder is indexed the first time, and later its index catches up first."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import IO, Any

from cairn.answer.envelope import error as error_envelope
from cairn.answer.search import freshness_sentence, gravest, search_envelope
from cairn.ask.gate import gate_error
from cairn.ask.prepare import Policy
from cairn.ask.questions import SEARCH
from cairn.ask.session import Session, ask_all, hold_page
from cairn.ask.values import Answer, Page, Source
from cairn.cli.options import configure_question
from cairn.cli.output import Output, counted, left_out, prepare_all
from cairn.cli.places import PrintedPlace, is_for_places, print_envelope, print_places
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.limits import MAX_BATCH_LINE_BYTES
from cairn.core.options import Face
from cairn.core.text import plain
from cairn.core.types import SkipReason
from cairn.errors import BatchUnreadable, CairnError, InvalidQuery, PathNotFound, UsageError
from cairn.search.searcher import check
from cairn.search.types import Hit, SearchRequest
from cairn.source.root import printable

# --- Printing the answer to a search: an envelope for programs, a few lines for each result for people.


_TAB = 4
_MOST_LINES_NAMED = 10
_FEW_LINES = 3
# What stands where a line goes on, and the least of a line that is shown on a narrow terminal.
_MORE = "…"
_LEAST_ROOM = 20


def show(answers: Sequence[Answer], page: Page, options: argparse.Namespace, output: Output) -> None:
    """Print the results; what else there is to know goes to stderr."""
    if is_for_places(options):
        print_places((_place(answers[number].root, hit) for number, hit in page.hits), options, output)
    else:
        for number, hit in page.hits:
            found = answers[number].found
            others = found is not None and found.exhaustive and options.context != 0
            show_hit(answers[number].root, hit, options.explain, output, options.context, others=others)
    if not page.hits:
        output.said(_nothing(answers), as_answer=not is_for_places(options))
    left = page.total - page.offset - len(page.hits)
    exhaustive = all(answer.found.exhaustive for answer in answers if answer.found)
    if page.hits and left > 0 and exhaustive:
        output.note(f"{counted(left, 'more result')}; -k shows more of them at once.")
    for answer in answers:
        _notes(answer, output)


def _place(root: str, hit: Hit) -> PrintedPlace:
    """Return the line of a result that answers, and where on it."""
    line = first_line(hit)
    column = min((mark.start for mark in hit.marks if mark.line == line), default=0) + 1
    lines = hit.text.split("\n")
    return PrintedPlace(root, hit.path, line, column, lines[line - hit.start_line] if line <= hit.end_line else "")


def show_hit(
    root: str, hit: Hit, explain: bool, output: Output, context: int | None = None, *, others: bool = False
) -> None:
    """Print where a result is, the definition around it, and the few lines that answer, or those `context` lines near.

    A context of 0 is the heading alone. `others` names the lines that match and are not shown.
    """
    first = first_line(hit)
    if hit.kind == "file":
        output.line(output.styled(output.clickable(root, hit.path), "cyan"))
    else:
        where = output.styled(f"{output.clickable(root, hit.path)}:{first}", "cyan")
        around = f"  {output.styled(plain(hit.symbol), 'bold')} ({hit.kind})" if hit.symbol else ""
        output.line(where + around)
        shown = shown_lines(hit, context)
        _show_text(hit, shown, output)
        hidden = [line for line in hit.match_lines if line not in shown] if others else []
        if hidden:
            named = ", ".join(f"{line}" for line in hidden[:_MOST_LINES_NAMED])
            more = len(hidden) - len(hidden[:_MOST_LINES_NAMED]) + hit.lines_left
            output.line(f"  also on {named}{f' and {more:,} more' if more else ''}")
    if explain:
        parts = "  ".join(f"{name} {part:+.3f}" for name, part in hit.reasons)
        output.line(output.styled(f"  score {hit.score:.4f}{'  = ' if parts else ''}{parts}", "dim"))


def first_line(hit: Hit) -> int:
    """Return the line of a result that is named: the first one that matches."""
    return hit.match_lines[0] if hit.match_lines else hit.start_line


def shown_lines(hit: Hit, context: int | None) -> frozenset[int]:
    """Return the lines of a result to show: those near the ones that match, or the first one and the best after it."""
    matching = [line for line in hit.match_lines if line <= hit.end_line] or [hit.start_line]
    if context == 0:
        return frozenset()
    if context is not None:
        near = (range(line - context, line + context + 1) for line in matching)
        return frozenset(line for lines in near for line in lines)
    marks = Counter(mark.line for mark in hit.marks)
    first, *others = matching
    best = sorted(others, key=lambda line: (-marks[line], line))
    # Where few lines match, those behind the first one say what it is about.
    few = dict.fromkeys([first, *best, *range(first + 1, hit.end_line + 1)])
    return frozenset(list(few)[:_FEW_LINES])


def _show_text(hit: Hit, shown: frozenset[int], output: Output) -> None:
    width = len(str(hit.end_line))
    marks = {line: list(group) for line, group in groupby(sorted(hit.marks), key=lambda mark: mark.line)}
    for number, line in enumerate(hit.text.split("\n"), hit.start_line):
        if number not in shown:
            continue
        spans = [(mark.start, mark.end) for mark in marks.get(number, [])]
        gutter = output.styled(f"  {number:>{width}} ", "green" if number in hit.match_lines else "dim")
        room = None if output.columns is None else max(output.columns - width - 3, _LEAST_ROOM)
        output.line((gutter + _marked(*_clipped(line, spans, room), output)).rstrip())


def _clipped(line: str, spans: Sequence[tuple[int, int]], room: int | None) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return as much of a line as a terminal shows beside its number, with its first match, and the matches there."""
    line = line.replace("\t", " " * _TAB) if not spans else line
    if room is None or len(line) + (_TAB - 1) * line.count("\t") <= room:
        return line, spans
    tabs = (_TAB - 1) * line[:room].count("\t")
    first = max(0, spans[0][1] - room + tabs + len(_MORE)) if spans and spans[0][1] > room - tabs else 0
    end = first + max(room - tabs - (2 if first else 1) * len(_MORE), 1)
    shown = (_MORE if first else "") + line[first:end] + _MORE
    moved = first - (len(_MORE) if first else 0)
    return shown, [(begin - moved, min(after, end) - moved) for begin, after in spans if first <= begin < end]


def _marked(line: str, spans: Sequence[tuple[int, int]], output: Output) -> str:
    """Return the line with its matches in colour; characters that would steer a terminal are made visible."""
    pieces, at = [], 0
    for start, end in spans:
        if start >= at and end > start:
            pieces += [safe(line[at:start]), output.styled(safe(line[start:end]), "red")]
            at = end
    return "".join([*pieces, safe(line[at:])])


def safe(text: str) -> str:
    """Return a line of a file without anything that would steer a terminal."""
    return plain(text.replace("\t", " " * _TAB), limit=len(text) * _TAB + 1)


def _nothing(answers: Sequence[Answer]) -> str:
    searched = sum(answer.found.files for answer in answers if answer.found)
    whole = all(answer.found and answer.found.exhaustive and _is_whole(answer) for answer in answers)
    if not searched:
        return "Nothing found: there is no file to search in."
    if whole:
        return f"Nothing found in {counted(searched, 'file')}, and all of them were searched.{_left_out(answers)}"
    if all(answer.found and answer.found.exhaustive for answer in answers):
        return f"Nothing found in {counted(searched, 'file')}, which need not be all that there is."
    return "Nothing found. That is no proof: `--mode regex` searches every line."


def _left_out(answers: Sequence[Answer]) -> str:
    """Return a sentence about the files that nothing was looked for in; empty when the index leaves none out."""
    skipped: Counter[str] = Counter()
    for answer in answers:
        skipped.update(dict(answer.source.skipped) if answer.source else {})
    del skipped[SkipReason.VCS_INTERNAL]
    return (
        f" Left out {left_out([(SkipReason(why), many) for why, many in skipped.items()])}." if skipped.total() else ""
    )


def _is_whole(answer: Answer) -> bool:
    return answer.source is not None and answer.source.is_whole


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
    """Print what to know about the snapshot that answered."""
    mark = output.styled("note: ", "yellow", output.stderr)
    said = freshness_sentence(source.freshness)
    if not said and source.freshness.mode == "not_checked" and not source.later:
        said = "The files were not compared with the index, so recent changes may be missing."
    if said:
        output.note(f"{mark}{said}{' `cairn sync` says more.' if source.freshness.trouble is not None else ''}")
    for warning in (*source.narrowed, *source.later):
        output.note(mark + plain(warning))
    if source.damaged:
        output.note(f"{mark}A newer snapshot is damaged, so an older one answers; `cairn health` says more.")
    if source.snapshot.degraded:
        failed = counted(source.snapshot.errors, "file")
        output.note(f"{mark}{failed} could not be indexed and {'was' if failed == '1 file' else 'were'} not searched.")


TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.ask.prepare import Policy
    from cairn.ask.session import Session, Target
    from cairn.ask.values import Answer, Page
    from cairn.search.types import SearchRequest
    from cairn.sync.codebase import Codebase

_NOTHING_RANKED = 1


configure_search = configure_question


def run_search(options: argparse.Namespace, output: Output) -> int:
    """Search, and print what is found."""
    # With `--batch` there is no query on the command line: all words are paths.
    query, paths = (None, options.words) if options.batch is not None else (options.words[:1], options.words[1:])
    if query == []:
        raise UsageError(problem="A query is missing.")
    request = request_of(options, query[0]) if query else None
    targets = _targets(paths, options, output)
    if request is None:
        return _answer_batch(targets, options, output)
    began = SYSTEM_CLOCK.monotonic()
    policy = read_policy(options, output) if options.continuation is None else None
    with output.around.sessions(targets, policy, output, read_only=options.read_only) as sessions:
        if options.continuation is not None:
            hold_page(sessions, options.continuation)
        prepared = SYSTEM_CLOCK.monotonic()
        answers, page = _ask(sessions, request, options.continuation)
        ended = SYSTEM_CLOCK.monotonic()
        timings = [("sync", prepared - began), ("search", ended - prepared), ("total", ended - began)]
        return _tell(options, answers, page, timings, output)


def _answer_batch(targets: Sequence[Target], options: argparse.Namespace, output: Output) -> int:

    # Questions are read from stdin or from a file of the person, which a daemon cannot read in their stead.
    output.around.only_where_typed()
    with output.around.sessions(targets, None, output, read_only=options.read_only) as sessions:
        return answer_all(options, sessions, read_policy(options, output), output)


def request_of(options: argparse.Namespace, query: str, k: int | None = None) -> SearchRequest:
    """Return the request of a command line; raises what is wrong with it before anything is indexed."""
    given = {**vars(options), "query": query, "context": options.context or 0}
    request = SearchRequest(**SEARCH.values(Face.CLI, given if k is None else {**given, "limit": k}))
    check(request)
    return request


def _targets(paths: Sequence[str], options: argparse.Namespace, output: Output) -> list[Target]:
    if not paths:
        return [output.around.target(options.root)]
    try:
        return output.around.targets(paths)
    except PathNotFound as problem:
        # The person may have typed a query of several words without quotes.
        missing = f"There is no file or folder called {problem.fields['path']!s}"
        raise UsageError(problem=f"{missing}; put a query of several words in quotes.") from None


def read_policy(options: argparse.Namespace, output: Output) -> Policy:
    """Return what may be done before a read: nothing for `--no-sync` and for the next page of an answer."""
    looks = not options.no_sync and getattr(options, "continuation", None) is None
    return Policy(
        create=looks and getattr(options, "meant", None) is None,
        sync=looks,
        stale_ok=options.stale_ok,
        part_ok=options.partial and looks,
        consent=lambda files: options.yes or _consent(files, output),
        begin=lambda codebase: not options.offline and _begin(codebase, output),
    )


def first_use(output: Output) -> Policy:
    """Return what may be done before a command that needs a whole index: a folder that has none is indexed."""
    return Policy(consent=lambda files: _consent(files, output))


def _begin(codebase: Codebase, output: Output) -> bool:
    from cairn.cli.begin import begin_in_daemon  # noqa: PLC0415 - only where nothing is indexed

    return begin_in_daemon(codebase, output.around.environ)


def _consent(files: int, output: Output) -> bool:
    """Whether a person at a terminal agrees to index a large folder; False without a terminal."""
    if output.json or not (sys.stdin.isatty() and output.stderr.isatty()):
        return False
    output.stderr.write(f"This folder holds {counted(files, 'file')} and is not indexed yet. Index it now? [y/N] ")
    output.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _ask(sessions: Sequence[Session], request: SearchRequest, continuation: str | None) -> tuple[list[Answer], Page]:
    return ask_all(sessions, request, continuation)


def _tell(
    options: argparse.Namespace,
    answers: list[Answer],
    page: Page,
    timings: Sequence[tuple[str, float]],
    output: Output,
) -> int:
    found = [answer for answer in answers if answer.found is not None]
    if options.meant is not None and not any(hit.marks for _, hit in page.hits):
        # What is near in meaning alone says nothing about a word that is nearly a command.
        raise UsageError(problem=f"Nothing holds {plain(options.words[0])}.")
    if options.json:
        print_envelope(search_envelope(answers, page, timings), options, output)
    if not found:
        grave = gravest(answers)
        problem = grave.error
        if grave.gate is not None:
            problem = gate_error(grave.gate, printable(os.fsencode(grave.root)))
        assert problem is not None, "a codebase that does not answer says why"
        if options.json:
            return problem.exit_status
        raise problem
    if not options.json:
        show(answers, page, options, output)
    ranked = not any(answer.found and answer.found.exhaustive for answer in answers)
    return _NOTHING_RANKED if options.fail_empty and ranked and not page.hits else 0


# --- `cairn search --batch`: many questions in one warm process, one envelope on one line for each.


_MOST_ID_CHARS = 200
_FORM = 'a JSON object like {"query": "...", "id": "1", "k": 10}'


def answer_all(options: argparse.Namespace, sessions: Sequence[Session], policy: Policy, output: Output) -> int:
    """Answer line by line until the input ends; a bad line gets an error, and the next line is read."""
    if options.continuation is not None:
        raise UsageError(problem="`--continue` is for one query; a batch gives first pages.")
    with _lines(options.batch) as lines:
        output.json = True
        for line in lines:
            ask_id: str | int | None = None
            began = SYSTEM_CLOCK.monotonic()
            try:
                prepare_all(sessions, policy, output)
                prepared = SYSTEM_CLOCK.monotonic()
                given = _parsed(line)
                ask_id = _id_of(given)
                answers, page = ask_all(sessions, request_of(options, _query_of(given), given.get("k")))
                ended = SYSTEM_CLOCK.monotonic()
                timings = [("sync", prepared - began), ("search", ended - prepared), ("total", ended - began)]
                found = search_envelope(answers, page, timings, ask_id=ask_id)
            except CairnError as problem:
                found = error_envelope(problem, path=sessions[0].target.asked, ask_id=ask_id)
            output.line(found.to_json())
            output.stdout.flush()
    return 0


@contextmanager
def _lines(name: str) -> Iterator[Iterator[bytes | None]]:
    if name == "-":
        yield _bounded(sys.stdin.buffer)
        return
    try:
        with open(name, "rb") as file:
            yield _bounded(file)
    except OSError as problem:
        raise BatchUnreadable(path=printable(os.fsencode(name)), why=os.strerror(problem.errno or 0)) from None


def _bounded(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yield every line; None for a line that is longer than a question can be, the rest of which is passed over."""
    while line := file.readline(MAX_BATCH_LINE_BYTES):
        if len(line) < MAX_BATCH_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while (rest := file.readline(MAX_BATCH_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield None


def _parsed(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise InvalidQuery(problem=f"A line of the batch is longer than {MAX_BATCH_LINE_BYTES:,} bytes.")
    try:
        given = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InvalidQuery(problem=f"A line of the batch is not {_FORM}.")
    return given


def _id_of(given: Mapping[str, Any]) -> str | int | None:
    found = given.get("id")
    if isinstance(found, bool) or not isinstance(found, str | int | None):
        raise InvalidQuery(problem="The id of a question is a text or a whole number.")
    if (isinstance(found, str) and len(found) > _MOST_ID_CHARS) or (isinstance(found, int) and abs(found) >= 2**53):
        raise InvalidQuery(problem=f"The id of a question has at most {_MOST_ID_CHARS} characters or 53 bits.")
    return found


def _query_of(given: Mapping[str, Any]) -> str:
    found = given.get("query")
    if not isinstance(found, str):
        raise InvalidQuery(problem=f"A line of the batch has no query; it is {_FORM}.")
    return found
