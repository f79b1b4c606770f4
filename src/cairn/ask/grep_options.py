"""Define the options of `cairn grep`: those that people know from other programs of the kind, by their names there."""

from __future__ import annotations

from dataclasses import replace

from cairn.ask.common_options import (
    FILES_ONLY,
    FORMAT,
    LANGUAGE,
    MOST_PATH,
    NO_SYNC,
    NULL,
    PARTIAL,
    READ_ONLY,
    STALE_OK,
    YES,
)
from cairn.core.limits import MAX_CONFIG_GLOBS, MAX_GREP_LINES, MAX_PATTERN_BYTES, MAX_QUERY_PATTERN_BYTES
from cairn.core.options import Face, Flag, Number, Option, OptionTable, Shown, Text, TextList

_LINES = Number(0, MAX_GREP_LINES, "number of lines")
GREP = OptionTable(
    "grep",
    declined={
        Face.MCP: "`search_codebase` with mode `regex` asks it, and its answer has a length",
        Face.PYTHON: "`search` with mode `regex` asks it",
    },
    options=(
        Option(
            name="pattern",
            type=Text(MAX_QUERY_PATTERN_BYTES),
            help="a regular expression of RE2, which is looked for in each line",
            required=True,
            cli=Shown(positional=1, metavar="PATTERN", nargs="?"),
        ),
        Option(
            name="paths",
            type=TextList(MOST_PATH, MAX_CONFIG_GLOBS),
            help="files or folders to look in (default: the folder you are in)",
            own=True,
            cli=Shown(positional=1, metavar="PATH", nargs="*"),
        ),
        Option(
            name="ignore_case",
            type=Flag(),
            help="upper and lower case are the same",
            cli=Shown(short="-i"),
        ),
        Option(
            name="smart_case",
            type=Flag(),
            help="the same, unless the pattern has an upper-case letter",
            cli=Shown(short="-S"),
        ),
        Option(
            name="word",
            type=Flag(),
            help="only whole words",
            cli=Shown(short="-w", name="--word-regexp"),
        ),
        Option(
            name="fixed",
            type=Flag(),
            help="the pattern is a text and no regular expression",
            cli=Shown(short="-F", name="--fixed-strings"),
        ),
        Option(
            name="invert",
            type=Flag(),
            help="the lines that do not match",
            cli=Shown(short="-v", name="--invert-match"),
        ),
        Option(
            name="multiline",
            type=Flag(),
            help="a match may go on over the end of a line",
            cli=Shown(short="-U"),
        ),
        Option(
            name="only_matching",
            type=Flag(),
            help="only what matches, each match on its line",
            own=True,
            cli=Shown(short="-o"),
        ),
        Option(name="after", type=_LINES, help="lines after each", cli=Shown(short="-A", metavar="N")),
        Option(name="before", type=_LINES, help="lines before each", cli=Shown(short="-B", metavar="N")),
        Option(
            name="context",
            type=_LINES,
            help="lines before and after each",
            own=True,
            cli=Shown(short="-C", metavar="N"),
        ),
        Option(
            name="max_count",
            type=Number(0, None, "number of lines"),
            help="no more than so many lines of a file",
            cli=Shown(short="-m", metavar="N"),
        ),
        FILES_ONLY,
        Option(name="count", type=Flag(), help="only how many lines of each file", own=True, cli=Shown(short="-c")),
        NULL,
        Option(
            name="line_number",
            type=Flag(),
            help="nothing: lines always have their numbers",
            own=True,
            cli=Shown(short="-n"),
        ),
        replace(LANGUAGE, cli=Shown(name="--lang", short="-t", metavar="LANG")),
        Option(
            name="globs",
            type=TextList(MAX_PATTERN_BYTES, MAX_CONFIG_GLOBS),
            help="only files whose path fits, or with a `!` before it, none that fits; may be repeated",
            cli=Shown(name="--glob", short="-g", metavar="GLOB"),
        ),
        FORMAT,
        STALE_OK,
        PARTIAL,
        NO_SYNC,
        YES,
        READ_ONLY,
    ),
)
