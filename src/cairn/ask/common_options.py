"""Define the options that several questions have, one block each; `questions.py` says which question has which."""

from __future__ import annotations

from dataclasses import replace

from cairn.core.filetypes import LANGUAGES
from cairn.core.limits import (
    AGENT_RESULTS,
    AGENT_TOKENS,
    DEFAULT_RESULTS,
    MAX_AGENT_TOKENS,
    MAX_CONFIG_GLOBS,
    MAX_CONTINUATION_CHARS,
    MAX_PATTERN_BYTES,
)
from cairn.core.options import (
    Choice,
    Declined,
    Flag,
    Json,
    Number,
    Option,
    PrintedAs,
    Shown,
    Text,
    TextList,
)
from cairn.graph.scopes import Tier
from cairn.graph.uses import UseRole
from cairn.search.types import RESULTS

MOST_PATH = 4_096
MOST_NAME = 500
MOST_LINE = 999_999_999

ONLY_HERE = Declined("only the command line prints for people")
FORMAT = Option(
    name="format",
    type=Choice((PrintedAs.TEXT, PrintedAs.PLAIN, PrintedAs.VIMGREP, PrintedAs.JSONL, PrintedAs.JSON)),
    help="`plain` is path:line:text, `vimgrep` path:line:column:text, `jsonl` one result a line, `json` is --json",
    default=PrintedAs.TEXT,
    own=True,
    mcp=ONLY_HERE,
    python=ONLY_HERE,
)
FILES_ONLY = Option(
    name="files_with_matches",
    type=Flag(),
    help="only the names of the files, each once",
    own=True,
    cli=Shown(short="-l"),
    mcp=ONLY_HERE,
    python=ONLY_HERE,
)
NULL = Option(
    name="null",
    type=Flag(),
    help="end each name with a NUL, for `xargs -0`",
    own=True,
    cli=Shown(short="-0"),
    mcp=ONLY_HERE,
    python=ONLY_HERE,
)
TOKENS = "every argument costs each agent tokens"
READ_FILE = f"{TOKENS}, and `read_file` shows more lines"

# --- options that several questions have ------------------------------------------------------------------------------

