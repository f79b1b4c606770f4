"""Define the options of every question, one block each.

From here come the options of the command line, the arguments of the tools, the keyword arguments of Python, the tables
of the manual and the values that a shell completes. `docs/howto/add-an-option.md` leads through adding one. A face that
does not have an option says why, in its block.
"""

from __future__ import annotations

from dataclasses import replace

from cairn.core.config import SCOPES
from cairn.core.filetypes import LANGUAGES
from cairn.core.limits import (
    AGENT_OUTLINE,
    AGENT_RESULTS,
    AGENT_TOKENS,
    DEFAULT_GRAPH_NODES,
    DEFAULT_GRAPH_NOTES,
    DEFAULT_MAP_TOKENS,
    DEFAULT_REFERENCES,
    DEFAULT_RESULTS,
    MAX_AGENT_TOKENS,
    MAX_CONFIG_GLOBS,
    MAX_CONTINUATION_CHARS,
    MAX_GRAPH_DEPTH,
    MAX_GRAPH_NODES,
    MAX_GRAPH_NOTES,
    MAX_MAP_FOCUS,
    MAX_MAP_TOKENS,
    MAX_OUTLINE,
    MAX_PATTERN_BYTES,
    MAX_QUERY_CHARS,
    MAX_QUERY_PATTERN_BYTES,
    MAX_REFERENCES,
    MIN_MAP_TOKENS,
)
from cairn.core.options import (
    Choice,
    Declined,
    Face,
    Flag,
    Json,
    Number,
    Option,
    OptionTable,
    PrintedAs,
    Shown,
    Text,
    TextList,
)
from cairn.core.types import SymbolKind
from cairn.errors import InvalidQuery
from cairn.graph.calls import Direction
from cairn.graph.scopes import Tier
from cairn.graph.uses import UseRole
from cairn.search.searcher import SIGNALS
from cairn.search.types import CONTEXT_LINES, RESULT_TOKENS, RESULTS, Group, Mode

MOST_PATH = 4_096
_MOST_NAME = 500
_MOST_LINE = 999_999_999

_ONLY_HERE = Declined("only the command line prints for people")
_TOKENS = "every argument costs each agent tokens"
_READ_FILE = f"{_TOKENS}, and `read_file` shows more lines"

# --- options that several questions have ------------------------------------------------------------------------------

