"""The copy of a snapshot for a reader: believed when it is proven, asked again after a while, never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.limits import ENGINE_REST_SECONDS, ENGINE_SEARCH_SECONDS
from cairn.embedding.identity import BUNDLED
from cairn.engine.milvus_rows import MilvusRows
from cairn.errors import EngineUnreachable
from cairn.store.format.manifest import Completion
from cairn.store.publish.generations import published, read_claims
from cairn.sync.remote.copy import RemoteView
from tests.support.clock import ManualClock
from tests.sync.team import FILES, Person, person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    one = person(tmp_path, "me", "")
    one.write(FILES)
    one.index()
    return one


def test_without_a_server_nothing_is_asked_and_nothing_said(me: Person) -> None:
    view = RemoteView(me.codebase.config, me.place, me.environ, BUNDLED, ManualClock())
    with me.disk() as disk:
        manifest = next(published(disk, read_claims(disk), []))
    assert view.rows_of(manifest) is None
    assert view.said(None) == ()
    assert not view.probe_failed
    view.close()


def test_a_server_is_asked_once_for_a_snapshot_and_again_after_a_while(
    me: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    me.names("http://127.0.0.1:1")
    with me.disk() as disk:
        manifest = next(published(disk, read_claims(disk), []))
    answers: list[Completion | Exception | None] = []
    asked: list[str] = []

    def get_marker(_: MilvusRows, run: str) -> Completion | None:
        asked.append(run)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(MilvusRows, "get_marker", get_marker)
    clock = ManualClock()
    view = RemoteView(me.codebase.config, me.place, me.environ, BUNDLED, clock)
    answers[:] = [EngineUnreachable(uri="x", why="cut"), None, manifest.completion]
    assert view.rows_of(manifest) is None
    assert view.probe_failed
    assert "probe_failed" in view.said(None)[0]
    assert view.rows_of(manifest) is None
    assert len(asked) == 1
    clock.sleep(ENGINE_REST_SECONDS)
    assert view.rows_of(manifest) is None
    assert not view.probe_failed
    assert "missing_marker_doc" in view.said(None)[0]
    clock.sleep(ENGINE_REST_SECONDS)
    assert view.rows_of(manifest) is not None
    assert view.said(None) == ()
    clock.sleep(ENGINE_REST_SECONDS)
    assert view.rows_of(manifest) is not None
    assert len(asked) == 3, "what is proven for a snapshot stays so"
    assert "engine_unreachable" in view.said(EngineUnreachable(uri="x", why="cut"))[0]
    view.close()


def test_a_server_that_lets_one_codebase_wait_is_not_asked_for_the_next(
    me: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    me.names("http://127.0.0.1:2")
    with me.disk() as disk:
        manifest = next(published(disk, read_claims(disk), []))
    clock, asked, takes = ManualClock(), [], [ENGINE_SEARCH_SECONDS]

    def get_marker(_: MilvusRows, run: str) -> Completion | None:
        asked.append(run)
        clock.sleep(takes[0])
        raise EngineUnreachable(uri="x", why="cut")

    monkeypatch.setattr(MilvusRows, "get_marker", get_marker)
    views = [RemoteView(me.codebase.config, me.place, me.environ, BUNDLED, clock) for _ in range(5)]
    for view in views:
        assert view.rows_of(manifest) is None
        assert view.probe_failed
        assert "probe_failed" in view.said(None)[0]
    assert len(asked) == 1
    # One that says no at once is asked by everybody: it costs no time, and one broken copy tells nothing of others.
    clock.sleep(ENGINE_REST_SECONDS)
    takes[0] = 0.0
    assert [view.rows_of(manifest) for view in views] == [None] * 5
    assert len(asked) == 6


def test_a_token_that_is_not_set_is_said_and_stops_no_search(me: Person) -> None:
    me.names("http://127.0.0.1:1", 'token_env = "NOT_SET_ANYWHERE"\n')
    view = RemoteView(me.codebase.config, me.place, me.environ, BUNDLED, ManualClock())
    with me.disk() as disk:
        assert view.rows_of(next(published(disk, read_claims(disk), []))) is None
    [said] = view.said(None)
    assert said.startswith(f"The search server did not help with {me.place.store_id} (config_invalid);")
