"""Who is let through to the server over HTTP: a table of headers, and bodies that are longer than they say."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import anyio
import pytest

from cairn.core.limits import MAX_MESSAGE_BYTES
from cairn.mcp.http import Guard

TOKEN = "t0ken-of-the-user_t0ken-of-the-user"
HOST, ORIGIN = "127.0.0.1:8717", "http://127.0.0.1:8717"
GOOD = {"host": HOST, "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
PASSED = 200

Case = tuple[str, str, dict[str, str | list[str] | None], int]


def case(why: str, expected: int, *, method: str = "POST", **changed: str | list[str] | None) -> Case:
    """A good request with these headers instead; None takes one away, a list sends it several times."""
    return why, method, {name.replace("_", "-"): value for name, value in changed.items()}, expected


CASES: list[Case] = [
    case("as it should be", PASSED),
    case("by name", PASSED, host="localhost:8717"),
    case("a GET needs no type", PASSED, method="GET", content_type=None),
    case("a DELETE needs no type", PASSED, method="DELETE", content_type=None),
    case("our own origin", PASSED, origin=ORIGIN),
    case("our own origin by name", PASSED, origin="http://localhost:8717"),
    case("the scheme in small letters", PASSED, authorization=f"bearer {TOKEN}"),
    case("a type with a charset", PASSED, content_type="application/json; charset=utf-8"),
    case("a type in large letters", PASSED, content_type="Application/JSON"),
    case("the longest body", PASSED, content_length=str(MAX_MESSAGE_BYTES)),
    # A page with a name of its own that leads to this machine.
    case("another name", 421, host="evil.example:8717"),
    case("no host", 421, host=None),
    case("an empty host", 421, host=""),
    case("no port", 421, host="127.0.0.1"),
    case("another port", 421, host="127.0.0.1:80"),
    case("a name that begins like ours", 421, host="localhost.evil.example:8717"),
    case("a port that begins like ours", 421, host="127.0.0.1:87170"),
    case("a name with a user", 421, host="evil@127.0.0.1:8717"),
    case("a blank behind it", 421, host="127.0.0.1:8717 "),
    case("another way to write it", 421, host="127.1:8717"),
    case("every address", 421, host="0.0.0.0:8717"),
    case("two hosts", 421, host=[HOST, HOST]),
    case("a wrong one behind ours", 421, host=[HOST, "evil.example"]),
    # A page of another site.
    case("another site", 403, origin="http://evil.example"),
    case("a page without an origin", 403, origin="null"),
    case("an empty origin", 403, origin=""),
    case("another port of this machine", 403, origin="http://127.0.0.1:3000"),
    case("another scheme", 403, origin="https://127.0.0.1:8717"),
    case("an origin that begins like ours", 403, origin=f"{ORIGIN}0"),
    case("two origins", 403, origin=[ORIGIN, "http://evil.example"]),
    case("a page that asks before it writes", 403, method="OPTIONS", origin="http://evil.example", authorization=None),
    # Somebody who does not have the token.
    case("no token", 401, authorization=None),
    case("an empty one", 401, authorization="Bearer "),
    case("a wrong one", 401, authorization=f"Bearer {TOKEN[:-1]}x"),
    case("half of it", 401, authorization=f"Bearer {TOKEN[:10]}"),
    case("more than it", 401, authorization=f"Bearer {TOKEN}x"),
    case("another scheme of it", 401, authorization=f"Basic {TOKEN}"),
    case("without a scheme", 401, authorization=TOKEN),
    case("in large letters", 401, authorization=f"Bearer {TOKEN.upper()}"),
    case("two of them", 401, authorization=[f"Bearer {TOKEN}", "Bearer x"]),
    case("no token with a GET", 401, method="GET", authorization=None),
    case("what is no text", 401, authorization="Bearer \xff\xfe"),
    # What a form of a page can send without being asked.
    case("no type", 415, content_type=None),
    case("text", 415, content_type="text/plain"),
    case("a form", 415, content_type="application/x-www-form-urlencoded"),
    case("a type that begins like it", 415, content_type="application/jsonp"),
    case("two types", 415, content_type=["application/json", "text/plain"]),
    case("too long", 413, content_length=str(MAX_MESSAGE_BYTES + 1)),
    case("a number without end", 413, content_length="9" * 5000),
    case("a length that is none", 400, content_length="-1"),
    case("two lengths", 400, content_length=["1", "2"]),
]


class Site:
    """The guard with an application behind it that reads all it gets."""

    def __init__(self) -> None:
        self.reached = 0
        self.sent: list[MutableMapping[str, Any]] = []
        names = ("127.0.0.1:8717", "localhost:8717")
        self.guard = Guard(self._app, token=TOKEN, hosts=names, origins=[f"http://{name}" for name in names])

    async def _app(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        self.reached += 1
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": PASSED, "headers": []})

    def ask(self, scope: dict[str, Any], body: list[bytes]) -> int | None:
        left = list(body)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        async def send(message: MutableMapping[str, Any]) -> None:
            self.sent.append(message)

        anyio.run(self.guard, scope, receive, send)
        return next((one["status"] for one in self.sent if one["type"] == "http.response.start"), None)

    def post(self, *body: bytes) -> int | None:
        return self.ask({"type": "http", "method": "POST", "headers": headers_of({})}, list(body))


def headers_of(changed: dict[str, str | list[str] | None]) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    for name, value in ({**GOOD, **changed}).items():
        for one in [value] if isinstance(value, str) else value or []:
            found.append((name.encode(), one.encode("latin-1")))
    return found


@pytest.mark.parametrize(("why", "method", "changed", "expected"), CASES, ids=[one[0] for one in CASES])
def test_only_programs_of_this_machine_with_the_token_are_let_through(
    why: str, method: str, changed: dict[str, str | list[str] | None], expected: int
) -> None:
    site = Site()
    status = site.ask({"type": "http", "method": method, "headers": headers_of(changed)}, [b"{}"])
    assert status == expected
    assert site.reached == (expected == PASSED)


def test_there_are_at_least_forty_cases_and_each_stands_once() -> None:
    assert len(CASES) >= 40
    assert len({(method, str(changed)) for _, method, changed, _ in CASES}) == len(CASES)


def test_who_has_no_token_is_told_that_one_is_needed_and_not_what_it_is() -> None:
    site = Site()
    site.ask({"type": "http", "method": "GET", "headers": [(b"host", HOST.encode())]}, [b""])
    assert (b"www-authenticate", b"Bearer") in site.sent[0]["headers"]
    assert TOKEN not in str(site.sent)
    assert not any(name.startswith(b"access-control") for name, _ in site.sent[0]["headers"])


def test_a_body_that_is_longer_than_it_may_be_is_cut_off_whatever_it_said() -> None:
    piece = b"x" * (MAX_MESSAGE_BYTES // 4)
    assert Site().post(*[piece] * 4) == PASSED
    assert Site().post(*[piece] * 4, b"x") == 413


def test_a_web_socket_reaches_nothing() -> None:
    site = Site()
    assert site.ask({"type": "websocket", "headers": headers_of({})}, []) is None
    assert (site.reached, site.sent) == (0, [])


def test_the_start_and_the_end_of_the_server_are_passed_on() -> None:
    site = Site()
    site.ask({"type": "lifespan"}, [])
    assert site.reached == 1
