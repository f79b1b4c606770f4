"""S17: whoever asks cannot make an answer cost without bound. One row for each way to try, on a real index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.core.limits import (
    MAX_CODEBASES,
    MAX_CONTEXT_LINES,
    MAX_ENVELOPE_BYTES,
    MAX_QUERY_CHARS,
    MAX_QUERY_PATTERN_BYTES,
    MAX_RESULTS,
)
from tests.support.commands import Person


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("caller"))
    for number in range(150):
        (person.tree / "src" / f"long_{number}.py").write_text(f"lease_{number} = 1  # lease\n" * 400)
    assert person.cairn("index").status == 0
    return person


ASKED_FOR_TOO_MUCH = {
    "results": ("lease", "-k", str(MAX_RESULTS + 1)),
    "no results": ("lease", "-k", "0"),
    "context": ("lease", "--context", str(MAX_CONTEXT_LINES + 1)),
    "a question of a book": ("lease " * MAX_QUERY_CHARS,),
    "a pattern of a book": ("a" * (MAX_QUERY_PATTERN_BYTES + 1), "--mode", "regex"),
    "tokens": ("lease", "--max-tokens", "-1"),
    "a next page that nobody gave out": ("lease", "--continue", "x" * 100_000),
    "codebases": ("lease", *(f"/nowhere/{number}" for number in range(MAX_CODEBASES + 1))),
}


@pytest.mark.parametrize("asked", ASKED_FOR_TOO_MUCH.values(), ids=ASKED_FOR_TOO_MUCH)
def test_what_is_asked_for_beyond_a_cap_is_refused_in_one_sentence(person: Person, asked: tuple[str, ...]) -> None:
    done = person.cairn("search", "--no-sync", *asked)
    assert done.status not in (0, 1)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) <= 2
    assert len(done.stderr) < 1_000


@pytest.mark.parametrize("mode", ["hybrid", "regex", "symbol", "path"])
def test_no_answer_is_larger_than_its_hard_cap(person: Person, mode: str) -> None:
    most = ("-k", str(MAX_RESULTS), "--context", str(MAX_CONTEXT_LINES))
    done = person.cairn("search", "--no-sync", "lease", "--mode", mode, *most, "--json")
    assert done.status == 0
    assert len(done.stdout.encode()) <= MAX_ENVELOPE_BYTES + 1
    envelope = json.loads(done.stdout)
    assert envelope["status"] == "ok"


def test_a_pattern_that_matches_everywhere_is_counted_and_not_listed(person: Person) -> None:
    done = person.cairn("search", "e", "--mode", "regex", "-k", str(MAX_RESULTS), "--json")
    envelope = json.loads(done.stdout)
    assert len(envelope["results"]) <= MAX_RESULTS
    assert envelope["coverage"]["exhaustive"]
    assert envelope["limitsHit"]


def test_a_batch_goes_on_after_lines_that_ask_for_too_much(person: Person, tmp_path: Path) -> None:
    batch = tmp_path / "questions"
    lines = ['{"query": "lease", "k": 10000}', "{" * 100_000, '{"query": "lease", "k": 1}']
    batch.write_text("".join(f"{line}\n" for line in lines))
    done = person.cairn("search", "--no-sync", "--batch", str(batch))
    said = [json.loads(line)["status"] for line in done.stdout.splitlines()]
    assert said == ["error", "error", "ok"]
