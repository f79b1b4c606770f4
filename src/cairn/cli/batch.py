"""`cairn search --batch`: many questions, one warm process, one envelope on one line for each, at once."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from cairn.answer.envelope import error as error_envelope
from cairn.cli.answers import envelope_of
from cairn.cli.output import Output
from cairn.cli.search import request_of
from cairn.cli.surroundings import prepare
from cairn.clock import SYSTEM_CLOCK
from cairn.errors import BatchUnreadable, CairnError, InvalidQuery, UsageError
from cairn.limits import MAX_BATCH_LINE_BYTES
from cairn.session import Session, Steps, ask_all
from cairn.source.root import printable

_MOST_ID_CHARS = 200
_FORM = 'a JSON object like {"query": "...", "id": "1", "k": 10}'


def answer_all(options: argparse.Namespace, sessions: Sequence[Session], steps: Steps, output: Output) -> int:
    """Answer line by line until there are no more. A bad line gets an error, and the next one is read."""
    if options.continuation is not None:
        raise UsageError(problem="`--continue` is for one query; a batch gives first pages.")
    with _lines(options.batch) as lines:
        output.json = True
        for line in lines:
            ask_id: str | int | None = None
            began = SYSTEM_CLOCK.monotonic()
            try:
                prepare(sessions, steps, output)
                prepared = SYSTEM_CLOCK.monotonic()
                given = _parsed(line)
                ask_id = _id_of(given)
                answers, page = ask_all(sessions, request_of(options, _query_of(given), given.get("k")))
                ended = SYSTEM_CLOCK.monotonic()
                timings = [("sync", prepared - began), ("search", ended - prepared), ("total", ended - began)]
                found = envelope_of(answers, page, timings, ask_id=ask_id)
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
    """Every line; None for one that is longer than a question can be, of which the rest is passed over."""
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
