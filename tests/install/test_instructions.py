"""What agents are told is true."""

from __future__ import annotations

import re

from cairn.install.plans import INSTRUCTIONS
from cairn.search.types import Mode
from cairn.tools.table import TOOLS


def test_every_tool_that_is_named_is_there() -> None:
    known = {tool.name for tool in TOOLS}
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", INSTRUCTIONS)) - {"not_ready", "requires_reindex", "not_indexed"}
    assert named <= known
    assert {"search_codebase", "find_symbol", "file_outline", "call_graph", "repo_map", "read_file"} <= named


def test_the_mode_that_is_named_looks_at_everything() -> None:
    assert "`mode` `regex`" in INSTRUCTIONS
    assert Mode("regex").is_exhaustive


def test_it_is_short() -> None:
    assert len(INSTRUCTIONS) < 2_000
