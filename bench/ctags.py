"""Universal-ctags as a second opinion: what it calls a definition in each of our languages, and what it finds.

ctags scans for words where we parse. The table says which of its kinds are definitions that a person would look up, why
the others are not, and where it guesses so badly that only lines of a certain look are believed. A language without a
row is compared by all of its kinds: whoever finds that unfair adds the row.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

MISSING = "universal-ctags is not installed; `apt-get install universal-ctags` brings it."
_SECONDS = 900

# --- which of its kinds are definitions ---------------------------------------------------------------------------

_LOCAL = "only its own function can see it"
_PARAMETER = "nobody looks up a parameter by itself"
_IMPORTED = "another file defines it"
_TEXT = "a sentence or a mark, not a name"
_DATABASE = "a part of a stored program or a setting of one database"


@dataclass(frozen=True, slots=True)
class Peer:
    """One of our languages as ctags knows it. `left_out` gives the reason for each kind that is not counted.

    `only` holds, for a kind that ctags guesses badly, what the source line must look like. `clauses` says that ctags
    counts every equation of a function, which is one definition to us.
    """

    name: str
    counted: frozenset[str]
    left_out: dict[str, str] = field(default_factory=dict)
    only: dict[str, str] = field(default_factory=dict)
    clauses: bool = False


def _kinds(words: str) -> frozenset[str]:
    return frozenset(words.split())


_C_KINDS = "macro enumerator function enum member prototype struct typedef union variable externvar"
_C_LEFT_OUT = {
    "header": _IMPORTED,
    "label": _LOCAL,
    "local": _LOCAL,
    "macroparam": _PARAMETER,
    "parameter": _PARAMETER,
}
# `TEST_BEGIN(name) {` and `static_assert(sizeof(x) == 4)` use a macro; ctags takes them for functions.
_NO_MACRO_CALL = r"(?!\s*(?:static_assert|[A-Z][A-Z0-9_]+)\s*\()"
_C_ONLY = {"function": _NO_MACRO_CALL, "prototype": _NO_MACRO_CALL}
# A variable in any block is taken for a global one; those at the start of a line surely are. What is bound to a
# `require` is an import: another file defines it.
_SCRIPT_GLOBAL = r"(?!.*=\s*require\()(?:export\s+)?(?:declare\s+)?(?:const|let|var)\s"
_TYPESCRIPT = Peer(
    "TypeScript",
    _kinds("constant generator alias class enumerator function enum interface method namespace property variable"),
    {"local": _LOCAL, "parameter": _PARAMETER},
    # `import { type X, … }` is no alias.
    {"constant": _SCRIPT_GLOBAL, "variable": _SCRIPT_GLOBAL, "alias": r".*\btype\s+[\w$]+\s*(?:[=<]|$)"},
)

PEERS: dict[str, Peer] = {
    "bash": Peer(
        "Sh",
        _kinds("alias function"),
        {"heredoc": _TEXT, "script": _IMPORTED},
        # An empty array, `x=()`, looks like a function to it.
        {"function": r"(?!.*=\(\))"},
    ),
    "c": Peer("C", _kinds(_C_KINDS), _C_LEFT_OUT, _C_ONLY),
    "cpp": Peer(
        "C++",
        _kinds(f"{_C_KINDS} alias class namespace"),
        {**_C_LEFT_OUT, "name": _IMPORTED, "tparam": _PARAMETER, "using": _IMPORTED},
        _C_ONLY,
    ),
    "csharp": Peer(
        "C#",
        _kinds("event class macro enumerator field enum interface method namespace property struct typedef"),
        {"local": _LOCAL},
    ),
    "css": Peer("CSS", _kinds("class id selector")),
    "elixir": Peer(
        "Elixir",
        _kinds("macro callback delegate exception function guard module operator protocol record type"),
        {"implementation": "named after the protocol; we name it after the type it is for", "test": _TEXT},
        clauses=True,
    ),
    "go": Peer(
        "Go",
        _kinds("talias const func interface member methodSpec package struct type var"),
        {
            "anonMember": "an embedded type is a use of its name",
            "packageName": _IMPORTED,
            "receiver": _PARAMETER,
            "unknown": _IMPORTED,
        },
    ),
    "haskell": Peer(
        "Haskell",
        _kinds("constructor function type"),
        {"module": "its name is cut at the first dot"},
        clauses=True,
    ),
    "html": Peer(
        "HTML",
        _kinds("id anchor heading1 heading2 heading3"),
        {"class": "a use of a style", "script": _IMPORTED, "stylesheet": _IMPORTED},
    ),
    "java": Peer(
        "Java", _kinds("annotation class enumConstant field enum interface method package"), {"local": _LOCAL}
    ),
    "javascript": Peer(
        "JavaScript",
        _kinds("constant getter setter class function generator method variable"),
        {
            "field": "nearly any word in the body of a method is taken for one",
            "property": "any key of any object, down to plain data",
        },
        # `this.cache = {}` is a class to it.
        {"constant": _SCRIPT_GLOBAL, "variable": _SCRIPT_GLOBAL, "class": r".*\b(?:class|function)\b"},
    ),
    "kotlin": Peer(
        "Kotlin",
        _kinds("constant typealias class interface method object package variable"),
        # It takes the parameter of a lambda for a method, gives out stray memory as the name of fun `a b`(), and has a
        # name of its own for `companion object {`.
        only={"method": r"[^`]*\bfun\b[^`]*$", "object": r".*\bobject\s+\w"},
    ),
    "lua": Peer("Lua", _kinds("function")),
    "markdown": Peer("Markdown", _kinds("chapter section subsection subsubsection l4subsection l5subsection")),
    "php": Peer(
        "PHP",
        _kinds("class define function interface namespace trait variable"),
        {"alias": _IMPORTED, "local": _LOCAL},
        # The variables of a closure are taken for those of the class around it.
        {"variable": r".*\b(?:public|protected|private|static|readonly|var)\b"},
    ),
    "python": Peer(
        "Python",
        _kinds("class function member variable"),
        {
            "local": _LOCAL,
            "module": _IMPORTED,
            "namespace": _IMPORTED,
            "parameter": _PARAMETER,
            "unknown": _IMPORTED,
        },
    ),
    "ruby": Peer("Ruby", _kinds("accessor constant singletonMethod alias class method module"), {"library": _IMPORTED}),
    "rust": Peer(
        "Rust",
        _kinds("macro method implementation enumerator function enum interface field module struct typedef variable"),
    ),
    "sql": Peer(
        "SQL",
        _kinds("domain field function index package procedure subtype table trigger view"),
        {
            **dict.fromkeys(_kinds("ccflag cursor event mlconn mlprop mltable publication record service"), _DATABASE),
            "label": _LOCAL,
            "local": _LOCAL,
            "prototype": "the function is counted where it stands",
            "synonym": "another name of something counted",
            "variable": _LOCAL,
        },
    ),
    "tsx": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
}

NOT_COMPARED = {
    "json": "ctags lists every value at any depth, we the keys of the outer two levels",
    "yaml": "ctags lists anchors only",
}

_VARIABLES = _kinds("constant variable const var")
_CALLABLE = _kinds("function method func generator singletonMethod getter setter")
# `_` in Go, `<lambda>` in Kotlin.
_UNNAMED = re.compile(r"(_|<\w+>|)$")


# --- what it finds ------------------------------------------------------------------------------------------------


class Tag(NamedTuple):
    """One definition as ctags tells it."""

    path: str
    name: str
    kind: str
    line: int


def parse_tag(text: str, peer: Peer) -> Tag | None:
    """The definition on one line of ctags' JSON, or None when it is none that a person would look up."""
    told = json.loads(text)
    if told.get("_type") != "tag" or told.get("language") != peer.name or told["kind"] not in peer.counted:
        return None
    name, kind = told["name"], told["kind"]
    if _UNNAMED.match(name) or "anonymous" in told.get("extras", ""):
        return None
    if kind in _VARIABLES and told.get("scopeKind") in _CALLABLE:
        return None
    # The pattern is the line itself as a search command: `/^int main(void)$/`.
    source = told.get("pattern", "").removeprefix("/^").removesuffix("/").removesuffix("$")
    if kind in peer.only and not re.match(peer.only[kind], source):
        return None
    return Tag(os.path.normpath(told["path"]), name, kind, told["line"])


