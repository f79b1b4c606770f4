"""Say an answer as a colleague would paste it: what is unusual in one line of JSON, and the results as plain lines.

Made of an envelope that was built and shielded before, so that both forms say the same. A gate or an error stays the
whole envelope. Code is indented below the place that it is from, which begins a line: no text of a repository can look
like another place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from cairn.answer.envelope import encode
from cairn.core.text import plain, shown
from cairn.search.budget import tokens_in

Row = Mapping[str, Any]

# The fields of an answer that are always said, and those that are said when they hold something.
_UNUSUAL = ("redactedLines", "limitsHit", "warnings", "hints")
# How an answer came to be as fresh as it can be: nothing to tell.
_CURRENT = frozenset({"synced", "skipped_recent", "overlay"})
_MOST_NOTES = 3
# A long signature says no more than its beginning.
_MOST_CODE = 160
_MOST_NUMBERS = 30
_PROVEN = "proven"
_WEAK = frozenset({"imports", "near"})
_NAME_ONLY = "name_only"
_EXACT = "exact"
_IMPORT = "import"
# `as x`, `{ a: b }`, `x = require(...)`: what is imported may have another name here.
_AS = re.compile(r"\bas\b|[:=]")
_PART = re.compile(r"[^#]*$")


class Pasted(NamedTuple):
    """An answer for an agent: the line about it, and the lines of it (empty when the line is all there is)."""

    head: str
    text: str


def pasted(envelope: Row) -> Pasted:
    """Return an answer in the form that agents read; what is no list of places stays as it is."""
    kind = envelope["schema"].partition("/")[0]
    lines = _LINES.get(kind)
    if envelope["status"] == "ok" and lines is not None:
        return Pasted(encode(_head(envelope)), "\n".join(lines(envelope)))
    if "candidates" in envelope:
        # Nothing of that name, or several.
        return Pasted(encode(_head(envelope)), "\n".join(_symbols(envelope["candidates"])))
    return Pasted(encode(envelope), "")


def _head(envelope: Row) -> dict[str, Any]:
    """Return what an agent should know of an answer before it reads it."""
    unusual = [name for name in _UNUSUAL if envelope.get(name)]
    head: dict[str, Any] = {"status": envelope["status"]}
    if "message" in envelope:
        head["message"] = envelope["message"]
    snapshot, freshness, coverage = (envelope.get(name, {}) for name in ("snapshot", "freshness", "coverage"))
    if snapshot:
        head["snapshot"] = snapshot["id"]
    if snapshot.get("degraded"):
        head["degraded"] = True
    if freshness and freshness["mode"] not in _CURRENT:
        head["freshness"] = freshness["mode"]
    if coverage.get("exhaustive"):
        head["exhaustive"] = True
        if not envelope.get("results"):
            # What was not looked at may hold what was not found.
            head |= {"indexed": coverage["indexed"], "skipped": coverage["skipped"]}
    found = head | {name: envelope[name] for name in unusual}
    if "tokens" in envelope:
        # The last line of a map says what was left off.
        found.pop("limitsHit", None)
    elif "continuation" in envelope.get("hints", {}) and len(found.get("limitsHit", ())) == 1:
        # What was left off is on the next page.
        found["left"] = found.pop("limitsHit")[0]["left"]
    return found


def within(rows: Sequence[Row | str], tokens: int | None) -> int:
    """Return how many leading rows have about so many tokens when they are said as lines: all without a number.

    The first one always counts, so that there is a next page.
    """
    if tokens is None:
        return len(rows)
    before = None
    for number, row in enumerate(rows):
        path = None if isinstance(row, str) else _path(row)
        if path is not None and path == before and _is_number(row):
            tokens -= tokens_in(f"{row['line']},")  # type: ignore[index]
        else:
            # A file is named once for all rows that follow each other in it.
            tokens -= tokens_in(path) if path is not None and path != before else 0
            tokens -= tokens_in(row if isinstance(row, str) else _said(row)) + 1
        before = path
        if tokens < 0:
            return max(number, 1)
    return len(rows)


def _is_test(path: str) -> bool:
    # Imported when there is something to say: a server says hello before it loads what searches.
    from cairn.search.places import is_test  # noqa: PLC0415

    return is_test(path)


def tokens_of(rows: Sequence[Row | str]) -> int:
    """Return about how many tokens rows have when they are said as lines, each with its file."""
    return sum(tokens_in(row if isinstance(row, str) else f"{_path(row)} {_said(row)}") + 1 for row in rows)


def _is_number(row: Row | str) -> bool:
    """Whether a use that follows another in its file is said by its line alone."""
    return not isinstance(row, str) and "tier" in row and "line" in row and _is_test(row["path"])


def _path(row: Row) -> str:
    found: str = row.get("path") or row.get("site", {}).get("path", "")
    return found


def _said(row: Row) -> str:
    """Return about what a row is as a line, without its file."""
    text = row.get("text", "")
    code = text if isinstance(text, str) else _signature(row)
    names = (row.get("symbol"), row.get("inside"), row.get("src"), row.get("dst"))
    return " ".join((str(row.get("line", "12-34")), *filter(None, names), plain(code.strip(), _MOST_CODE)))


# --- parts of lines ---------------------------------------------------------------------------------------------------


def _span(row: Row) -> str:
    first, last = row["startLine"], row["endLine"]
    return f"{first}" if first == last else f"{first}-{last}"


def _line(place: str, name: str, code: str) -> str:
    """Return `place name | code`, without the parts that are empty."""
    text = f"{place} {plain(name)}" if name else place
    return f"{text} | {plain(code.strip(), _MOST_CODE)}" if code else text


def _grouped(rows: Iterable[Row], rest: Callable[[Row], tuple[str, str, str]]) -> Iterator[str]:
    """Yield the rows of a list by file; `rest` gives the lines, the name and the code of one."""
    for path, own in groupby(rows, lambda row: str(row["path"])):
        inside = list(own)
        if len(inside) == 1:
            where, name, code = rest(inside[0])
            yield _line(f"{plain(path)}:{where}", name, code)
            continue
        yield plain(path)
        for row in inside:
            yield "  " + _line(*rest(row))


def _signature(row: Row) -> str:
    text = row.get("text", {})
    found: str = text.get("signature") or text.get("name", "")
    return found


def _symbols(rows: Iterable[Row]) -> Iterator[str]:
    """Yield definitions: where each is, its name, and how it is written."""
    yield from _grouped(rows, lambda row: (_span(row), row.get("symbol", ""), _signature(row)))


# --- answers by their kind --------------------------------------------------------------------------------------------


def _search(envelope: Row) -> Iterator[str]:
    for row in envelope["results"]:
        around, extracts = row.get("definition"), row.get("extracts", ())
        lines = {line for one in extracts for line in range(one["startLine"], one["endLine"] + 1)}
        if around is None:
            yield from _found(row, extracts, lines)
            continue
        is_whole = around["startLine"] in lines
        code = "" if is_whole else around["text"]
        yield _line(f"{plain(row['path'])}:{_span(around)}", row.get("symbol", ""), code)
        yield from _extracts(extracts, is_whole=is_whole)


def _found(row: Row, extracts: Sequence[Row], lines: Collection[int]) -> Iterator[str]:
    """Yield lines that are in no definition, or that were found one by one."""
    path = plain(row["path"])
    others = [line for line in row.get("matchLines", ()) if line not in lines] if lines else []
    if len(lines) == 1 and not others:
        yield _line(f"{path}:{extracts[0]['startLine']}", "", extracts[0]["text"])
        return
    inside = all(row["startLine"] <= line <= row["endLine"] for line in lines) and not others
    yield f"{path}:{_span(row)}" if inside else path
    yield from _extracts(extracts, is_whole=False)
    if others:
        more = f" and {len(others) - _MOST_NUMBERS} more" if len(others) > _MOST_NUMBERS else ""
        yield f"  also {', '.join(map(str, others[:_MOST_NUMBERS]))}{more}"
    if left := row.get("matchLinesLeft"):
        yield f"  and {left:,} more lines of this file; with groupBy none they are on pages"


def _extracts(extracts: Sequence[Row], *, is_whole: bool) -> Iterator[str]:
    """Yield a definition as it is written, or single lines of it with their numbers."""
    lines = [(n, code) for one in extracts for n, code in enumerate(shown(one["text"]).split("\n"), one["startLine"])]
    if is_whole:
        blank = min((len(code) - len(code.lstrip()) for _, code in lines if code.strip()), default=0)
        yield from (f"  {code[blank:]}".rstrip() for _, code in lines)
    else:
        yield from (f"  {number}: {plain(code.strip(), _MOST_CODE)}" for number, code in lines)


def _definitions(envelope: Row) -> Iterator[str]:
    rows = envelope["results"]
    exact = [row for row in rows if row.get("way") == _EXACT]
    if rows and not exact:
        yield "nothing has exactly this name; these are near it"
    yield from _symbols(exact or rows)
    if exact and len(exact) < len(rows):
        others = dict.fromkeys(row.get("symbol", "") for row in rows if row.get("way") != _EXACT)
        yield f"similar names: {', '.join(plain(name) for name in others if name)}"


def _uses(envelope: Row) -> Iterator[str]:
    yield from _symbols(envelope["definitions"])
    rows = envelope["results"]
    surer = any(row["tier"] != _NAME_ONLY for row in rows)
    for (kind, tier), own in groupby(rows, lambda row: (row["kind"], row["tier"])):
        yield f"{kind}, {tier}"
        if tier == _NAME_ONLY and surer:
            yield from _numbers(own)
        else:
            yield from _used(own)
    counts = envelope["counts"]
    besides = []
    if counts["nameOnly"] and not any(row["tier"] == _NAME_ONLY for row in rows):
        besides.append(f"{counts['nameOnly']} name_only (minTier)")
    if counts["mentions"]:
        besides.append(f"{counts['mentions']} mentions in comments or texts")
    if besides:
        yield f"besides: {', '.join(besides)}"
    if others := envelope.get("candidates"):
        yield "others of this name"
        yield from _grouped(others, lambda row: (_span(row), row.get("symbol", ""), ""))


def _used(rows: Iterable[Row]) -> Iterator[str]:
    """Yield uses with their code: of a test file the first one alone, and of an import only what it is called."""
    for path, own in groupby(rows, lambda row: str(row["path"])):
        inside = list(own)
        told = inside[:1] if _is_test(path) else inside
        yield from _grouped(told, lambda row: (str(row["line"]), row.get("inside", ""), _code_of_use(row)))
        if more := inside[len(told) :]:
            yield f"{plain(path)}:{','.join(str(row['line']) for row in more)}"


def _code_of_use(row: Row) -> str:
    # What is imported under its own name says its name again.
    return "" if row["kind"] == _IMPORT and not _AS.search(row["text"]) else row["text"]


def _numbers(rows: Iterable[Row]) -> Iterator[str]:
    """Yield one line for each file, with the numbers of its lines."""
    for path, own in groupby(rows, lambda row: str(row["path"])):
        yield f"{plain(path)}:{','.join(str(row['line']) for row in own)}"


def _graph(envelope: Row) -> Iterator[str]:
    nodes = {node["symbolId"]: node for node in envelope["nodes"]}
    root = nodes[envelope["graph"]["symbolId"]]
    yield from _symbols([root]) if "startLine" in root else [plain(root["path"])]
    edges = [{**edge, "path": edge["site"]["path"]} for edge in envelope["edges"]]
    yield from _grouped(edges, lambda edge: _edge(edge, root, nodes.get(edge["dst"], {})))
    ends = {end for edge in envelope["edges"] for end in (edge["src"], edge["dst"])} | {root["symbolId"]}
    yield from _symbols(node for name, node in nodes.items() if name not in ends and "startLine" in node)
    notes = envelope["notes"]
    for note in notes[:_MOST_NOTES]:
        yield _line(f"{note['type']} {plain(note['file'])}:{note['startLine']}", "", note.get("text") or note["detail"])
    if (left := envelope["totalNoteCount"] - min(len(notes), _MOST_NOTES)) > 0:
        yield f"{left} more notes on what could not be resolved"
    if others := envelope.get("candidates"):
        yield "others of this name"
        yield from _grouped(others, lambda row: (_span(row), row.get("symbol", ""), ""))


def _edge(edge: Row, root: Row, to: Row) -> tuple[str, str, str]:
    """Return the line of a call, what calls what, and its code; the definition that was asked about is not repeated."""
    from_root, to_root = edge["src"] == root["symbolId"], edge["dst"] == root["symbolId"]
    parts = [] if from_root else [_name(edge["src"])]
    parts += [] if to_root and not from_root else ["->", _name(edge["dst"])]
    if not to_root and "startLine" in to:
        parts.append(f"({'' if to['path'] == edge['path'] else to['path']}:{_span(to)})")
    parts += [] if edge["tier"] == _PROVEN else [f"[{edge['tier']}]"]
    parts += [f"x{edge['count']}"] if edge["count"] > 1 else []
    return str(edge["site"]["line"]), " ".join(parts), edge["text"]


def _name(symbol_id: str) -> str:
    found = _PART.search(symbol_id)
    return found[0] if found else symbol_id


def _outline(envelope: Row) -> Iterator[str]:
    yield plain(envelope["file"]["path"])
    for row in envelope["results"]:
        yield f"  {_span(row)} {'  ' * row['depth']}{plain(_signature(row))}"


def _passage(envelope: Row) -> Iterator[str]:
    file = envelope["file"]
    yield f"{plain(file['path'])}:{envelope['startLine']}-{envelope['endLine']} of {file['lines']}"
    for row in envelope.get("symbols", ()):
        yield f"in {_span(row)} {plain(_signature(row))}"
    yield shown(envelope["text"])


def _explored(envelope: Row) -> Iterator[str]:
    one, body = envelope["definition"], envelope["body"]
    yield _line(f"{plain(one['path'])}:{_span(one)}", one.get("symbol", ""), "")
    yield from (f"  {code}".rstrip() for code in shown(body["text"]).split("\n"))
    if body["endLine"] < one["endLine"]:
        yield f"  … to line {one['endLine']}"
    for name in ("callers", "heirs"):
        if rows := envelope.get(name):
            yield name
            yield from _grouped(rows, lambda row: (str(row["line"]), row.get("inside", ""), row["text"]))
    if callees := envelope.get("callees"):
        yield "calls"
        yield from _symbols(callees)
    for name, title in (("tests", "tests that reach it"), ("candidates", "others of this name")):
        if rows := envelope.get(name):
            yield title
            yield from _grouped(rows, lambda row: (_span(row), row.get("symbol", ""), ""))
    if hits := [{**row, **row["definition"]} for row in envelope.get("found", ()) if "definition" in row]:
        yield "answers too"
        yield from _grouped(hits, lambda row: (_span(row), row.get("symbol", ""), row["text"]))


def _impact(envelope: Row) -> Iterator[str]:
    if rows := envelope["changed"]:
        yield from _grouped(rows, lambda row: (_span(row), _change(row), _signature(row)))
    for name, title in (("callers", "callers"), ("heirs", "in its place")):
        if rows := envelope[name]:
            yield title
            yield from _grouped(rows, lambda row: (str(row["line"]), row.get("symbol", ""), row.get("text", "")))
    if rows := envelope["importers"]:
        yield "imported by"
        yield from (plain(row["path"]) for row in rows)
    rows = envelope["results"]
    # What calls or names a definition tests it; where there is such a test, the others are only counted.
    close = [row for row in rows if row["reason"] not in _WEAK] or rows
    if rows:
        yield "tests to run"
        yield from (_line(plain(row["path"]), "", row["reason"]) for row in close)
    if further := len(rows) - len(close):
        yield f"{further} more test files only import its file or lie near it"


def _change(row: Row) -> str:
    if "change" not in row:
        return str(row.get("symbol", ""))
    was = f", was {plain(row['oldName'])}" if "oldName" in row else ""
    return f"{row.get('symbol', '')} [{row['change']}{was}]".strip()


def _map(envelope: Row) -> Iterator[str]:
    yield shown(envelope["text"])


_LINES: Mapping[str, Callable[[Row], Iterator[str]]] = {
    "cairn.search": _search,
    "cairn.symbol": _definitions,
    "cairn.refs": _uses,
    "cairn.graph": _graph,
    "cairn.outline": _outline,
    "cairn.read": _passage,
    "cairn.map": _map,
    "cairn.explore": _explored,
    "cairn.impact": _impact,
}
