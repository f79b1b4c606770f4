"""How somebody who knows ripgrep well plays a task: the narrowest pattern for its kind, then `sed` for the lines."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.agents.tasks import Played, Task

_TYPES = {
    "python": "py", "rust": "rust", "java": "java", "javascript": "js", "typescript": "ts", "c": "c", "go": "go",
}  # fmt: skip
# A definition of NAME, one line of it.
_DEFINES = {
    "python": r"(def|class)\s+NAME\b|^NAME\s*=",
    "rust": r"(fn|struct|enum|trait|type|const|static|mod)\s+NAME\b",
    "java": r"(class|interface|enum|record)\s+NAME\b|^\s+[\w<>\[\],.?@ ]+\s+NAME\s*\([^;]*$",
    "javascript": r"(function|class|const|let|var)\s+NAME\b|\.NAME\s*=",
    "typescript": r"(function|class|const|let|var|interface|type|enum)\s+NAME\b",
    "c": r"^[A-Za-z_][^;]*\bNAME\s*\([^;]*$",
    "go": r"func\s+(\([^)]*\)\s*)?NAME\b|(type|var|const)\s+NAME\b",
}
_BASES = {
    "python": r"class \w+\(.*\bNAME\b",
    "rust": r"impl.*\bNAME\b.* for ",
    "go": r"NAME",
}
_BASE = r"(extends|implements)\b.*\bNAME\b"
_ANY = r"(\w+)"
_COMMENT = re.compile(r"\s*(//|#|\*|/\*|--)")
_TESTS = ("-g", "*[tT]est*", "-g", "**/test/**", "-g", "**/tests/**")
_NO_TESTS = ("-g", "!*[tT]est*", "-g", "!**/test*/**")
_LINE = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d+):(?P<text>.*)")
_WORD = re.compile(r"[a-z0-9]{3,}")
_STOP = frozenset({
    "the", "and", "how", "for", "its", "has", "with", "where", "what", "which", "that", "are", "from", "into", "when",
    "because", "this", "being", "there", "them", "too", "other", "out", "one", "two",
})  # fmt: skip
_SED, _MORE_SED = 40, 160
_DEEPEST = 4


class Line(NamedTuple):
    """A line that ripgrep printed."""

    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


class Grep:
    """One task, played in a tree."""

    def __init__(self, tree: Path, language: str) -> None:
        self._tree, self._language = tree, language
        self.calls = self.characters = 0

    def play(self, task: Task) -> Played:
        """Return what was found and what it cost."""
        said, first = getattr(self, f"_{task.kind}")(task)
        return Played(self.calls, self.characters, tuple(said), tuple(first))

    # --- the two programs ---------------------------------------------------------------------------------------------

    def _rg(self, *arguments: str) -> str:
        return self._run(["rg", "--no-heading", "--sort", "path", "--max-columns", "200", *arguments])

    def _lines(self, pattern: str, *more: str) -> list[Line]:
        printed = self._rg("-n", *more, "-t", _TYPES[self._language], "-e", pattern, "./")
        found = (_LINE.match(line) for line in printed.splitlines())
        return [Line(one["path"].removeprefix("./"), int(one["line"]), one["text"]) for one in found if one]

    def _sed(self, path: str, first: int, last: int) -> list[str]:
        return self._run(["sed", "-n", f"{first},{last}p", path]).splitlines()

    def _run(self, command: Sequence[str]) -> str:
        out = subprocess.run(command, cwd=self._tree, capture_output=True, stdin=subprocess.DEVNULL, check=False).stdout
        text = out.decode("utf-8", "replace")
        self.calls += 1
        self.characters += len(text)
        return text

    # --- the kinds of tasks -------------------------------------------------------------------------------------------

    def _definitions(self, name: str) -> list[Line]:
        found = [one for one in self._lines(_DEFINES[self._language].replace("NAME", name)) if not _is_comment(one)]
        # Without one it may be written in a way that no pattern knows.
        return found or [one for one in self._lines(rf"\b{name}\b") if not _is_comment(one)][:1]

    def _define(self, task: Task) -> tuple[list[str], list[str]]:
        return _twice([one.place for one in self._definitions(task.subject)])

    def _calls(self, task: Task) -> tuple[list[str], list[str]]:
        return _twice([one.place for one in self._calls_of(task.subject)])

    def _calls_of(self, name: str) -> list[Line]:
        define = re.compile(_DEFINES[self._language].replace("NAME", name))
        found = self._lines(rf"\b{name}\s*\(")
        return [one for one in found if not _is_comment(one) and not define.search(one.text)]

    def _rename(self, task: Task) -> tuple[list[str], list[str]]:
        return _twice([one.place for one in self._lines(rf"\b{task.subject}\b") if not _is_comment(one)])

    def _implements(self, task: Task) -> tuple[list[str], list[str]]:
        found = self._lines(_BASES.get(self._language, _BASE).replace("NAME", task.subject))
        return _twice([one.place for one in found if not _is_comment(one)])

    def _tests(self, task: Task) -> tuple[list[str], list[str]]:
        printed = self._rg("-lw", *_TESTS, "-e", task.subject, "./")
        return _twice([line.removeprefix("./") for line in printed.splitlines()])

    def _body(self, task: Task) -> tuple[list[str], list[str]]:
        found = self._definitions(task.subject)[:1]
        for one in found:
            shown = self._sed(one.path, one.line, one.line + _SED - 1)
            length = _length(shown)
            if length is None:
                shown += self._sed(one.path, one.line + _SED, one.line + _SED + _MORE_SED - 1)
                length = _length(shown) or len(shown)
            return [f"{one.path}:{one.line}-{one.line + length - 1}"], [one.place]
        return [], []

    def _members(self, task: Task) -> tuple[list[str], list[str]]:
        found = self._definitions(task.subject)[:1]
        if not found:
            return [], []
        if self._language == "go":
            lines = self._lines(rf"^func \(\w+ \*?{task.subject}\)")
            names = [re.sub(r"^func \([^)]*\) (\w+).*", r"\1", one.text) for one in lines]
            return names, []
        names = []
        within = -1
        owner = re.compile(rf"(class|interface|impl)\b.*\b{task.subject}\b")
        pattern = rf"^\s*impl\b|{_DEFINES[self._language].replace('NAME', _ANY)}"
        for one in self._lines(pattern, "-g", found[0].path):
            indent = len(one.text) - len(one.text.lstrip())
            if owner.search(one.text):
                within = indent
            elif indent <= within:
                within = -1
            elif within >= 0 and (name := re.search(r"(\w+)\s*(<[^(]*>)?\(", one.text)):
                names.append(name[1])
        return names, []

    def _question(self, task: Task) -> tuple[list[str], list[str]]:
        words = [_stem(word) for word in _WORD.findall(task.subject.lower()) if word not in _STOP]
        pairs = "|".join(rf"{one}\w*\W?{other}" for one, other in pairwise(words))
        found = self._lines(f"(?i){pairs}", "-m", "8", *_NO_TESTS)
        if not found:
            # No two words stand side by side: the file that has most of them.
            counted = self._rg("-ci", "-t", _TYPES[self._language], *_NO_TESTS, "-e", "|".join(words), "./")
            rows = [line.rpartition(":") for line in counted.splitlines()]
            for path, _, _ in sorted(rows, key=lambda row: -int(row[2]))[:1]:
                found = self._lines(f"(?i){'|'.join(words)}", "-m", "20", "-g", path.removeprefix("./"))
        near = sorted(found, key=lambda one: -_fit(one, found, words))
        best = list({f"{one.path}:{one.line // _SED}": one for one in reversed(near)}.values())[::-1][:3]
        for one in best[:1]:
            self._sed(one.path, max(1, one.line - 5), one.line + _SED - 6)
        said = [f"{one.path}:{max(1, one.line - 5)}-{one.line + _SED - 6}" for one in best]
        return said, said[:1]

    def _path(self, task: Task) -> tuple[list[str], list[str]]:
        """Go up from the end: who calls it, in which function that is, and so on."""
        ways, seen = {task.to: [task.to]}, {task.to}
        first: list[str] | None = None
        for _ in range(_DEEPEST):
            above: dict[str, list[str]] = {}
            for name, way in ways.items():
                for one in self._calls_of(name):
                    caller = self._around(one)
                    if caller == task.subject:
                        return [step for step in way if step != task.to], first or []
                    if caller and caller not in seen and not re.search("test", one.path, re.IGNORECASE):
                        seen.add(caller)
                        above[caller] = [caller, *way]
                first = list(above) if first is None else first
            ways = above
        return [], first or []

    def _around(self, use: Line) -> str | None:
        """Return the name of the function around a line: the last that is defined above it in the file."""
        found = self._lines(_DEFINES[self._language].replace("NAME", _ANY), "-g", use.path)
        indent = len(use.text) - len(use.text.lstrip())
        above = [one for one in found if one.line <= use.line and len(one.text) - len(one.text.lstrip()) < indent]
        name = re.search(r"(\w+)\s*(<[^(]*>)?\(|(\w+)\s*=", above[-1].text) if above else None
        return (name[1] or name[3]) if name else None


def _is_comment(one: Line) -> bool:
    return _COMMENT.match(one.text) is not None


def _twice(said: list[str]) -> tuple[list[str], list[str]]:
    """What the only call has said is the first answer and the last."""
    return said, said


def _length(lines: Sequence[str]) -> int | None:
    """Return how many lines a definition has, which begins with the first; None when its end is not among them."""
    indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    closed = False
    for number, line in enumerate(lines[1:], 1):
        if not line.strip() or len(line) - len(line.lstrip()) > indent:
            continue
        if line.strip()[0] in "})" and not closed:
            if line.rstrip().endswith(("{", ":")):
                continue
            return number + 1
        return max(count for count in range(1, number + 1) if lines[count - 1].strip())
    return None


def _stem(word: str) -> str:
    for end in ("ing", "ed", "s"):
        if word.endswith(end) and len(word) - len(end) >= 4:
            return word.removesuffix(end)
    return word


def _fit(one: Line, every: Sequence[Line], words: Sequence[str]) -> int:
    near = " ".join(other.text.lower() for other in every if other.path == one.path and abs(other.line - one.line) < 30)
    return sum(word in near for word in set(words)) + sum(word in one.text.lower() for word in set(words))
