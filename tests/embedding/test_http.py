"""A remote model is believed when it gives what was asked for, waited for when that helps, and never told on."""

from __future__ import annotations

import signal
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from ssl import SSLCertVerificationError
from urllib.error import URLError

import numpy as np
import pytest

from cairn.core import limits
from cairn.embedding.choose import identity_of
from cairn.embedding.http import HttpEmbedder, _of_transport
from cairn.errors import EmbeddingFailed, ModelUnavailable
from tests.embedding.server import (
    DIMENSION,
    KEY,
    KEY_ENV,
    Answer,
    Handler,
    Server,
    answer_of,
    giving,
    good,
    refusing,
    unit,
    vectors_of,
)
from tests.support.clock import ManualClock
from tests.support.faults import Faults


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock.over_system()


def model_of(
    server: Server, clock: ManualClock, environ: dict[str, str] | None = None, **settings: object
) -> HttpEmbedder:
    config = server.config(**settings)
    return HttpEmbedder(config, identity_of(config), {KEY_ENV: KEY} if environ is None else environ, clock)


def failing(model: HttpEmbedder, texts: tuple[bytes, ...] = (b"a", b"b")) -> EmbeddingFailed:
    """The error of asking, which shows the key nowhere: in no word, no field, no frame and nothing it is chained to."""
    with pytest.raises(EmbeddingFailed) as caught:
        model.embed(texts)
    error = caught.value
    assert error.__context__ is error.__cause__ is None
    frames = [(frame.f_locals, frame.f_code.co_filename) for frame, _ in traceback.walk_tb(error.__traceback__)]
    inside = [found for found, file in frames if file.endswith("embedding/http.py")]
    assert inside
    for shown in (error.sentence, error.advice, repr(error), repr(error.fields), repr(inside)):
        assert KEY not in shown
    return error


# --- what it gives ----------------------------------------------------------------------------------------------------


def test_vectors_come_in_the_order_of_their_texts_and_at_unit_length(server: Server, clock: ManualClock) -> None:
    texts = [b"def a(): pass", b"def b(): pass", "größe = 1".encode()]
    vectors = model_of(server, clock).embed(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, unit(vectors_of([text.decode() for text in texts])), atol=1e-6)
    [asked] = server.asked
    assert (asked.path, asked.model, asked.texts) == ("/v1/embeddings", "tiny", [text.decode() for text in texts])
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.headers["Content-Type"] == "application/json"


def test_without_a_key_none_is_sent(server: Server, clock: ManualClock) -> None:
    model_of(server, clock, key_env=None).embed([b"a"])
    assert "Authorization" not in server.asked[0].headers


def test_texts_and_queries_have_their_own_prefix_and_are_cut_at_a_character(server: Server, clock: ManualClock) -> None:
    model = model_of(server, clock, document_prefix="doc: ", query_prefix="ask: ", max_tokens=1)
    model.embed([b"abcdef", "aäöü".encode()])
    assert model.embed_query("where is x").shape == (DIMENSION,)
    assert server.texts == ["doc: abc", "doc: aä", "ask: whe"]


def test_a_query_that_is_no_text_is_asked_all_the_same(server: Server, clock: ManualClock) -> None:
    vector = model_of(server, clock).embed_query("a\udcff b")
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert server.texts == ["a? b"]


def test_nothing_is_asked_about_nothing(server: Server, clock: ManualClock) -> None:
    model = model_of(server, clock)
    assert model.embed([]).shape == (0, DIMENSION)
    assert not model.embed([b"", b" \n"]).any()
    assert not model.embed_query("  ").any()
    assert server.asked == []
    vectors = model.embed([b"", b"x", b"\t"])
    assert [bool(row.any()) for row in vectors] == [False, True, False]


def test_a_request_holds_few_texts_and_few_bytes(server: Server, clock: ManualClock, faults: Faults) -> None:
    texts = [b"%d" % number for number in range(10)]
    together = model_of(server, clock).embed(texts)
    assert model_of(server, clock, batch=4).embed(texts).tobytes() == together.tobytes()
    assert [len(asked.texts) for asked in server.asked] == [10, 4, 4, 2]
    server.asked.clear()
    faults.limit(limits, EMBED_REQUEST_BYTES=10)
    model_of(server, clock).embed([b"123456", b"1234", b"1", b"12345678901234", b"1"])
    assert [len(asked.texts) for asked in server.asked] == [2, 1, 1, 1]


