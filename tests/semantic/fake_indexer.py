"""A small indexer of Python that is run as a program: every `def` is a definition, every other use of its name one.

A file `mood` beside it says what else it does: crash, hang, eat memory, write garbage or nothing, run a command in the
project first, leave processes behind, fill the disk, say the same again and again, or kill who has started it, before
or after it has written its index.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

_HERE = Path(__file__).resolve()


def install(folder: Path) -> Path:
    """A folder for PATH in which it stands as scip-python, and a node that it does not need."""
    folder.mkdir(parents=True)
    text = f"#!{sys.executable}\nimport sys; sys.path.insert(0, {str(_HERE.parents[2])!r})\n"
    (folder / "scip-python").write_text(
        text + f"from tests.semantic.fake_indexer import main; main({str(folder / 'mood')!r})\n"
    )
    (folder / "node").write_text("#!/bin/false\n")
    for name in ("scip-python", "node"):
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def main(mood: str) -> None:
    """Index the folder that is given, as the real one is asked to."""
    from tests.semantic.indices import document, index, occurrence

    options = dict(one.partition("=")[::2] for one in sys.argv[1:] if one.startswith("--"))
    folder, output = Path(options["--cwd"]), Path(options["--output"])
    wanted, _, command = (Path(mood).read_text() if Path(mood).exists() else "").partition(" ")
    if wanted == "crash":
        sys.exit("error: it does not build")
    if wanted == "hang":
        time.sleep(600)
    if wanted == "kill":
        _kill(Path(mood))
    if wanted.startswith("escape"):
        _escape(Path(mood).with_name("escaped"))
    if wanted == "escape-hang":
        time.sleep(600)
    if wanted == "escape-kill":
        # Whoever keeps us goes first, and nobody below finds it any more.
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    if wanted == "fill":
        _fill(Path(os.environ["TMPDIR"]))
    eaten = []
    while wanted == "eat":
        eaten.append(b"x" * 5_000_000)
        time.sleep(0.01)
    texts = {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}
    defined = {
        found[1]: path.removesuffix(".py").replace("/", ".")
        for path, text in texts.items()
        for found in re.finditer(r"^def (\w+)", text, re.MULTILINE)
    }
    documents = []
    for path, text in texts.items():
        places = [
            occurrence(
                [line, found.start(), found.end()],
                f"scip-python python demo 0 `{defined[found[0]]}`/{found[0]}().",
                int(words[: found.start()].endswith("def ")),
            )
            for line, words in enumerate(text.split("\n"))
            for found in re.finditer(r"\w+", words)
            if found[0] in defined
        ]
        documents.append(document(path, places))
    if wanted == "run":
        subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True)
    if wanted == "repeat":
        documents = documents[:1] * int(command)
    if wanted != "nothing":
        output.write_bytes(
            {"garbage": b"\xff" * 99, "empty": index()}.get(wanted, index(*documents, tool="scip-python"))
        )
    if wanted == "kill-late":
        _kill(Path(mood))


def _escape(folder: Path, many: int = 5) -> None:
    """Leave processes behind with sessions and parents of their own, each under its number in the folder."""
    folder.mkdir(exist_ok=True)
    for turn in range(many):
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.setsid()
            if turn % 2 and os.fork():
                os._exit(0)
            (folder / str(os.getpid())).touch()
            time.sleep(600)
            os._exit(0)
    while len(list(folder.iterdir())) < many:
        time.sleep(0.01)


def _fill(folder: Path) -> NoReturn:
    """Write more and more files, none of which is large, and stay."""
    number = 0
    while True:
        number += 1
        if number < 200:
            (folder / str(number % 7)).mkdir(exist_ok=True)
            (folder / str(number % 7) / str(number)).write_bytes(bytes(1 << 20))
        time.sleep(0.01)


def _kill(mood: Path) -> NoReturn:
    """Leave our number, kill the command that has started our keeper, and stay, if nobody ends us."""
    mood.with_name("pid").write_text(str(os.getpid()))
    status = Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
    time.sleep(600)
    sys.exit("nobody has ended it")
