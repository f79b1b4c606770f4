"""Do signals from the import graph help the ranking? What changes when they are added to the present scores.

    python -m bench.structural_signals --benchmark DIR --home PATH

DIR is that of `bench.search`; the indexes are kept in PATH. Of every question the best hundred files are scored
again, a signal added to the sum of the others (`+`) or multiplying it (`x`). Its weight, never 0, is chosen on every
second repository and judged on the others, and the other way round. The present weights were fitted on both, so that
any change loses a little: `shaken` is all this done to the mean of tables whose weights are off.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.search_measures import SETS, QualitySet
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, Target
from cairn.errors import InvalidQuery
from cairn.evaluation.judged import Repository, load
from cairn.evaluation.scoring import AskingWay, JudgedQuestion, Lines, ask, folder_as_codebase, ndcg
from cairn.graph.atlas import Centrality
from cairn.graph.references import Graph
from cairn.search.types import SearchRequest

# How many files are scored again, and of how many of them the imports say something about the others.
CANDIDATES, STRONG = 100, 10
SIGNALS = ("centrality", "imports a strong one", "imported by one", "either of both", "walk from them")
GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SHAKEN, SHAKE, RESAMPLED, SEED = 8, 0.3, 4_000, 6

Column = NDArray[np.float64]


class Asked(NamedTuple):
    """A question of a set, and of its best files the factor, each part of the score and each new signal."""

    title: str
    question: JudgedQuestion
    files: list[str]
    factor: Column
    parts: dict[str, Column]
    signals: dict[str, Column]


def proximity(scores: Column, links: Iterable[tuple[int, int]]) -> tuple[Column, Column]:
    """For each candidate the best score, as a share of the first, of a strong one that it imports; that imports it."""
    imports, imported = np.zeros(len(scores)), np.zeros(len(scores))
    strong = np.where(np.arange(len(scores)) < STRONG, scores / scores[:1], 0)
    one, other = np.array(list(links), np.int64).reshape(-1, 2).T
    np.maximum.at(imports, one, strong[other])
    np.maximum.at(imported, other, strong[one])
    return imports, imported


def spread(values: Mapping[str, float]) -> dict[str, float]:
    """What is above the least: its logarithm in steps of four standard deviations, 1 at most, as `used` is counted."""
    every = np.array(list(values.values()), np.float64)
    logs = np.log1p(every - every.min())
    return dict(zip(values, np.minimum(logs / (4 * float(logs.std()) or 1.0), 1).tolist(), strict=True))


class Imports:
    """The import graph of one snapshot, as signals of its files."""

    def __init__(self, paths: Sequence[str], dependencies: Mapping[str, Sequence[str]]) -> None:
        self._targets = {path: frozenset(found) for path, found in dependencies.items()}
        self._centrality = Centrality(paths, dependencies, {})
        self._central = spread({path: rank * len(paths) for path, rank in self._centrality.ranks().items()})

    def signals(self, files: Sequence[str], scores: Column) -> dict[str, Column]:
        """Each of `SIGNALS` for these files, which stand in the order of their scores."""
        number = {path: at for at, path in enumerate(files)}
        links = [(at, number[to]) for path, at in number.items() for to in self._targets.get(path, ()) if to in number]
        imports, imported = proximity(scores, links)
        walked = self._centrality.ranks(dict(zip(files[:STRONG], scores[:STRONG].tolist(), strict=True)))
        central, walk = (np.array([ranks[path] for path in files]) for ranks in (self._central, walked))
        walk = walk / walk.max(initial=1e-9) if self._targets else central
        return dict(zip(SIGNALS, (central, imports, imported, np.maximum(imports, imported), walk), strict=True))


def collect(one: QualitySet, repository: Repository, environ: Mapping[str, str]) -> Iterable[Asked]:
    """Every question of a repository, which is indexed first when it is not."""
    ask(codebase := folder_as_codebase(repository.folder, environ), environ, (), AskingWay(10))
    with Session(Target(repository.folder, codebase), environ) as session:
        prepare(session, Policy(create=False, sync=False))
        graph = session.kept(Graph)
        imports = Imports(list(graph.names.modules.files.languages), graph.dependencies())
        for question in repository.questions:
            request = SearchRequest(question.text, limit=CANDIDATES, without=frozenset(one.without), explain=True)
            try:
                hits = session.ask(request).found.hits
            except InvalidQuery:
                hits = ()
            reasons = [dict(hit.reasons) for hit in hits]
            names = set().union(*reasons) - {"penalties"}
            parts = {name: np.array([each.get(name, 0.0) for each in reasons]) for name in sorted(names)}
            files, scores = [hit.path for hit in hits], np.array([hit.score for hit in hits])
            factor = scores / sum(parts.values(), np.zeros(len(hits)))
            yield Asked(one.title, question, files, factor, parts, imports.signals(files, scores))


def rescored(one: Asked, signal: str, form: str, weight: float, shaken: Mapping[str, float] | None = None) -> Column:
    """The scores with a signal added; `shaken` says by how much each of the other weights is off."""
    own = sum((part * (shaken or {}).get(name, 1.0) for name, part in one.parts.items()), np.zeros(len(one.files)))
    more = weight * one.signals[signal]
    return (own * (1 + more) if form == "x" else own + more) * one.factor


def quality(one: Asked, scores: Column) -> float:
    """NDCG@10 of the candidates in the order of these scores, equal ones as they stood."""
    order = np.argsort(-np.round(scores, 9), kind="stable")[:10]
    return ndcg([Lines(one.files[at]) for at in order.tolist()], one.question.targets, 10)


def halves(every: Sequence[Asked]) -> NDArray[np.bool_]:
    """For each question whether it is in the first half: every second repository, in the order of languages."""
    repositories = [(one.question.language, one.question.repository) for one in every]
    return np.array([sorted(set(repositories)).index(one) % 2 == 0 for one in repositories])


def interval(gains: Column, groups: Sequence[str]) -> tuple[float, float]:
    """Where the mean gain lies in 95 of 100 draws of whole groups, each question beside itself."""
    names, number = np.unique(np.array(groups), return_inverse=True)
    totals, counts = np.bincount(number, gains), np.bincount(number)
    drawn = np.random.default_rng(SEED).integers(0, len(names), (RESAMPLED, len(names)))
    return tuple(np.percentile(totals[drawn].sum(1) / counts[drawn].sum(1), (2.5, 97.5)).tolist())


def crossed(gains: Mapping[float, Column], first: NDArray[np.bool_]) -> tuple[tuple[float, float], Column]:
    """The best weight on the first half and on the second, and the gain of every question by the other half's."""
    one, other = (max(gains, key=lambda weight: gains[weight][half].mean()) for half in (first, ~first))
    return (one, other), np.where(first, gains[other], gains[one])


