"""How many of our edges are true, and how many of the true ones do we have?

    python -m bench.edges --language python --repo DIR --scip FILE [--name NAME] [--in-sample] [--disagreements FILE]
    python -m bench.edges --all DIR
    python -m bench.edges --labelled
    python -m bench.edges --page

Indexes the repository in DIR, binds every use of a name in it, and compares each edge to what an indexer wrote into
FILE. The figures are kept in docs/benchmarks/edges.json, by language and repository (what was measured before and is
not measured now stays), and docs/PRECISION.md is written from them and from the adjudicated disagreements in
tests/graph/adjudicated. `--disagreements` writes the edges that the indexer does not have as lines of JSON, in an
order drawn by a fixed seed, so that the first hundred are a fair sample. `--all` takes every `LANGUAGE/NAME` with a
`LANGUAGE/NAME.scip` beside it. `--in-sample` says that the repository was looked at while the resolver was made; its
figures are kept and shown apart. `--labelled` counts the code with labels by hand (tests/graph/labelled) instead, and
`--page` only writes the page again.

An index is made of a clean checkout, by an indexer that finds what the repository depends on, and not an installed copy
of it. scip-python wants an absolute `--cwd`, a `--project-name` and `--project-version`, an `--environment` file that
holds `[]`, and for a `src` layout a `pyrightconfig.json` with `{"extraPaths": ["src"]}`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import edges_page
from bench.edges_count import Disagreement, Judge, Judged
from bench.edges_truth import Truth, texts_of
from cairn.ask.prepare import Policy, prepare
from cairn.ask.session import Session, whole
from cairn.graph.references import Graph
from cairn.semantic.scip import ScipIndex

FAMILIES = {"python": "python", "typescript": "ecmascript", "javascript": "ecmascript", "go": "go"}
SEED = 6
_ROOT = Path(__file__).resolve().parent.parent
KEPT = _ROOT / "docs" / "benchmarks" / "edges.json"
PAGE = _ROOT / "docs" / "PRECISION.md"
ADJUDICATED = _ROOT / "tests" / "graph" / "adjudicated"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language", choices=sorted(FAMILIES))
    parser.add_argument("--repo", type=Path, help="a checkout of the repository")
    parser.add_argument("--scip", type=Path, help="what its indexer wrote")
    parser.add_argument("--name", help="what to call it (default: the name of its folder)")
    parser.add_argument("--in-sample", action="store_true", help="it was looked at while the resolver was made")
    parser.add_argument("--disagreements", type=Path, help="where to write the edges that the indexer does not have")
    parser.add_argument("--all", type=Path, help="a folder of LANGUAGE/NAME and LANGUAGE/NAME.scip")
    parser.add_argument("--labelled", action="store_true", help="count the code with labels by hand")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--no-keep", action="store_true", help="print the figures and keep nothing")
    options = parser.parse_args(arguments)
    named = options.language and options.repo and options.scip
    if not (named or options.all or options.labelled or options.page):
        parser.error("name a language, a repository and its index; or --all, --labelled or --page")
    fresh: dict[str, Any] = {}
    if options.repo:
        name = options.name or options.repo.resolve().name
        judged, entry = measured(options.language, name, options.repo, options.scip, in_sample=options.in_sample)
        fresh[f"{options.language}/{name}"] = entry
        if options.disagreements:
            write_disagreements(options.disagreements, judged.disagreements)
    if options.all:
        known = kept()
        for scip in sorted(options.all.glob("*/*.scip")):
            language, name = scip.parent.name, scip.stem
            in_sample = known.get(f"{language}/{name}", {}).get("inSample", False)
            _, fresh[f"{language}/{name}"] = measured(language, name, scip.with_suffix(""), scip, in_sample=in_sample)
    if options.labelled:
        fresh["labelled"] = labelled()
    if not options.no_keep:
        # Read again: another language may have been measured meanwhile.
        whole_page = dict(sorted({**kept(), **fresh}.items()))
        KEPT.write_text(json.dumps(whole_page, indent=1) + "\n")
        PAGE.write_text(edges_page.page(whole_page, edges_page.adjudicated_in(ADJUDICATED, whole_page)))
    return 0


def kept() -> dict[str, Any]:
    """What was measured before, by language and repository."""
    found: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return found


def measured(language: str, name: str, repo: Path, scip: Path, *, in_sample: bool) -> tuple[Judged, dict[str, Any]]:
    """One repository: what was found, and the entry to keep."""
    index = ScipIndex(scip.read_bytes(), str(scip))
    texts = texts_of(repo, [document.path for document in index.documents()])
    truth = Truth(index, texts)
    with tempfile.TemporaryDirectory() as home, _opened(repo, home) as session:
        judged = Judge(session.kept(Graph), truth, FAMILIES[language]).judge()
    entry = {
        "language": language,
        "repository": name,
        "commit": _commit(repo),
        "indexer": truth.tool,
        "date": datetime.date.today().isoformat(),
        "files": len(truth.paths),
        "inSample": in_sample,
        "mentions": judged.mentions,
        **{scope: counts.as_json() for scope, counts in judged.counts.items()},
    }
    for line in edges_page.summary(entry):
        print(line)
    sys.stdout.flush()
    return judged, entry


def labelled() -> dict[str, Any]:
    """What became of the uses that a person has labelled, in each written codebase."""
    # Only who asks for this needs the tests.
    from tests.graph.labels import WRITTEN  # noqa: PLC0415
    from tests.graph.test_labelled import judged  # noqa: PLC0415

    found = {name: dict(judged(name)[0]) for name in WRITTEN}
    return {"language": "labelled", "date": datetime.date.today().isoformat(), "rows": found}


def write_disagreements(file: Path, found: list[Disagreement]) -> None:
    """Every disagreement as a line, drawn by a seed from what is sorted: the first of a tier are a fair sample."""
    drawn = sorted(found)
    random.Random(SEED).shuffle(drawn)
    file.write_text("".join(json.dumps(each._asdict()) + "\n" for each in drawn))


def _opened(repo: Path, home: str) -> Session:
    environ = {**os.environ, "CAIRN_HOME": home}
    session = Session(whole(str(repo), environ), environ)
    prepare(session, Policy(consent=lambda _: True))
    if session.trouble is not None:
        raise session.trouble
    return session


def _commit(repo: Path) -> str:
    found = subprocess.run(["git", "-C", str(repo), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:12]


if __name__ == "__main__":
    sys.exit(main())