PATH = Option(
    name="path",
    type=Text(MOST_PATH),
    help="a folder or file of a codebase (default: the one served)",
    own=True,
    cli=Declined("`--root` names the codebase"),
    mcp=Shown(help="Default: the served codebase."),
    python=Declined("`cairn.open` names the codebase"),
)
STALE_OK = Option(
    name="stale_ok",
    type=Flag(),
    help="while the index is built anew, answer from the old one",
    own=True,
    mcp=Declined(f"{TOKENS}; `search_codebase` has it as `allowStale`"),
    python=Declined("`cairn.open` has chosen the snapshot that answers"),
)
PARTIAL = Option(
    name="partial",
    type=Flag(),
    help="while an index is being made, answer from what is done of it",
    own=True,
    mcp=Shown(name="allowPartial", help="From an unfinished index."),
    python=Declined("`cairn.open` waits until the index is made"),
)
YES = Option(
    name="yes",
    type=Flag(),
    help="index a large folder without asking, when it has no index yet",
    own=True,
    mcp=Declined("`manage_index` with `create` says the same"),
    python=Declined("who names a folder to `cairn.open` wants its index"),
)
NO_SYNC = Option(
    name="no_sync",
    type=Flag(),
    help="answer from the index as it is, without looking at the files",
    own=True,
    mcp=Declined("an agent edits files and asks about them at once"),
    python=Declined("a program that asks about its files wants them as they are"),
)
READ_ONLY = Option(
    name="read_only",
    type=Flag(),
    help="read an index of a later format as far as it is known",
    own=True,
    mcp=Declined("a person decides to read an index of a later version"),
    python=Declined("a person decides to read an index of a later version"),
)
CONTINUATION = Option(
    name="continuation",
    type=Text(MAX_CONTINUATION_CHARS),
    help="the next page (`continuation` in JSON)",
    cli=Shown(name="--continue", metavar="TOKEN"),
    mcp=Declined(f"{TOKENS}, and a higher limit shows more at once"),
    python=Declined("an open codebase holds one snapshot, so that `offset` is enough"),
)
OFFSET = Option(
    name="offset",
    type=Number(0, None, "number of results to pass over"),
    help="how many results to pass over: those of the pages before",
    default=0,
    cli=Declined("`--continue` also names the snapshot, so that pages fit together"),
    mcp=Declined("a page is asked for together with its snapshot, so that pages fit together"),
)
LANGUAGE = Option(
    name="languages",
    type=TextList(MOST_NAME, MAX_CONFIG_GLOBS, known=sorted(LANGUAGES)),
    help="only files of this language",
    cli=Shown(name="--lang", metavar="LANG"),
    mcp=Shown(help="Only files of these languages."),
    python=Shown(help="Only files of these languages."),
)
INCLUDE = Option(
    name="include",
    type=TextList(MAX_PATTERN_BYTES, MAX_CONFIG_GLOBS),
    help="only files whose path fits; may be repeated",
    cli=Shown(metavar="GLOB"),
    mcp=Shown(help="Only paths that fit one of these globs."),
    python=Shown(help="Only files whose path fits one of these globs."),
)
LIMIT = Option(
    name="limit",
    type=RESULTS,
    help="how many results",
    default=DEFAULT_RESULTS,
    cli=Shown(name="-k", metavar="N"),
    # Whether an agent has said how many decides whether its tokens are limited too.
    mcp=Shown(help=f"How many (default: {AGENT_RESULTS}).", default=None),
    python=Shown(name="k", positional=1),
)
MOST_TOKENS = Option(
    name="max_tokens",
    type=Number(1, MAX_AGENT_TOKENS, "number of tokens"),
    help=f"usually {AGENT_TOKENS}",
    own=True,
    cli=Declined("a person reads on, and pays for no word"),
    python=Declined("a program takes of a value what it wants"),
)
FILE = Option(
    name="file",
    type=Text(MOST_PATH),
    help="a file of the codebase, or some lines of it",
    required=True,
    own=True,
    cli=Shown(positional=1, metavar="FILE[:A-B]"),
    mcp=Shown(help="The file, from the root of the codebase.", required=False),
    python=Shown(name="path", positional=1, help="The file, relative to the root."),
)
START_LINE = Option(
    name="start_line",
    type=Number(1, MOST_LINE, "first line"),
    help="the first line",
    own=True,
    cli=Declined("FILE:A-B names the lines"),
    python=Shown(name="start", default=1, positional=1),
)
END_LINE = Option(
    name="end_line",
    type=Number(1, MOST_LINE, "last line"),
    help="the last line",
    own=True,
    cli=Declined("FILE:A-B names the lines"),
    python=Shown(name="end", positional=1),
)
SYMBOL_ASKED = Option(
    name="symbol",
    type=Text(MOST_PATH),
    help="a definition: its name, `Class.method`, `mod::name`, FILE:LINE, FILE#name or an import path",
    required=True,
    own=True,
    cli=Shown(positional=1, metavar="SYMBOL"),
    mcp=Shown(
        type=Json(
            {
                "description": "A definition: its name, Class.method, FILE:LINE, or {file, symbolId} of a graph.",
                "anyOf": [
                    {"type": "string", "minLength": 1, "maxLength": MOST_PATH},
                    {
                        "type": "object",
                        "properties": {
                            "file": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": MOST_PATH,
                            },
                            "symbolId": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": MOST_PATH,
                            },
                        },
                        "required": ["file", "symbolId"],
                        "additionalProperties": False,
                    },
                ],
            }
        )
    ),
    python=Shown(name="name", positional=1, help="A definition: its name, `Class.method` or `FILE:LINE`."),
)
FILE_OF_SYMBOL = Option(
    name="file",
    type=Text(MOST_PATH),
    help="the file that defines it, where several do",
    own=True,
    cli=Shown(metavar="FILE"),
    mcp=Declined("`symbol` can be an object that names the file"),
    python=Shown(name="path"),
)
MIN_TIER = Option(
    name="min_tier",
    type=Choice(Tier, "tier"),
    help="how sure a use must be to be listed",
    default=Tier.LIKELY,
    mcp=Shown(help="How sure an edge must be."),
)

ROLES = Option(
    name="roles",
    type=Choice(UseRole, "role", many=True),
    help="only uses of this role; `override` and `implementation` are found only when asked for; may be repeated",
    cli=Shown(name="--role"),
    python=Shown(help="Only uses of these roles; `override` and `implementation` are found only when asked for."),
)

EXACT = Option(
    name="exact",
    type=Flag(),
    help="refuse a name that several definitions have, instead of answering for the best",
    mcp=Declined("a tool answers for the best and names the others"),
    python=Shown(),
)


def of_uses(option: Option, agents: Shown) -> Option:
    """Return an option of the question for uses as agents have it, who ask that question by another tool."""
    no = Declined("another question has it: the one for uses")
    return replace(option, own=True, cli=no, mcp=agents, python=no)
