"""Text that is safe to show: one line, nothing hidden in it, bounded."""

from __future__ import annotations

import re

MAX_MESSAGE_CHARS = 1_000
# What moves the cursor, changes the direction of text or cannot be seen: C0 and C1, bidirectional marks and
# overrides, zero-width characters, line separators, variation selectors, tags; and surrogates, which are no text.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def plain(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Return text that is safe in a sentence: one line, nothing hidden, clipped to the limit and three dots."""
    safe = _UNSAFE.sub(_visible, text[: limit + 1])
    return safe if len(safe) <= limit else safe[:limit] + "..."


def unescaped(text: str) -> str:
    """Return a text of which `plain` has made this one: its escapes are characters again."""
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), text)


_ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U(000[0-9a-f]{5})")


def shown(text: str) -> str:
    """Return lines of text that are safe to show: as `plain`, but with their line ends and tabs, and not clipped."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] in "\n\t" else _visible(match), text.replace("\r\n", "\n"))


def lasting(seconds: float) -> str:
    """Return a time span for people: seconds up to two minutes, then whole minutes, then whole hours."""
    if seconds < 120:
        return f"{int(seconds)} s"
    return f"{int(seconds) // 60} min" if seconds < 7_200 else f"{int(seconds) // 3_600} h"


def _visible(match: re.Match[str]) -> str:
    return match[0].encode("ascii", "backslashreplace").decode() if ord(match[0]) > 0x7F else f"\\x{ord(match[0]):02x}"


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that spaces separate: a table of words that is written as a text."""
    return frozenset(text.split())
