"""Build responses: every `--json` and every answer to an agent is an `Envelope` made here.

An envelope is bounded: a list that does not fit is cut at a whole item, and `limitsHit` says so with the counts. Text
that comes from a repository stands in fields for names only; what is written for people to read (`message`, `sentence`,
`warnings`, `hints`) is short and has its control and direction characters made visible. The shapes are the JSON Schemas
in the folder `schemas`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from cairn.ask.gate import Status
from cairn.core.limits import DEFAULT_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES
from cairn.core.text import _UNSAFE, plain
from cairn.core.types import SKIP_SENTENCES, SkipReason
from cairn.errors import CairnError

SCHEMAS = (
    "cairn.error/1",
    "cairn.compact/1",
    "cairn.engine/1",
    "cairn.files/1",
    "cairn.why/1",
    "cairn.run/1",
    "cairn.status/1",
    "cairn.snapshots/1",
    "cairn.stores/1",
    "cairn.list/1",
    "cairn.health/1",
    "cairn.doctor/1",
    "cairn.audit/1",
    "cairn.repair/1",
    "cairn.search/1",
    "cairn.outline/1",
    "cairn.read/1",
    "cairn.symbol/1",
    "cairn.similar/1",
    "cairn.map/1",
    "cairn.refs/1",
    "cairn.graph/1",
    "cairn.local/1",
    "cairn.grep/1",
    "cairn.impact/1",
    "cairn.explore/1",
    "cairn.gate/1",
    "cairn.rename/1",
    "cairn.decision/1",
    "cairn.undo/1",
    "cairn.eval/1",
    "cairn.gc/1",
    "cairn.upgrade/1",
    "cairn.install/1",
    "cairn.daemon/1",
    "cairn.contexts/1",
    "cairn.jobs/1",
    "cairn.refresh/1",
)

# A path that the system opens has at most 4,096 bytes; only a question can hold a longer one.
MAX_PATH_CHARS = 4_096
MAX_WARNINGS = 20
MAX_HINTS = 10
MAX_CHAIN = 64
MAX_TWINS_SHOWN = 4

ELIGIBLE_SENTENCE = "It belongs in the index: no rule leaves it out."

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A response. `body` holds the fields after `codebaseRoot`, in the order in which they are written."""

    schema: str
    status: Status
    path: str | None
    root: str | None
    body: tuple[tuple[str, Any], ...] = ()

    def to_json(self) -> str:
        """Return one line of JSON: always the same for the same envelope, and safe to print on a terminal."""
        head = {"schema": self.schema, "status": self.status.value, "path": self.path, "codebaseRoot": self.root}
        text = encode(head | dict(self.body))
        assert len(text.encode()) <= MAX_ENVELOPE_BYTES, "a builder let a field grow without bound"
        return text

    def to_lines(self) -> Iterator[str]:
        """Yield each result as a line of JSON, and at last the envelope without them, in which `end` is true."""
        yield from map(encode, dict(self.body).get("results", ()))
        yield self.ended().to_json()

    def ended(self) -> Envelope:
        """Return the last line of an answer in lines: this envelope without its results, and `end`."""
        body = {"end": True, **dict(self.body)}
        body.pop("results", None)
        return replace(self, body=tuple(body.items()))


class FileRow(NamedTuple):
    """An eligible file."""

    path: str
    size: int
    language: str | None


class SkipRow(NamedTuple):
    """A name that is left out; the caller makes `path` printable when it is not UTF-8."""

    path: str
    reason: SkipReason
    detail: str = ""
    folder: bool = False


class RuleRow(NamedTuple):
    """A line of an ignore file, or a setting (which has no line)."""

    source: str
    line: int | None
    pattern: str


class ChainLink(NamedTuple):
    """What was decided about a folder on the way to a path, or about the path itself."""

    path: str
    taken: bool
    rule: RuleRow | None = None


# --- builders ---------------------------------------------------------------------------------------------------------


def ok(schema: str, *, path: str | None, root: str | None, body: Iterable[tuple[str, Any]]) -> Envelope:
    """Return an answer; the caller has bounded what the body holds."""
    return Envelope(schema, Status.OK, asked(path), asked(root), tuple(body))


def error(
    exc: CairnError, *, path: str | None = None, root: str | None = None, ask_id: str | int | None = None
) -> Envelope:
    """Return a failure: the error's code and sentence, its fields as details, and what to do next as a hint."""
    problem = {
        "code": exc.code,
        "message": plain(exc.sentence),
        "retryable": exc.retryable,
        "details": {name: _detail(value) for name, value in sorted(exc.fields.items())},
    }
    hints = {"next": plain(exc.advice)} if exc.advice else {}
    body: tuple[tuple[str, Any], ...] = (("error", problem), ("warnings", []), ("hints", hints))
    if ask_id is not None:
        body = (("id", ask_id), *body)
    return Envelope("cairn.error/1", Status.ERROR, asked(path), asked(root), body)


