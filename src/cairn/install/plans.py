"""What an install or an uninstall would change, file by file. Nothing is written by planning."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256

from cairn.install import files
from cairn.install.edits import EntryFormat, ServerEntry, Unfit, applied, relocated, reversed_splices
from cairn.install.files import FoundFile
from cairn.install.known import Agent, SettingsScope
from cairn.install.record import KINDS, Key, WrittenChange
from cairn.install.texts import Block

# --- What an agent is taught about Cairn: when to use which tool, in a few lines.


INSTRUCTIONS = """\
## Finding code: use the `cairn` tools

The MCP server `cairn` keeps an index of this code that is brought up to date before every search.

- To find code whose place you do not know, call `search_codebase` first, with words or a question; do not read files
  one after the other. With `mode` `regex` every indexed file is looked at: what is not found is not there.
- To find a definition by its name, call `find_symbol`; to see what a long file defines, `file_outline`.
- Before you change a function, call `call_graph` to see who calls it; each edge says how sure it is.
- In a codebase that is new to you, begin with `repo_map`.
- `read_file` shows lines as they were indexed; read the file itself before you edit it.
- `not_ready` means that the first index is being made: wait `retryAfterMs`, then ask again. With `requires_reindex` or
  `not_indexed`, do what `hints` says; ask the user before you clear or rebuild anything.
- Files that are ignored, binary or secret are not in the index: use other tools for those.
"""


SERVER, PAGE = KINDS


class FileOutcome(StrEnum):
    """What happens to one file."""

    ADDED = "added"
    CHANGED = "changed"
    PRESENT = "present"
    REMOVED = "removed"
    ABSENT = "absent"
    KEPT = "kept"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after. `written` is what the record will say of it from then on, None to forget it.

    `why` says why it is refused, or who else needs what is kept.
    """

    agents: tuple[str, ...]
    kind: str
    table: str
    scope: SettingsScope
    file: str
    outcome: FileOutcome
    found: FoundFile
    after: bytes | None = None
    written: WrittenChange | None = None
    folders: tuple[str, ...] = ()
    why: str = ""

    @property
    def writes(self) -> bool:
        """Whether the file would be changed."""
        return self.outcome in (FileOutcome.ADDED, FileOutcome.CHANGED, FileOutcome.REMOVED)

    @property
    def key(self) -> Key:
        """The key of this change in the record."""
        return self.found.path, self.kind, self.table

    def refused(self, why: str) -> Change:
        """Return this change as refused: the file is left as it is."""
        return replace(self, outcome=FileOutcome.REFUSED, after=None, written=None, why=why)


@dataclass(frozen=True, slots=True)
class TargetFile:
    """A file that an entry of ours belongs in, and the agents that read it there."""

    agents: tuple[str, ...]
    kind: str
    table: str
    file: str
    format: EntryFormat


def targets(
    agents: Sequence[Agent], scope: SettingsScope, root: str | None, kind: str, server: ServerEntry
) -> list[TargetFile]:
    """Return the files of these agents, each once."""
    found: dict[tuple[str, str], TargetFile] = {}
    for agent in agents:
        file = agent.file(scope, root) if kind == SERVER else agent.page(scope, root)
        if file is None:
            continue
        table = agent.table if kind == SERVER else ""
        entry = agent.format(server) if kind == SERVER else Block(INSTRUCTIONS)
        one = found.setdefault((os.path.realpath(file), table), TargetFile((), kind, table, file, entry))
        found[os.path.realpath(file), table] = replace(one, agents=(*one.agents, agent.name))
    return list(found.values())