def test_lengths_that_a_double_cannot_square_are_unit_length_too(server: Server, clock: ManualClock) -> None:
    vectors = [[1e-300] * DIMENSION, [1e300] * DIMENSION, [0] * DIMENSION, list(range(DIMENSION))]
    server.prepared.append(giving(answer_of(vectors)))
    lengths = np.linalg.norm(model_of(server, clock).embed([b"a", b"b", b"c", b"d"]), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 1], atol=1e-6)


def test_an_answer_without_a_length_is_read_to_its_end(server: Server, clock: ManualClock) -> None:
    def chunked(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        body = answer_of(vectors_of(handler.asked.texts))
        for part in (body[:50], body[50:], b""):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    server.prepared.append(chunked)
    assert model_of(server, clock).embed([b"a"]).any()


# --- what passes ------------------------------------------------------------------------------------------------------


def breaking_off(handler: Handler) -> None:
    handler.give(answer_of(vectors_of(handler.asked.texts))[:40], Content_Length="100")


def hanging_up(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("trouble", [refusing(429), refusing(500), refusing(503), breaking_off, hanging_up])
def test_what_may_pass_is_asked_again_and_longer_each_time(server: Server, clock: ManualClock, trouble: Answer) -> None:
    server.prepared += [trouble, trouble, trouble]
    assert model_of(server, clock).embed([b"a"]).any()
    assert clock.slept == [0.5, 1.0, 2.0]
    assert len(server.asked) == 4


def test_a_server_that_says_when_to_come_back_is_believed(server: Server, clock: ManualClock) -> None:
    soon = formatdate(time.time() + 7 + 20, usegmt=True)
    server.prepared += [refusing(429, Retry_After="7"), refusing(503, Retry_After=soon), good]
    assert model_of(server, clock).embed([b"a"]).any()
    assert clock.slept[0] == 7
    assert 15 < clock.slept[1] <= 20


@pytest.mark.parametrize(
    "said", ["-5", "nan", "soon", "1e9", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "9" * 5_000]
)
def test_a_time_that_makes_no_sense_is_no_reason_to_wait(server: Server, clock: ManualClock, said: str) -> None:
    server.prepared += [refusing(429, Retry_After=said)]
    assert model_of(server, clock).embed([b"a"]).any()
    assert clock.slept == [0.5]


def test_a_server_that_wants_to_rest_for_longer_than_we_wait_is_not_waited_for(
    server: Server, clock: ManualClock
) -> None:
    server.prepared += [refusing(429, Retry_After="3600")]
    error = failing(model_of(server, clock))
    assert "answered 429 (Too Many Requests) and asks to wait 3600 seconds" in error.sentence
    assert clock.slept == []


def test_it_ends_after_a_few_attempts(server: Server, clock: ManualClock) -> None:
    server.prepared += [refusing(500)] * 20
    error = failing(model_of(server, clock))
    assert isinstance(error, ModelUnavailable)
    assert error.retryable
    assert "answered 500 (Internal Server Error)" in error.sentence
    assert len(server.asked) == limits.EMBED_ATTEMPTS


# --- what does not pass -----------------------------------------------------------------------------------------------


def elsewhere(status: int) -> Answer:
    return refusing(status, Location="http://localhost:9/v1/embeddings")


GOOD = vectors_of(["a", "b"])
NOT_VECTORS = "its answer is not the JSON of vectors"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refusing(401), "it answered 401 (Unauthorized)"),
        (refusing(403), "it answered 403 (Forbidden)"),
        (refusing(404), "it answered 404 (Not Found)"),
        (refusing(499), "it answered 499."),
        (elsewhere(301), "texts are sent to no other address"),
        (elsewhere(302), "texts are sent to no other address"),
        (elsewhere(307), "texts are sent to no other address"),
        (elsewhere(308), "texts are sent to no other address"),
        (giving(answer_of(GOOD[:1])), "it gave 1 vectors, not one for each of 2 texts"),
        (giving(answer_of([*GOOD, GOOD[0]])), "it gave 3 vectors, not one for each of 2 texts"),
        (giving(answer_of(GOOD).replace(b'"index": 0', b'"index": 1')), "it gave 2 vectors, not one for each of 2"),
        (giving(answer_of([[1.0], [2.0]])), "its vectors have 1 numbers, while the settings say dimension = 8"),
        (giving(answer_of([[1.0] * 8, [2.0] * 7])), NOT_VECTORS),
        (giving(answer_of([["1"] * 8] * 2)), NOT_VECTORS),
        (giving(answer_of([[None] * 8] * 2)), NOT_VECTORS),
        (giving(answer_of([[10**40] * 8] * 2)), NOT_VECTORS),
        (giving(answer_of([1.0, 2.0])), NOT_VECTORS),
        (giving(answer_of([[[1.0]] * 8] * 2)), NOT_VECTORS),
        (giving(answer_of(GOOD)[:-20]), NOT_VECTORS),
        (giving(b""), NOT_VECTORS),
        (giving(b"<html>" + KEY.encode()), NOT_VECTORS),
        (giving(b"[]"), NOT_VECTORS),
        (giving(b'{"data": 3}'), NOT_VECTORS),
        (giving(b'{"data": {"a": 1, "b": 2}}'), NOT_VECTORS),
        (giving(b'{"data": [{"index": [], "embedding": []}]}'), NOT_VECTORS),
        (giving(b"\xff\xfe\x00"), NOT_VECTORS),
        (giving(b"[" * 60_000), NOT_VECTORS),
        (giving(b'{"data": ' + b"9" * 20_000 + b"}"), NOT_VECTORS),
        (giving(b" " * 70_000), "its answer is larger than 66560 bytes"),
    ],
)
def test_a_server_that_answers_something_else_is_not_believed(
    server: Server, clock: ManualClock, answer: Answer, said: str
) -> None:
    model = model_of(server, clock)
    server.prepared.append(answer)
    error = failing(model)
    assert isinstance(error, ModelUnavailable)
    assert said in error.sentence
    assert clock.slept == []
    # It is left alone for a while: hundreds of files are not each told the same by it.
    assert failing(model).sentence == error.sentence
    assert len(server.asked) == 1
    clock.sleep(limits.EMBED_REST_SECONDS)
    assert model.embed([b"a"]).any()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refusing(400), "it answered 400 (Bad Request)"),
        (refusing(413), "it answered 413"),
        (refusing(422), "it answered 422"),
        (giving(answer_of([[float("nan")] * 8, GOOD[0]])), "no finite number"),
        (giving(answer_of([GOOD[0], [float("inf")] * 8])), "no finite number"),
        (giving(answer_of([GOOD[0], [0.5] * 8]).replace(b"0.5", b"1e999", 1)), "no finite number"),
    ],
)
def test_when_only_these_texts_are_to_blame_others_are_asked_for_at_once(
    server: Server, clock: ManualClock, answer: Answer, said: str
) -> None:
    model = model_of(server, clock)
    server.prepared.append(answer)
    error = failing(model)
    assert not isinstance(error, ModelUnavailable)
    assert said in error.sentence
    assert model.embed([b"c"]).any()


