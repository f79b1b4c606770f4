"""`cairn search QUERY [PATH...]`: find code. The first time a folder is indexed, later its index catches up first."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from cairn.cli.output import Output, counted
from cairn.clock import SYSTEM_CLOCK
from cairn.config import SCOPES
from cairn.errors import PathNotFound, UsageError
from cairn.limits import DEFAULT_RESULTS, MAX_CONTEXT_LINES, MAX_RESULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.answer.search import Answer, Page
    from cairn.search.types import SearchRequest
    from cairn.session import Session, Steps, Target

# Named here too, so that `--help` does not load the search itself; a test keeps them equal.
MODES = ("hybrid", "semantic", "lexical", "symbol", "regex", "path")
_NOTHING_RANKED = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `cairn search`."""
    add = parser.add_argument
    add("query", metavar="QUERY", nargs="?", help="what to look for; quote it when it has several words")
    add("paths", metavar="PATH", nargs="*", help="files or folders to search in (default: the codebase you are in)")
    add("-k", metavar="N", type=int, default=DEFAULT_RESULTS, help=f"how many results (default 10, most {MAX_RESULTS})")
    add("--mode", choices=MODES, default=MODES[0], help="how to search (default: hybrid)")
    add("--lang", metavar="LANG", action="append", default=[], help="only files of this language")
    add("--include", metavar="GLOB", action="append", default=[], help="only files whose path fits")
    add("--exclude", metavar="GLOB", action="append", default=[], help="no files whose path fits")
    add("--scope", choices=SCOPES, help="only the code that runs, or only tests, docs or config")
    add("--context", metavar="N", type=int, default=0, help=f"lines around each result (most {MAX_CONTEXT_LINES})")
    add("--max-tokens", metavar="N", type=int, help="leave out results beyond about so many tokens of a language model")
    add("--stale-ok", action="store_true", help="while the index is built anew, answer from the old one")
    add("--no-sync", action="store_true", help="answer from the index as it is, without looking at the files")
    add(
        "--read-only", action="store_true", help="read an index of a later format as far as it is known, without a sync"
    )
    add("--no-signal", metavar="NAME", action="append", default=[], help="rank without this signal")
    add("--continue", metavar="TOKEN", dest="continuation", help="the next page (`continuation` of the page before)")
    add("--explain", action="store_true", help="show the score and what it is made of")
    add(
        "--batch", metavar="FILE", help='answer the questions in this file (- for stdin): lines of {"query", "id", "k"}'
    )
    add("--fail-empty", action="store_true", help="exit with 1 when a ranked search finds nothing")


def run(options: argparse.Namespace, output: Output) -> int:
    """Search, and print what is found."""
    # With a batch there is no query on the line: all that stands there are paths.
    query, paths = (None, options.words) if options.batch is not None else (options.words[:1], options.words[1:])
    if query == []:
        raise UsageError(problem="A query is missing.")
    request = request_of(options, query[0]) if query else None
    targets = _targets(paths, options, output)
    if request is None:
        return _answer_batch(targets, options, output)
    began = SYSTEM_CLOCK.monotonic()
    steps = _steps(options, output) if options.continuation is None else None
    with output.around.sessions(targets, steps, output, read_only=options.read_only) as sessions:
        if options.continuation is not None:
            from cairn.session import hold_page  # noqa: PLC0415

            hold_page(sessions, options.continuation)
        prepared = SYSTEM_CLOCK.monotonic()
        answers, page = _ask(sessions, request, options.continuation)
        ended = SYSTEM_CLOCK.monotonic()
        timings = [("sync", prepared - began), ("search", ended - prepared), ("total", ended - began)]
        return _tell(options, answers, page, timings, output)


def _answer_batch(targets: Sequence[Target], options: argparse.Namespace, output: Output) -> int:
    from cairn.cli.batch import answer_all  # noqa: PLC0415

    # Questions are read from stdin, or from a file, which nobody else may stand in for.
    output.around.only_where_typed()
    with output.around.sessions(targets, None, output, read_only=options.read_only) as sessions:
        return answer_all(options, sessions, _steps(options, output), output)


def request_of(options: argparse.Namespace, query: str, k: int | None = None) -> SearchRequest:
    """The question that a command line asks. What is wrong with it is said before anything is indexed."""
    from cairn.search.types import Mode, SearchRequest  # noqa: PLC0415 - numpy takes a tenth of a second

    request = SearchRequest(
        query=query,
        mode=Mode(options.mode),
        limit=options.k if k is None else k,
        languages=tuple(options.lang),
        include=tuple(options.include),
        exclude=tuple(options.exclude),
        scope=options.scope,
        context=options.context,
        max_tokens=options.max_tokens,
        without=frozenset(options.no_signal),
        explain=options.explain,
    )
    from cairn.search.searcher import check  # noqa: PLC0415

    check(request)
    return request


def _targets(paths: Sequence[str], options: argparse.Namespace, output: Output) -> list[Target]:
    try:
        return output.around.targets(paths) if paths else [output.around.target(options.root)]
    except PathNotFound as problem:
        # Somebody may have typed the words of a question one by one.
        missing = f"There is no file or folder called {problem.fields['path']!s}"
        raise UsageError(problem=f"{missing}; put a query of several words in quotes.") from None


def _steps(options: argparse.Namespace, output: Output) -> Steps:
    from cairn.session import Steps  # noqa: PLC0415

    return Steps(
        create=not options.no_sync,
        sync=not options.no_sync,
        stale_ok=options.stale_ok,
        consent=lambda files: _consent(files, output),
    )


def _consent(files: int, output: Output) -> bool:
    """Whether a person at a terminal wants a large folder indexed; without one nobody does."""
    if output.json or not (sys.stdin.isatty() and output.stderr.isatty()):
        return False
    output.stderr.write(f"This folder holds {counted(files, 'file')} and is not indexed yet. Index it now? [y/N] ")
    output.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _ask(sessions: Sequence[Session], request: SearchRequest, continuation: str | None) -> tuple[list[Answer], Page]:
    from cairn.session import ask_all  # noqa: PLC0415

    return ask_all(sessions, request, continuation)


def _tell(
    options: argparse.Namespace,
    answers: list[Answer],
    page: Page,
    timings: Sequence[tuple[str, float]],
    output: Output,
) -> int:
    from cairn.answer.gate import gate_error  # noqa: PLC0415
    from cairn.answer.search import gravest  # noqa: PLC0415
    from cairn.cli.answers import envelope_of, show  # noqa: PLC0415
    from cairn.source.root import printable  # noqa: PLC0415

    found = [answer for answer in answers if answer.found is not None]
    if options.json:
        output.line(envelope_of(answers, page, timings).to_json())
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
        show(answers, page, explain=options.explain, output=output)
    ranked = not any(answer.found and answer.found.exhaustive for answer in answers)
    return _NOTHING_RANKED if options.fail_empty and ranked and not page.hits else 0
