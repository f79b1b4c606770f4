"""Tests that load gRPC come behind all others, and are known by their text."""

from __future__ import annotations

import pytest

from tests.support.order import loads_grpc, with_grpc_last


def test_a_test_that_asks_a_search_server_is_known(request: pytest.FixtureRequest) -> None:
    """This one names milvus, and asks nobody."""
    assert loads_grpc(request.node)


def test_others_keep_their_order_before_it(request: pytest.FixtureRequest) -> None:
    plain = [item for item in request.session.items if not loads_grpc(item)]
    late = [item for item in request.session.items if loads_grpc(item)]
    assert with_grpc_last([*late, *plain]) == [*plain, *late]
    assert request.node in plain