def tables(every: Sequence[Asked]) -> Iterable[str]:
    """Lines of Markdown: each signal as a whole and by set; then the added ones by language and by class."""

    def asked(*how: object) -> Column:
        return np.array([quality(one, rescored(one, *how)) for one in every])

    def gain(gains: Column) -> list[str]:
        """On the second half and on both, with intervals."""
        parts = ((gains[own], interval(gains[own], groups[own])) for own in (~first, first | ~first))
        return [f"{part.mean():+.4f} ({low:+.4f} to {high:+.4f})" for part, (low, high) in parts]

    first, names = halves(every), sorted({name for one in every for name in one.parts})
    groups, titles = np.array([[one.question.repository, one.title] for one in every]).T
    off = np.exp(np.random.default_rng(SEED).uniform(-SHAKE, SHAKE, (SHAKEN, len(names))))
    shaken = [dict(zip(names, each, strict=True)) for each in ([1.0] * len(names), *off.tolist())]
    base, *bases = (asked(SIGNALS[0], "+", 0.0, each) for each in shaken)
    columns = ("weights", "second half", "both halves", "shaken weights", "shaken", *np.unique(titles))
    yield _row("", *columns) + "\n|---|" + "---:|" * len(columns)
    yield _row("present", "", f"{base[~first].mean():.4f}", f"{base.mean():.4f}", "", "", *_by(titles, base))
    for gone in ("definition", "used"):
        lost = asked(SIGNALS[0], "+", 0.0, {gone: 0.0}) - base
        yield _row(f"without {gone}", "", *gain(lost), "", "", *_by(titles, lost, "+"))
    added = []
    for form, signal in ((form, signal) for form in "+x" for signal in SIGNALS):
        every_way = [{weight: asked(signal, form, weight, each) for weight in GRID} for each in shaken]
        weights, gains = crossed({weight: every_way[0][weight] - base for weight in GRID}, first)
        mean = {weight: np.mean([way[weight] for way in every_way[1:]], 0) - np.mean(bases, 0) for weight in GRID}
        others, shook = crossed(mean, first)
        yield _row(f"{form} {signal}", weights, *gain(gains), others, gain(shook)[1], *_by(titles, gains, "+"))
        added += [gains] if form == "+" else []
    for kind in ("language", "category"):
        own = np.array([getattr(one.question, kind) for one in every])
        yield "\n" + _row(kind, "questions", "present", *SIGNALS) + "\n|---|" + "---:|" * (2 + len(SIGNALS))
        cells = zip(_by(own, base), *(_by(own, gains, "+") for gains in added), strict=True)
        yield from (_row(name, (own == name).sum(), *each) for name, each in zip(np.unique(own), cells, strict=True))


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _by(names: NDArray[np.str_], values: Column, sign: str = "") -> list[str]:
    return [f"{values[names == name].mean():{sign}.4f}" for name in np.unique(names)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    options = parser.parse_args()
    environ, every = {**os.environ, "CAIRN_HOME": str(options.home)}, []
    for one in SETS:
        for repository in load(*(str(options.benchmark / part) for part in (one.data, one.repos)), "dev").repositories:
            every += collect(one, repository, environ)
    print(*tables(every), sep="\n")


if __name__ == "__main__":
    main()
