"""Add Cairn to the settings of agents and remove it again, with the user's consent (`cairn install`, `uninstall`)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from cairn.answer.machine import FileChange, install_report
from cairn.cli.output import Output, counted
from cairn.core.text import plain
from cairn.errors import SettingsRefused, UsageError
from cairn.install.edits import NAME, difference
from cairn.install.known import Agent
from cairn.install.plans import PAGE, Change, FileOutcome
from cairn.install.registrar import Registrar, running_server
from cairn.install.texts import json_value
from cairn.source.root import find_root, printable

_KNOWN = "claude, codex, cursor, vscode"
_TEACH = "`cairn install --instructions` also tells them when to use it, in CLAUDE.md and AGENTS.md."
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def configure_install(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cairn install` and `cairn uninstall`."""
    if parser.get_default("command") == "install":
        others = "; for any other name, what to write is printed (default: all that are found)"
        parser.add_argument("agents", metavar="AGENT", nargs="*", help=_KNOWN + others)
        parser.add_argument(
            "--instructions", action="store_true", help="also teach them when to use it, in CLAUDE.md or AGENTS.md"
        )
    else:
        parser.add_argument("agents", metavar="AGENT", nargs="*", help=f"{_KNOWN} (default: all)")
    parser.add_argument("--project", action="store_true", help="in the files of the project, not in your own settings")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be written")


def run_install(options: argparse.Namespace, output: Output) -> int:
    """Plan the changes, show the differences, ask, and write."""
    root = find_root(options.root).path if options.project else None
    registrar = Registrar(os.environ, root)
    chosen = [registrar.agents[name] for name in dict.fromkeys(options.agents) if name in registrar.agents]
    strangers = [name for name in options.agents if name not in registrar.agents]
    steps = _Steps(registrar, options, output)
    snippet = None
    if options.command == "uninstall":
        if strangers:
            raise UsageError(problem=f"There is no agent {plain(strangers[0])}: Cairn knows {_KNOWN}.")
        steps.take(registrar.uninstall(chosen))
    else:
        chosen = chosen if options.agents else registrar.found()
        if strangers or not chosen:
            snippet = _snippet(root)
        _install(registrar, chosen, steps, options)
    if options.json:
        _report(steps, root, snippet, options, output)
    else:
        _conclude(steps, strangers, snippet, output)
    return SettingsRefused.exit_status if steps.refused else 0


def _install(registrar: Registrar, chosen: Sequence[Agent], steps: _Steps, options: argparse.Namespace) -> None:
    agreed = steps.take(registrar.install(chosen))
    # The settings are one question to the user, the instructions for agents another.
    if options.instructions or (agreed and steps.asks):
        steps.take(registrar.install(chosen, PAGE))


class _Steps:
    """The changes so far: each batch is shown, agreed to and written."""

    def __init__(self, registrar: Registrar, options: argparse.Namespace, output: Output) -> None:
        self._registrar, self._options, self._output = registrar, options, output
        self.changes: list[Change] = []
        self.shown: list[FileChange] = []
        self.written = 0
        self.asks = not (options.yes or options.dry_run or options.json) and _at_a_terminal(output)

    @property
    def refused(self) -> bool:
        return any(change.outcome is FileOutcome.REFUSED for change in self.changes)

    def take(self, batch: Sequence[Change]) -> bool:
        """Show a batch and write it when the user agrees; return whether they did."""
        diffs = [difference(_shown(one.file), one.found.data, one.after) if one.writes else [] for one in batch]
        if not self._options.json:
            for change, diff in zip(batch, diffs, strict=True):
                self._show(change, diff)
        agreed = not self._options.dry_run and self._is_agreed([one for one in batch if one.writes])
        done = [
            self._registrar.write(one) if agreed and one.outcome is not FileOutcome.REFUSED else one for one in batch
        ]
        self.written += sum(one.writes for one in done) if agreed else 0
        self.changes += done
        self.shown += [
            FileChange(_shown(one.file), one.agents, one.kind, one.scope.value, one.outcome.value, one.why, diff)
            for one, diff in zip(done, diffs, strict=True)
        ]
        return agreed

    def _is_agreed(self, pending: Sequence[Change]) -> bool:
        if self._options.yes or not pending:
            return True
        if not self.asks:
            raise UsageError(problem="Nothing was written: say --yes where nobody can be asked, or --dry-run to look.")
        verb = "Take this back" if self._options.command == "uninstall" else "Write this"
        self._output.stderr.write(f"{verb} ({counted(len(pending), 'file')})? [y/N] ")
        self._output.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    def _show(self, change: Change, diff: Sequence[str]) -> None:
        titles = ", ".join(
            self._registrar.agents[name].title for name in change.agents if name in self._registrar.agents
        )
        what = f"{titles or ', '.join(change.agents)}, {'instructions' if change.kind == PAGE else 'server'}"
        if diff and self._output.verbosity < 0 and not self.asks:
            self._output.line(f"{change.outcome.value} {_shown(change.file)}")
        elif diff:
            self._output.line(self._output.styled(plain(what), "bold"))
            for line in diff:
                self._output.line(self._output.styled(line, _COLOURS[line[0]]) if line[0] in _COLOURS else line)
        elif change.outcome is FileOutcome.PRESENT:
            self._output.line(f"{what}: {_shown(change.file)} has it already.")
        elif change.outcome is FileOutcome.KEPT:
            self._output.line(f"{what}: {_shown(change.file)} keeps it, {plain(change.why)} reads it too.")
        elif change.outcome is FileOutcome.ABSENT:
            self._output.line(f"{what}: {_shown(change.file)} no longer has it.")


def _conclude(steps: _Steps, strangers: Sequence[str], snippet: str | None, output: Output) -> None:
    if snippet is not None:
        whom = f"Cairn does not know {plain(strangers[0])}" if strangers else "No agent that Cairn knows was found"
        output.note(f"{whom}; this is what most agents want in their settings:")
        output.line(snippet)
    for change in steps.changes:
        if change.outcome is FileOutcome.REFUSED:
            problem = SettingsRefused(path=_shown(change.file), why=change.why)
            output.stderr.write(f"{output.styled('cairn:', 'red', output.stderr)} {plain(problem.sentence)}\n")
            output.stderr.write(f"  {plain(problem.advice)}\n")
    if steps.written:
        output.note(f"{counted(steps.written, 'file')} written. Agents that are running see it when they start anew.")
        if steps.changes[0].outcome is not FileOutcome.REMOVED and not any(one.kind == PAGE for one in steps.changes):
            output.note(_TEACH)
    elif any(change.writes for change in steps.changes):
        output.note("Nothing was written.")
    elif not steps.changes and snippet is None:
        output.note("Nothing of Cairn is in the settings of any agent.")


def _report(steps: _Steps, root: str | None, snippet: str | None, options: argparse.Namespace, output: Output) -> None:
    installs = options.command == "install" and not options.instructions
    envelope = install_report(
        path=options.root,
        root=root,
        action=options.command,
        changes=steps.shown,
        dry_run=options.dry_run,
        snippet=snippet,
        hints={"next": _TEACH} if installs and steps.written else {},
    )
    output.line(envelope.to_json())


def _snippet(root: str | None) -> str:
    return json.dumps({"mcpServers": {NAME: json_value(running_server(os.environ, root))}}, indent=2)


def _at_a_terminal(output: Output) -> bool:
    return sys.stdin.isatty() and output.stderr.isatty()


def _shown(path: str) -> str:
    return printable(os.fsencode(path))
