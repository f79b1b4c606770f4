"""Where a codebase stands is said alike by every face, in every situation that a codebase can be in."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cairn
from cairn.answer.envelope import encode
from cairn.ask.library import Code
from cairn.ask.session import Session, whole
from cairn.ask.whereabouts import where
from cairn.cli.commands import run_command
from cairn.store.format.layout import POINTER
from cairn.store.publish.lease import RunKind
from cairn.sync.status import look
from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Typed, typed
from tests.support.faults import small_files
from tests.support.servers import Agent, connected, indexed_agent, threaded
from tests.support.waiting import until

SOURCE = Path(cairn.__file__).parent
MUCH = "\n".join(f"def settle_{number}(account_{number}):\n    return account_{number}" for number in range(9_000))


class Face(NamedTuple):
    """What one face says: the state, and the kind and the code of the last run if that failed."""

    state: str | None
    failed: tuple[str, str] | None = None


def typed_by(me: Agent, *arguments: str) -> Typed:
    return typed(arguments, me.tree, me.variables())


def fails(me: Agent, command: str) -> None:
    (me.tree / "much.py").write_text(MUCH)
    with small_files(64 << 10):
        assert typed_by(me, command).status == 82


# --- the situations -------------------------------------------------------------------------------------------------


def never(_: Agent) -> None:
    """Nobody has indexed it."""


def first_failed(me: Agent) -> None:
    fails(me, "index")


def indexed(_: Agent) -> None:
    """An index was made, and that is all."""


def synced(me: Agent) -> None:
    (me.tree / "more.py").write_text("more = 1\n")
    assert typed_by(me, "sync").status == 0


def sync_failed(me: Agent) -> None:
    synced(me)
    fails(me, "sync")


def reindex_failed(me: Agent) -> None:
    fails(me, "reindex")


def recovered(me: Agent) -> None:
    sync_failed(me)
    (me.tree / "much.py").unlink()
    assert typed_by(me, "sync").status == 0


def cleared(me: Agent) -> None:
    assert typed_by(me, "clear").status == 0


def other_settings(me: Agent) -> None:
    """The user's own."""
    (me.home / "config.toml").write_text("[limits]\nmax_file_bytes = 1000\n")


def proposed_settings(me: Agent) -> None:
    """Those of the repository, which propose a build and start none."""
    (me.tree / ".cairn.toml").write_text("[limits]\nmax_file_bytes = 1000\n")


def failed_and_other_settings(me: Agent) -> None:
    sync_failed(me)
    other_settings(me)


def lost(me: Agent) -> None:
    shutil.rmtree(me.home / "data")


def damaged(me: Agent) -> None:
    for name in ("generations", "snapshots"):
        for file in me.home.glob(f"data/*/{name}/**/*"):
            if file.is_file():
                file.chmod(0o600)
                file.write_bytes(b"x")


FIRST: dict[Callable[[Agent], None], Face] = {
    never: Face("not_found"),
    first_failed: Face("indexfailed", ("create", "store_io")),
}
LATER: dict[Callable[[Agent], None], Face] = {
    indexed: Face("indexed"),
    synced: Face("sync_completed"),
    sync_failed: Face("indexed", ("sync", "store_io")),
    reindex_failed: Face("indexed", ("reindex", "store_io")),
    recovered: Face("sync_completed"),
    cleared: Face("not_found"),
    other_settings: Face("requires_reindex"),
    proposed_settings: Face("indexed"),
    failed_and_other_settings: Face("requires_reindex", ("sync", "store_io")),
    lost: Face("not_found"),
    damaged: Face("not_found"),
}


# --- the faces ------------------------------------------------------------------------------------------------------


def said(answer: dict[str, Any], state: str) -> Face:
    last = answer.get("lastRun") or answer.get("hints", {}).get("lastRun")
    return Face(answer[state], last and (last["kind"], last["code"]))


def of_json(text: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text)
    check(answer, answer["schema"])
    return answer


def of_list(answer: dict[str, Any]) -> Face:
    rows = [row for row in answer["results"] if row["root"]]
    return said(rows[0], "state") if rows else Face("not_found")


def in_the_daemon(me: Agent, command: str) -> str:
    told: list[str] = []
    body = {"argv": [command, "--json"], "cwd": str(me.tree)}
    assert run_command(me.desk, body, lambda stream, text: told.append(text) if stream == "out" else None) is not None
    return "".join(told)


def faces(me: Agent) -> dict[str, Face]:
    me.reopened()
    terminal = {name: of_json(typed_by(me, name, "--json").stdout) for name in ("status", "list", "health")}
    found = {
        "status": said(terminal["status"], "lifecycle"),
        "list": of_list(terminal["list"]),
        "health": said(terminal["health"], "lifecycle"),
        "agent status": said(me.ask("manage_index", action="status", path=str(me.tree)), "lifecycle"),
        "agent list": of_list(me.ask("list_codebases")),
        "daemon status": said(of_json(in_the_daemon(me, "status")), "lifecycle"),
        "daemon list": of_list(of_json(in_the_daemon(me, "list"))),
    }
    with Session(whole(str(me.tree), me.environ), me.environ) as session:
        found["python"] = found["status"]._replace(state=Code(session).state)
        session.look()
        stands = where(look(session.target.codebase, session.home))
        assert session.gate.status is stands.gate.status, "a question is answered by the same decision"
    words(me, stands.answers, found["status"], terminal["health"])
    return found


