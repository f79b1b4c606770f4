"""The prompts of `cairn mcp`, as the SDK's own client lists and fills them over the pipe."""

from __future__ import annotations

import re

import anyio
import pytest

from cairn.core.limits import MAX_QUERY_CHARS
from cairn.mcp.prompts import PROMPTS
from cairn.tools.searching import ExploreMode
from cairn.tools.table import NAMES
from mcp import Client, MCPError
from tests.mcp.test_stdio import server_of
from tests.support.servers import Agent


def test_prompts_are_listed_filled_and_refused_over_the_pipe(agent: Agent) -> None:
    agent.settings("[search]\nauto_index = false\n")

    async def main() -> None:
        async with Client(server_of(agent)) as client:
            listed = (await client.list_prompts()).prompts
            assert [prompt.name for prompt in listed] == ["explain_codebase", "find_place", "review_changes"]
            for prompt in listed:
                [argument] = prompt.arguments or []
                given = "the {} of a lease"
                filled = await client.get_prompt(prompt.name, {argument.name: given})
                [message] = filled.messages
                assert (message.role, given in getattr(message.content, "text", "")) == ("user", True)
                if argument.required:
                    with pytest.raises(MCPError, match="The argument change cannot be used: it is missing"):
                        await client.get_prompt(prompt.name)
                else:
                    assert "{}" not in str((await client.get_prompt(prompt.name)).messages)
                for wrong, why in (
                    ({"other": "x"}, "takes only"),
                    ({argument.name: "x" * (MAX_QUERY_CHARS + 1)}, "more than"),
                ):
                    with pytest.raises(MCPError, match=why):
                        await client.get_prompt(prompt.name, wrong)
            with pytest.raises(MCPError, match="there is no such prompt; there are explain_codebase, "):
                await client.get_prompt("nothing")

    anyio.run(main)


def test_a_prompt_names_only_tools_and_modes_that_there_are() -> None:
    for prompt in PROMPTS:
        words = set(re.findall(r"\b[a-z]+_[a-z]+\b", prompt.text))
        assert words <= NAMES, prompt.name
        assert set(re.findall(r"\bmode (\w+)", prompt.text)) <= set(ExploreMode), prompt.name
