"""Which indexers are here: one row for each in the table, for who wants to know what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cairn.core.clock import SYSTEM_CLOCK, Clock
from cairn.core.config import SemanticConfig, cairn_home
from cairn.errors import IndexerMissing
from cairn.semantic.indexers import INDEXERS, Indexer
from cairn.semantic.model import Family
from cairn.semantic.running import tool_version
from cairn.semantic.tools import find_tool, install_command


class IndexerReport(NamedTuple):
    """One indexer: where it is (None: nowhere) and its version, or what is wrong; and the command that installs it.

    `tested` is false for one that was never run by our own tests: it may work.
    """

    name: str
    family: Family
    program: str | None
    version: str | None
    trouble: str
    install: str
    tested: bool
    runs_builds: bool


def indexer_table(
    environ: Mapping[str, str], settings: SemanticConfig, *, root: str = "", clock: Clock = SYSTEM_CLOCK
) -> tuple[IndexerReport, ...]:
    """Every indexer of the table; each that is there is asked for its version, nothing else is started.

    What lies below `root` is not looked at, nor run.
    """
    home = cairn_home(environ)
    return tuple(_report(indexer, root, home, environ, settings, clock) for indexer in INDEXERS)


def _report(
    indexer: Indexer, root: str, home: str, environ: Mapping[str, str], settings: SemanticConfig, clock: Clock
) -> IndexerReport:
    program, version, trouble = None, "", ""
    try:
        tool = find_tool(indexer, root=root, home=home, environ=environ, settings=settings)
    except IndexerMissing as problem:
        trouble = str(problem.fields["why"])
    else:
        program = tool.program
        version, trouble = tool_version(tool, clock)
    return IndexerReport(
        name=indexer.name,
        family=indexer.family,
        program=program,
        version=version or None,
        trouble=trouble,
        install=install_command(indexer, home),
        tested=indexer.tested,
        runs_builds=indexer.runs_builds,
    )
