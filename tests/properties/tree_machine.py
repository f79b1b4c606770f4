"""A real tree and a dictionary that says what is in it, changed together by the first half of a Hypothesis machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.sync.desk import Desk

NAMES = [
    *("a.py", "A.py", "b.py", "pkg/a.py", "pkg/b.py", "pkg/deep/c.py"),
    *("note.md", "x.sh", "pkg/x.sh", "caf\u00e9.py"),
]
# Some of one size, so that an edit can hide; two that are no text.
TEXTS = [
    *(b"", b"def one(): ...\n", b"def two(): ...\n", b"def six(): ...\n", b"# words\n" * 40 + b"def long(): ...\n"),
    *(b"\0one", b"caf\xe9\n"),
]
RULES = ["", "*.sh\n", "pkg/\n", "*.sh\n!pkg/x.sh\n", "/a.py\n"]
SYMBOLS = ("one", "two", "six", "long")
names, texts = st.sampled_from(NAMES), st.sampled_from(TEXTS)


# The superuser may read a file that nobody may: then no rule of the model changes. For others a run would fail on it.
MODES = [0o600, 0o644, 0o755, *([0o000] if os.geteuid() == 0 else [])]


class TreeMachine(RuleBasedStateMachine):
    """The rules that people and programs follow who know nothing of an index."""

    with_git = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine"))
        self.desk = Desk(self.folder, with_git=self.with_git)
        self.files: dict[str, bytes] = {}
        self.ignoring = ""
        # The user's own setting: larger files have no rows.
        self.limit: int | None = None

    # --- the tree -------------------------------------------------------------------------------------------------

    @rule(name=names, data=texts)
    def write(self, name: str, data: bytes) -> None:
        path = self.desk.tree / name
        if path.is_symlink():
            path.unlink()
        self.desk.put(name, data)
        self.files[name] = data

    @precondition(lambda self: any(self.files[name] for name in self._picks()))
    @rule(data=st.data())
    def edit_in_disguise(self, data: st.DataObject) -> None:
        """The same size, the same mtime, the same inode."""
        name = data.draw(st.sampled_from([name for name in self._picks() if self.files[name]]))
        path = self.desk.tree / name
        before = path.stat()
        self.files[name] = self.files[name][1:] + self.files[name][:1]
        path.write_bytes(self.files[name])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @precondition(lambda self: self._picks())
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self._picks()))
        self.files[name] += b"x = 1\n"
        with (self.desk.tree / name).open("ab") as file:
            file.write(b"x = 1\n")

    @precondition(lambda self: self._picks())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self._picks()))
        (self.desk.tree / name).unlink()
        del self.files[name]

    @precondition(lambda self: self._picks())
    @rule(data=st.data(), new=names)
    def rename(self, data: st.DataObject, new: str) -> None:
        """To a free name, over another file or a link, or to another case."""
        old = data.draw(st.sampled_from(self._picks()))
        (self.desk.tree / new).parent.mkdir(parents=True, exist_ok=True)
        (self.desk.tree / old).rename(self.desk.tree / new)
        self.files[new] = self.files.pop(old)

    @precondition(lambda self: self._picks())
    @rule(data=st.data(), mode=st.sampled_from(MODES))
    def chmod(self, data: st.DataObject, mode: int) -> None:
        (self.desk.tree / data.draw(st.sampled_from(self._picks()))).chmod(mode)

    @rule(name=names, to=st.sampled_from(["a.py", "nowhere", "/etc/hostname", "..", "pkg"]))
    def link(self, name: str, to: str) -> None:
        """Into the tree or out of it: nothing is ever read through one."""
        path = self.desk.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self.files.pop(name, None)
        path.symlink_to(to)

    @rule(text=st.sampled_from(RULES))
    def edit_rules(self, text: str) -> None:
        self.desk.put(".cairnignore", text)
        self.ignoring = text
        self.files[".cairnignore"] = text.encode()

    @rule(scope=st.sampled_from(["docs", "tests"]), without_notes=st.booleans())
    def edit_settings(self, scope: str, without_notes: bool) -> None:
        """Of the repository: for neither setting anything is indexed again but what is touched by it."""
        before = self.desk.place.store_id
        text = f'[query]\nscope = "{scope}"\n' + ('[index]\nexclude = ["*.md"]\n' if without_notes else "")
        self.files[".cairn.toml"] = text.encode()
        self.desk.put(".cairn.toml", text)
        assert self.desk.place.store_id == before

    # --- what an index must hold --------------------------------------------------------------------------------------

    def _picks(self) -> list[str]:
        return sorted(self.files.keys() - {".cairnignore", ".cairn.toml"})

    def _eligible(self) -> dict[str, bytes]:
        return {
            name: text
            for name, text in self.files.items()
            if self._is_wanted(name) and _is_text(text) and len(text) <= (self.limit or len(text))
        }

    def _is_wanted(self, name: str) -> bool:
        """The few rules that are in use, as git would read them."""
        left_out = {
            "": False,
            "*.sh\n": name.endswith(".sh"),
            "*.sh\n!pkg/x.sh\n": name.endswith(".sh") and name != "pkg/x.sh",
            "pkg/\n": name.startswith("pkg/"),
            "/a.py\n": name == "a.py",
        }
        excluded = name.endswith(".md") and b"exclude" in self.files.get(".cairn.toml", b"")
        return not left_out[self.ignoring] and not excluded


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
