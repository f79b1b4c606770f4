"""What an upgrade of a store did, as an envelope."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.answer.envelope import Envelope, ok, plain, tail


def upgrade_report(
    *,
    path: str,
    root: str,
    snapshot_id: str,
    generation: int,
    raised: Sequence[tuple[str, int, int]],
    segments: int,
    files: int,
    chunks: int,
    seconds: float,
    warnings: Sequence[str] = (),
) -> Envelope:
    """Which artifacts had an older version and which one they have now; none when there was nothing to do."""
    return ok(
        "cairn.upgrade/1",
        path=path,
        root=root,
        body=[
            ("published", bool(raised)),
            ("snapshot", {"id": snapshot_id, "generation": generation}),
            ("raised", [{"artifact": plain(name), "from": before, "to": now} for name, before, now in raised]),
            ("segments", segments),
            ("coverage", {"indexed": files, "chunks": chunks}),
            ("timingsMs", {"total": round(1_000 * seconds)}),
            *tail(warnings),
            ("hints", {}),
        ],
    )
