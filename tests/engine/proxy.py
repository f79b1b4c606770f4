"""A proxy of our own before a real Milvus: it passes every call on as it is, unless a fault says otherwise.

It speaks gRPC and knows no message: a call is its name and its bytes. So a fault is named by the call that it strikes.
"""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc

REFUSE, DELAY, TRUNCATE, DROP, CUT_AFTER, EMPTY = "refuse", "delay", "truncate", "drop", "cut after", "empty"
_DELAY_SECONDS = 60.0


class Proxy:
    """`fault(call)` says what happens to a call by its name, such as `Search`; None lets it pass.

    `refuse`: it never reaches the server. `delay`: the answer does not come in time. `truncate`: half of the answer
    comes. `drop`: it is refused, and so are all that follow. `cut after`: it reached the server, its answer is lost.
    `empty`: an answer comes that is well formed and says nothing.
    """

    def __init__(self, upstream: str, token: str = "") -> None:
        self.fault: Callable[[str], str | None] = lambda _: None
        self.calls: Counter[str] = Counter()
        self.port = 0
        self._token = base64.b64encode(token.encode()).decode() if token else ""
        self._down = False
        self._stopping = threading.Event()
        self._channel = grpc.insecure_channel(upstream.removeprefix("http://"))
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        self._server.add_generic_rpc_handlers((_Anything(self),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def heal(self) -> None:
        """Everything passes again."""
        self.fault, self._down = (lambda _: None), False

    def close(self) -> None:
        self._stopping.set()
        self._server.stop(0).wait()
        self._channel.close()

    def pass_on(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        name = method.rpartition("/")[2]
        self.calls[name] += 1
        if self._token and dict(context.invocation_metadata()).get("authorization") != self._token:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check your token")
        fault = "drop" if self._down else self.fault(name)
        if fault == DROP:
            self._down = True
        if fault in (REFUSE, DROP):
            context.abort(grpc.StatusCode.UNAVAILABLE, "the line was cut")
        if fault == DELAY:
            until = time.monotonic() + _DELAY_SECONDS
            while context.is_active() and not self._stopping.wait(0.02) and time.monotonic() < until:
                pass
            context.abort(grpc.StatusCode.UNAVAILABLE, "too late")
        call = self._channel.unary_unary(method, request_serializer=bytes, response_deserializer=bytes)
        try:
            answer = bytes(call(request, timeout=30.0, metadata=_passed(context)))
        except grpc.RpcError as problem:
            context.abort(problem.code(), problem.details())
        if fault == CUT_AFTER:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")
        if fault == EMPTY:
            return b""
        return answer[: len(answer) // 2] if fault == TRUNCATE else answer


def _passed(context: grpc.ServicerContext) -> tuple[tuple[str, str], ...]:
    own = ("user-agent", "grpc-accept-encoding", "te", "content-type")
    return tuple((key, value) for key, value in context.invocation_metadata() if key not in own)


class _Anything(grpc.GenericRpcHandler):
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        method = details.method
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._proxy.pass_on(method, request, context),
            request_deserializer=bytes,
            response_serializer=bytes,
        )


@contextlib.contextmanager
def between(upstream: str, token: str = "") -> Iterator[Proxy]:
    """A proxy that is gone when the test is over."""
    proxy = Proxy(upstream, token)
    try:
        yield proxy
    finally:
        proxy.close()
