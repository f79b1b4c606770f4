"""Say what this machine has of what Cairn needs and can use, and how to get the rest (`cairn doctor`)."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
from collections.abc import Iterator, Mapping

from cairn import __version__
from cairn.answer.machine import IndexerRow, doctor_report, is_healthy
from cairn.cli.output import Output
from cairn.core.config import Config, cairn_home, load_config, read_user_config, user_config_path
from cairn.core.limits import DAEMON_HELLO_SECONDS
from cairn.core.text import plain
from cairn.errors import CairnError
from cairn.sync.report import Check, Severity

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
# Extras of the distribution: the module that comes with each, and what does not work without it.
_EXTRAS = (
    ("mcp", "mcp", "coding agents cannot be served"),
    ("milvus", "pymilvus", "rows cannot be searched by a Milvus server"),
)


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `cairn doctor` has no options of its own."""


def run_doctor(options: argparse.Namespace, output: Output) -> int:
    """Check everything and print it; changes, starts and downloads nothing. Returns 1 when something cannot work."""
    from cairn.sync.checkup import check_up  # noqa: PLC0415

    environ, root = output.around.environ, os.path.realpath(output.around.path(options.root))
    checks = [*check_up(environ, root)]
    settings = _settings(environ, checks)
    checks += [_daemon(environ), *_extras(), *_checkers(environ, settings, root)]
    indexers = _indexers(environ, settings, root)
    if options.json:
        output.line(doctor_report(checks, indexers, path=options.root).to_json())
    else:
        for check in checks:
            _print_check(check, output)
        for row in indexers:
            _print_indexer(row, output)
    return 0 if is_healthy(checks) else 1


def _settings(environ: Mapping[str, str], checks: list[Check]) -> Config:
    """Return the user's settings and add a check about them; returns the defaults when they cannot be read."""
    try:
        user = read_user_config(environ)
        found = load_config(None, user.data, user_file=user_config_path(environ), user_alone=user.alone)
    except CairnError as problem:
        checks.append(Check("settings", Severity.ERROR, problem.sentence, problem.advice))
        return Config()
    checks.append(Check("settings", None, "your settings can be read" if user.data else "as they ship"))
    return found


def _daemon(environ: Mapping[str, str]) -> Check:
    """Check whether a daemon answers; only greets it, so that one of another version is not asked to leave."""
    from cairn.daemon.address import dial  # noqa: PLC0415
    from cairn.daemon.frames import BadFrame, hello, receive, send  # noqa: PLC0415

    try:
        wire = dial(cairn_home(environ), DAEMON_HELLO_SECONDS)
    except (FileNotFoundError, ConnectionRefusedError):
        return Check("daemon", Severity.NOTE, "It does not run; `cairn mcp` starts it.")
    except OSError as problem:
        advice = "`cairn daemon status` says more; commands read by themselves meanwhile."
        return Check("daemon", Severity.WARNING, f"It cannot be reached: {problem.strerror or problem}.", advice)
    said = None
    with contextlib.closing(wire), contextlib.suppress(OSError, BadFrame):
        send(wire, hello(__version__, os.getpid(), "cli", environ))
        said = receive(wire)
    if said is None:
        return Check("daemon", Severity.WARNING, "It does not answer.", "`cairn daemon stop` names its process.")
    greeting = said.get("hello")
    if isinstance(greeting, dict) and greeting.get("version") == __version__:
        return Check("daemon", None, f"version {__version__} answers")
    return Check("daemon", Severity.NOTE, "One of another version or with other settings runs; commands do without it.")


def _extras() -> Iterator[Check]:
    for extra, module, without in _EXTRAS:
        if importlib.util.find_spec(module) is not None:
            yield Check(extra, None, "installed")
        else:
            yield Check(extra, Severity.NOTE, f"Not installed: {without}.", f"pip install 'codecairn[{extra}]'")


def _checkers(environ: Mapping[str, str], settings: Config, root: str) -> Iterator[Check]:
    """Check which compilers there are to judge renames; what lies below the root is neither looked at nor run."""
    from cairn.errors import IndexerMissing  # noqa: PLC0415
    from cairn.semantic.checking import CHECKERS  # noqa: PLC0415
    from cairn.semantic.tools import find_tool, install_command  # noqa: PLC0415

    home = cairn_home(environ)
    for family, checker in CHECKERS.items():
        try:
            find_tool(checker, root=root, home=home, environ=environ, settings=settings.semantic)
        except IndexerMissing as problem:
            said = f"Renames of {family.value} are not checked by it: {problem.fields['why']}."
            yield Check(checker.name, Severity.NOTE, said, install_command(checker, home))
        else:
            yield Check(checker.name, None, f"checks renames of {family.value}")


def _indexers(environ: Mapping[str, str], settings: Config, root: str) -> list[IndexerRow]:
    from cairn.semantic.tools import indexer_table  # noqa: PLC0415

    # A program that a repository brings is not run, not even to ask for its version.
    found = indexer_table(environ, settings.semantic, root=root)
    return [
        IndexerRow(one.name, one.family.value, one.program, one.version, one.trouble, one.install, one.tested)
        for one in found
    ]


def _print_check(check: Check, output: Output) -> None:
    severity = check.severity
    mark = output.styled(severity.value, _STYLES[severity]) if severity else output.styled("ok", "green")
    output.line(f"{mark}: {check.name}: {plain(check.message)}")
    if check.advice:
        output.note(f"  {plain(check.advice)}")


def _print_indexer(row: IndexerRow, output: Output) -> None:
    untested = "" if row.tested else " (untested)"
    if row.program and not row.trouble:
        output.line(f"{output.styled('ok', 'green')}: {row.name}: {row.family}, {plain(row.version or '')}{untested}")
        return
    output.line(f"{output.styled('note', 'cyan')}: {row.name}: {row.family}, {plain(row.trouble)}{untested}")
    output.note(f"  {plain(row.install)}")