def file_list(
    *,
    path: str,
    root: str,
    eligible: Sequence[FileRow],
    skipped: Sequence[SkipRow],
    show_skipped: bool = False,
    collisions: Sequence[Sequence[str]] = (),
    warnings: Sequence[str] = (),
    hints: Mapping[str, str] | None = None,
    after: str | None = None,
    budget: int = DEFAULT_ENVELOPE_BYTES,
) -> Envelope:
    """Return one page of the eligible files, and of the skips if asked for, together in order of path.

    `coverage` counts the whole tree whatever the page holds. While something is left, `continuation` is the path to
    pass as `after`; a page holds at least one path, so paging ends. Only such a lone path can exceed the budget.
    """
    budget = min(budget, MAX_ENVELOPE_BYTES)
    rows: list[FileRow | SkipRow] = [*eligible, *(skipped if show_skipped else ())]
    if after is not None:
        rows = [row for row in rows if row.path > after]
    rows.sort(key=lambda row: row.path)
    groups = [{"paths": list(group[:MAX_TWINS_SHOWN]), "count": len(group)} for group in collisions]
    shown_groups = fit(groups, budget // 4)
    skip_counts = Counter(row.reason.value for row in skipped)
    empty = ok(
        "cairn.files/1",
        path=path,
        root=root,
        body=[
            ("coverage", {"eligible": len(eligible), "skipped": dict(sorted(skip_counts.items()))}),
            ("results", []),
            ("skipped", []),
            ("collisions", shown_groups),
            *tail(warnings, cut("collisions", len(shown_groups), len(groups))),
            ("hints", {name: plain(text) for name, text in list((hints or {}).items())[:MAX_HINTS]}),
        ],
    )
    return _fill(empty, rows, budget)


def _fill(empty: Envelope, rows: list[FileRow | SkipRow], budget: int) -> Envelope:
    """Return the envelope with as many rows as the budget allows, but at least the first path."""
    room = budget - len(empty.to_json().encode())
    count = len(fit(map(_row, rows), room))
    if count < len(rows):
        # Make room for `continuation` and `limitsHit`.
        count = len(fit(map(_row, rows), room - len(encode(rows[count - 1].path).encode()) - 200))
    while True:
        # Twins that share a key stay on one page: `after` could not tell them apart.
        while 0 < count < len(rows) and rows[count].path == rows[count - 1].path:
            count += 1
        page = _with_rows(empty, rows[:count], rows[count:])
        first_path_only = count == 0 or rows[count - 1].path == rows[0].path
        if first_path_only or len(page.to_json().encode()) <= budget:
            return page
        # The last path needs more than the reserve for `continuation`: take that path off the page.
        last = rows[count - 1].path
        while rows[count - 1].path == last:
            count -= 1


def _with_rows(empty: Envelope, shown: list[FileRow | SkipRow], left: list[FileRow | SkipRow]) -> Envelope:
    fields = dict(empty.body)
    fields["results"] = [_row(row) for row in shown if isinstance(row, FileRow)]
    fields["skipped"] = [_row(row) for row in shown if isinstance(row, SkipRow)]
    files_left = sum(isinstance(row, FileRow) for row in left)
    for name, missing in (("results", files_left), ("skipped", len(left) - files_left)):
        hit = cut(name, len(fields[name]), len(fields[name]) + missing)
        fields["limitsHit"] = [*fields["limitsHit"], hit] if hit else fields["limitsHit"]
    if left:
        fields["continuation"] = shown[-1].path
    return replace(empty, body=tuple(fields.items()))


def why(
    *,
    path: str,
    root: str,
    file: str,
    reason: SkipReason | None,
    detail: str = "",
    rule: RuleRow | None = None,
    chain: Sequence[ChainLink] = (),
) -> Envelope:
    """Return whether one path is indexed (`reason` is None) or left out, by which rule, and the decisions before it."""
    links = [{"path": link.path, "taken": link.taken, "rule": _rule(link.rule)} for link in chain[:MAX_CHAIN]]
    hit = cut("chain", len(links), len(chain))
    return ok(
        "cairn.why/1",
        path=path,
        root=root,
        body=[
            ("file", asked(file)),
            ("outcome", "eligible" if reason is None else "skipped"),
            ("reason", None if reason is None else reason.value),
            ("sentence", ELIGIBLE_SENTENCE if reason is None else SKIP_SENTENCES[reason]),
            ("detail", plain(detail)),
            ("rule", _rule(rule)),
            ("chain", links),
            ("limitsHit", [hit] if hit else []),
            ("warnings", []),
            ("hints", {}),
        ],
    )


# --- bounds and text --------------------------------------------------------------------------------------------------


def fit(items: Iterable[T], budget: int) -> list[T]:
    """Return as many leading items as take at most `budget` bytes in a JSON list, but at least one if there is one."""
    taken: list[T] = []
    for item in items:
        budget -= len(encode(item).encode()) + 1
        if budget < 0 and taken:
            break
        taken.append(item)
    return taken


def encode(value: object) -> str:
    """Return compact JSON; unsafe characters are written as escapes, which keeps names intact and terminals safe."""
    return _UNSAFE.sub(_json_escape, json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False))


