"""Addresses of resources: what is listed can be asked for, however its root is written."""

from __future__ import annotations

import pytest

from cairn.mcp.server import ResourceCall, listed, resource_at, templates

ROOTS = ["/home/me/project", "/home/me/with blank & more?#x", "/home/me/é日本", "/r/%2F"]


def test_what_is_listed_asks_for_its_root() -> None:
    for root in ROOTS:
        status, overview = listed([root])
        assert resource_at(str(status.uri)) == ResourceCall("index_status", root)
        assert resource_at(str(overview.uri)) == ResourceCall("repo_map", root)


def test_a_root_may_be_written_with_its_slashes() -> None:
    assert resource_at("cairn://map//home/me/project") == ResourceCall("repo_map", "/home/me/project")


@pytest.mark.parametrize(
    "uri",
    ["", "cairn://", "cairn://status", "cairn://status/", "cairn://other/%2Fr", "file:///etc/passwd", "x" * 100_000],
)
def test_any_other_address_asks_for_nothing(uri: str) -> None:
    assert resource_at(uri) is None


def test_the_list_is_bounded_and_holds_only_text() -> None:
    assert len(listed([f"/r{number}" for number in range(1_000)])) == 100
    assert listed(["/r/\udcff", "/r/\n", "/r/\x1b[0m"]) == []


def test_there_is_a_template_for_each_kind() -> None:
    assert [one.uri_template for one in templates()] == ["cairn://status/{root}", "cairn://map/{root}"]
