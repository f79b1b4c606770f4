"""`cairn mcp` as a command: without its extra, with wrong options, and with folders that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def cairn(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cairn", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=ENVIRONMENT | {"CAIRN_HOME": str(cwd / "home")} | environ,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("package", ["mcp", "mcp_types", "anyio"])
def test_without_the_extra_one_sentence_says_how_to_get_it(tmp_path: Path, package: str) -> None:
    # What stands first is found first: as if it were not installed.
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('No module', name={package!r})\n")
    found = cairn("mcp", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.splitlines() == [
        "cairn: `cairn mcp` needs the MCP package, version 2.3 or later, which is not installed.",
        "  Install it: `pip install 'codecairn[mcp]'`. Everything else works without it.",
    ]


def test_an_older_package_is_not_used_either(tmp_path: Path) -> None:
    (tmp_path / "mcp_types.py").write_text("")
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("")
    found = cairn("mcp", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert found.returncode == 1
    assert "codecairn[mcp]" in found.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--port", "8717"], "together with --http"),
        (["--http", "--port", "70000"], "up to 65535"),
        (["--http", "--port", "-1"], "up to 65535"),
        (["--root", "nowhere"], "nowhere"),
        (["--root", ".", "--root", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_call_is_told_at_once(tmp_path: Path, options: list[str], says: str) -> None:
    found = cairn("mcp", *options, cwd=tmp_path)
    assert found.returncode != 0
    assert says in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "home").exists()


def test_no_other_command_loads_what_speaks_mcp(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom cairn.cli.main import COMMANDS, command_parser\n"
        "for name in COMMANDS: command_parser(name)\n"
        "import cairn.ask.library, cairn.tools.table\n"
        "print({'mcp', 'mcp_types', 'anyio', 'uvicorn', 'starlette', 'pydantic'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout == "set()\n"
