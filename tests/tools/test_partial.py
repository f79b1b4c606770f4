"""While an index is being made, what is done of it answers whoever takes that, and says how much it is."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cairn.ask import prepare
from cairn.cli.main import main
from cairn.cli.output import Output
from cairn.core.progress import Phase, Progress
from cairn.sync import batches, catchup, run
from cairn.sync.codebase import open_codebase
from cairn.sync.report import RunOptions
from tests.schemas import check
from tests.support.faults import Faults
from tests.support.servers import AT_ONCE, PATIENT, Agent
from tests.support.waiting import PATIENCE, until

NAMES = [f"m{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def small_batches(faults: Faults, parsed_here: None) -> None:
    """Each file is sealed by itself, and every step is told to others."""
    del parsed_here
    faults.limit(batches, EMBED_GROUP_BYTES=1)
    faults.limit(catchup, BATCH_BYTES=1, FIRST_BATCH_BYTES=1, PROGRESS_SECONDS=0.0)


class Held:
    """A first index that stands still where a test wants it, made beside the desk that is asked."""

    def __init__(self, agent: Agent) -> None:
        self._stops = {(Phase.INDEXING, 3), (Phase.PUBLISHING, 0)}
        self._stands, self._goes = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._make, args=(agent,), name="cairn test")
        self._thread.start()

    def _make(self, agent: Agent) -> None:
        run.index(open_codebase(str(agent.tree), agent.environ), RunOptions(str(agent.home)), self._tell)

    def _tell(self, at: Progress) -> None:
        if (at.phase, at.done) in self._stops:
            self._stops.discard((at.phase, at.done))
            self._stands.set()
            assert self._goes.wait(PATIENCE)
            self._goes.clear()

    def stands(self) -> None:
        """Wait until it stands still: first after three files, then before it publishes."""
        assert self._stands.wait(PATIENCE)
        self._stands.clear()

    def goes_on(self) -> None:
        self._goes.set()

    def ends(self) -> None:
        self._stops.clear()
        self._goes.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def held(agent: Agent) -> Iterator[Held]:
    for name in NAMES:
        (agent.tree / f"{name}.py").write_text(f"def {name}():\n    return common()\n")
    (agent.tree / "lease.py").unlink()
    found = Held(agent)
    try:
        found.stands()
        yield found
    finally:
        found.ends()


def shown(answer: dict[str, Any]) -> set[str]:
    return {row["path"] for row in answer["results"]}


def test_what_is_done_of_an_index_answers_and_says_how_much_it_is(agent: Agent) -> None:
    with held(agent) as made:
        closed = agent.ask("search_codebase", query="common", mode="regex", patience=AT_ONCE)
        assert (closed["status"], closed["indexing"]["progressPct"]) == ("not_ready", 33.3)
        answer = agent.ask("search_codebase", query="common", mode="regex", patience=AT_ONCE, allowPartial=True)
        assert (answer["status"], shown(answer)) == ("ok", {"m0.py", "m1.py", "m2.py"})
        coverage = answer["coverage"]
        assert (coverage["partial"], coverage["share"], coverage["exhaustive"]) == (True, 0.5, False)
        assert (coverage["eligible"], coverage["indexed"], answer["freshness"]["mode"]) == (6, 3, "partial")
        assert answer["warnings"] == [
            "The index is still being made: 3 of 6 files (50%) answer, and no others were looked at."
        ]
        assert answer["hints"]["retryAfterMs"] > 0
        assert answer["indexing"]["filesToProcess"] == 6
        made.ends()
    after = agent.ask("search_codebase", query="common", mode="regex", patience=PATIENT, allowPartial=True)
    assert shown(after) == {f"{name}.py" for name in NAMES}
    assert (after["coverage"]["exhaustive"], "partial" in after["coverage"], after["warnings"]) == (True, False, [])


def test_a_symbol_that_is_not_in_the_part_is_not_called_missing(agent: Agent) -> None:
    with held(agent):
        there = agent.ask("find_symbol", name="m1", allowPartial=True)
        later = agent.ask("find_symbol", name="m5", allowPartial=True)
        assert (shown(there), there["coverage"]["exhaustive"]) == ({"m1.py"}, False)
        assert (later["status"], later["results"], later["coverage"]["exhaustive"]) == ("ok", [], False)
        assert "50%" in later["warnings"][0]
        assert agent.ask("find_symbol", name="m1")["status"] == "not_ready"


def test_every_verb_of_a_terminal_answers_from_a_part_and_says_so(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in agent.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(agent.tree)
    verbs = (
        *(("search", "m1"), ("symbol", "m1"), ("refs", "m1"), ("graph", "m1")),
        *(("outline", "m1.py"), ("read", "m1.py"), ("similar", "m1.py:1"), ("map",)),
    )
    with held(agent):
        for verb in verbs:
            assert typed(*verb, "--json")[0] == 11, verb
            status, out, _ = typed(*verb, "--partial", "--json")
            answer = json.loads(out)
            check(answer, answer["schema"])
            coverage = answer["coverage"]
            assert (status, coverage["partial"], coverage["share"], coverage["exhaustive"]) == (0, True, 0.5, False)
            status, out, said = typed(*verb, "--partial")
            assert (status, "3 of 6 files (50%) answer" in said, "all of them were" in out) == (0, True, False), verb


def test_without_a_daemon_the_command_answers_from_what_it_has_done_and_ends(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    """The index would take for ever, as it stands still after three files until the command ends."""
    faults.limit(prepare, PARTIAL_SECONDS=0.0)
    agent.settings('[serve]\ndaemon = "off"\n')
    for name, value in agent.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(agent.tree)
    for name in NAMES:
        (agent.tree / f"{name}.py").write_text(f"def {name}():\n    return common()\n")
    (agent.tree / "lease.py").unlink()
    real = run.index

    def slow(codebase: Any, options: Any, tell: Any, **more: Any) -> Any:
        def told(at: Progress) -> None:
            tell(at)
            while (at.phase, at.done) == (Phase.INDEXING, 3):
                tell(at)
                time.sleep(0.01)

        return real(codebase, options, told, **more)

    monkeypatch.setattr(prepare.run, "index", slow)
    status, out, _ = typed("symbol", "m1", "--partial", "--json")
    answer = json.loads(out)
    assert (status, answer["coverage"]["partial"], answer["coverage"]["exhaustive"]) == (0, True, False), answer
    assert 0 < answer["coverage"]["share"] < 1
    monkeypatch.setattr(prepare.run, "index", real)
    status, out, _ = typed("symbol", "m5", "--json")
    assert (status, shown(json.loads(out))) == (0, {"m5.py"}), "the next command makes the rest"


def test_what_is_done_answers_without_a_daemon_though_no_batch_is_full(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    """The batch would hold all files: what the run has done is sealed for the answer."""
    faults.limit(prepare, PARTIAL_SECONDS=0.0)
    faults.limit(catchup, BATCH_BYTES=1 << 25, FIRST_BATCH_BYTES=1 << 25)
    agent.settings('[serve]\ndaemon = "off"\n')
    for name, value in agent.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(agent.tree)
    for name in NAMES:
        (agent.tree / f"{name}.py").write_text(f"def {name}():\n    return common()\n")
    real, runs = run.index, []

    def slow(codebase: Any, options: Any, tell: Any, **more: Any) -> Any:
        runs.append(0)

        def told(at: Progress) -> None:
            tell(at)
            while at.phase is Phase.INDEXING and at.done >= 3:
                tell(at)
                time.sleep(0.01)

        return real(codebase, options, told, **more)

    monkeypatch.setattr(prepare.run, "index", slow)
    status, out, _ = typed("search", "common", "--mode", "regex", "--partial", "--json")
    answer = json.loads(out)
    assert (status, answer["coverage"]["partial"], len(runs)) == (0, True, 2)
    assert answer["results"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("file_outline", {"file": "m1.py"}),
        ("read_file", {"file": "m1.py"}),
        ("call_graph", {"symbol": "m1"}),
        ("repo_map", {}),
        ("find_symbol", {"name": "m1", "references": True}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_tool_that_asks_about_code_answers_from_a_part(
    agent: Agent, tool: str, arguments: dict[str, Any]
) -> None:
    with held(agent):
        assert agent.ask(tool, **arguments)["status"] == "not_ready"
        answer = agent.ask(tool, **arguments, allowPartial=True)
        coverage = answer["coverage"]
        assert (coverage["partial"], coverage["share"], coverage["exhaustive"]) == (True, 0.5, False)
        assert "50%" in answer["warnings"][-1]


def typed(*arguments: str) -> tuple[int, str, str]:
    """The exit status of a command, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    return main(arguments, Output(out, err, environ=os.environ)), out.getvalue(), err.getvalue()