def without_clauses(tags: Iterable[Tag]) -> list[Tag]:
    """The tags of each file in order of their lines, less those that go on with the one before: `fib 0 = …`."""
    kept: list[Tag] = []
    for tag in sorted(tags, key=lambda tag: (tag.path, tag.line)):
        if not kept or (tag.path, tag.name, tag.kind) != kept[-1][:3]:
            kept.append(tag)
    return kept


@cache
def peer_of(language: str) -> Peer | None:
    """Return how a language is compared: by its row, or by every kind that ctags has for it; None where it is not."""
    if language in PEERS or language in NOT_COMPARED:
        return PEERS.get(language)
    names = [line.split()[0] for line in _told("--list-languages") if line.strip()]
    known = next((name for name in names if name.lower() == language), None)
    return None if known is None else Peer(known, kinds_of(known))


def kinds_of(name: str) -> frozenset[str]:
    """Return every kind of definition that ctags has for one of its languages."""
    rows = _told("--machinable", f"--list-kinds-full={name}")
    return frozenset(row.split("\t")[1] for row in rows if row and not row.startswith("#"))


def _told(*arguments: str) -> list[str]:
    command = ["ctags", "--options=NONE", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS).stdout.splitlines()


def definitions(peer: Peer, folder: str, paths: Sequence[str]) -> list[Tag]:
    """What ctags finds in these files of a folder."""
    command = [
        "ctags",
        # First, or a `.ctags.d` in the repository would be obeyed.
        "--options=NONE",
        f"--language-force={peer.name}",
        f"--kinds-{peer.name}={''.join(f'{{{kind}}}' for kind in sorted(peer.counted))}",
        "--output-format=json",
        "--fields=+nKlsZPE",
        "--sort=no",
        "-f-",
        "-L-",
    ]
    names = os.fsencode("".join(f"./{path}\n" for path in paths))
    told = subprocess.run(command, cwd=folder, input=names, capture_output=True, check=True, timeout=_SECONDS)
    tags = (parse_tag(line, peer) for line in told.stdout.decode("utf-8", "replace").split("\n") if line)
    found = [tag for tag in tags if tag is not None]
    return without_clauses(found) if peer.clauses else found


def is_there() -> bool:
    """Whether the `ctags` of this machine is the universal one."""
    try:
        told = subprocess.run(["ctags", "--version"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return b"Universal Ctags" in told.stdout