def words(me: Agent, answers: bool, expected: Face, health: dict[str, Any]) -> None:
    """What people read says no other than what programs read."""
    assert health["healthy"] is (answers and not health["counts"]["error"])
    verdict = typed_by(me, "health").stdout.splitlines()[-1]
    assert verdict.startswith("The index is healthy") is health["healthy"], verdict
    status, listed = typed_by(me, "status"), typed_by(me, "list")
    if expected.state != "not_found":
        assert f"state      {expected.state}\n" in status.stdout
        assert listed.stdout.startswith(expected.state or "?")
    failed = expected.failed and f"The last {expected.failed[0]} failed"
    for text in (status.stdout, listed.stderr, typed_by(me, "health").stdout):
        assert ("failed at" in text) is bool(failed), text
        assert not failed or failed in text


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree and a home with its index, of which every situation gets a copy: at the same place, as roots must be."""
    folder = tmp_path_factory.mktemp("made")
    indexed_agent(folder / "here").close()
    shutil.copytree(folder / "here", folder / "kept")
    return folder


@pytest.fixture
def me(made: Path) -> Iterator[Agent]:
    shutil.rmtree(made / "here")
    shutil.copytree(made / "kept", made / "here")
    shutil.rmtree(made / "here" / "tree")
    found = Agent(made / "here")
    # As old as the index knows it.
    shutil.copystat(made / "kept" / "tree" / "lease.py", found.tree / "lease.py")
    yield found
    found.close()


@conforms("000.LIFE1", "001.ST1", "001.PREC")
@pytest.mark.parametrize("situation", LATER, ids=lambda one: one.__name__)
def test_every_face_says_the_same_of_an_index(me: Agent, situation: Callable[[Agent], None]) -> None:
    situation(me)
    found = faces(me)
    assert found == dict.fromkeys(found, LATER[situation])


@pytest.mark.parametrize("situation", FIRST, ids=lambda one: one.__name__)
def test_every_face_says_the_same_where_no_index_was_made(agent: Agent, situation: Callable[[Agent], None]) -> None:
    situation(agent)
    found = faces(agent)
    assert found == dict.fromkeys(found, FIRST[situation])


@pytest.mark.parametrize("kind", [RunKind.CREATE, RunKind.REINDEX, RunKind.SYNC])
def test_every_face_says_the_same_while_a_run_is_at_work(me: Agent, kind: RunKind) -> None:
    with ExitStack() as stack:
        stack.enter_context(me.writing(kind))
        found = faces(me)
    masked = kind in (RunKind.CREATE, RunKind.REINDEX)
    assert found == dict.fromkeys(found, Face("indexing" if masked else "indexed"))


def test_the_daemon_says_of_each_codebase_where_it_stands(me: Agent) -> None:
    with threaded(me.environ), connected(me.environ) as connection:
        connection.request("serve", {"served": [str(me.tree)]})

        def told() -> list[tuple[str, str]]:
            status = of_json(encode(connection.request("status", {})["status"]))
            return [(row["root"], row["state"]) for row in status["roots"]]

        # It catches up first, unasked.
        root = str(me.tree)
        until(lambda: told() in ([(root, "indexed")], [(root, "sync_completed")]), told)
        shown = typed_by(me, "daemon", "status").stderr
    assert re.search(rf"{re.escape(root)}: (indexed|sync_completed)", shown)
    assert "p95" not in shown, "a quantile of a handful of requests says nothing"


def test_no_other_module_decides_where_a_codebase_stands() -> None:
    """The states come from one function; a question is decided by the same gate in the session that is asked."""
    users = {
        name: {
            str(file.relative_to(SOURCE))
            for file in SOURCE.rglob("*.py")
            if re.search(rf"\b{name}\(", file.read_text())
        }
        for name in ("lifecycle", "GateFacts")
    }
    assert users["lifecycle"] == {"ask/gate.py", "ask/whereabouts.py"}
    assert users["GateFacts"] == {"ask/session.py", "ask/whereabouts.py"}


def test_grammars_of_languages_that_are_not_there_are_not_blamed(me: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    from cairn.sync import codebase

    before = codebase.identities()
    newer = tuple((name, version + "9" if name in ("go", "rust", "python") else version) for name, version in before)
    for changed, differs in (
        (newer, ["grammar.python"]),
        (
            tuple(one for one in newer if one[0] != "python") + tuple(one for one in before if one[0] == "python"),
            ["grammars of languages that it holds no file of"],
        ),
    ):
        monkeypatch.setattr(codebase, "identities", lambda changed=changed: changed)
        answer = me.ask("manage_index", action="status", path=str(me.tree))
        assert answer["hints"]["differs"] == differs


@pytest.mark.parametrize("change", ["stranger", "pointer", "state", "segment", "nothing"])
def test_no_check_advises_a_repair_that_finds_nothing(me: Agent, change: str) -> None:
    (store,) = (me.home / "data").iterdir()
    if change == "stranger":
        (store / "segments" / "notes.txt").write_text("x")
    elif change == "pointer":
        (store / POINTER).unlink()
    elif change == "state":
        (store / "index_state.json").write_bytes(b"{}")
    elif change == "segment":
        data = next(store.glob("segments/*/data.bin"))
        data.chmod(0o600)
        data.write_bytes(data.read_bytes()[:-1])
    advised = "cairn repair" in typed_by(me, "health").stderr
    planned = of_json(typed_by(me, "repair", "--dry-run", "--json").stdout)
    assert not advised or planned["scope"] != "none", "it says that there is nothing to repair"
