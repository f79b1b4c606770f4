"""The plan of a rename: a frozen value that says what would change, whether it may, and what stands against it.

`rename` makes it, answers show it, and whoever applies it needs nothing else: each file to be changed comes with the
hash of the bytes that the plan was made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cairn.semantic.ambiguity import SENTENCES, Ambiguity
from cairn.semantic.editing import Decision, MutationGate, Verdict
from cairn.semantic.patch import Replacement

_ORDER = tuple(Verdict)
_IMPLEMENTS = "It implements {name}, which lies outside and keeps its name."
_NEW_ERROR = "{by} reports an error that was not there before: {message}"


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that the plan changes: the replacements, in order, and the hash of the file that they are for.

    `content_hash` is the `StoredFile.file_hash` of the snapshot. A file that has another one may not be changed.
    """

    path: str
    content_hash: str
    replacements: tuple[Replacement, ...]

    @property
    def places(self) -> int:
        """The number of places that change."""
        return len(self.replacements)


class PlanPlace(NamedTuple):
    """A place that stands against a plan, with the reason in one sentence. Line 0 means the file as a whole."""

    path: str
    line: int
    reason: str


class LeftOutPlace(NamedTuple):
    """The first place of the old name in a file that is not in the index; the first line where it was not read."""

    path: str
    line: int
    digest: str


class CompilerError(NamedTuple):
    """An error that a compiler reports for a place of the codebase."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """What a compiler said of the plan, applied in a scratch copy.

    `by` names the programs that checked it, empty when none did; then `why_not` says why. `errors` are those that the
    codebase has only with the plan applied.
    """

    by: tuple[str, ...] = ()
    why_not: str = ""
    errors: tuple[CompilerError, ...] = ()


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """What a rename would change, and whether it may.

    The verdict is `automatic` (apply it), `needs_decision` (a person must decide what `against` lists) or `blocked`
    (what is known is not fresh, a symbol outside keeps its name, or a compiler found new errors).

    `edits` are the files that change. `patch`, a unified diff of exactly those edits, is empty unless the verdict is
    automatic. `questions` are the ambiguities of the name and `open` the undecided ones; ambiguities of a file are in
    the gate. `mentions` are clean files with the name but without the symbol: other symbols, comments, texts. `outside`
    are symbols of other projects that this one implements, whose name it has to keep. `left` counts the places in
    changed files that keep the name: comments, and texts; no code. `check` is what a compiler said, None when none was
    asked.
    """

    old: str
    new: str
    gate: MutationGate
    edits: tuple[FileEdit, ...]
    patch: bytes = b""
    questions: tuple[Ambiguity, ...] = ()
    open: tuple[Ambiguity, ...] = ()
    decided: tuple[Decision, ...] = ()
    mentions: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    left: int = 0
    check: PlanCheck | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the files, of the questions about the name, and of the symbols outside."""
        is_wrong = self.outside or (self.check is not None and self.check.errors)
        own = Verdict.BLOCKED if is_wrong else Verdict.NEEDS_DECISION if self.open else Verdict.AUTOMATIC
        return max(own, self.gate.verdict, key=_ORDER.index)

    @property
    def against(self) -> tuple[PlanPlace, ...]:
        """Every place that keeps the plan from being automatic, with its reason; empty for an automatic one."""
        if self.verdict is Verdict.AUTOMATIC:
            return ()
        closed = [one for one in self.gate.files if one.verdict is not Verdict.AUTOMATIC]
        found = [PlanPlace(one.path, one.line, SENTENCES[one.source]) for one in self.open]
        for file in closed:
            found += (PlanPlace(file.path, one.line, SENTENCES[one.source]) for one in file.open)
            if not file.open:
                found.append(PlanPlace(file.path, 0, " ".join(file.state.reasons)))
        at = self.edits[0].path if self.edits else ""
        found += (PlanPlace(at, 0, _IMPLEMENTS.format(name=name)) for name in self.outside)
        if self.check is not None:
            by = ", ".join(self.check.by)
            found += (
                PlanPlace(one.path, one.line, _NEW_ERROR.format(by=by, message=one.message))
                for one in self.check.errors
            )
        return tuple(found)
