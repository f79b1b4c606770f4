"""Freshness and certainty of files, from what was recorded when they were indexed and what they are now.

The worst that reaches a file along its dependencies wins: its own bytes differ from the indexed ones (dirty); the
interface of a dependency is not the one recorded, or that dependency is itself stale (stale); a dependency is dirty,
pending or not indexed (pending_check); else clean. Cycles end by themselves: what spreads visits every file once, and
all files of a cycle get the same. A refresh of a dependency whose interface is still the one recorded makes those who
wait for it clean again, and none of them is indexed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from cairn.semantic.model import Certainty, FileState, Freshness

K = TypeVar("K", bound=Hashable)


class Known(NamedTuple, Generic[K]):
    """What was recorded of a file: the hash of its bytes, and the interface that each dependency had then."""

    content_hash: str
    depends: dict[K, str]


class Now(NamedTuple):
    """A file as it is: the hash of its bytes, and its interface."""

    content_hash: str
    interface_hash: str


class Standing(NamedTuple, Generic[K]):
    """The freshness of a file; `cause` is the file next to it that it has it from, None when it is its own."""

    freshness: Freshness
    cause: K | None = None


def standings(known: Mapping[K, Known[K]], now: Callable[[K], Now | None]) -> dict[K, Standing[K]]:
    """The freshness of every file that was indexed, and of every other that one of them depends on.

    `now` gives a file as it is, None for one that is gone; it is asked once for each.
    """
    users: dict[K, list[K]] = {}
    for key, one in known.items():
        for dependency in one.depends:
            users.setdefault(dependency, []).append(key)
    found: dict[K, Standing[K]] = {}
    interfaces: dict[K, str | None] = {}
    for key in {**known, **users}:
        is_now = now(key)
        interfaces[key] = is_now and is_now.interface_hash
        if key not in known:
            found[key] = Standing(Freshness.UNINDEXED)
        elif is_now is None or known[key].content_hash != is_now.content_hash:
            found[key] = Standing(Freshness.DIRTY)
    own = list(found)
    changed: list[K] = []
    for key, one in known.items():
        if key not in found:
            other = next((each for each, then in one.depends.items() if interfaces[each] != then), None)
            if other is not None:
                found[key] = Standing(Freshness.STALE, other)
                changed.append(key)
    _spread(Freshness.STALE, changed, users, found)
    _spread(Freshness.PENDING_CHECK, own, users, found)
    return {key: found.get(key, Standing(Freshness.CLEAN)) for key in interfaces}


def _spread(what: Freshness, seeds: list[K], users: Mapping[K, Iterable[K]], found: dict[K, Standing[K]]) -> None:
    """Give it to everyone who leads to a seed and has nothing worse, each once, the nearest first."""
    following = seeds
    for key in following:
        for user in users.get(key, ()):
            if user not in found:
                found[user] = Standing(what, key)
                # The list grows while it is walked: that is the queue.
                following.append(user)


def state_of(standing: Standing[K] | None, flags: Iterable[str], shown: Callable[[K], str]) -> FileState:
    """Both axes of a file. Without a standing nothing was ever indexed of it; what is not known has no certainty."""
    if standing is None or standing.freshness is Freshness.UNINDEXED:
        return FileState(Freshness.UNINDEXED, Certainty.UNKNOWN, ("No indexer has read it.",))
    freshness, cause = standing
    if freshness is Freshness.DIRTY:
        return FileState(freshness, Certainty.UNKNOWN, ("It has changed since it was indexed.",))
    flags = tuple(flags)
    certainty = Certainty.AMBIGUOUS if flags else Certainty.CERTAIN
    reasons = [] if cause is None else [_BECAUSE[freshness].format(cause=shown(cause))]
    return FileState(freshness, certainty, (*reasons, *flags))


_BECAUSE = {
    Freshness.STALE: "What {cause} offers has changed since it was indexed.",
    Freshness.PENDING_CHECK: "It depends on {cause}, and whether what that offers has changed is not known yet.",
}