def plan_install(
    target: TargetFile, scope: SettingsScope, root: str | None, known: Mapping[Key, WrittenChange]
) -> Change:
    """Return the change of one file that adds the entry."""
    change = Change(
        target.agents, target.kind, target.table, scope, target.file, FileOutcome.PRESENT, FoundFile(target.file, None)
    )
    try:
        found = files.look(target.file, within=root if scope is SettingsScope.PROJECT else None)
        change = replace(change, found=found)
        earlier = known.get(change.key)
        agents = tuple(dict.fromkeys([*(earlier.agents if earlier else ()), *target.agents]))
        text = _text(found.data)
        if target.format.put(text) is None:
            return replace(change, written=replace(earlier, agents=agents) if earlier else None)
        # What an earlier version has written goes first, so that what comes back in the end is what was there then.
        before = undone(earlier, text, target.format) if earlier else text
        splices = target.format.put(before) or ()
        whole = applied(before, splices)
        after = _bytes(whole)
    except Unfit as problem:
        return change.refused(str(problem))
    written = WrittenChange(
        file=found.path,
        kind=target.kind,
        table=target.table,
        scope=scope.value,
        agents=agents,
        project=root if scope is SettingsScope.PROJECT else None,
        created=earlier.created if earlier and found.data is not None else found.data is None,
        folders=(*(earlier.folders if earlier else ()), *files.missing_folders(os.path.dirname(found.path))),
        after=sha256(after).hexdigest(),
        length=len(whole),
        splices=splices,
    )
    outcome = FileOutcome.CHANGED if earlier or target.format.is_ours(text) else FileOutcome.ADDED
    return replace(change, outcome=outcome, after=after, written=written)


def plan_uninstall(written: WrittenChange, names: Collection[str], entry: EntryFormat) -> Change:
    """What is to be done so that this entry is gone for these agents; it stays while another one needs it."""
    others = tuple(name for name in written.agents if name not in names)
    gone = tuple(name for name in written.agents if name in names)
    change = Change(
        gone,
        written.kind,
        written.table,
        SettingsScope(written.scope),
        written.file,
        FileOutcome.ABSENT,
        FoundFile(written.file, None),
    )
    if others:
        return replace(change, outcome=FileOutcome.KEPT, written=replace(written, agents=others), why=", ".join(others))
    try:
        found = files.look(written.file)
        if found.path != written.file:
            raise Unfit("there is a link on the way to it that was not there before")
        around = tuple(folder for folder in written.folders if found.path.startswith(folder + "/"))
        change = replace(change, found=found, folders=around)
        if found.data is None:
            return change
        text = _text(found.data)
        before = undone(written, text, entry)
        if before == text:
            return change
        after = None if written.created and entry.is_empty(before) else _bytes(before)
    except Unfit as problem:
        return change.refused(str(problem))
    return replace(change, outcome=FileOutcome.REMOVED, after=after)


def plan_removal(target: TargetFile, scope: SettingsScope, root: str | None) -> Change:
    """The same for an entry that is in no record: the record was lost, or somebody else wrote the entry."""
    change = Change(
        target.agents, target.kind, target.table, scope, target.file, FileOutcome.ABSENT, FoundFile(target.file, None)
    )
    try:
        found = files.look(target.file, within=root if scope is SettingsScope.PROJECT else None)
        change = replace(change, found=found)
        text = _text(found.data)
        splices = target.format.take(text) if target.format.is_ours(text) else None
        if splices is None:
            return change
        return replace(change, outcome=FileOutcome.REMOVED, after=_bytes(applied(text, splices)))
    except Unfit as problem:
        return change.refused(str(problem))


def undone(written: WrittenChange, text: str, entry: EntryFormat) -> str:
    """The text without what was written: to the byte when nothing was edited since, else with all that was edited.

    Whatever the record says, what is not ours still means the same afterwards.
    """
    untouched = sha256(_bytes(text)).hexdigest() == written.after
    ways = (reversed_splices(written.splices) if untouched else None, relocated(text, written.splices, written.length))
    for way in ways:
        with contextlib.suppress(Unfit):
            if way and entry.agrees(text, before := applied(text, way)):
                return before
    cut = entry.take(text) if entry.is_ours(text) else None
    return text if cut is None else applied(text, cut)


def _text(data: bytes | None) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Unfit(f"byte {problem.start + 1} is not UTF-8") from None


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Unfit("the path that belongs there is not UTF-8") from None
