"""The questions of every tool that reads, how each is typed on a terminal, and what is wrong with an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

from bench.oracle_tree import CLASSES, FUNCTIONS, NAMES, Truth

Answer = dict[str, Any]
MOST = 50
_MAP_LINE = re.compile(r"^ *(\d+): (?:def|class) (\w+)")


class Question(NamedTuple):
    """A question to a tool, the same as a command, and what is wrong with an answer to it (empty: nothing)."""

    kind: str
    tool: str
    arguments: dict[str, Any]
    typed: tuple[str, ...]
    wrong: Callable[[Answer, Truth], str]


def question(kind: str, truth: Truth, chance: Random) -> Question:
    """A question of this kind about something that is in the tree, was, or may come."""
    return KINDS[kind](truth, chance)


def _search(kind: str, query: str, mode: str, wrong: Callable[[Answer, Truth], str]) -> Question:
    arguments = {"query": query, "mode": mode, "limit": MOST, "maxTokens": 20_000, "groupBy": "none"}
    typed = ("search", query, "--mode", mode, "-k", str(MOST), "--group", "none")
    return Question(
        kind, "search_codebase", arguments, typed, lambda said, truth: shown(said, truth) or wrong(said, truth)
    )


# --- what is wrong ----------------------------------------------------------------------------------------------------


def shown(said: Answer, truth: Truth) -> str:
    """What is shown must stand in the files, word for word."""
    for row in said.get("results", ()):
        lines = truth.lines.get(row["path"])
        if lines is None:
            return f"it shows {row['path']}, which is not there"
        text = row.get("text")
        if isinstance(text, str) and text:
            there = "\n".join(lines[row["startLine"] - 1 : row["endLine"]])
            if text.rstrip("\n") != there.rstrip("\n"):
                return f"it shows other lines of {row['path']} than there are"
        if (told := row.get("sha256")) and told != _digest(truth, row["path"]):
            return f"it names another hash of {row['path']}"
    return ""


def differing(kind: str, told: set[Any], there: set[Any]) -> str:
    if told == there:
        return ""
    return f"{kind}: missing {sorted(there - told)[:4]}, not there {sorted(told - there)[:4]}"


def _digest(truth: Truth, path: str) -> str:
    return sha256(truth.files[path].encode()).hexdigest()


def _is_cut(said: Answer) -> bool:
    return any(hit["field"] in ("results", "nodes", "edges", "text") for hit in said.get("limitsHit", ()))


# --- the kinds --------------------------------------------------------------------------------------------------------


def _word(truth: Truth, chance: Random) -> str:
    """A word of a file, rarely of one that is left out or of none."""
    texts = truth.files if chance.random() < 0.85 else truth.everything
    words: list[str] = sorted({word for text in texts.values() for word in re.findall(r"tok_\d{8}", text)})
    # The latest are those of the last steps.
    return chance.choice(words[-6:] if words and chance.random() < 0.6 else [*words, "tok_99999999"])


def _path(truth: Truth, chance: Random) -> str:
    code = [path for path in truth.everything if path.endswith((".py", ".sh", ".md"))]
    return chance.choice(sorted({*NAMES, *code}))


def _name(truth: Truth, chance: Random) -> str:
    names = sorted({one.name for one in truth.definitions})
    return chance.choice(names if names and chance.random() < 0.8 else [*FUNCTIONS, *CLASSES])


def _regex(truth: Truth, chance: Random) -> Question:
    word = _word(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        told = {(row["path"], line) for row in said["results"] for line in row["matchLines"]}
        return "" if _is_cut(said) else differing(word, told, truth.places(word))

    return _search("regex", word, "regex", wrong)


def _words(truth: Truth, chance: Random) -> Question:
    word = _word(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        told, there = {row["path"] for row in said["results"]}, {path for path, _ in truth.places(word)}
        return f"{word}: missing {sorted(there - told)[:4]}" if there - told else ""

    return _search("words", word, chance.choice(("hybrid", "lexical")), wrong)


def _symbol(truth: Truth, chance: Random) -> Question:
    name = _name(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        told = {(row["path"], row["startLine"]) for row in said["results"] if row["symbol"].split(".")[-1] == name}
        return "" if _is_cut(said) else differing(name, told, _definitions(truth, name))

    return _search("symbol", name, "symbol", wrong)


def _paths(truth: Truth, chance: Random) -> Question:
    path = _path(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        told = {row["path"] for row in said["results"]}
        if path in truth.files and path not in told:
            return f"{path} is missing"
        return f"{path} is not there" if path in told and path not in truth.files else ""

    return _search("path", path, "path", wrong)


def _definitions(truth: Truth, name: str) -> set[tuple[str, int]]:
    return {(one.path, one.line) for one in truth.definitions if one.name == name}


def _find(truth: Truth, chance: Random) -> Question:
    name = _name(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        told = {(row["path"], row["startLine"]) for row in said["results"] if row["symbol"].split(".")[-1] == name}
        return _rows(said, truth) or ("" if _is_cut(said) else differing(name, told, _definitions(truth, name)))

    return Question("find", "find_symbol", {"name": name, "limit": MOST}, ("symbol", name, "-k", str(MOST)), wrong)


def _rows(said: Answer, truth: Truth) -> str:
    """Every definition that is named stands there."""
    there = {(one.path, one.line, one.symbol) for one in truth.definitions}
    for row in said.get("results", ()):
        if (row["path"], row["startLine"], row["symbol"]) not in there and row["path"].endswith(".py"):
            return f"{row['path']}:{row['startLine']} does not define {row['symbol']}"
    return ""


def _refs(truth: Truth, chance: Random) -> Question:
    name = chance.choice(sorted({one.name for one in truth.calls}) or FUNCTIONS)

    def wrong(said: Answer, truth: Truth) -> str:
        defined = _definitions(truth, name)
        if said["status"] == "not_found":
            return f"{name} is defined at {sorted(defined)[:3]}" if defined else ""
        told = {(row["path"], row["line"]) for row in said["results"]}
        for path, line in told:
            lines = truth.lines.get(path, [])
            if len(lines) < line or name not in lines[line - 1]:
                return f"{path}:{line} does not name {name}"
        there = {(one.path, one.line) for one in truth.calls if one.name == name}
        missing = there - told
        return f"{name}: missing {sorted(missing)[:4]}" if missing and not _is_cut(said) else ""

    arguments = {"name": name, "references": True, "limit": MOST}
    return Question("refs", "find_symbol", arguments, ("refs", name, "-k", str(MOST)), wrong)


def _outline(truth: Truth, chance: Random) -> Question:
    path = _path(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        if said["status"] == "not_found":
            return f"{path} is there" if path in truth.files else ""
        if path not in truth.files:
            return f"{path} is not there"
        if (told := said["file"].get("sha256")) and told != _digest(truth, path):
            return f"it names another hash of {path}"
        there = {(one.symbol, one.line) for one in truth.definitions if one.path == path}
        return differing(path, {(row["symbol"], row["startLine"]) for row in said["results"]}, there)

    return Question("outline", "file_outline", {"file": path, "limit": MOST}, ("outline", path), wrong)


def _read(truth: Truth, chance: Random) -> Question:
    path = _path(truth, chance)

    def wrong(said: Answer, truth: Truth) -> str:
        if said["status"] == "not_found":
            return f"{path} is there" if path in truth.files else ""
        if path not in truth.files:
            return f"{path} is not there"
        return "" if said["text"].rstrip("\n") == truth.files[path].rstrip("\n") else f"the text of {path} is another"

    return Question("read", "read_file", {"file": path, "maxTokens": 100_000}, ("read", path), wrong)


def _graph(truth: Truth, chance: Random) -> Question:
    names = [one.name for one in truth.definitions if one.name.startswith("fn_")]
    once = sorted(name for name in set(names) if names.count(name) == 1)
    name = chance.choice(once or FUNCTIONS)

    def wrong(said: Answer, truth: Truth) -> str:
        defined = _definitions(truth, name)
        if said["status"] == "not_found":
            return f"{name} is defined at {sorted(defined)[:3]}" if defined else ""
        there = {(one.path, one.line, one.symbol) for one in truth.definitions}
        for row in said["nodes"]:
            if (row["path"], row["startLine"], row["symbol"]) not in there:
                return f"{row['path']}:{row['startLine']} does not define {row['symbol']}"
        for edge in said["edges"]:
            path, line = edge["site"]["path"], edge["site"]["line"]
            called = edge["dst"].rpartition("#")[2].split(".")[-1]
            lines = truth.lines.get(path, [])
            if len(lines) < line or called not in lines[line - 1]:
                return f"{path}:{line} does not call {called}"
        sites = {(edge["site"]["path"], edge["site"]["line"]) for edge in said["edges"]}
        calls = {(one.path, one.line) for one in truth.calls if one.name == name and one.inside}
        # Of several calls in one function an edge names the first; ours call once.
        missing = calls - sites if len(defined) == 1 else set()
        return f"{name}: callers missing at {sorted(missing)[:4]}" if missing and not _is_cut(said) else ""

    arguments = {"symbol": name, "limit": 200, "minTier": "name_only"}
    return Question("graph", "call_graph", arguments, ("graph", name, "-k", "200", "--min-tier", "name_only"), wrong)


def _map(truth: Truth, chance: Random) -> Question:
    del truth, chance

    def wrong(said: Answer, truth: Truth) -> str:
        there = {(one.path, one.line, one.name) for one in truth.definitions}
        path = ""
        for line in said["text"].split("\n"):
            if line in truth.everything:
                path = line
            elif (found := _MAP_LINE.match(line)) and (path, int(found[1]), found[2]) not in there:
                return f"{path}:{found[1]} does not define {found[2]}"
        told = {row["path"] for row in said["results"]}
        if told - truth.files.keys():
            return f"not there: {sorted(told - truth.files.keys())[:4]}"
        count = int(said["text"].split(" ", 1)[0].replace(",", ""))
        return f"{count} files instead of {len(truth.files)}" if count != len(truth.files) else ""

    return Question("map", "repo_map", {"maxTokens": 4_000}, ("map", "--max-tokens", "4000"), wrong)


KINDS: dict[str, Callable[[Truth, Random], Question]] = {
    "regex": _regex,
    "words": _words,
    "symbol": _symbol,
    "path": _paths,
    "find": _find,
    "refs": _refs,
    "outline": _outline,
    "read": _read,
    "graph": _graph,
    "map": _map,
}


# --- the verdict ------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """What is to be said of an answer: `right`, `warned` (wrong, and it says so), or a fault."""

    name: str
    why: str = ""


RIGHT, WARNED, REFUSED = "right", "warned", "refused"
LIED, UNSAID, BROKEN = "wrong exhaustive", "unsaid staleness", "error"
FAULTS: Sequence[str] = (LIED, UNSAID, BROKEN)


def judged(said: Answer, asked: Question, truth: Truth) -> Verdict:
    """Hold an answer against the files."""
    status = said["status"]
    if status == "error":
        return Verdict(BROKEN, f"{said['error']['code']}: {said['error']['message']}")
    if status not in ("ok", "not_found"):
        return Verdict(REFUSED, status)
    why = asked.wrong(said, truth)
    if not why:
        return Verdict(RIGHT)
    if said.get("coverage", {}).get("exhaustive"):
        return Verdict(LIED, why)
    return Verdict(WARNED, why) if said["warnings"] else Verdict(UNSAID, why)
