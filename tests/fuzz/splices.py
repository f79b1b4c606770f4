"""Bytes that are nearly right: pieces of a good document replaced, removed or added."""

from __future__ import annotations

from hypothesis import strategies as st

Splices = list[tuple[int, bytes, int]]


def splices(good: bytes) -> st.SearchStrategy[Splices]:
    """Up to four changes: where, what comes there, and how many bytes go."""
    return st.lists(st.tuples(st.integers(0, len(good) - 1), st.binary(max_size=6), st.integers(0, 40)), max_size=4)


def spliced(good: bytes, changes: Splices) -> bytes:
    """The bytes with these changes made one after the other."""
    for position, new, gone in changes:
        good = good[:position] + new + good[position + gone :]
    return good
