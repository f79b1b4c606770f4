"""A store with secrets stays on this machine: what a push says, what a run does, and the setting that allows it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.errors import ConfigError, SecretsNotSent
from cairn.sync.remote.copy import engine_status, push
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.commands import typed
from tests.support.secrets import TOKENS, private_key
from tests.sync.team import FILES, person

NOBODY = "http://127.0.0.1:9"
RNG = random.Random(65)
TOKEN, KEY = TOKENS["gitlab"](RNG), private_key(RNG, lines=3)
SECRETS = {"src/keys.py": f'A = 1\nTOKEN = "{TOKEN}"\n', "src/pem.py": f'"""\n{KEY}"""\n'}
PLACES = "src/keys.py:2, src/pem.py:3, src/pem.py:4, src/pem.py:5"


def test_a_store_with_secrets_is_not_sent_and_the_places_are_named(tmp_path: Path) -> None:
    me = person(tmp_path, "me", "")
    me.write(FILES | SECRETS)
    me.index()
    me.names(NOBODY)
    with pytest.raises(SecretsNotSent) as told:
        push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
    assert f"4 lines hold what looks like a secret: {PLACES}." in told.value.sentence
    assert "allow_secrets" in told.value.advice
    done = typed(("engine", "push"), me.tree, me.environ)
    assert (done.status, done.stdout) == (35, "")
    assert PLACES in done.stderr
    done = typed(("engine", "push", "--json"), me.tree, me.environ)
    assert json.loads(done.stdout)["error"]["code"] == "secrets_not_sent"
    assert TOKEN not in done.stdout + done.stderr


def test_a_long_list_of_places_is_cut_and_counted(tmp_path: Path) -> None:
    me = person(tmp_path, "me", "")
    me.write({"many.py": "".join(f'T{n} = "{TOKENS["npm"](RNG)}"\n' for n in range(50))})
    me.index()
    me.names(NOBODY)
    with pytest.raises(SecretsNotSent, match=r"50 lines hold .* many.py:20 and 30 more\.") as told:
        push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
    assert told.value.sentence.count("many.py:") == 20


def test_only_the_users_own_settings_can_allow_it(tmp_path: Path) -> None:
    me = person(tmp_path, "me", "")
    me.names(NOBODY, "allow_secrets = true\n")
    assert me.codebase.config.engine.allow_secrets
    me.names(NOBODY)
    assert not me.codebase.config.engine.allow_secrets
    me.write({".cairn.toml": "[engine]\nallow_secrets = true\n"})
    with pytest.raises(ConfigError):
        assert me.codebase


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


@needs_milvus
@pytest.mark.long
def test_a_run_publishes_here_and_sends_nothing_until_it_may(tmp_path: Path, server: RealServer) -> None:
    me = person(tmp_path, "me", server.uri)
    me.write(FILES)
    me.index()
    me.write(SECRETS)
    report = me.sync()
    assert report.published
    [warning] = [one for one in report.warnings if "secret" in one]
    assert "src/keys.py:2" in warning
    status = engine_status(me.codebase, str(me.home), environ=me.environ)
    assert not status.marked
    assert status.there < status.segments
    [again] = [one for one in me.sync().warnings if "secret" in one]
    assert again == warning
    with pytest.raises(SecretsNotSent):
        push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
    me.names(server.uri, "allow_secrets = true\n")
    sent = push(me.codebase, str(me.home), lambda _: None, environ=me.environ)
    assert sent.marked
    assert sent.sent > 0
    assert not [one for one in me.sync().warnings if "secret" in one]
