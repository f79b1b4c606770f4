"""What others change on a foreign file system nobody tells: it is polled, and said to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cairn.core.limits import WATCH_POLL_SECONDS, WATCH_RECONCILE_SECONDS
from cairn.core.mounts import is_foreign, lines_around, mounts_in, tells_nothing
from cairn.sync.codebase import open_codebase
from cairn.watch import watcher
from cairn.watch.watcher import WatchedWorkspace
from tests.support.servers import Agent
from tests.support.waiting import until

MOUNTINFO = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
24 22 0:50 / /home/me/far rw,nosuid shared:7 - fuse.sshfs me@far: rw,user_id=1000
25 22 0:51 / /mnt/nfs rw - nfs4 server:/export rw
26 22 0:52 / /host rw - 9p host rw,trans=virtio
27 22 0:53 / /vbox\040share rw - vboxsf share rw
28 22 0:54 / /lib rw - overlay overlay rw,lowerdir=/a,upperdir=/b
29 22 0:55 / /win rw - fuseblk /dev/sdb1 rw
30 22 0:56 / /mnt/over rw - virtiofs shared rw
31 30 254:1 / /mnt/over rw - ext4 /dev/vdb rw
32 22 0:57 / /home/me/code/vendor rw - cifs //far/vendor rw
33 22 0:58 / /back\134slash rw - nfs far:/ rw
"""
UNHEARD = {
    "/home/me/far": "fuse.sshfs",
    "/home/me/far/project": "fuse.sshfs",
    "/home/me/farther": "",
    "/mnt/nfs/a": "nfs4",
    "/host/repo": "9p",
    "/vbox share/repo": "vboxsf",
    "/back\\slash/repo": "nfs",
    # Changes go through the mount, or they are forbidden while it is mounted.
    "/lib/repo": "",
    # A disk of this machine, whose driver is a program.
    "/win/repo": "",
    # What is mounted last at a place hides what was there.
    "/mnt/over/repo": "",
    # A part of the tree is foreign, and so nothing can be promised of the whole.
    "/home/me/code": "cifs",
    "/home/me/code/src": "",
    "/home": "fuse.sshfs",
    "/srv/repo": "",
}


@pytest.mark.parametrize("root", UNHEARD)
def test_a_tree_with_a_foreign_file_system_in_it_is_told_by_the_list_of_mounts(root: str) -> None:
    assert tells_nothing(root, mounts_in(MOUNTINFO)) == UNHEARD[root]


def test_only_what_is_mounted_at_a_tree_or_below_or_holds_it_is_about_the_tree() -> None:
    def places(root: str) -> list[bytes]:
        return [one.place for line in lines_around(root, MOUNTINFO) for one in mounts_in(line)]

    assert places("/home/me/code/src") == [b"/"]
    assert places("/home/me/code") == [b"/", b"/home/me/code/vendor"]
    assert places("/home/me/far/project") == [b"/", b"/home/me/far"]
    assert places("/vbox share") == [b"/", b"/vbox share"]


def test_a_list_of_mounts_that_makes_no_sense_names_nothing() -> None:
    assert mounts_in(b"") == mounts_in(b"\n\n1 2 3\n - \nx - \n") == []
    assert tells_nothing("/", []) == ""
    assert is_foreign("nfs")
    assert not is_foreign("")


def test_a_foreign_tree_is_compared_every_few_seconds_and_never_called_watched(
    indexed: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "unheard", lambda _: "fuse.sshfs")
    monkeypatch.setattr(watcher, "WATCH_POLL_SECONDS", 0.2)
    with indexed_workspace(indexed) as workspace:
        root = str(indexed.tree)
        until(lambda: workspace.watching.state().get(root, {}).get("caughtUp"), workspace.watching.state)
        state = workspace.watching.state()[root]
        assert (state["mode"], state["folders"]) == ("polling", 0)
        assert state["why"] == "fuse.sshfs is a foreign file system: what others change there is not heard"
        codebase = open_codebase(root, indexed.environ)
        assert workspace.freshener.vouched(codebase, 0.0) is None, "nobody can say that nothing has changed"
        (indexed.tree / "thief.py").write_text("def thief():\n    return 2\n")
        until(lambda: indexed.desk.pool.codebases().stores[0].files == 2, workspace.watching.state)


class indexed_workspace:  # noqa: N801 - used as a context
    """The workspace of a server that watches an agent's tree."""

    def __init__(self, agent: Agent) -> None:
        self._workspace = WatchedWorkspace(agent.environ, agent.desk.pool.allowed, roots=[str(agent.tree)])

    def __enter__(self) -> WatchedWorkspace:
        return self._workspace

    def __exit__(self, *_: object) -> None:
        self._workspace.close()


def test_comparing_takes_a_tenth_of_the_time_at_most(indexed: Agent) -> None:
    with indexed_workspace(indexed) as workspace:
        found = watcher._WatchedRoot(workspace.watching, str(indexed.tree), workspace._clock, watcher.Beginning.USED)
        assert found.period == WATCH_RECONCILE_SECONDS
        found.pending.fail("x", unheard=True)
        assert found.period == WATCH_POLL_SECONDS
        found.took_seconds = 3.0
        assert found.period == 30.0
        found.took_seconds = 3_600.0
        assert found.period == WATCH_RECONCILE_SECONDS


def _can_mount() -> bool:
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _can_mount(), reason="no file system of user space can be mounted here")
def test_an_edit_below_a_real_mount_is_found_and_nobody_claims_to_watch(tmp_path: Path) -> None:
    """With the commands that users start, over a file system that shows a folder which others write."""
    command = ["unshare", "--mount", sys.executable, "-m", "tests.watch.beneath", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["before"], told["after"]) == (False, True)
    (how,) = [line for line in told["said"] if "Ctrl-C stops it" in line]
    assert how.startswith("Changes cannot be heard here (fuse.mirror is a foreign file system: ")
    assert f"Every {WATCH_POLL_SECONDS:.0f} s Cairn compares" in how
    assert any("foreign file system (fuse.mirror)" in warning for warning in told["warnings"])
