"""Users of one machine who type commands: real user ids, real groups, a repository and a home that a group shares."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import traceback
import unittest.mock
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import cairn
from cairn.cli.main import main
from cairn.cli.output import Output
from tests.support.commands import Typed

GROUP = 61_010


class User(NamedTuple):
    """Somebody with an account; `groups` are all that they are in, the first one their own."""

    uid: int
    groups: tuple[int, ...]


ANNE, BILL = User(61_001, (61_001, GROUP)), User(61_002, (61_002, GROUP))
CARL = User(61_003, (61_003,))


class Office:
    """A repository of Anne's that everybody may read, and a folder of the group for its index."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree, self.home = folder, folder / "tree", folder / "group"
        self.tree.mkdir()
        os.chown(self.tree, ANNE.uid, GROUP)
        self.put("lease.py", "class Lease:\n    def steal(self):\n        return take(self)\n")
        self.git("init", "-q")
        self.commit()
        self.home.mkdir()
        os.chown(self.home, ANNE.uid, GROUP)
        self.home.chmod(0o2770)

    def put(self, name: str, text: str) -> None:
        (self.tree / name).write_text(text)
        os.chown(self.tree / name, ANNE.uid, GROUP)

    def git(self, *arguments: str) -> None:
        who = ["-c", "user.name=anne", "-c", "user.email=anne@example.org", "-c", f"safe.directory={self.tree}"]
        subprocess.run(["git", *who, *arguments], cwd=self.tree, check=True, capture_output=True, user=ANNE.uid)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "All of it")

    def store(self) -> Path:
        [found] = (self.home / "data").iterdir()
        return found

    def cairn(self, user: User, *arguments: str, umask: int = 0o022) -> Typed:
        """What this user sees. In a fork of this process: its Python may lie where only the superuser can read."""
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                os.close(ours)
                answer = pickle.dumps(self._typed(user, arguments, umask))
                with os.fdopen(theirs, "wb") as out:
                    out.write(answer)
            os._exit(0)
        os.close(theirs)
        with os.fdopen(ours, "rb") as answers:
            data = answers.read()
        os.waitpid(child, 0)
        found = pickle.loads(data)
        assert isinstance(found, Typed)
        assert "Traceback" not in found.stderr, found.stderr
        return found

    def _typed(self, user: User, arguments: tuple[str, ...], umask: int) -> Typed:
        out, err = io.StringIO(), io.StringIO()
        try:
            os.chdir(self.tree)
            os.umask(umask)
            os.setgroups(user.groups)
            os.setresgid(*(user.groups[:1] * 3))
            os.setresuid(user.uid, user.uid, user.uid)
            os.environ.clear()
            os.environ.update(PATH="/usr/bin:/bin", HOME="/nonexistent", CAIRN_HOME=str(self.home))
            # No thread of gRPC runs in this fork, and another user may not start a Python that lies in our home.
            sys.modules.pop("grpc", None)
            return Typed(main(arguments, Output(out, err)), out.getvalue(), err.getvalue())
        except BaseException:
            return Typed(-1, out.getvalue(), err.getvalue() + traceback.format_exc())


def load_everything(folder: Path) -> None:
    """Import all that a command may import: another user could not."""
    for module in pkgutil.walk_packages(cairn.__path__, "cairn."):
        if module.name != "cairn.__main__":
            importlib.import_module(module.name)
    for name in ("multiprocessing.popen_fork", "multiprocessing.popen_spawn_posix"):
        importlib.import_module(name)
    # What is imported on the way, by us or by others, by doing it once.
    (folder / "tree").mkdir()
    (folder / "tree" / "a.py").write_text("def a():\n    return 1\n")
    with unittest.mock.patch.dict(os.environ, {"CAIRN_HOME": str(folder / "home")}):
        for command in (["index"], ["search", "a"], ["health"], ["status"], ["clear"], ["reindex"]):
            assert main([*command, "--root", str(folder / "tree")], Output(io.StringIO(), io.StringIO())) == 0


@contextmanager
def open_office() -> Iterator[Office]:
    """An office where all users may go; what pytest gives only the superuser may enter."""
    folder = Path(tempfile.mkdtemp(prefix="cairn-office-"))
    try:
        folder.chmod(0o755)
        yield Office(folder)
    finally:
        shutil.rmtree(folder)


def why_not() -> str | None:
    """Why there cannot be other users here; None when there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only the superuser of a Linux can be other users"
    return None
