"""What a message asks for, and what it is counted as."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.core.limits import DAEMON_DEADLINE_SECONDS
from cairn.core.progress import Phase, Progress
from cairn.daemon.requests import BadRequest, name_of, progress_message, request_of

SECRET = "what nobody may read in a log"


def test_a_deadline_can_be_shortened_and_not_lengthened() -> None:
    message = {"id": 0, "status": {}}
    assert request_of(message).seconds == DAEMON_DEADLINE_SECONDS
    assert request_of({**message, "deadlineMs": 250}).seconds == 0.25
    assert request_of({**message, "deadlineMs": 10**12}).seconds == DAEMON_DEADLINE_SECONDS


@pytest.mark.parametrize(
    ("kind", "body", "name"),
    [
        ("tool", {"name": "find_symbol"}, "find_symbol"),
        ("tool", {"name": "check_edit"}, "check_edit"),
        ("tool", {"name": SECRET}, "unknown_tool"),
        ("command", {"argv": ["map", SECRET]}, "cairn map"),
        ("command", {"argv": [SECRET]}, "cairn search"),
        ("command", {"argv": []}, "cairn search"),
        ("command", {"argv": [[SECRET]]}, "cairn search"),
        ("command", {}, "cairn search"),
        ("roots", {"served": ["/a"]}, "roots"),
    ],
)
def test_a_request_is_counted_as_what_it_is_never_as_what_was_typed(kind: str, body: dict[str, Any], name: str) -> None:
    assert name_of(request_of({"id": 1, kind: body})) == name


def test_two_requests_in_one_are_none() -> None:
    with pytest.raises(BadRequest, match="one of tool, command"):
        request_of({"id": 1, "tools": {}, "roots": {}})


def test_how_far_a_run_is_names_no_file() -> None:
    at = Progress(Phase.INDEXING, 3, 10, 2.5, SECRET)
    assert progress_message(at) == {"phase": "indexing", "done": 3, "total": 10, "rate": 2.5}
