"""Whether a store may leave this machine: not with secrets in it, unless the user's own settings allow that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from cairn.core.limits import MAX_SECRET_PLACES
from cairn.core.secrets import secret_lines
from cairn.errors import SecretsNotSent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cairn.engine.rows import SegmentRows


def refusal(segments: Iterable[SegmentRows], beat: Callable[[], object]) -> SecretsNotSent | None:
    """Return why these segments are not sent, with the first places of secrets in them; None where there are none.

    What a snapshot no longer shows counts too: a segment goes to the server as a whole.
    """
    count, places = 0, list[str]()
    for segment in segments:
        beat()
        text, starts = segment.part.texts()
        for key, (start, end) in zip(segment.part.keys(), pairwise(starts), strict=True):
            lines = secret_lines(bytes(text[start:end]))
            count += len(lines)
            places += [f"{key}:{line}" for line in lines[: MAX_SECRET_PLACES - len(places)]]
    if not count:
        return None
    more = f" and {count - len(places):,} more" if count > len(places) else ""
    many = "1 line holds" if count == 1 else f"{count:,} lines hold"
    return SecretsNotSent(count=many, places=f"{', '.join(places)}{more}")
