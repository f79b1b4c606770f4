"""Traps in sixteen languages: every use is found, with what it does, and nothing is claimed that a person denies."""

from __future__ import annotations

from collections import Counter

import pytest

from cairn.graph.references import Graph
from cairn.graph.scopes import Tier
from cairn.graph.uses import Use, uses_of
from tests.graph.traps import LANGUAGES, TEXT, UNKNOWN, Label, Place, Trap, traps
from tests.graph.trees import graph_of

RANK = {tier.value: rank for rank, tier in enumerate((Tier.NAME_ONLY, Tier.LIKELY, Tier.PROVEN))}
NAMES = {"annotation": "decorator"}
"""What the index calls some roles, and what a reader is told."""

ALL = [(language, trap) for language in LANGUAGES for trap in traps(language)]
FAST = 6
"""Of so many traps one is in the fast run."""


def uses(graph: Graph, trap: Trap) -> dict[str, dict[Place, Use]]:
    """Every listed use of every definition of a trap, by the id of the definition."""
    found: dict[str, dict[Place, Use]] = {}
    for called, lines in trap.definitions.items():
        path, line = lines[0]
        name = called.rpartition(".")[2]
        facts = graph.names.facts(path)
        at = [
            place
            for place in graph.places(path, name)
            if facts.text[: facts.symbols[place.number].name_byte].count(b"\n") + 1 == line
        ]
        assert at, f"{trap.title}: {path}:{line} defines no {name}"
        told = uses_of(graph, at[0], min_tier=Tier.NAME_ONLY, offset=0, limit=1_000)
        found[called] = {Place(use.path, use.line, use.column): use for use in told.uses}
    return found


def wrong(trap: Trap, found: dict[str, dict[Place, Use]]) -> list[str]:
    """What is said of a trap and denied by its labels, or the other way round."""
    said = []
    for place, label in trap.labels.items():
        where = f"{place.path}:{place.line}:{place.column} {label.word}"
        for called, listed in found.items():
            use = _import_on(listed, place) if "import" in label.roles else listed.get(place)
            if called.rpartition(".")[2] == label.word or called in label.means:
                said += [f"{where}: {each}" for each in _denied(label, called, use)]
    for called, listed in found.items():
        for place, use in listed.items():
            if place not in trap.labels and use.kind != "import" and RANK[use.tier]:
                said.append(f"{place.path}:{place.line}:{place.column}: {use.tier} {called} without a label")
    return said


def _import_on(listed: dict[Place, Use], place: Place) -> Use | None:
    """The import on the line of a place: the column of an import is that of its statement."""
    lines = {(each.path, each.line): use for each, use in listed.items() if use.kind == "import"}
    return lines.get((place.path, place.line))


def _denied(label: Label, called: str, use: Use | None) -> list[str]:
    if called in label.means:
        if use is None:
            return [f"{called} is not found"]
        said = [f"{called} is {use.tier}, at most {label.most}"] if RANK[use.tier] > RANK[label.most] else []
        kind = NAMES.get(use.kind, use.kind)
        return said + ([f"{kind} is not {sorted(label.roles)}"] if label.roles and kind not in label.roles else [])
    if use is None:
        return []
    if label.means == {TEXT}:
        return ["a text is listed"] if use.kind != "string" else []
    most = "likely" if label.means == {UNKNOWN} else "name_only"
    return [f"{called} is claimed as {use.tier}"] if RANK[use.tier] > RANK[most] else []


def judged(trap: Trap) -> tuple[list[str], Counter[str]]:
    with graph_of(trap.tree) as graph:
        found = uses(graph, trap)
    told: Counter[str] = Counter()
    for place, label in trap.labels.items():
        for called in label.means & found.keys():
            use = found[called].get(place)
            told[f"{label.most} as {use.tier if use else 'missing'}"] += 1
    return wrong(trap, found), told


def _id(each: tuple[str, Trap]) -> str:
    return f"{each[0]}: {each[1].title}"


def test_there_are_traps_enough_in_languages_enough() -> None:
    assert len(ALL) >= 200
    assert len(LANGUAGES) >= 12
    assert len({_id(each) for each in ALL}) == len(ALL)


@pytest.mark.parametrize("each", ALL[::FAST], ids=map(_id, ALL[::FAST]))
def test_a_trap_of_the_slice_catches_nothing(each: tuple[str, Trap]) -> None:
    assert judged(each[1])[0] == []


@pytest.mark.long
@pytest.mark.parametrize("each", ALL, ids=map(_id, ALL))
def test_a_trap_catches_nothing(each: tuple[str, Trap]) -> None:
    assert judged(each[1])[0] == []


@pytest.mark.long
def test_what_can_be_proven_mostly_is() -> None:
    whole: Counter[str] = Counter()
    for language in LANGUAGES:
        told = sum((judged(trap)[1] for trap in traps(language)), Counter[str]())
        may = sum(count for said, count in told.items() if said.startswith("proven as"))
        print(f"{language:12} uses {told.total():3} | proven {told['proven as proven']} of {may} that may be")
        whole.update(told)
    may = sum(count for said, count in whole.items() if said.startswith("proven as"))
    assert whole["proven as proven"] / may >= 0.9
    assert whole["likely as likely"] >= 20
