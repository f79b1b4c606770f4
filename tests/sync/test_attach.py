"""A run that writes has a copy elsewhere only where the settings name a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cairn.config import EngineConfig
from cairn.sync.attach import attached, attachment
from tests.sync.team import FILES, person


def test_a_run_is_attached_to_the_server_that_the_settings_name_and_let_go_again(tmp_path: Path) -> None:
    me = person(tmp_path, "me", "")
    me.write(FILES)
    me.index()
    assert attachment(me.codebase, me.place, lambda _: None) is None
    config = replace(me.codebase.config, engine=EngineConfig("milvus", "http://127.0.0.1:1"))
    attach = attachment(me.codebase._replace(config=config), me.place, lambda _: None)
    from cairn.store.lease import RunKind
    from cairn.store.writer import open_writer

    with me.disk() as disk, open_writer(disk, "here", RunKind.GC) as writer:
        with attached(None, writer) as away:
            assert away is None
            assert writer.away is None
        with attached(attach, writer) as away:
            assert away is not None
            assert writer.away is away
        assert writer.away is None