PATH = Option(
    name="path",
    type=Text(MOST_PATH),
    help="a folder or file of the codebase; without it the codebase that is served",
    own=True,
    cli=Declined("`--root` names the codebase"),
    python=Declined("`cairn.open` names the codebase"),
)
STALE_OK = Option(
    name="stale_ok",
    type=Flag(),
    help="while the index is built anew, answer from the old one",
    own=True,
    mcp=Declined(f"{_TOKENS}; `search_codebase` has it as `allowStale`"),
    python=Declined("`cairn.open` has chosen the snapshot that answers"),
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
    mcp=Declined(f"{_TOKENS}, and a higher limit shows more at once"),
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
    type=TextList(_MOST_NAME, MAX_CONFIG_GLOBS, known=sorted(LANGUAGES)),
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
    mcp=Shown(default=AGENT_RESULTS),
    python=Shown(name="k", positional=1),
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
    type=Number(1, _MOST_LINE, "first line"),
    help="the first line",
    own=True,
    cli=Declined("FILE:A-B names the lines"),
    python=Shown(name="start", default=1, positional=1),
)
END_LINE = Option(
    name="end_line",
    type=Number(1, _MOST_LINE, "last line"),
    help="the last line",
    own=True,
    cli=Declined("FILE:A-B names the lines"),
    python=Shown(name="end", positional=1),
)
SYMBOL_ASKED = Option(
    name="symbol",
    type=Text(MOST_PATH),
    help="a definition: its name, `Class.method`, `mod::name` or FILE:LINE",
    required=True,
    own=True,
    cli=Shown(positional=1, metavar="SYMBOL"),
    mcp=Shown(
        type=Json(
            {
                "description": "A definition: its name, Class.method, FILE:LINE, or a node of an earlier graph.",
                "anyOf": [
                    {"type": "string", "description": "A name or a place.", "minLength": 1, "maxLength": MOST_PATH},
                    {
                        "type": "object",
                        "properties": {
                            "file": {
                                "type": "string",
                                "description": "The file, from the root of the codebase.",
                                "minLength": 1,
                                "maxLength": MOST_PATH,
                            },
                            "symbolId": {
                                "type": "string",
                                "description": "Its id or its name.",
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


def _of_uses(option: Option, agents: Shown) -> Option:
    """Return an option of the question for uses as agents have it, who ask that question by another tool."""
    no = Declined("another question has it: the one for uses")
    return replace(option, own=True, cli=no, mcp=agents, python=no)


# --- the questions ----------------------------------------------------------------------------------------------------

SEARCH = OptionTable(
    "search",
    refuses=InvalidQuery,
    options=(
        PATH,
        Option(
            name="query",
            type=Text(MAX_QUERY_PATTERN_BYTES),
            help="what to look for; quote it when it has several words",
            required=True,
            cli=Shown(positional=1, metavar="QUERY", nargs="?"),
            mcp=Shown(help="What to look for: a question, words, a name, or a pattern for mode regex."),
            python=Shown(
                positional=1, help="What to look for: a question, words, a name, or a pattern for mode `regex`."
            ),
        ),
        Option(
            name="paths",
            type=TextList(MOST_PATH, MAX_CONFIG_GLOBS),
            help="files or folders to search in (default: the codebase you are in)",
            own=True,
            cli=Shown(positional=1, metavar="PATH", nargs="*"),
            mcp=Declined("`path` names one, and `include` narrows the search"),
            python=Declined("`include` narrows the search"),
        ),
        Option(
            name="mode",
            type=Choice(Mode, "mode"),
            help="how to search",
            default=Mode.HYBRID,
            mcp=Shown(help="symbol, regex and path look at everything; the others rank."),
            python=Shown(
                positional=2, help="How to search: `symbol`, `regex` and `path` look at everything, the others rank."
            ),
        ),
        LIMIT,
        Option(
            name="scope",
            type=Choice(SCOPES),
            help="only the code that runs, or only tests, docs or config",
            mcp=Shown(help="Only code that runs, tests, docs or config."),
        ),
        Option(
            name="group",
            type=Choice(Group, "group"),
            help="show of each file its best place, each definition once, or every place",
            default=Group.FILE,
            mcp=Shown(name="groupBy", help="One result for each file, each definition, or each place."),
        ),
        INCLUDE,
        Option(
            name="exclude",
            type=TextList(MAX_PATTERN_BYTES, MAX_CONFIG_GLOBS),
            help="no files whose path fits; may be repeated",
            cli=Shown(metavar="GLOB"),
            mcp=Shown(help="No paths that fit one of these globs."),
            python=Shown(help="No files whose path fits one of these globs."),
        ),
        LANGUAGE,
        Option(
            name="context",
            type=CONTEXT_LINES,
            help="lines around each result",
            default=0,
            cli=Shown(metavar="N"),
            mcp=Declined(_READ_FILE),
        ),
        Option(
            name="max_tokens",
            type=RESULT_TOKENS,
            help="leave out results beyond about so many tokens of a language model",
            cli=Shown(metavar="N"),
            mcp=Shown(
                help="Leave out results beyond about so many tokens.",
                type=Number(1, MAX_AGENT_TOKENS),
                default=AGENT_TOKENS,
            ),
        ),
        Option(
            name="without",
            type=TextList(_MOST_NAME, MAX_CONFIG_GLOBS, known=sorted(SIGNALS), make=frozenset),
            help="rank without this signal",
            cli=Shown(name="--no-signal", metavar="NAME"),
            mcp=Declined("it is for measuring what a signal is worth"),
            python=Shown(help="Rank without these signals."),
        ),
        Option(
            name="stale_ok",
            type=Flag(),
            help="while the index is built anew, answer from the old one",
            own=True,
            mcp=Shown(name="allowStale"),
            python=STALE_OK.python,
        ),
        NO_SYNC,
        Option(
            name="read_only",
            type=Flag(),
            help="read an index of a later format as far as it is known, without a sync",
            own=True,
            mcp=READ_ONLY.mcp,
            python=READ_ONLY.python,
        ),
        OFFSET,
        Option(
            name="continuation",
            type=CONTINUATION.type,
            help="the next page (`continuation` of the page before)",
            own=True,
            cli=CONTINUATION.cli,
            mcp=Shown(help="For the next page: hints.continuation is the whole call."),
            python=CONTINUATION.python,
        ),
        Option(
            name="explain",
            type=Flag(),
            help="show the score and what it is made of",
            mcp=Shown(name="debug", help="Show fingerprints, timings, file hashes and the parts of scores."),
            python=Shown(help="Give each hit its `reasons`: what its score is made of."),
        ),
        Option(
            name="batch",
            type=Text(MOST_PATH),
            help='answer the questions in this file (- for stdin): lines of {"query", "id", "k"}',
            own=True,
            cli=Shown(metavar="FILE"),
            mcp=Declined("an agent makes several calls"),
            python=Declined("a program makes several calls"),
        ),
        Option(
            name="fail_empty",
            type=Flag(),
            help="exit with 1 when a ranked search finds nothing",
            own=True,
            mcp=Declined("only a command has an exit status"),
            python=Declined("only a command has an exit status"),
        ),
    ),
)

OUTLINE = OptionTable(
    "outline",
    options=(
        PATH,
        FILE,
        Option(
            name="symbol",
            type=Text(_MOST_NAME),
            help="only this definition and what is inside of it",
            cli=Shown(metavar="NAME"),
            mcp=Shown(help="Only this definition."),
            python=Shown(positional=1),
        ),
        START_LINE,
        END_LINE,
        Option(
            name="limit",
            type=Number(1, MAX_OUTLINE, "number of definitions"),
            help="no more than so many definitions",
            own=True,
            cli=Shown(name="-k", metavar="N", type=Number(1, None, "number of definitions")),
            mcp=Shown(help="How many definitions.", default=AGENT_OUTLINE),
            python=Declined("`FileOutline.definitions` is a tuple, of which a program takes what it wants"),
        ),
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

READ = OptionTable(
    "read",
    options=(
        PATH,
        FILE,
        START_LINE,
        END_LINE,
        Option(
            name="annotate",
            type=Flag(),
            help="name the definitions that the lines cross",
            own=True,
            mcp=Shown(
                name="mode",
                help="annotated adds the definitions on these lines.",
                type=Choice(("plain", "annotated")),
                default="plain",
            ),
            python=Declined("`FileText.definitions` always names them"),
        ),
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

SYMBOL = OptionTable(
    "symbol",
    options=(
        PATH,
        Option(
            name="name",
            type=Text(MOST_PATH),
            help="a name, or a part of it; `Class.method` and `mod::name` too",
            required=True,
            own=True,
            cli=Shown(positional=1, metavar="NAME"),
            mcp=Shown(help="A name, Class.method, or with references also FILE:LINE."),
            python=Shown(positional=1),
        ),
        Option(
            name="kinds",
            type=Choice(SymbolKind, "kind", many=True),
            help="only this kind of definition; may be repeated",
            cli=Shown(name="--kind"),
            mcp=Shown(name="kind", help="Only this kind of definition.", type=Choice(SymbolKind)),
            python=Shown(help="Only these kinds of definitions."),
        ),
        Option(
            name="references",
            type=Flag(),
            help="show who imports and uses the definition instead",
            own=True,
            cli=Declined("`cairn refs` asks it"),
            python=Declined("`references` asks it"),
        ),
        _of_uses(replace(MIN_TIER, default=Tier.NAME_ONLY), Shown(help="How sure a use must be.")),
        _of_uses(ROLES, Shown(name="role", help="Only uses of this role.", type=Choice(UseRole, "role"))),
        LIMIT,
        Option(
            name="exact",
            type=Flag(),
            help="the one definition that is meant: by its name or as FILE:LINE",
            mcp=Declined(f"{_TOKENS}; the best match comes first, and a miss is told by its name"),
        ),
        Option(
            name="languages",
            type=LANGUAGE.type,
            help=LANGUAGE.help,
            cli=LANGUAGE.cli,
            mcp=Declined(f"{_TOKENS}; few names are defined in several languages"),
            python=LANGUAGE.python,
        ),
        replace(CONTINUATION, mcp=Shown(help="For the next page: hints.continuation is the whole call.")),
        OFFSET,
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

REFS = OptionTable(
    "refs",
    declined={Face.MCP: "`find_symbol` with `references` asks it"},
    options=(
        SYMBOL_ASKED,
        Option(
            name="limit",
            type=Number(1, MAX_REFERENCES, "number of references"),
            help="how many imports and uses",
            default=DEFAULT_REFERENCES,
            cli=Shown(name="-k", metavar="N"),
            python=Shown(name="k", positional=1),
        ),
        FILE_OF_SYMBOL,
        replace(MIN_TIER, default=Tier.NAME_ONLY),
        ROLES,
        EXACT,
        Option(
            name="local",
            type=Flag(),
            help="the local names of a function, and where each is bound and used",
            own=True,
            python=Declined("it is another question with another answer, and no program has needed it"),
        ),
        CONTINUATION,
        OFFSET,
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

GRAPH = OptionTable(
    "graph",
    options=(
        PATH,
        SYMBOL_ASKED,
        Option(
            name="callers",
            type=Flag(),
            help="only who calls it (default: both ways)",
            own=True,
            mcp=Declined("`direction` says it"),
            python=Declined("`callers` is a method"),
        ),
        Option(
            name="callees",
            type=Flag(),
            help="only what it calls",
            own=True,
            mcp=Declined("`direction` says it"),
            python=Declined("`callees` is a method"),
        ),
        Option(
            name="direction",
            type=Choice(Direction, "direction"),
            help="which way; `tests` are those that reach it, however far",
            default=Direction.BOTH,
            cli=Declined("`--callers`, `--callees` and `--tests` say it"),
            mcp=Shown(help="Which way; tests: those that reach it, however far."),
            python=Declined("`callers` and `callees` are methods, and `tests` says the rest"),
        ),
        Option(
            name="tests",
            type=Flag(),
            help="only the tests that reach it, with the way from each",
            own=True,
            mcp=Declined("`direction` says it"),
        ),
        Option(
            name="to",
            type=Text(MOST_PATH),
            help="the shortest way of calls to this definition instead",
            own=True,
            cli=Shown(metavar="SYMBOL"),
            mcp=Shown(help="Only the shortest way of calls to this definition."),
        ),
        Option(
            name="depth",
            type=Number(1, MAX_GRAPH_DEPTH, "depth of a call graph"),
            help="how many steps far",
            default=1,
            cli=Shown(metavar="N"),
            mcp=Shown(help="How many steps."),
        ),
        Option(
            name="limit",
            type=Number(1, MAX_GRAPH_NODES, "number of definitions"),
            help="how many definitions each way",
            default=DEFAULT_GRAPH_NODES,
            cli=Shown(name="-k", metavar="N"),
            python=Shown(name="k", positional=1, help="How many definitions."),
        ),
        Option(
            name="notes",
            type=Number(0, MAX_GRAPH_NOTES, "number of notes"),
            help="how many notes on what is not in the graph; -v prints them",
            default=DEFAULT_GRAPH_NOTES,
            own=True,
            cli=Shown(metavar="N"),
            mcp=Shown(name="noteLimit", help="How many notes."),
            python=Declined("`CallGraph` holds all of them"),
        ),
        MIN_TIER,
        FILE_OF_SYMBOL,
        EXACT,
        Option(
            name="format",
            type=Choice(PrintedAs, "format"),
            help="a tree, JSON, or a picture for Graphviz or Mermaid to draw",
            default=PrintedAs.TEXT,
            own=True,
            mcp=_ONLY_HERE,
            python=_ONLY_HERE,
        ),
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

SIMILAR = OptionTable(
    "similar",
    declined={Face.MCP: "a tool costs each agent tokens, and `search_codebase` takes code as its query"},
    options=(
        Option(
            name="file",
            type=Text(MOST_PATH),
            help="a line of the code that others may be like",
            required=True,
            own=True,
            cli=Shown(positional=1, metavar="FILE:LINE"),
            python=FILE.python,
        ),
        Option(
            name="line",
            type=Number(1, _MOST_LINE, "line"),
            help="a line of the code that others may be like",
            required=True,
            own=True,
            cli=Declined("FILE:LINE names it"),
            python=Shown(positional=1),
        ),
        LIMIT,
        Option(name="same_file", type=Flag(), help="look in that file too"),
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

MAP = OptionTable(
    "map",
    options=(
        PATH,
        Option(
            name="query",
            type=Text(MAX_QUERY_CHARS),
            help="draw the map around what a search for this finds",
            cli=Shown(positional=1, metavar="QUERY", nargs="?"),
            mcp=Shown(help="Draw it around what this finds."),
            python=Shown(positional=1),
        ),
        Option(
            name="focus",
            type=TextList(MOST_PATH, MAX_MAP_FOCUS),
            help="draw it around this file; may be repeated",
            own=True,
            cli=Shown(metavar="FILE"),
            mcp=Shown(help="Draw it around these files."),
            python=Shown(help="Draw it around these files, relative to the root."),
        ),
        INCLUDE,
        Option(
            name="max_tokens",
            type=Number(MIN_MAP_TOKENS, MAX_MAP_TOKENS, "number of tokens of a map"),
            help="about how many tokens of a language model",
            default=DEFAULT_MAP_TOKENS,
            cli=Shown(metavar="N"),
            mcp=Shown(help="How many tokens at most."),
        ),
        Option(
            name="format",
            type=Choice((PrintedAs.TEXT, PrintedAs.JSON)),
            help="`json` is the same as --json",
            default=PrintedAs.TEXT,
            own=True,
            mcp=_ONLY_HERE,
            python=_ONLY_HERE,
        ),
        STALE_OK,
        NO_SYNC,
        READ_ONLY,
    ),
)

QUESTIONS = {table.name: table for table in (SEARCH, OUTLINE, READ, SYMBOL, REFS, GRAPH, SIMILAR, MAP)}
"""The questions by the command that asks them."""
