"""Whatever a client sends, each request gets its answer, and be it a JSON-RPC error; then the next one is served.

The same table of frames goes over both transports of a real `cairn mcp`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_DEPTH, MAX_NUMBER_CHARS
from cairn.mcp.messages import Refused, read, write
from tests.lengths import at_length
from tests.mcp.test_http import posted, running
from tests.support.servers import HELLO, READY, Agent, Mcp

PING = {"jsonrpc": "2.0", "id": "next", "method": "ping"}
NO_JSON, NO_REQUEST, BAD_PARAMS = types.PARSE_ERROR, types.INVALID_REQUEST, types.INVALID_PARAMS
NO_METHOD = types.METHOD_NOT_FOUND


class Frame(NamedTuple):
    """What a client sends, and the error that it must get: to which id, with which code."""

    why: str
    sent: bytes
    id: int | str | None
    code: int


def call(arguments: str, identity: str = "7", method: str = "tools/call") -> bytes:
    """A call of a tool, as text, so that what no library would write can stand in it."""
    params = f'{{"name":"search_codebase","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":{identity},"method":"{method}","params":{params}}}'.encode()


def nested(depth: int) -> str:
    return '{"query":' + "[" * depth + "]" * depth + "}"


def listing(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/list", **members}).encode()


FRAMES = [
    # What clients really send.
    Frame("half an emoji", call('{"query":"smile \\ud83d"}'), 7, NO_REQUEST),
    Frame("the other half", call('{"query":"\\ude00 smile"}'), 7, NO_REQUEST),
    Frame("half an emoji as a name", call('{"\\ud83d":1}'), 7, NO_REQUEST),
    Frame("half an emoji in the method", call("{}", method="tools/\\ud83d"), 7, NO_REQUEST),
    Frame("half an emoji as id", call("{}", '"\\ud83d"'), None, NO_REQUEST),
    Frame("5,000 digits", call('{"query":"x","limit":' + "9" * 5_000 + "}"), 7, NO_REQUEST),
    Frame("minus 5,000 digits", call('{"query":"x","limit":-' + "9" * 5_000 + "}"), 7, NO_REQUEST),
    Frame("a fraction of 5,000 digits", call('{"query":"x","limit":0.' + "9" * 5_000 + "}"), 7, NO_REQUEST),
    Frame("one digit too many", call('{"limit":' + "9" * (MAX_NUMBER_CHARS + 1) + "}"), 7, NO_REQUEST),
    Frame("5,000 digits as id", call("{}", "9" * 5_000), None, NO_REQUEST),
    Frame("one too deep", call(nested(MAX_MESSAGE_DEPTH)), 7, NO_REQUEST),
    Frame("900 deep", call(nested(900)), 7, NO_REQUEST),
    Frame("200,000 deep", call(nested(200_000)), 7, NO_REQUEST),
    Frame(
        "200,000 deep, with the id behind it", b'{"params":' + nested(200_000).encode() + b',"id":"a"}', "a", NO_REQUEST
    ),
    Frame("objects 900 deep", call('{"a":' * 900 + "1" + "}" * 900), 7, NO_REQUEST),
    Frame("200,000 deep and never closed", b'{"id":7,"params":' + b"[" * 200_000, 7, NO_REQUEST),
    Frame("200,000 deep and nothing else", b"[" * 200_000, None, NO_REQUEST),
    Frame("an id that is only deep inside", call(nested(900), '{"id":5}'), None, NO_REQUEST),
    # What is not JSON.
    Frame("words", b"this is no JSON", None, NO_JSON),
    Frame("half a message", call("{}")[:-9], None, NO_JSON),
    Frame("two messages", call("{}") + call("{}"), None, NO_JSON),
    Frame("no UTF-8", call('{"query":"\xff"}').decode().encode("latin-1"), None, NO_JSON),
    Frame("UTF-16", call("{}").decode().encode("utf-16").replace(b"\n", b""), None, NO_JSON),
    Frame("a NUL", b"\0", None, NO_JSON),
    Frame("a bare control character", call('{"query":"a\tb"}'), None, NO_JSON),
    Frame("not a number", call('{"limit":NaN}'), None, NO_JSON),
    Frame("infinity", call('{"limit":-Infinity}'), None, NO_JSON),
    Frame("a comma at the end", call("{},"), None, NO_JSON),
    # What is JSON, and no request.
    Frame("a batch", b"[" + call("{}") + b"," + call("{}", "8") + b"]", None, NO_REQUEST),
    Frame("an empty batch", b"[]", None, NO_REQUEST),
    Frame("a text", b'"tools/list"', None, NO_REQUEST),
    Frame("a number", b"7", None, NO_REQUEST),
    Frame("null", b"null", None, NO_REQUEST),
    Frame("an empty object", b"{}", None, NO_REQUEST),
    *(
        Frame(f"the id is {json.dumps(identity)}", listing(id=identity), None, NO_REQUEST)
        for identity in ({}, {"a": 1}, [], [7], None, True, 1.5, 7.0)
    ),
    Frame("no version", json.dumps({"id": 7, "method": "tools/list"}).encode(), 7, NO_REQUEST),
    Frame("another version", listing(jsonrpc="1.0"), 7, NO_REQUEST),
    Frame("the version is a number", listing(jsonrpc=2.0), 7, NO_REQUEST),
    Frame("no method", json.dumps({"jsonrpc": "2.0", "id": 7}).encode(), 7, NO_REQUEST),
    Frame("the method is a number", listing(method=1), 7, NO_REQUEST),
    Frame("the method is null", listing(method=None), 7, NO_REQUEST),
    Frame("params are a list", listing(params=[1]), 7, NO_REQUEST),
    Frame("params are a text", listing(params="bar"), 7, NO_REQUEST),
    Frame("a request and an answer at once, wrong in both", listing(method=None, result={}), 7, NO_REQUEST),
    Frame("a notification whose method is a number", b'{"jsonrpc":"2.0","method":1}', None, NO_REQUEST),
    # What is a request that cannot be served.
    Frame("a method that there is not", listing(method="tools/forget"), 7, NO_METHOD),
    Frame("an empty method", listing(method=""), 7, NO_METHOD),
    Frame("a call without a tool", listing(method="tools/call"), 7, BAD_PARAMS),
    Frame("a tool that is a number", listing(method="tools/call", params={"name": 5}), 7, BAD_PARAMS),
    Frame("arguments that are a list", call("[1]"), 7, BAD_PARAMS),
    Frame("arguments that are a text", call('"x"'), 7, BAD_PARAMS),
]
# What is a call, however odd, is answered by the tool.
CALLS = [
    call('{"query":"smile \\ud83d\\ude00"}'),
    call(nested(MAX_MESSAGE_DEPTH - 3)),
    call('{"limit":' + "9" * MAX_NUMBER_CHARS + "}"),
    call('{"limit":1e399}'),
    call('{"a\\u0000":1}'),
    call('{"query":' + json.dumps("x" * 1_000_000) + "}"),
]
TOO_LONG = call('{"query":' + json.dumps("x" * MAX_MESSAGE_BYTES) + "}")
# Nobody waits for an answer to these.
SILENT = [
    b"",
    b" \t\r",
    b'{"jsonrpc":"2.0","method":"notifications/unheard"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    b'{"jsonrpc":"2.0","id":99,"result":{}}',
    b'{"jsonrpc":"2.0","id":{},"result":{}}',
    b'{"jsonrpc":"2.0","id":99,"error":{"code":"\\ud83d"}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
]


def test_over_stdio_every_frame_gets_its_error_and_the_next_request_is_served(agent: Agent) -> None:
    with Mcp(agent, "--offline") as server:
        server.said(HELLO)
        server.send(READY)
        for frame in FRAMES:
            answer = heard(server, frame.sent)
            assert (answer["id"], answer["error"]["code"]) == (frame.id, frame.code), (frame.why, answer)
            assert server.said(PING) == {"jsonrpc": "2.0", "id": "next", "result": {}}, frame.why
        for sent in CALLS:
            assert is_answered_by_a_tool(heard(server, sent)), sent[:200]
        for piece in (TOO_LONG, b"x" * (MAX_MESSAGE_BYTES + 1), b"x" * (3 * MAX_MESSAGE_BYTES)):
            assert heard(server, piece)["error"]["code"] == NO_REQUEST
            assert server.said(PING)["id"] == "next"
        for sent in SILENT:
            assert heard(server, sent + b"\n" + json.dumps(PING).encode())["id"] == "next", sent
        out, err = server.process.communicate()
        assert (out, err, server.process.returncode) == (b"", b"", 0)


def test_over_http_every_frame_gets_its_error_and_the_next_request_is_served(agent: Agent) -> None:
    with running(agent) as server:
        hello = posted(server, json.dumps(HELLO).encode())
        session = {"Mcp-Session-Id": hello.session, "MCP-Protocol-Version": "2025-11-25"}
        assert posted(server, json.dumps(READY).encode(), session).status == 202
        for frame in FRAMES:
            for headers in ({}, session, {"MCP-Protocol-Version": types.LATEST_PROTOCOL_VERSION}):
                if frame.code in (NO_METHOD, BAD_PARAMS) and headers is not session:
                    # What else such a request lacks is told first.
                    continue
                status, answer, _ = posted(server, frame.sent, headers)
                assert (answer["id"], answer["error"]["code"]) == (frame.id, frame.code), (frame.why, headers, answer)
                assert status == (200 if frame.code in (NO_METHOD, BAD_PARAMS) else 400), frame.why
            assert posted(server, json.dumps(PING).encode(), session).answer["result"] == {}, frame.why
        for sent in CALLS:
            assert is_answered_by_a_tool(posted(server, sent, session).answer), sent[:200]


def heard(server: Mcp, line: bytes) -> dict[str, Any]:
    """What the server says after this line."""
    assert server.process.stdin is not None
    server.process.stdin.write(line + b"\n")
    return server.said()


def is_answered_by_a_tool(answer: dict[str, Any]) -> bool:
    return answer["id"] == 7 and json.loads(answer["result"]["content"][0]["text"])["status"] in ("ok", "error")


# --- any frame at all -------------------------------------------------------------------------------------------------

NASTY = st.sampled_from(["\ud83d", "\udc00x", "", "id", "9" * 20, '"', "\\"]) | st.text(max_size=5)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NASTY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NASTY, inner, max_size=3),
    max_leaves=8,
)
ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | ANY,
        "id": st.integers() | ANY,
        "method": st.just("ping") | ANY,
        "params": st.dictionaries(NASTY, ANY, max_size=3) | ANY,
        "result": ANY,
        "error": ANY,
    },
)


def check(value: Any, frame: bytes) -> None:
    found = read(frame)
    if isinstance(found, types.JSONRPCRequest):
        assert json.loads(write(found))["id"] == value["id"]
    elif isinstance(found, Refused):
        answer = json.loads(found.to_bytes())
        assert answer["error"]["message"]
        assert answer["id"] in (None, value.get("id") if isinstance(value, dict) else None)
    elif isinstance(value, dict) and "method" in value:
        # Only what asks for no answer gets none.
        assert isinstance(found, types.JSONRPCNotification)
        assert "id" not in value


@given(ENVELOPES | ANY)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_value_is_a_message_or_gets_an_error(value: Any) -> None:
    check(value, json.dumps(value).encode())


@pytest.mark.long
@given(ENVELOPES | ANY)
@settings(max_examples=at_length(20_000), derandomize=True, deadline=None)
def test_many_more_values(value: Any) -> None:
    check(value, json.dumps(value).encode())


@given(st.binary(max_size=60))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_bytes_get_an_error_that_can_be_read(frame: bytes) -> None:
    found = read(frame)
    assert found is None or not isinstance(found, Refused) or json.loads(found.to_bytes())["error"]["code"]


def test_an_answer_that_cannot_be_written_becomes_an_error_to_its_request() -> None:
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=7, result={"text": "\ud83d"})
    assert json.loads(write(answer))["error"]["code"] == types.INTERNAL_ERROR
    assert json.loads(write(answer))["id"] == 7
