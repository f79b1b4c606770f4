"""What is said about a merge of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cairn.answer.envelope import Envelope, ok, plain, tail


def compact_report(
    *,
    path: str,
    root: str,
    published: bool,
    before: Mapping[str, str | int],
    after: Mapping[str, str | int],
    note: str | None,
    warnings: Sequence[str] = (),
) -> Envelope:
    """How the snapshot lay on the disk before, and how it lies now."""
    body = [
        ("published", published),
        ("before", dict(before)),
        ("after", dict(after)),
        ("note", note if note is None else plain(note)),
        *tail(warnings),
        ("hints", {}),
    ]
    return ok("cairn.compact/1", path=path, root=root, body=body)
