"""What the page about search says is what the code does."""

from __future__ import annotations

import re

from cairn.answer.envelope import load_schema
from cairn.core import limits
from cairn.errors import IndexingInProgressError, NotIndexed, NoValidSnapshot, QueryTimeout, RequiresReindex, UsageError
from cairn.search.types import Mode
from tests.docs.tables import MANUAL

PAGE = (MANUAL / "search.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    part = PAGE.split(f"### {heading}\n", 1)[1].split("\n### ", 1)[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


def test_every_mode_is_there_and_says_whether_it_proves_absence() -> None:
    assert {row[0]: row[-1] == "yes" for row in table("How it searches")} == {
        mode.value: mode.is_exhaustive for mode in Mode
    }


def test_every_freshness_that_is_named_is_one_of_the_schema() -> None:
    known = load_schema("cairn.search/1")["$defs"]["freshness"]["properties"]["mode"]["enum"]
    assert {row[0] for row in table("What happens first")} <= set(known)


def test_the_exit_statuses_are_those_of_the_errors() -> None:
    errors = (UsageError, NotIndexed, IndexingInProgressError, RequiresReindex, QueryTimeout, NoValidSnapshot)
    assert [int(row[0]) for row in table("Exit status")] == [0, 1, *(error.exit_status for error in errors)]


def test_the_numbers_are_those_of_the_limits() -> None:
    said = re.sub(r"\s+", " ", PAGE)
    assert f"at most {limits.MAX_QUERY_CHARS:,} characters" in said
    assert f"at most {limits.MAX_QUERY_PATTERN_BYTES // limits.KIB} KiB" in said
    assert f"(at most {limits.MAX_CODEBASES})" in said
    assert f"above {limits.AUTO_INDEX_FILES:,} files" in said
    assert f"at most {limits.SYNC_BEFORE_SEARCH_SECONDS:.0f} seconds" in said
    assert f"at most {limits.DEFAULT_ENVELOPE_BYTES // limits.KIB} KiB" in said
    assert f"up to {limits.MAX_MATCH_LINES}" in said
    assert f"longer than {limits.QUERY_TIMEOUT_MS // 1000} seconds" in said
    assert limits.RECENT_SYNC_SECONDS == 60
