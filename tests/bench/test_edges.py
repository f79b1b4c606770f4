"""The page says what was measured, what was read, and whether it is enough; a run on a small repository makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.edges_count import Counts, Disagreement
from bench.edges_page import Verdicts, adjudicated_in, page, tally

from bench import edges
from tests.semantic.indices import document, index, occurrence


def entry(name: str = "shop", *, in_sample: bool = False) -> dict[str, Any]:
    counts = Counts(listed=200, judged=150, inside=100, wrongly_elsewhere=1)
    for rule, (many, unjudged, right, sites) in {
        "proven": (60, 10, 49, 49),
        "likely": (25, 5, 15, 15),
        "same_name": (400, 0, 99, 99),
        "unique_name": (80, 0, 60, 60),
    }.items():
        found = counts.rules[rule]
        found.edges, found.unjudged, found.right, found.sites = many, unjudged, right, sites
    return {
        "language": "python",
        "repository": name,
        "commit": "0123456789ab",
        "indexer": "scip-test 1.0",
        "date": "2026-01-31",
        "files": 12,
        "inSample": in_sample,
        "mentions": 400,
        "calls": counts.as_json(),
        "references": counts.as_json(),
    }


def test_repositories_are_added_up_before_anything_is_divided() -> None:
    found = tally([entry("a"), entry("b")], "calls", "both")
    assert (found.edges, found.judged, found.right, found.inside) == (170, 140, 128, 200)
    assert found.recall == pytest.approx(0.64)


def test_only_the_share_that_is_our_fault_counts_as_wrong_after_reading() -> None:
    likely = tally([entry()], "calls", "likely")
    assert likely.precision == 0.75
    assert Verdicts(read=10, wrong=4).adjudicated(likely) == pytest.approx(0.9)
    assert Verdicts(0, 0).adjudicated(likely) is None
    assert Verdicts(0, 0).adjudicated(likely._replace(right=likely.judged)) == 1.0
    assert Verdicts(0, 0).adjudicated(likely._replace(judged=0)) is None


def test_the_page_shows_tiers_baselines_and_targets_and_keeps_what_was_looked_at_apart() -> None:
    text = page(
        {"python/shop": entry(), "python/known": entry("known", in_sample=True)},
        {"python": {"proven": Verdicts(20, 10), "likely": Verdicts(10, 10)}},
    )
    assert "| `proven` | 60 | 50 | 0.980 | 0.990 | 0.490 | precision ≥ 0.97: yes; recall ≥ 0.30: yes |" in text
    assert "| `likely` | 25 | 20 | 0.750 | 0.750 | 0.150 | precision ≥ 0.80: **no** |" in text
    assert "| both together | 85 | 70 | 0.914 |  | 0.640 | recall ≥ 0.60: yes |" in text
    assert "| baseline: every definition of that name | 400 | 400 | 0.247 |  | 0.990 |  |" in text
    assert "not made with: shop (0123456789ab, 12 files)." in text
    assert text.index("flattered") < text.index("| known | 100 |")
    assert "may flatter\nthem" in text
    assert "All 2 repositories together, calls, nothing adjudicated: `proven` precision 0.980, recall 0.490;" in text
    assert "| `proven` | 20 | 10 | 10 |" in text


def test_what_is_nearly_whole_does_not_show_as_whole() -> None:
    nearly = entry()
    nearly["calls"]["rules"]["proven"] = {"edges": 10_000, "unjudged": 0, "right": 9_999, "sites": 99}
    assert "| `proven` | 10,000 | 10,000 | 0.999 |" in page({"python/shop": nearly}, {})


def test_the_page_shows_what_became_of_the_labels_by_hand_and_adds_them_up() -> None:
    rows = {"c": {"inside": 10, "proven right": 7, "likely right": 2}, "go": {"inside": 10, "proven wrong": 1}}
    text = page({"labelled": {"language": "labelled", "rows": rows}}, {})
    assert "| c | 10 | 7 | 0 | 2 | 0 | 0.700 | 0.900 |" in text
    assert "| **all** | 20 | 7 | 1 | 2 | 0 | 0.350 | 0.450 |" in text


def test_verdicts_on_held_out_repositories_are_counted_by_language_and_tier(tmp_path: Path) -> None:
    rows = [
        {"repository": "shop", "tier": "proven", "verdict": "ours"},
        {"repository": "shop", "tier": "proven", "verdict": "indexer"},
        {"repository": "shop", "tier": "likely", "verdict": "both"},
        {"repository": "shop", "tier": "likely", "verdict": "neither"},
        {"repository": "known", "tier": "likely", "verdict": "indexer"},
        {"repository": "gone", "tier": "likely", "verdict": "indexer"},
    ]
    (tmp_path / "python.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    kept = {"python/shop": entry(), "python/known": entry("known", in_sample=True)}
    assert adjudicated_in(tmp_path, kept) == {"python": {"proven": Verdicts(2, 1), "likely": Verdicts(2, 1)}}


def test_disagreements_come_in_an_order_that_does_not_depend_on_how_they_were_found(tmp_path: Path) -> None:
    found = [Disagreement("proven", "call", f"{n}.py", n, 0, "f", "a", "b") for n in range(30)]
    edges.write_disagreements(tmp_path / "one", found)
    edges.write_disagreements(tmp_path / "other", found[::-1])
    text = (tmp_path / "one").read_text()
    assert text == (tmp_path / "other").read_text()
    assert [json.loads(line)["line"] for line in text.splitlines()] != list(range(30))


def test_a_repository_is_indexed_judged_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = tmp_path / "python" / "shop"
    repo.mkdir(parents=True)
    (repo / "a.py").write_text("def f():\n    pass\n\n\nf()\n")
    symbol = "scip-python python shop 1 a/f()."
    scip = index(document("a.py", [occurrence([0, 4, 5], symbol, 1), occurrence([4, 0, 1], symbol, 8)]))
    (tmp_path / "python" / "shop.scip").write_bytes(scip)
    monkeypatch.setattr(edges, "KEPT", tmp_path / "edges.json")
    monkeypatch.setattr(edges, "PAGE", tmp_path / "PRECISION.md")
    assert edges.main(["--all", str(tmp_path)]) == 0
    kept = json.loads((tmp_path / "edges.json").read_text())
    assert kept["python/shop"]["calls"]["rules"]["proven"] == {"edges": 1, "right": 1, "sites": 1, "unjudged": 0}
    assert "| `proven` | 1 | 1 | 1.000 |" in (tmp_path / "PRECISION.md").read_text()
    assert "python/shop calls: 1 sites, 1 judged, 1 inside" in capsys.readouterr().out