def test_an_endless_answer_is_cut_off(server: Server, clock: ManualClock) -> None:
    sent = 0

    def endless(handler: Handler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        while sent < 1 << 30:
            sent += handler.connection.send(b" " * 65_536)

    server.prepared.append(endless)
    assert "is larger than" in failing(model_of(server, clock)).sentence
    assert sent < 1 << 26


def test_a_server_that_claims_a_huge_answer_is_not_listened_to(server: Server, clock: ManualClock) -> None:
    server.prepared.append(giving(b"{}", Content_Length=str(1 << 40)))
    assert "is larger than" in failing(model_of(server, clock)).sentence


# --- slow, gone, and stopped ------------------------------------------------------------------------------------------


def test_a_silent_server_is_given_up(server: Server, clock: ManualClock, faults: Faults) -> None:
    done = threading.Event()

    def silent(handler: Handler) -> None:
        done.wait(10)
        handler.close_connection = True

    faults.limit(limits, EMBED_TIMEOUT_SECONDS=0.1)
    server.prepared += [silent] * 10
    began = time.monotonic()
    error = failing(model_of(server, clock))
    done.set()
    assert "it did not answer in time" in error.sentence
    assert time.monotonic() - began < 8
    assert len(server.asked) == limits.EMBED_ATTEMPTS


def test_a_server_that_sends_a_byte_now_and_then_is_given_up(
    server: Server, clock: ManualClock, faults: Faults
) -> None:
    done = threading.Event()

    def dripping(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "5000")
        handler.end_headers()
        while not done.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    faults.limit(limits, EMBED_DEADLINE_SECONDS=0.5)
    server.prepared += [dripping] * 10
    began = time.monotonic()
    error = failing(model_of(server, clock))
    done.set()
    assert "it did not answer in time" in error.sentence
    assert time.monotonic() - began < 8


def test_when_the_time_is_up_nothing_more_is_asked(server: Server, clock: ManualClock, faults: Faults) -> None:
    faults.limit(limits, EMBED_DEADLINE_SECONDS=0.0)
    assert "it did not answer in time" in failing(model_of(server, clock)).sentence
    assert server.asked == []


def test_somebody_who_waits_for_a_query_waits_less(server: Server, clock: ManualClock, faults: Faults) -> None:
    faults.limit(limits, EMBED_QUERY_SECONDS=2.0)
    server.prepared += [refusing(500)] * 10
    with pytest.raises(ModelUnavailable):
        model_of(server, clock).embed_query("x")
    assert clock.slept == [0.5, 1.0]


def test_a_server_that_is_gone_is_said_to_be(server: Server, clock: ManualClock) -> None:
    server.stop()
    error = failing(model_of(server, clock))
    assert error.sentence == "The remote model cannot be used: it cannot be reached (Connection refused)."
    assert error.exit_status == 52
    assert len(clock.slept) == limits.EMBED_ATTEMPTS - 1


def test_a_server_without_encryption_is_no_https_server(server: Server, clock: ManualClock) -> None:
    config = replace(server.config(), url=server.url.replace("http:", "https:"))
    model = HttpEmbedder(config, identity_of(config), {KEY_ENV: KEY}, clock)
    assert "it cannot be reached" in failing(model).sentence
    assert server.asked == []


def test_a_certificate_that_cannot_be_trusted_is_not_tried_again() -> None:
    trouble = _of_transport(URLError(SSLCertVerificationError(1, "self-signed")))
    assert trouble == ("its certificate cannot be trusted", False, 0.0, False)


def test_a_proxy_gets_nothing_that_is_for_this_machine(
    server: Server, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        assert model_of(server, clock).embed([b"a"]).any()
        assert proxy.asked == []


def test_whoever_stops_it_stops_it_at_once_and_it_works_again(server: Server, clock: ManualClock) -> None:
    done = threading.Event()

    def interrupting(_: Handler) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        done.wait(10)

    model = model_of(server, clock)
    server.prepared.append(interrupting)
    with pytest.raises(KeyboardInterrupt):
        model.embed([b"a"])
    done.set()
    assert model.embed([b"a"]).any()
    assert clock.slept == []


# --- the key ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "the environment variable that key_env names is not set"),
        ({KEY_ENV: ""}, "the environment variable that key_env names is not set"),
        ({KEY_ENV: KEY + "\n"}, "the environment variable that key_env names holds characters that no key has"),
        ({KEY_ENV: KEY + "\r\nX-Evil: 1"}, "the environment variable that key_env names holds characters"),
        ({KEY_ENV: "ключ" + KEY}, "the environment variable that key_env names holds characters"),
    ],
)
def test_a_key_that_cannot_be_sent_is_not_shown_either(
    server: Server, clock: ManualClock, environ: dict[str, str], said: str
) -> None:
    assert said in failing(model_of(server, clock, environ)).sentence
    assert server.asked == []


def test_the_key_of_the_moment_is_sent(server: Server, clock: ManualClock) -> None:
    environ = {KEY_ENV: "first"}
    model = model_of(server, clock, environ)
    model.embed([b"a"])
    environ[KEY_ENV] = "second"
    model.embed([b"a"])
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer first", "Bearer second"]


def test_nothing_is_written_anywhere(server: Server, clock: ManualClock, capfd: pytest.CaptureFixture[str]) -> None:
    server.prepared += [refusing(401)]
    model = model_of(server, clock)
    failing(model)
    clock.sleep(limits.EMBED_REST_SECONDS)
    model.embed([b"a"])
    assert capfd.readouterr() == ("", "")
