"""An index whose vectors a server makes: each text is sent once, and a server that is gone leaves the last index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cairn.embedding.cache as cache_module
from cairn.core import limits
from cairn.core.config import USER_CONFIG_NAME
from cairn.embedding.choose import choose
from cairn.errors import ConfigError, FilesFailed, RequiresReindex
from cairn.store.read.snapshot import open_view
from cairn.sync import run
from cairn.sync.codebase import Codebase, open_codebase, place_of
from cairn.sync.report import RunOptions, RunReport
from cairn.sync.status import look
from tests.embedding.server import DIMENSION, KEY, KEY_ENV, Server, good, refusing
from tests.support.faults import Faults
from tests.sync.desk import ahead, extract_here, silent, texts_of

ONE, TWO, THREE = "def one():\n    return 1\n", "def two():\n    return 2\n", "def three():\n    return 3\n"


class Remote:
    """A tree, a home whose settings name a server, and the server."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.tree, self.home, self.server = (folder / "tree").resolve(), folder / "home", server
        self.tree.mkdir()
        self.home.mkdir(mode=0o700)
        self.clock = ahead()
        self.say(server.settings())
        self.put("a.py", ONE)
        self.put("b.py", TWO)

    def say(self, settings: str) -> None:
        (self.home / USER_CONFIG_NAME).write_text(settings)

    def put(self, name: str, text: str) -> None:
        (self.tree / name).write_text(text)

    @property
    def codebase(self) -> Codebase:
        return open_codebase(str(self.tree), {"CAIRN_HOME": str(self.home)})

    def sync(self, *, allow_degraded: bool = False) -> RunReport:
        options = RunOptions(str(self.home), allow_degraded, 0.0)
        return run.sync(self.codebase, options, silent, clock=self.clock)

    def texts(self) -> dict[str, str]:
        place = place_of(self.codebase, str(self.home))
        with place.make_disk() as disk, open_view(disk, "here") or pytest.fail("nothing is published") as view:
            return {key: data.decode() for key, data in texts_of(view).items()}


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    monkeypatch.setenv(KEY_ENV, KEY)
    with Server() as server:
        one = Remote(tmp_path, server)
        extract_here(monkeypatch, one.clock)
        yield one


def test_each_text_is_sent_once_and_only_what_changed_is_sent_again(remote: Remote) -> None:
    assert remote.sync().published
    assert sorted(remote.server.texts) == [ONE, TWO]
    status = look(remote.codebase, str(remote.home))
    assert (status.embedding_model, status.siblings) == ("tiny", 0)
    remote.server.asked.clear()
    remote.put("b.py", THREE)
    remote.put("c.py", ONE)
    remote.sync()
    assert remote.server.texts == [THREE]
    assert remote.texts() == {"a.py": ONE, "b.py": THREE, "c.py": ONE}
    assert not remote.sync().published
    assert remote.server.texts == [THREE]
    # A query takes the same way.
    vector = choose(remote.codebase.config.embedding, os.environ).embed_query("one")
    assert vector.shape == (DIMENSION,)
    assert remote.server.texts == [THREE, "one"]


def test_another_model_is_another_index_and_the_bundled_one_is_back_when_the_settings_are_gone(remote: Remote) -> None:
    remote.sync()
    first = place_of(remote.codebase, str(remote.home)).store_id
    remote.say(remote.server.settings(model="large"))
    assert place_of(remote.codebase, str(remote.home)).store_id != first
    asked = len(remote.server.asked)
    remote.say("")
    with pytest.raises(RequiresReindex):
        remote.sync()
    options = RunOptions(str(remote.home))
    assert run.reindex(remote.codebase, options, silent, clock=remote.clock).published
    assert len(remote.server.asked) == asked
    assert look(remote.codebase, str(remote.home)).embedding_model == "cairn-static"


def test_a_server_that_is_gone_publishes_nothing_and_the_last_index_answers(remote: Remote) -> None:
    remote.sync()
    remote.server.stop()
    for number in range(30):
        remote.put(f"new{number}.py", f"value = {number}\n")
    with pytest.raises(FilesFailed, match=r"30 of the changed files .* cannot be reached \(Connection refused\)"):
        remote.sync()
    assert remote.texts() == {"a.py": ONE, "b.py": TWO}
    # It was tried a few times in all, not a few times for each file.
    assert len(remote.clock.slept) < 3 * limits.EMBED_ATTEMPTS
    report = remote.sync(allow_degraded=True)
    assert {failed.code for failed in report.failed} == {"model_unavailable"}
    assert remote.texts() == {"a.py": ONE, "b.py": TWO}


def test_what_was_made_before_the_server_failed_is_not_made_again(remote: Remote, faults: Faults) -> None:
    faults.limit(cache_module, MAX_EMBED_BATCH=1)
    remote.put("z.py", THREE)
    remote.say(remote.server.settings(batch=1))
    remote.server.prepared += [good, good, refusing(401)]
    with pytest.raises(FilesFailed, match="401"):
        remote.sync()
    remote.server.asked.clear()
    remote.sync()
    assert remote.server.texts == [THREE]


def test_the_file_that_the_model_refuses_is_the_only_one_to_fail(remote: Remote) -> None:
    remote.server.prepared += [refusing(400), refusing(400)]
    report = remote.sync(allow_degraded=True)
    assert [(failed.path, failed.code) for failed in report.failed] == [("a.py", "embedding_failed")]
    assert remote.texts() == {"b.py": TWO}


def test_a_repository_cannot_name_a_server(remote: Remote) -> None:
    remote.put(".cairn.toml", remote.server.settings())
    with pytest.raises(ConfigError, match=r"there is no key in \[embedding\] called"):
        remote.sync()
    assert remote.server.asked == []


def test_the_command_says_in_one_sentence_what_is_wrong_and_shows_no_key(remote: Remote) -> None:
    environ = {**os.environ, "CAIRN_HOME": str(remote.home), KEY_ENV: KEY}
    argv = [sys.executable, "-m", "cairn", "index", "--root", str(remote.tree)]
    remote.server.prepared += [refusing(401)] * 10
    failed = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert failed.returncode == FilesFailed.exit_status
    assert "it answered 401 (Unauthorized)" in failed.stderr
    assert KEY not in failed.stdout + failed.stderr
    remote.server.prepared.clear()
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Indexed 2 files" in done.stdout
    kept = [path for path in remote.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert kept == []
