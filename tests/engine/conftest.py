"""A codebase on a real server, with a proxy between the two. A module that uses it has a fixture `server`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import cairn.engine.local as candidates_module
import cairn.engine.milvus as milvus_module
import cairn.sync.remote.copy as remote_view_module
from cairn.sync.proof import PROVEN
from tests.engine.servers import RealServer
from tests.support.faults import Faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.engine.cloud import Cloud


@pytest.fixture
def empty(tmp_path: Path, server: RealServer) -> Iterator[Cloud]:
    """Nothing is indexed yet."""
    from tests.engine.cloud import Cloud
    from tests.engine.proxy import between

    with between(server.uri) as proxy:
        one = Cloud(tmp_path, proxy)
        one.proxy = proxy
        yield one
        proxy.heal()
        one.close()


@pytest.fixture
def cloud(empty: Cloud) -> Cloud:
    """Indexed, complete on the server, and nobody has asked anything yet."""
    empty.index()
    assert empty.proof() == PROVEN
    empty.reopened()
    empty.proxy.calls.clear()
    return empty


@pytest.fixture
def impatient(faults: Faults) -> None:
    """No rest after trouble: every question asks the server anew."""
    faults.limit(candidates_module, ENGINE_REST_SECONDS=0.0)
    faults.limit(milvus_module, ENGINE_BACKOFF_SECONDS=0.001)
    faults.limit(remote_view_module, ENGINE_REST_SECONDS=0.0, ENGINE_SEARCH_SECONDS=0.5)
