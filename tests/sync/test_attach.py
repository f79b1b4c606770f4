"""A run that writes has a copy elsewhere only where the settings name a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.config import EngineConfig
from cairn.errors import EngineUnreachable
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import attached, open_writer
from cairn.sync.remote import copy
from cairn.sync.remote.copy import attachment
from tests.support.clock import ManualClock
from tests.sync.team import FILES, person


def test_a_run_is_attached_to_the_server_that_the_settings_name_and_let_go_again(tmp_path: Path) -> None:
    me = person(tmp_path, "me", "")
    me.write(FILES)
    me.index()
    assert attachment(me.codebase, me.place, lambda _: None) is None
    config = replace(me.codebase.config, engine=EngineConfig("milvus", "http://127.0.0.1:1"))
    attach = attachment(me.codebase._replace(config=config), me.place, lambda _: None)
    with me.disk() as disk, open_writer(disk, "here", RunKind.GC) as writer:
        with attached(None, writer) as away:
            assert away is None
            assert writer.away is None
        with attached(attach, writer) as away:
            assert away is not None
            assert writer.away is away
        assert writer.away is None


def test_who_is_in_a_hurry_does_not_try_a_server_again_that_let_somebody_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = person(tmp_path, "me", "")
    me.write(FILES)
    me.index()
    uri = "http://127.0.0.1:1"
    codebase = me.codebase._replace(config=replace(me.codebase.config, engine=EngineConfig("milvus", uri)))
    clock = ManualClock()
    monkeypatch.setattr(copy, "_resting", {uri: clock.monotonic() + 1})
    with me.disk() as disk, open_writer(disk, "here", RunKind.GC) as writer:
        hurried = attachment(codebase, me.place, lambda _: None, clock=clock, hurried=True)
        with attached(hurried, writer) as away:
            assert away is not None
            with pytest.raises(EngineUnreachable, match="no time was left"):
                away.sweep()
        with attached(attachment(codebase, me.place, lambda _: None, clock=clock), writer) as away:
            assert away is not None
            assert away._engine._server.until is None, "who was asked to do it tries"  # type: ignore[attr-defined]