def test_nothing_of_a_part_is_published_and_no_page_follows_on_it(agent: Agent) -> None:
    with held(agent):
        before = agent.stored()
        answer = agent.ask("search_codebase", query="common", mode="regex", limit=1, allowPartial=True)
        assert len(answer["results"]) == 1
        assert "continuation" not in answer
        assert agent.stored() == before
        assert not [name for name in before if "/generations/" in name]


def test_a_file_that_the_run_has_read_again_is_shown_once_and_as_it_is_now(agent: Agent) -> None:
    with held(agent) as made:
        made.goes_on()
        made.stands()
        (agent.tree / "m1.py").write_text("def other():\n    return common()\n")
        made.goes_on()
        until(lambda: shown(asked(agent, "other")) == {"m1.py"})
        assert shown(asked(agent, "m1")) == set()
        assert asked(agent, "common")["coverage"]["indexed"] == 6


def asked(agent: Agent, pattern: str) -> dict[str, Any]:
    """The answer; there is none for a moment while the run publishes."""
    found: dict[str, Any] = {}

    def is_answered() -> bool:
        found.clear()
        found.update(agent.ask("search_codebase", query=pattern, mode="regex", patience=AT_ONCE, allowPartial=True))
        return bool(found["status"] == "ok")

    until(is_answered)
    return found


def test_a_search_that_makes_the_first_index_answers_as_soon_as_something_is_done(agent: Agent) -> None:
    answer = agent.ask("search_codebase", query="steal", patience=PATIENT, allowPartial=True)
    assert answer["status"] == "ok"
    assert shown(answer) == {"lease.py"}
