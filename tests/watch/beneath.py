"""Edits below a foreign file system, and what Cairn makes of them: `python -m tests.watch.beneath FOLDER`.

To be run where it may mount. One line of JSON says what `cairn watch`, the daemon and `cairn status` said, and whether
the edit was found by a search that compares nothing itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 120.0


def main(folder: Path) -> None:
    below, place = folder / "below", folder / "tree"
    for one in (below, place, folder / "me"):
        one.mkdir()
    (below / "lease.py").write_text("def steal():\n    return 1\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "me"), "CAIRN_HOME": str(folder / "home")}

    def cairn(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cairn", *arguments]
        return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)

    def found(name: str) -> bool:
        return name in cairn("search", name, "--no-sync", "--offline").stdout

    with subprocess.Popen(
        [sys.executable, "-m", "tests.watch.mirror", str(below), str(place)], stdout=subprocess.PIPE, text=True
    ) as mirror:
        assert mirror.stdout is not None
        assert mirror.stdout.readline() == "mounted\n"
        watch = subprocess.Popen(
            [sys.executable, "-m", "cairn", "watch"],
            cwd=place,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = []
        try:
            assert watch.stderr is not None
            for line in watch.stderr:
                said.append(line)
                if "Ctrl-C stops it" in line:
                    break
            before = found("thief")
            # Nobody tells of this one: it is made below.
            (below / "thief.py").write_text("def thief():\n    return 2\n")
            end = time.monotonic() + PATIENCE
            while not (after := found("thief")) and time.monotonic() < end:
                time.sleep(0.2)
            status = json.loads(cairn("status", "--json", "--offline").stdout)
        finally:
            watch.kill()
            watch.wait()
            subprocess.run(["umount", "-l", str(place)], check=True)
            mirror.kill()
    print(json.dumps({"said": said, "before": before, "after": after, "warnings": status["warnings"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
