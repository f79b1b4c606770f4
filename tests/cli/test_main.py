"""The command as a person meets it: real processes, real folders, what they print and how they exit."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.cli.verbs import COMMANDS
from tests.schemas import check
from tests.support.commands import Typed, typed

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def cairn(*arguments: str, cwd: Path | None = None, **environ: str) -> Typed:
    return typed(arguments, cwd or Path.cwd(), ENVIRONMENT | environ)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    (top / "src").mkdir(parents=True)
    (top / "build").mkdir()
    (top / "src" / "lease.py").write_text("class Lease:\n    def steal(self):\n        return take(self)\n")
    (top / "src" / "broken.py").write_text("def good():\n    pass\n)))\n")
    (top / "logo.txt").write_bytes(b"\0\1\2")
    (top / ".env").write_text("TOKEN=1\n")
    (top / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    (top / "build" / "out.js").write_text("x")
    (top / "keep.log.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    return top


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach, as a test's own folder is not."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=True)
    shutil.rmtree(folder)


def test_files_lists_the_eligible_set_and_sums_up_the_rest(repo: Path) -> None:
    found = cairn("files", cwd=repo)
    assert found.status == 0
    assert found.stdout.splitlines() == [".gitignore", "keep.log.py", "src/broken.py", "src/lease.py"]
    assert "4 files in 2 folders; 4 left out." in found.stderr
    assert "binary" in found.stderr
    assert "`cairn why PATH` explains one" in found.stderr


def test_files_works_from_a_folder_below(repo: Path) -> None:
    assert cairn("files", "-q", cwd=repo / "src").stdout == cairn("files", "-q", cwd=repo).stdout


def test_skipped_names_are_listed_with_their_reason(repo: Path) -> None:
    lines = cairn("files", "--skipped", cwd=repo).stdout.splitlines()
    assert lines == [
        "sensitive_name  .env",
        "vcs_internal  .git/",
        "ignored  build/  .gitignore:1: build/",
        "binary  logo.txt",
    ]


def test_json_is_one_envelope_of_the_published_schema_and_nothing_else(repo: Path) -> None:
    for arguments in (
        ["files"],
        ["files", "--skipped"],
        ["why", "build/out.js"],
        ["why", "src/lease.py"],
        ["why", "src"],
    ):
        found = cairn(*arguments, "--json", cwd=repo)
        assert found.stderr == ""
        answer = json.loads(found.stdout)
        check(answer, answer["schema"])
        assert answer["codebaseRoot"] == str(repo.resolve())
    listed = json.loads(cairn("files", "--json", cwd=repo).stdout)
    assert listed["coverage"] == {
        "eligible": 4,
        "skipped": {"binary": 1, "ignored": 1, "sensitive_name": 1, "vcs_internal": 1},
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("build/out.js", "left out: ignored|everything below it|.gitignore line 1 leaves it out: build/"),
        ("src/lease.py", "belongs in the index|python, parsed: 2 definitions, 1 uses, 0 imports, 1 chunks"),
        ("src/broken.py", "belongs in the index|python, partial|not understood: lines 3-3"),
        (".env", "left out: sensitive_name|holds secrets"),
        ("logo.txt", "left out: binary|NUL byte"),
        ("src", "src is a folder that is walked"),
    ],
)
def test_why_names_the_rule(repo: Path, path: str, expected: str) -> None:
    found = cairn("why", path, cwd=repo)
    assert found.status == 0
    for part in expected.split("|"):
        assert part in found.stdout


def test_rules_of_one_person_are_counted_and_not_honoured(repo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.py\n")
    found = cairn("files", cwd=repo, HOME=str(home))
    assert "src/lease.py" in found.stdout
    assert "would hide 3 files" in found.stderr
    assert "does not honour it" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["files", "--root", "nowhere"], 21, "There is no folder at"),
        (["files", "--root", "src/lease.py"], 22, "is a file, not a folder"),
        (["why", "nothing.py"], 28, "There is nothing at nothing.py"),
        (["why", "../outside.py"], 24, "is outside the root"),
        (["files", "--colour"], 2, "Unrecognized arguments: --colour"),
        (["why"], 2, "The following arguments are required: PATH"),
        (["--frobnicate"], 2, "There is no option"),
        (["completion", "tcsh"], 2, "invalid choice"),
    ],
)
def test_a_mistake_gets_one_sentence_what_to_do_and_its_exit_status(
    repo: Path, arguments: list[str], status: int, sentence: str
) -> None:
    found = cairn(*arguments, cwd=repo)
    assert (found.status, found.stdout) == (status, "")
    first, advice = found.stderr.splitlines()
    assert first.startswith("cairn: ")
    assert sentence in first
    assert advice.startswith("  ")
    in_json = cairn(*arguments, "--json", cwd=repo)
    answer = json.loads(in_json.stdout)
    check(answer, "cairn.error/1")
    assert in_json.status == status


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[index\n", ".cairn.toml"),
        (b'[index]\nexlude = ["a"]\n', "exclude"),
        (b"\xff\xfe", "UTF-8"),
        (b"[limits]\nmax_file_bytes = 99999999999\n", "max_file_bytes"),
    ],
)
def test_a_broken_configuration_is_named_and_nothing_is_lost(repo: Path, content: bytes, sentence: str) -> None:
    (repo / ".cairn.toml").write_bytes(content)
    found = cairn("files", cwd=repo)
    assert 30 <= found.status <= 39
    assert found.stdout == ""
    assert sentence in found.stderr
    assert "Traceback" not in found.stderr
    assert len(found.stderr.splitlines()) == 2


def test_a_configuration_that_is_a_link_is_refused(repo: Path) -> None:
    (repo / ".cairn.toml").symlink_to("/etc/passwd")
    found = cairn("files", cwd=repo)
    assert found.status == 31
    assert "not a plain file" in found.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user to be refused")
def test_what_may_not_be_read_is_a_skip_below_the_root_and_an_error_at_it(open_folder: Path) -> None:
    (open_folder / "open.py").write_text("x = 1\n")
    (open_folder / "locked").mkdir(mode=0o700)
    (open_folder / "secret.py").write_text("x = 1\n")
    (open_folder / "secret.py").chmod(0o600)

    def as_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
        # The interpreter may live where only root may look, so everything is imported before the user changes.
        program = (
            "import os, sys\n"
            "from cairn.cli.main import main\nimport cairn.cli.index, cairn.cli.index, cairn.sync.survey\n"
            "from cairn.syntax.languages import load; load('python')\n"
            "os.chdir('/'); os.setgid(65534); os.setuid(65534)\n"
            f"sys.exit(main({list(arguments)!r}))\n"
        )
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=ENVIRONMENT
        )

    found = as_nobody("files", "--skipped", "--root", str(open_folder))
    assert found.stdout.splitlines() == [
        "unreadable  locked/  Permission denied",
        "unreadable  secret.py  Permission denied",
    ], found.stderr
    refused = as_nobody("files", "--root", str(open_folder / "locked"))
    assert refused.returncode == 23
    assert "You may not read the folder" in refused.stderr


def test_a_system_without_descriptors_left_loses_no_file_in_silence(repo: Path) -> None:
    code = (
        "import resource, sys\n"
        "import cairn.cli.index, cairn.sync.survey\n"
        "from cairn.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\n"
        "sys.exit(main(['files']))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert found.returncode == 29, found.stderr
    assert "Too many open files" in found.stderr
    assert found.stdout == ""


def test_help_has_examples_for_every_command() -> None:
    top = cairn("--help")
    assert top.status == 0
    for name, command in COMMANDS.items():
        assert f"  {name}" in top.stdout
        shown = cairn(name, "--help")
        assert shown.status == 0
        assert all(example in shown.stdout for example in command.examples)
    assert cairn("--version").stdout.startswith("cairn ")


def test_a_bug_of_ours_shows_no_traceback_unless_asked(repo: Path) -> None:
    crash = "import cairn.cli.index as f, cairn.cli.main as m, sys\nf.survey = None\nsys.exit(m.main(['files']))\n"
    found = subprocess.run(
        [sys.executable, "-c", crash], cwd=repo, capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert found.returncode == 1
    assert "This is a bug in Cairn" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_reader_that_leaves_early_is_no_error(repo: Path) -> None:
    for number in range(3000):
        (repo / f"file_with_a_rather_long_name_{number}.txt").write_text("x\n")
    found = subprocess.run(
        f"{sys.executable} -m cairn files 2>&1 >/dev/stdout | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert found.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in found.stdout + found.stderr


def test_names_that_would_move_the_cursor_are_shown_as_escapes(repo: Path) -> None:
    (repo / "evil\x1b[2J\u202egnp.py").write_text("x = 1\n")
    found = cairn("files", cwd=repo)
    assert "\x1b" not in found.stdout
    assert "\u202e" not in found.stdout
    assert "evil\\x1b[2J" in found.stdout


def test_completion_scripts_are_accepted_by_their_shell() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = cairn("completion", shell).stdout
        assert "files" in script
        if shutil.which(shell):
            checked = subprocess.run(
                [shell, "-n", "/dev/stdin"], input=script, text=True, capture_output=True, check=False
            )
            assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["search", "x", "--mode", "s"], "semantic symbol"),
        (["search", "x", "--group", ""], "file symbol none"),
        (["search", "x", "--lang", "pyth"], "python"),
        (["search", "x", "--no-signal", "filen"], "filename"),
        (["graph", "x", "--min-tier", "n"], "name_only"),
        (["map", "--mo"], ""),
        (["search", "--mo"], "--mode"),
        (["sea"], "search"),
    ],
)
def test_a_shell_completes_the_values_of_an_option(typed: list[str], completed: str) -> None:
    words = " ".join(shlex.quote(word) for word in ["cairn", *typed])
    asks = f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _cairn; echo "${{COMPREPLY[*]}}"'
    script = cairn("completion", "bash").stdout + asks
    found = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True)
    assert found.stdout.strip() == completed


def test_fish_is_told_the_values_of_an_option() -> None:
    lines = cairn("completion", "fish").stdout.splitlines()
    assert (
        "complete -c cairn -n '__fish_seen_subcommand_from graph' -l min-tier -x -a 'proven likely name_only'" in lines
    )
    assert "complete -c cairn -n '__fish_seen_subcommand_from search' -l explain" in lines
