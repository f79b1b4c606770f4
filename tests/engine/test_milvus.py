"""A server that refuses, delays, cuts and truncates at chosen calls, and one that wants a token."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cairn.core.limits import ENGINE_TRIES
from cairn.engine import milvus
from cairn.engine.milvus import Server
from cairn.engine.milvus_rows import MilvusRows
from cairn.engine.rows import segments_of
from cairn.errors import EngineError, EngineRefused, EngineUnreachable
from cairn.store.read.snapshot import SnapshotView
from tests.engine.conformance import view
from tests.engine.servers import RealServer, needs_milvus, running
from tests.store.little import DIMENSION, STORE_ID
from tests.support.faults import Faults

__all__ = ["view"]
pytestmark = [needs_milvus, pytest.mark.long]

TOKEN = "root:a-token-that-nobody-may-see"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


def test_a_wrong_token_is_said_at_once_and_not_shown(server: RealServer) -> None:
    from tests.engine.proxy import between

    with between(server.uri, TOKEN) as proxy:
        right = MilvusRows(Server(proxy.uri, TOKEN), STORE_ID, DIMENSION)
        assert right.ping()
        right.close()
        wrong = MilvusRows(Server(proxy.uri, f"{TOKEN}x"), STORE_ID, DIMENSION)
        proxy.calls.clear()
        with pytest.raises(EngineRefused) as told:
            wrong._server.call(lambda client, left: client.get_server_version(timeout=left), 20.0)
        assert TOKEN not in told.value.sentence + told.value.advice
        assert "_InactiveRpcError" not in told.value.sentence, "what the server said, and not what Python makes of it"
        assert sum(proxy.calls.values()) <= 2, "a refusal is final"


@pytest.mark.parametrize("fault", ["refuse", "cut after", "truncate"])
def test_a_call_that_did_not_get_through_is_tried_again(fault: str, server: RealServer, view: SnapshotView) -> None:
    from tests.engine.proxy import between

    own = f"again_{fault.replace(' ', '_')}__{STORE_ID}"
    with between(server.uri) as proxy:
        rows = MilvusRows(Server(proxy.uri), own, DIMENSION)
        struck: list[str] = []

        def once_each(name: str) -> str | None:
            if name in ("Upsert", "Flush", "Query", "CreateCollection") and name not in struck:
                struck.append(name)
                return fault
            return None

        proxy.fault = once_each
        [segment, *_] = segments_of(view)
        if fault == "truncate":
            # What came is no answer that can be read: it is an error, and what was sent stays as it is.
            for _ in range(4):
                try:
                    rows.put_segment(segment)
                    break
                except EngineError:
                    continue
        else:
            rows.put_segment(segment)
        assert "Upsert" in struck
        proxy.heal()
        assert set(rows.receipts()) == {segment.name}
        rows.close()


def test_only_so_many_times_and_never_past_the_deadline(server: RealServer, faults: Faults) -> None:
    from tests.engine.proxy import between

    with between(server.uri) as proxy:
        door = Server(proxy.uri)
        assert door.call(lambda client, left: client.has_collection("nothing", timeout=left)) is False
        faults.limit(milvus, ENGINE_BACKOFF_SECONDS=0.01)
        proxy.fault = lambda name: "refuse" if name == "DescribeCollection" else None
        tries: list[float] = []

        def ask(client: object, left: float) -> object:
            tries.append(left)
            return client.describe_collection("nothing", timeout=left)  # type: ignore[attr-defined]

        began = time.monotonic()
        with pytest.raises(EngineUnreachable):
            door.call(ask, 1.0)
        assert 1 <= len(tries) <= ENGINE_TRIES
        assert time.monotonic() - began < 10.0
        door.close()


def test_an_answer_that_does_not_come_ends_with_the_deadline(server: RealServer) -> None:
    from tests.engine.proxy import between

    with between(server.uri) as proxy:
        door = Server(proxy.uri)
        assert door.call(lambda client, left: client.has_collection("nothing", timeout=left)) is False
        proxy.fault = lambda _: "delay"
        began = time.monotonic()
        with pytest.raises(EngineUnreachable):
            door.call(lambda client, left: client.has_collection("nothing", timeout=left), 0.5)
        assert time.monotonic() - began < 15.0
        proxy.heal()
        assert door.call(lambda client, left: client.has_collection("nothing", timeout=left), 10.0) is False
        door.close()
