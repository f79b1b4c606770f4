"""What a file shows to others, with all that this rests on: another hash as soon as any of it is another.

`wrap` returns a `Wrapped`, which is declared elsewhere: when that becomes another type, nothing that the file of `wrap`
says itself is changed, and yet the names in files that call it mean something else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set
from hashlib import sha256
from typing import TypeVar

from cairn.semantic.database import Connection

K = TypeVar("K", bound=Hashable)
Key = tuple[int, int]

_OWN = "SELECT context_id, file_id, semantic_interface_hash FROM file_semantic_facts"
_EDGES = "SELECT context_id, source_file, target_file FROM edges"
_KEEP = "UPDATE file_semantic_facts SET reach_hash = ? WHERE context_id = ? AND file_id = ? AND reach_hash != ?"
_KNOWN_AS = "UPDATE edges SET semantic_hash_at_index = ? WHERE context_id = ? AND source_file = ? AND target_file = ?"


def keep_reaches(db: Connection, read: Set[Key]) -> None:
    """Write down the reach of every file, and for those that were just read the reach of all that they lean on."""
    own: dict[Key, str] = {(context, file): said for context, file, said in db.execute(_OWN)}
    # A file that another context understands shows what it shows there.
    owners = {key[1]: key for key in sorted(own, reverse=True)}
    edges: list[tuple[Key, int, Key]] = []
    for context, source, target in db.execute(_EDGES):
        at = (context, target) if (context, target) in own else owners.get(target)
        if at is not None:
            edges.append(((context, source), target, at))
    leans: dict[Key, set[Key]] = {}
    for key, _, at in edges:
        leans.setdefault(key, set()).add(at)
    found = reaches(own, leans)
    db.executemany(_KEEP, [(reach, *key, reach) for key, reach in found.items()])
    db.executemany(_KNOWN_AS, [(found[at], *key, target) for key, target, at in edges if key in read])


def reaches(own: Mapping[K, str], leans: Mapping[K, Set[K]]) -> dict[K, str]:
    """The reach of each, by what it shows itself and what it leans on; files that lean on each other share one."""
    found: dict[K, str] = {}
    for together in _components(own, leans):
        beneath = {found[to] for key in together for to in leans.get(key, ()) if to in found}
        shown = sorted(own[key] for key in together)
        reach = sha256("\n".join([*shown, "", *sorted(beneath)]).encode("utf-8", "surrogateescape")).hexdigest()
        found.update(dict.fromkeys(together, reach))
    return found


def _components(own: Mapping[K, str], leans: Mapping[K, Set[K]]) -> Iterator[list[K]]:
    """Those that lead to each other, together; what they lead to comes before them."""
    order: dict[K, int] = {}
    low: dict[K, int] = {}
    waiting: list[K] = []
    done: set[K] = set()
    for start in own:
        walk = [(start, iter(leans.get(start, ())))] if start not in order else []
        while walk:
            key, following = walk[-1]
            if key not in order:
                order[key] = low[key] = len(order)
                waiting.append(key)
            step = next((to for to in following if to in own and to not in done), None)
            if step is not None and step not in order:
                walk.append((step, iter(leans.get(step, ()))))
            elif step is not None:
                low[key] = min(low[key], order[step])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[key])
                if low[key] == order[key]:
                    together = [waiting.pop()]
                    while together[-1] != key:
                        together.append(waiting.pop())
                    done.update(together)
                    yield together
