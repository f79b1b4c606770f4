"""Real git repositories, made by the real git, which hears nothing of the settings of whoever runs the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import AnyStr

from tests.support.trees import Content, write_tree


def run_git(folder: Path, *arguments: str, data: bytes | None = None, **environ: str) -> str:
    """Run git in a folder and return what it says, without the blanks around it; a failure is an error.

    `data` is what git reads. `environ` adds to the little that it finds in its environment: the programs, an author,
    and no settings but those of the repository.
    """
    alone = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments],
        cwd=folder,
        env=alone | environ,
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        check=True,
    )
    return os.fsdecode(done.stdout.strip())


def make_repo(folder: Path, files: Mapping[str, Content] | None = None, *, branch: str = "main") -> Path:
    """Make a folder a repository, commit the files if any are given, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "-q", "-b", branch)
    if files is not None:
        commit(folder, files)
    return folder


def commit(
    folder: Path,
    files: Mapping[AnyStr, Content] | None = None,
    *,
    message: str = "x",
    author: str = "t <t@t>",
) -> str:
    """Write these files, commit them and everything else that changed, even if nothing did, and return the id."""
    if files is not None:
        write_tree(folder, files)
    run_git(folder, "add", "-A", ".")
    run_git(folder, "commit", "-q", "--allow-empty", "-m", message, "--author", author)
    return head(folder)


def head(folder: Path) -> str:
    """Return the id of the commit that is checked out."""
    return run_git(folder, "rev-parse", "HEAD")


def checkout(folder: Path, branch: str, *, new: bool = False) -> None:
    """Check a branch or commit out, on a new branch if wanted."""
    run_git(folder, "checkout", "-q", *(["-b"] if new else []), branch)