def _json_escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    if 0xD800 <= point <= 0xDFFF:
        # Other JSON readers refuse half a surrogate pair: show it as text.
        return f"\\\\u{point:04x}"
    return json.dumps(match[0])[1:-1]


def load_schema(name: str) -> dict[str, Any]:
    """Return the shipped JSON Schema of an envelope, such as `cairn.files/1`."""
    from importlib.resources import files  # noqa: PLC0415 - costs more than everything else here, and only tools ask

    if name not in SCHEMAS:
        raise ValueError(f"there is no schema {name!r}")
    text = files("cairn.answer").joinpath("schemas", name.replace("/", ".") + ".json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _row(row: FileRow | SkipRow) -> dict[str, Any]:
    if isinstance(row, FileRow):
        return {"path": row.path, "size": row.size, "language": row.language}
    return {"path": row.path, "reason": row.reason.value, "detail": plain(row.detail), "folder": row.folder}


def _rule(rule: RuleRow | None) -> dict[str, Any] | None:
    return rule and {"source": plain(rule.source), "line": rule.line, "pattern": plain(rule.pattern)}


def cut(field: str, shown: int, total: int) -> dict[str, Any] | None:
    """Return the entry of `limitsHit` for a list that was cut; None when all of it is shown."""
    return {"field": field, "shown": shown, "left": total - shown} if total > shown else None


def tail(warnings: Sequence[str], *cuts: dict[str, Any] | None) -> list[tuple[str, Any]]:
    """Return the two fields near the end of every answer: `limitsHit` and `warnings`."""
    hits = [*cuts, cut("warnings", MAX_WARNINGS, len(warnings))]
    return [
        ("limitsHit", [hit for hit in hits if hit]),
        ("warnings", [plain(text) for text in warnings[:MAX_WARNINGS]]),
    ]


def asked(path: str | None) -> str | None:
    """Return a path as the caller gave it, clipped when no system could open one that long."""
    return path if path is None or len(path) <= MAX_PATH_CHARS else path[:MAX_PATH_CHARS] + "..."


def _detail(value: object) -> bool | int | str | None:
    # Beyond 53 bits other JSON readers lose digits.
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    return plain(str(value))


# --- Answers for agents, who pay for every word: less in them, and what to call next.


_HEAVY = frozenset({"fingerprints", "timingsMs"})
_DIGEST = "fileHash"
# There is one kind of proof, and its name is fixed.
_PROOF = "marker_doc"


def lean(envelope: Envelope) -> Envelope:
    """Return the envelope without fingerprints, timings and digests of files, which only help to find a fault."""
    return replace(envelope, body=tuple((name, _light(value)) for name, value in envelope.body if name not in _HEAVY))


def _light(value: Any) -> Any:
    if isinstance(value, list):
        return [_light(one) for one in value]
    return {name: part for name, part in value.items() if name != _DIGEST} if isinstance(value, dict) else value


def with_hints(envelope: Envelope, **hints: object) -> Envelope:
    """Return the envelope with more hints; the hint `next`, a sentence for a person, stays the last."""
    body = dict(envelope.body)
    there = dict(body.get("hints", {}))
    last = {"next": there.pop("next")} if "next" in there else {}
    body["hints"] = there | hints | last
    return replace(envelope, body=tuple(body.items()))


def without(envelope: Envelope, field: str) -> Envelope:
    """Return the envelope without a field that the caller could not use."""
    return replace(envelope, body=tuple(part for part in envelope.body if part[0] != field))


def retry_later(envelope: Envelope, milliseconds: int) -> Envelope:
    """Return the envelope with the time after which to call again, when its status is `not_ready`."""
    return with_hints(envelope, retryAfterMs=milliseconds) if envelope.status is Status.NOT_READY else envelope


def with_proof(envelope: Envelope, *, present: bool) -> Envelope:
    """Return a closed gate's envelope with the proof that it lacks, for a caller that looks for a fault."""
    if "reason" not in dict(envelope.body):
        return envelope
    return with_hints(envelope, debugIndexing={"completionProof": _PROOF, "markerPresent": present})


def status_call(root: str) -> dict[str, Any]:
    """Return the tool call that says where an index stands."""
    return {"tool": "manage_index", "args": {"action": "status", "path": asked(root)}}
