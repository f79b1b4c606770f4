"""Print every line that a pattern matches (`cairn grep`): as ripgrep does, over the indexed files as they are now."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any

from cairn.answer.envelope import encode
from cairn.answer.search import marked
from cairn.ask.grep_options import GREP
from cairn.ask.grepping import Grepped, Totals, matching_lines, wait_for_files
from cairn.ask.session import Session
from cairn.ask.values import Reply, Source
from cairn.cli.options import configure_question
from cairn.cli.output import Output, left_out
from cairn.cli.search import read_policy, safe, source_notes
from cairn.core.options import Face, PrintedAs
from cairn.core.types import SkipReason
from cairn.errors import UsageError
from cairn.search.grep import GrepFile, GrepLine, GrepRequest

_MATCHED, _NOTHING, _NOT_ALL = 0, 1, 2
# Lines are written in groups of about so many bytes.
_PIECE = 1 << 16
# So many lines are kept for an answer in one piece, which holds no more.
_MOST_ROWS = 20_000


configure_grep = configure_question


def run_grep(options: argparse.Namespace, output: Output) -> int:
    """Print the lines; the exit status says whether there is any, and if there is none, whether all was looked at."""
    if not options.words:
        raise UsageError(problem="A pattern is missing.")
    pattern, *paths = options.words
    request = request_of(options, pattern)
    output.verbosity = options.verbose - options.quiet
    targets = output.around.targets(paths or [options.root])
    printer = printer_of(options, output, one_file=len(paths) == 1 and os.path.isfile(output.around.path(paths[0])))
    status = _NOTHING
    with output.around.sessions(targets, read_policy(options, output), output, read_only=options.read_only) as sessions:
        for session in sessions:
            done = _grep(session, request, options, printer, output)
            status = _MATCHED if _MATCHED in (status, done) else max(status, done)
            if options.quiet and status == _MATCHED:
                break
    return status


def request_of(options: argparse.Namespace, pattern: str) -> GrepRequest:
    """Return what is asked for; raises what is wrong with it before any file is looked at."""
    around = options.context or 0
    given = vars(options) | {
        "pattern": pattern,
        "after": around if options.after is None else options.after,
        "before": around if options.before is None else options.before,
    }
    request = GrepRequest(**GREP.values(Face.CLI, given))
    request.check()
    return request


def _grep(session: Session, request: GrepRequest, options: argparse.Namespace, printer: Printer, output: Output) -> int:
    """Print the lines of one codebase."""
    if not options.no_sync:
        wait_for_files(session)
    reply = matching_lines(session, request)
    told, source = reply.value, reply.source
    if told is None or source is None:
        from cairn.answer.grep import grep_answer  # noqa: PLC0415 - loads what no line needs
        from cairn.cli.structure import without_answer  # noqa: PLC0415

        if output.json:
            output.line(grep_answer(reply, (), Totals(0, 0)).to_json())
        return without_answer(reply, output)
    files = lines = 0
    for file in told.files:
        files, lines = files + 1, lines + file.count
        if options.quiet:
            return _MATCHED
        printer.show(file, session.root, source)
    whole = source.is_whole and not told.unknown
    printer.end(reply, Totals(files, lines), whole)
    _notes(told, source, output)
    return _MATCHED if files else _NOTHING if whole else _NOT_ALL


def _notes(told: Grepped, source: Source, output: Output) -> None:
    """Say what was not looked at; stdout holds nothing but lines."""
    skipped = [(SkipReason(why), many) for why, many in source.skipped if many and why != SkipReason.VCS_INTERNAL]
    if skipped:
        output.note(f"Not searched, {left_out(skipped)}.")
    for path in told.unknown:
        output.note(f"No file of {output.clickable('', path)} is in the index; `cairn why` says why.")
    source_notes(source, output)


# --- The forms of a line ----------------------------------------------------------------------------------------------


class Printer:
    """Prints lines as text: `path:line:text`, and `path-line-text` for those that are only near one."""

    def __init__(self, options: argparse.Namespace, output: Output, *, one_file: bool) -> None:
        self._options, self._output, self._one_file = options, output, one_file
        self._steers = output.is_terminal
        self._coloured = output.is_coloured()
        self._is_first = True

    def show(self, file: GrepFile, root: str, source: Source) -> None:
        """Print the lines of a file, or what is asked for in their place: its name, or how many there are."""
        del source
        name = self.name(root, file.path)
        if self._options.files_with_matches:
            self._write([self._styled(name, "cyan") + (b"\0" if self._options.null else b"\n")])
        elif self._options.count:
            head = b"" if self._one_file else self._styled(name, "cyan") + (b"\0" if self._options.null else b":")
            by_match = self._options.only_matching and file.matches
            self._write([head + b"%d\n" % (file.matches if by_match else file.count)])
        else:
            self._write(self._lines(file, b"" if self._one_file else self._styled(name, "cyan")))

    def end(self, reply: Reply[Grepped], totals: Totals, whole: bool) -> None:
        """Print what comes after the last line of a codebase."""

    def name(self, root: str, path: str) -> bytes:
        """Return the path as it is, relative to the working folder; on a terminal without what would steer it."""
        if self._steers or self._coloured:
            return os.fsencode(self._output.clickable(root, path))
        full = os.path.join(root, path)
        near = os.path.relpath(full, self._output.around.cwd)
        return os.fsencode(full if near.startswith("../../..") else near)

    def _lines(self, file: GrepFile, name: bytes) -> Iterator[bytes]:
        around = file.has_context
        if around and not self._is_first:
            yield self._styled(b"--", "dim") + b"\n"
        self._is_first = False
        if self._is_plain and not around:
            head = name + (b"\0" if self._options.null else b":") if name else b""
            for number, text in file.asked_lines():
                yield b"%b%d:%b\n" % (head, number, text)
            return
        for line in file.lines():
            if line is None:
                yield self._styled(b"--", "dim") + b"\n"
            else:
                yield from self._forms(line, name)

    @property
    def _is_plain(self) -> bool:
        return not (self._coloured or self._steers or self._options.only_matching or self._by_match)

    @property
    def _by_match(self) -> bool:
        return bool(self._options.format == PrintedAs.VIMGREP)

    def _forms(self, line: GrepLine, name: bytes) -> Iterator[bytes]:
        sign = b":" if line.is_asked else b"-"
        head = name + (b"\0" if self._options.null else sign) if name else b""
        head += self._styled(b"%d" % line.number, "green") + sign
        if self._by_match and line.is_asked:
            for begin, _ in line.spans[len(line.spans) - line.begun :] or [(0, 0)] * (not line.spans):
                yield b"%b%d:%b\n" % (head, begin + 1, self._shown(line.text, line.spans))
        elif self._options.only_matching and line.spans:
            for begin, end in line.spans:
                yield head + self._shown(line.text[begin:end], ((0, end - begin),)) + b"\n"
        else:
            yield head + self._shown(line.text, line.spans) + b"\n"

    def _shown(self, text: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
        """Return the text as it is, or for a terminal without what would steer it and its matches in colour."""
        if not (self._steers or self._coloured):
            return text
        pieces, at = [], 0
        for begin, end in spans:
            pieces += [self._safe(text[at:begin]), self._styled(self._safe(text[begin:end]), "red")]
            at = max(at, end)
        return b"".join([*pieces, self._safe(text[at:])])

    def _safe(self, text: bytes) -> bytes:
        return safe(text.decode("utf-8", "replace")).encode() if text else b""

    def _styled(self, text: bytes, style: str) -> bytes:
        if not self._coloured or not text:
            return text
        return os.fsencode(self._output.styled(os.fsdecode(text), style))

    def _write(self, lines: Iterator[bytes] | Sequence[bytes]) -> None:
        held, size = [], 0
        for line in lines:
            held.append(line)
            size += len(line)
            if size > _PIECE:
                self._output.data(b"".join(held))
                held, size = [], 0
        self._output.data(b"".join(held))


class _JsonLines(Printer):
    """Prints one result a line as JSON, and after them the envelope without its results."""

    def show(self, file: GrepFile, root: str, source: Source) -> None:
        from cairn.answer.grep import grep_row  # noqa: PLC0415 - loads what no line of text needs

        rows = marked((grep_row(file.path, line) for line in file.lines() if line is not None), source.working)
        self._write(encode(row).encode() + b"\n" for row in rows)

    def end(self, reply: Reply[Grepped], totals: Totals, whole: bool) -> None:
        from cairn.answer.grep import grep_end  # noqa: PLC0415

        self._output.line(grep_end(reply, totals, whole=whole).to_json())


class _OneJson(Printer):
    """Prints one envelope with the lines that fit into it."""

    def __init__(self, options: argparse.Namespace, output: Output, *, one_file: bool) -> None:
        super().__init__(options, output, one_file=one_file)
        self._rows: list[dict[str, Any]] = []

    def show(self, file: GrepFile, root: str, source: Source) -> None:
        from cairn.answer.grep import grep_row  # noqa: PLC0415

        if len(self._rows) < _MOST_ROWS:
            self._rows += [grep_row(file.path, line) for line in file.lines() if line is not None]

    def end(self, reply: Reply[Grepped], totals: Totals, whole: bool) -> None:
        from cairn.answer.grep import grep_answer  # noqa: PLC0415

        self._output.line(grep_answer(reply, self._rows, totals, whole=whole).to_json())
        self._rows = []


def printer_of(options: argparse.Namespace, output: Output, *, one_file: bool) -> Printer:
    """Return what prints the form that is asked for."""
    if options.format == PrintedAs.JSONL:
        return _JsonLines(options, output, one_file=one_file)
    return (_OneJson if options.json else Printer)(options, output, one_file=one_file)
