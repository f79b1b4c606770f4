"""The attack on the lease is an attack: real writers out of sight, one killed, one asleep, in own namespaces."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench import leases


def _can_be_apart() -> bool:
    apart = ["unshare", "--pid", "--fork", "--mount-proc", "--uts", "--mount", "true"]
    return os.geteuid() == 0 and subprocess.run(apart, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _can_be_apart(), reason="no namespaces can be made here")
def test_a_writer_out_of_sight_is_struck_while_it_holds_the_lease(tmp_path: Path) -> None:
    killed, asleep = (
        leases.Victim(leases._made(tmp_path / name), far=far, killed=far) for name, far in (("a", True), ("b", False))
    )
    for victim in (killed, asleep):
        victim.strike()
        # Nobody can see that it does not live: it is believed, for now.
        assert not victim.look(forked=False)
        assert not victim.look(forked=True)
    assert killed._process.poll() is not None
    Path(asleep.folder, "taken").touch()
    outcome = asleep.end()
    assert (outcome.killed, Path(asleep.folder, "woke").read_text()) == (False, "published"), "nobody had taken it"
