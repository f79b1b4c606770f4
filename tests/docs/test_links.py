"""A link to a part of a page finds that part, and no page speaks of the machine that it was written on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance_report import PROJECT

PAGES = [
    *sorted(PROJECT.glob("*.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PROJECT / "changes").rglob("*.md")),
]


def anchors(page: str) -> set[str]:
    """The names by which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def lost_links(page: Path) -> list[str]:
    """Links of a page to a part, of itself or of another page, that is not there."""
    lost = []
    for target, part in re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text("utf-8")):
        other = page.parent / target if target else page
        if not other.is_file() or part not in anchors(other.read_text("utf-8")):
            lost.append(f"{target}#{part}")
    return lost


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_a_link_to_a_part_of_a_page_leads_there(page: Path) -> None:
    assert not lost_links(page)


def test_a_part_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n\n## `cairn daemon`: who, and why\n\n```sh\n# no heading\n```\n")
    page = tmp_path / "two.md"
    page.write_text("[a](one.md#cairn-daemon-who-and-why) [b](one.md#no-heading) [c](#three) [d](#two)\n\n# Two\n")
    assert lost_links(page) == ["one.md#no-heading", "#three"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_no_page_names_a_folder_of_somebody_s_machine(page: Path) -> None:
    assert not re.findall(r"(?<![\w~.])/(?:home|root|Users|tmp)/\w+", page.read_text("utf-8"))
