"""A small tree in which everything happens that people, editors and git do, and what is true of it afterwards.

The truth is read from the disk by the simplest means: every file, line by line. Nothing of the product is used for it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

NAMES = [
    *("a.py", "b.py", "c.py", "A.py", "run.sh", "note.md", "caf\u00e9.py", "with space.py"),
    *("pkg/a.py", "pkg/b.py", "pkg/c.py", "pkg/B.py", "pkg/run.sh", "pkg/deep/a.py", "pkg/deep/c.py"),
    *("lib/a.py", "lib/x.py", "lib/y.py", "lib/note.md"),
]
FOLDERS = ["pkg", "lib", "pkg/deep", "moved"]
FUNCTIONS = [f"fn_{number:02}" for number in range(40)]
CLASSES = [f"Kind_{number:02}" for number in range(12)]
BRANCHES = ["main", "other", "third"]

Hides = Callable[[str], bool]
# Each file of rules that is ever written, and what git makes of it: whether a path is left out.
IGNORING: dict[str, Hides] = {
    "": lambda _: False,
    "*.sh\n": lambda path: path.endswith(".sh"),
    "*.sh\n!pkg/run.sh\n": lambda path: path.endswith(".sh") and path != "pkg/run.sh",
    "lib/\n": lambda path: "lib" in path.split("/")[:-1],
    "/a.py\n": lambda path: path == "a.py",
    "deep/\n": lambda path: "deep" in path.split("/")[:-1],
}
# The same of the file in a folder, of paths below that folder. It is written in one, and goes where that is moved.
BELOW: dict[str, Hides] = {
    "": lambda _: False,
    "c.py\n": lambda path: path.split("/")[-1] == "c.py",
    "/b.py\n": lambda path: path == "b.py",
}
# What decides before git: a path is left out (True), taken in (False), or left to git (None).
FIRST: dict[str, Callable[[str], bool | None]] = {
    "": lambda _: None,
    "x.py\n": lambda path: True if path.endswith("/x.py") or path == "x.py" else None,
    "/pkg/deep/\n": lambda path: True if path.startswith("pkg/deep/") else None,
    "!/a.py\n": lambda path: False if path == "a.py" else None,
}
_DEFINES = re.compile(r"^( *)(?:def|class) (\w+)")
_CALLS = re.compile(r"\b(fn_\d\d)\(")
_GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "gc.auto=0", "-c", "core.ignorecase=false")


class Definition(NamedTuple):
    """A definition: its file, its line, its own name, and its name with that of its class."""

    path: str
    line: int
    name: str
    symbol: str


class Call(NamedTuple):
    """A place that calls a function, and the definition around it."""

    path: str
    line: int
    name: str
    inside: str


@dataclass
class Truth:
    """What the files of the index hold now. `everything` also has those that rules leave out."""

    files: dict[str, str]
    everything: dict[str, str]

    @cached_property
    def lines(self) -> dict[str, list[str]]:
        return {path: text.split("\n") for path, text in self.files.items()}

    @cached_property
    def definitions(self) -> list[Definition]:
        return [one for path in sorted(self.files) for one in self._defined(path)]

    @cached_property
    def calls(self) -> list[Call]:
        found = []
        for path, lines in self.lines.items():
            starts = [one for one in self.definitions if one.path == path]
            for number, line in enumerate(lines, 1):
                if path.endswith(".py") and not _DEFINES.match(line):
                    inside = next((one.symbol for one in reversed(starts) if one.line < number), "")
                    found += [Call(path, number, name, inside) for name in _CALLS.findall(line)]
        return found

    def places(self, word: str) -> set[tuple[str, int]]:
        """Every line that holds this word."""
        return {
            (path, number) for path, lines in self.lines.items() for number, line in enumerate(lines, 1) if word in line
        }

    def _defined(self, path: str) -> Iterator[Definition]:
        owner = ""
        for number, line in enumerate(self.lines[path] if path.endswith(".py") else (), 1):
            if found := _DEFINES.match(line):
                indent, name = found.groups()
                owner = owner if indent else name
                yield Definition(path, number, name, f"{owner}.{name}" if indent else name)


class Tree:
    """A repository, and a folder beside it from which it is reached by hard links and as a second worktree.

    The same seed gives the same life. `done` tells what was done in the last step. A `watched` file is edited in the
    tree when it gets a second name outside.
    """

    def __init__(self, folder: Path, chance: random.Random, *, linked: bool = False, watched: bool = False) -> None:
        self.folder, self.beside = folder / "tree", folder / "beside"
        self.chance, self.number = chance, 0
        self.done: list[str] = []
        self._links, self._watched = 0, watched
        self.beside.mkdir()
        main = folder / "main" if linked else self.folder
        main.mkdir()
        self._main = main
        self.git("init", "-q", "-b", "main", at=main)
        for name in NAMES[::2]:
            self._put(main / name, self.text(name))
        self.git("add", "-A", at=main)
        self.git("commit", "-q", "-m", "x", at=main)
        for branch in BRANCHES[1:]:
            self.git("branch", branch, at=main)
        if linked:
            self.git("checkout", "-q", "--detach", at=main)
            self.git("worktree", "add", "-q", str(self.folder), "main", at=main)

    # --- what is true -------------------------------------------------------------------------------------------------

    def truth(self) -> Truth:
        """Read everything."""
        everything: dict[str, str] = {}
        for at, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name != ".git"]
            for name in names:
                path = Path(at, name)
                if name == ".git" or path.is_symlink():
                    continue
                data = path.read_bytes()
                if b"\0" not in data:
                    everything[path.relative_to(self.folder).as_posix()] = data.decode()
        hides = IGNORING[everything.get(".gitignore", "")]
        below = {
            key.removesuffix(".gitignore"): BELOW[text]
            for key, text in everything.items()
            if key.endswith("/.gitignore")
        }
        first = FIRST[everything.get(".cairnignore", "")]
        files = {}
        for key, text in everything.items():
            decided = first(key)
            if decided is None:
                within = (hide(key.removeprefix(at)) for at, hide in below.items() if key.startswith(at))
                decided = hides(key) or any(within)
            if not decided:
                files[key] = text
        return Truth(files, everything)

    # --- what happens -------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Do one to three things."""
        self.number += 1
        self.done = []
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            what = self.chance.choices(_ACTIONS, _WEIGHTS)[0]
            told = what(self)
            self.done.append(f"{what.__name__.strip('_')} {told or ''}".strip())

    def text(self, path: str) -> str:
        """A new text of a file, with a word that no other text had."""
        if not path.endswith(".py"):
            return f"{self._word()} leads to {self.chance.choice(FUNCTIONS)}\nand on\n"
        parts = [f"# {self._word()}\n", *(self._piece() for _ in range(self.chance.randrange(1, 4)))]
        return "".join(parts)

    def _word(self) -> str:
        return f"tok_{self.number:05}{self.chance.randrange(1000):03}"

    def _piece(self) -> str:
        name, called = self.chance.choice(FUNCTIONS), self.chance.choice(FUNCTIONS)
        if self.chance.random() < 0.6:
            return f"def {name}(one):\n    return {called}(one)\n\n\n"
        kind = self.chance.choice(CLASSES)
        return f"class {kind}:\n    def {name}(self):\n        return {called}(1)\n\n\n"

    def _put(self, path: Path, text: str | bytes) -> None:
        for above in reversed(path.parents):
            if above.is_symlink() or above.is_file():
                above.unlink()
        if path.is_symlink():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def _one(self) -> Path | None:
        """A file of those that hold text."""
        found = [
            path
            for path in sorted(self.folder.rglob("*"))
            if ".git" not in path.parts
            and path.suffix in (".py", ".sh", ".md")
            and path.is_file()
            and not path.is_symlink()
            and not any(above.is_symlink() for above in path.parents)
        ]
        return self.chance.choice(found) if found else None

    def _told(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _edited(self, path: Path) -> str:
        """The text with one word or name put in the place of another of the same length."""
        text = path.read_bytes().decode(errors="replace")
        if self.chance.random() < 0.5 and (names := re.findall(r"fn_\d\d", text)):
            return text.replace(self.chance.choice(names), self.chance.choice(FUNCTIONS), 1)
        return re.sub(r"tok_\d{8}", self._word(), text, count=1)

    # --- people and editors -------------------------------------------------------------------------------------------

    def _write(self) -> str:
        name = self.chance.choice(NAMES)
        self._put(self.folder / name, self.text(name))
        return name

    def _edit(self) -> str | None:
        if (path := self._one()) is None:
            return None
        path.write_text(self._edited(path))
        return self._told(path)

    def _edit_of_the_same_size_and_time(self) -> str | None:
        if (path := self._one()) is None:
            return None
        before, text = path.stat(), self._edited(path)
        path.write_text(text)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return self._told(path)

    def _atomic_replace(self) -> str | None:
        if (path := self._one()) is None:
            return None
        temporary = path.with_name(f".{path.name}.swp")
        temporary.write_text(self._edited(path))
        if self.chance.random() < 0.3:
            before = path.stat()
            os.utime(temporary, ns=(before.st_atime_ns, before.st_mtime_ns))
        temporary.rename(path)
        return self._told(path)

    def _append(self) -> str | None:
        if (path := self._one()) is None:
            return None
        with path.open("a") as file:
            file.write(f"\n{'# ' if path.suffix == '.py' else ''}{self._word()}\n")
        return self._told(path)

    def _delete(self) -> str | None:
        if (path := self._one()) is None:
            return None
        path.unlink()
        return self._told(path)

    def _rename(self) -> str | None:
        if (path := self._one()) is None:
            return None
        new = self.folder / self.chance.choice([name for name in NAMES if name.endswith(path.suffix)])
        if new != path:
            data = path.read_bytes()
            path.unlink()
            self._put(new, b"")
            new.unlink()
            self._put(path, data)
            path.rename(new)
        return f"{self._told(path)} to {self._told(new)}"

    def _rename_of_case(self) -> str | None:
        if (path := self._one()) is None:
            return None
        new = path.with_name(path.name.swapcase() if path.suffix == ".PY" else path.stem.swapcase() + path.suffix)
        if new.is_dir() or new.is_symlink():
            return None
        path.rename(new)
        return self._told(path)

    def _copy(self) -> str | None:
        if (path := self._one()) is None:
            return None
        new = self.folder / self.chance.choice([name for name in NAMES if name.endswith(path.suffix)])
        self._put(new, path.read_bytes())
        return f"{self._told(path)} to {self._told(new)}"

    def _move_folder(self) -> str | None:
        old, new = self.chance.sample(FOLDERS, 2)
        here, there = self.folder / old, self.folder / new
        if not here.is_dir() or here.is_symlink() or there.exists() or there.is_symlink() or new.startswith(f"{old}/"):
            return None
        if not there.parent.is_dir() or there.parent.is_symlink():
            return None
        here.rename(there)
        return f"{old} to {new}"

    def _delete_folder(self) -> str | None:
        found = self.folder / self.chance.choice(FOLDERS)
        if not found.is_dir() or found.is_symlink():
            return None
        shutil.rmtree(found)
        return self._told(found)

    def _hard_link(self) -> str | None:
        """From now on the file has a second name, beside the tree or in it."""
        if (path := self._one()) is None:
            return None
        self._links += 1
        new = self.beside / f"{self._links}{path.suffix}"
        if self.chance.random() < 0.3:
            new = path.with_name(f"twin{self._links % 3}{path.suffix}")
        if new.exists() or new.is_symlink():
            return None
        os.link(path, new)
        if self._watched:
            # Of a name that is made elsewhere no watcher hears, until the file is looked at again.
            path.write_text(self._edited(path))
        return f"{self._told(path)} to {new.name}"

    def _edit_through_a_link(self) -> str | None:
        found = sorted(path for path in self.beside.iterdir() if path.is_file() and path.stat().st_nlink > 1)
        if not found:
            return None
        path = self.chance.choice(found)
        path.write_text(self._edited(path))
        return path.name

    def _symlink(self) -> str:
        name = self.chance.choice([*NAMES, "lib/way", "way.py"])
        path = self.folder / name
        self._put(path, b"")
        path.unlink()
        path.symlink_to(self.chance.choice(["a.py", "nowhere", "/etc/hostname", "..", "pkg", "../pkg/a.py"]))
        return name

    def _link_to_a_folder(self) -> str | None:
        path = self.folder / "way"
        if path.is_symlink():
            path.unlink()
        else:
            path.symlink_to(self.chance.choice(["pkg", "lib", str(self.beside)]))
        return None

    def _no_text(self) -> str:
        name = self.chance.choice(NAMES)
        self._put(self.folder / name, b"\0" + self.text(name).encode())
        return name

    def _rules(self) -> str:
        name, texts = self.chance.choice(
            [(".gitignore", list(IGNORING)), ("pkg/.gitignore", list(BELOW)), (".cairnignore", list(FIRST))]
        )
        path, text = self.folder / name, self.chance.choice(texts)
        if not text and self.chance.random() < 0.5:
            path.unlink(missing_ok=True)
        else:
            self._put(path, text)
        return f"{name}: {text!r}"

    # --- git ----------------------------------------------------------------------------------------------------------

    def git(self, *arguments: str, at: Path | None = None) -> bool:
        """Run git; whether it did what it was told. What it did not do is no trouble: the disk says what is true."""
        alone = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
        done = subprocess.run([*_GIT, *arguments], cwd=at or self.folder, env=alone, capture_output=True, check=False)
        return done.returncode == 0

    def _commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def _switch(self) -> str:
        branch = self.chance.choice(BRANCHES)
        force = self.chance.random() < 0.7
        if not self.git("checkout", "-q", *(["-f"] if force else []), branch):
            return f"{branch}: refused"
        return branch

    def _stash(self) -> None:
        self.git("stash", "push", "-q", *self.chance.choice(([], ["-u"], ["--keep-index"])))

    def _unstash(self) -> None:
        if not self.git("stash", "pop", "-q"):
            self.git("checkout", "-q", "-f")

    def _checkout_of_one_file(self) -> str | None:
        if (path := self._one()) is None:
            return None
        self.git("checkout", "-q", self.chance.choice([*BRANCHES, "HEAD"]), "--", self._told(path))
        return self._told(path)

    def _rebase(self) -> str:
        branch = self.chance.choice(BRANCHES)
        self.git("stash", "push", "-q", "-u")
        if not self.git("rebase", "-q", "-X", "theirs", branch):
            self.git("rebase", "--abort")
        return branch

    def _merge(self) -> str:
        branch = self.chance.choice(BRANCHES)
        if not self.git("merge", "-q", "-X", "theirs", "-m", "x", branch):
            self.git("merge", "--abort")
        return branch

    def _reset(self) -> None:
        self.git("reset", "-q", *self.chance.choice((["--hard"], ["--hard", "HEAD~1"], ["--soft", "HEAD~1"])))

    def _clean(self) -> None:
        self.git("clean", "-q", "-f", "-d")

    def _worktree(self) -> str:
        """A commit from a second worktree, which is then taken over here."""
        side, branch = self.beside / "side", f"side{self.number}"
        self.git("worktree", "add", "-q", "-b", branch, str(side))
        if not side.is_dir():
            return "refused"
        name = self.chance.choice(NAMES)
        self._put(side / name, self.text(name))
        self.git("add", "-A", at=side)
        self.git("commit", "-q", "-m", "x", at=side)
        self.git("worktree", "remove", "--force", str(side))
        self.git("reset", "-q", "--hard", branch)
        self.git("branch", "-q", "-D", branch)
        return name

    def _pack(self) -> None:
        self.git("pack-refs", "--all")


_ACTIONS: list[Callable[[Tree], str | None]] = [
    *(Tree._write, Tree._edit, Tree._edit_of_the_same_size_and_time, Tree._atomic_replace, Tree._append),
    *(Tree._delete, Tree._rename, Tree._rename_of_case, Tree._copy, Tree._move_folder, Tree._delete_folder),
    *(Tree._hard_link, Tree._edit_through_a_link, Tree._symlink, Tree._link_to_a_folder, Tree._no_text, Tree._rules),
    *(Tree._commit, Tree._switch, Tree._stash, Tree._unstash, Tree._checkout_of_one_file, Tree._rebase),
    *(Tree._merge, Tree._reset, Tree._clean, Tree._worktree, Tree._pack),
]
_WEIGHTS = [16, 14, 10, 8, 4, 6, 5, 4, 4, 2, 1, 3, 8, 3, 1, 2, 5, 6, 6, 2, 2, 3, 2, 2, 2, 1, 2, 1]
