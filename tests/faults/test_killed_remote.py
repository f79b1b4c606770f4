"""A run is killed at each call that it makes to the search server, before the call and after it.

Whoever reads then sees the old snapshot or the new one, whole; the next run goes on; what is left on the server that no
snapshot names is found and collected.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.search.types import SearchRequest
from cairn.store.publish.generations import published, read_claims
from cairn.store.publish.lease import RunKind
from cairn.store.publish.writer import open_writer
from cairn.sync.proof import ProofOutcome
from cairn.sync.remote.copy import RemoteCopy, engine_status, validate_remote_proof
from tests.conformance import conforms
from tests.engine.servers import RealServer, needs_milvus, running
from tests.support.waiting import PATIENCE
from tests.sync.team import FILES, Person, person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.engine.proxy import Proxy

pytestmark = [needs_milvus, pytest.mark.long]
# A sync begins with some ten calls that only ask; then it sends, flushes, counts, claims, marks and flushes.
FIRST, LAST = 10, 25
EVERY = range(FIRST, LAST)
# Each call is struck in one of the two ways; with CAIRN_KILL_ALL in both.
POINTS = (
    dict.fromkeys(("refuse", "cut after"), EVERY)
    if "CAIRN_KILL_ALL" in os.environ
    else {
        "refuse": EVERY[::2],
        "cut after": EVERY[1::2],
    }
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with running(tmp_path_factory.mktemp("milvus")) as one:
        yield one


def version(one: Person) -> int:
    """Which of the versions the newest snapshot holds, by what a reader is told."""
    with one.session() as session:
        answer = session.ask(SearchRequest(query="version_marker"))
        assert answer.found is not None
        [text] = [hit.text for hit in answer.found.hits if hit.path == "src/version.py"]
        return int(text.split("=")[1].split()[0])


@conforms("000.LIFE3", "000.LIFE4")
@pytest.mark.parametrize("when", ["refuse", "cut after"])
def test_a_run_killed_at_any_call_leaves_the_old_snapshot_or_the_new_one(
    when: str, tmp_path: Path, server: RealServer
) -> None:
    from tests.engine.proxy import between

    with between(server.uri) as proxy:
        me = person(tmp_path, "me", proxy.uri)
        me.write({**FILES, "src/version.py": "version_marker = 0\n"})
        me.index()
        assert _calls_of_a_sync(me, proxy) > FIRST + 10
        last = version(me)
        for point in POINTS[when]:
            me.write({"src/version.py": f"version_marker = {point}\n"})
            killed = _killed_at(me, proxy, point, when)
            proxy.heal()
            assert killed, "the run ended before its call of this number"
            assert version(me) in (last, point), "neither the old snapshot nor the new one"
            me.sync()
            assert (last := version(me)) == point
        me.write({"src/version.py": "version_marker = 999\n"})
        me.sync()
        assert version(me) == 999
        with me.disk() as disk, me.rows() as rows:
            left = rows.orphans()
            with open_writer(disk, "here", RunKind.GC):
                RemoteCopy(disk, rows).sweep()
            kept = list(published(disk, read_claims(disk), []))
            named = {ref.name for manifest in kept for ref in manifest.segments}
            assert rows.orphans() == set()
            assert set(rows.receipts()) <= named
            assert {ref.name for ref in kept[0].segments} <= set(rows.receipts())
            assert set(rows.runs()) <= {manifest.snapshot_id for manifest in kept}
            assert validate_remote_proof(rows, kept[0], me.place).outcome is ProofOutcome.VALID
            assert left, "a run that was killed while it sent leaves something behind"
        assert engine_status(me.codebase, str(me.home), environ=me.environ).marked


def _calls_of_a_sync(me: Person, proxy: Proxy) -> int:
    me.write({"src/version.py": "version_marker = 1\n"})
    proxy.calls.clear()
    me.sync()
    return sum(proxy.calls.values())


def _killed_at(me: Person, proxy: Proxy, point: int, when: str) -> bool:
    """Whether the run came to its call of that number, and died there."""
    child = subprocess.Popen(
        [sys.executable, "-m", "cairn", "sync", "-q", "--root", str(me.tree)],
        env={**os.environ, **me.environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    count = 0

    def strike(_: str) -> str | None:
        nonlocal count
        count += 1
        if count < point:
            return None
        os.kill(child.pid, signal.SIGKILL)
        # Refused, it never reaches the server; else the server does what it was asked, and nobody hears of it.
        return when

    proxy.fault = strike
    status = child.wait(timeout=PATIENCE)
    assert status in (0, -signal.SIGKILL), status
    return status != 0
