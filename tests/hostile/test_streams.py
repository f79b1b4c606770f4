"""Whoever reads an answer goes away, or its disk is full: every command ends with a true sentence, or with none."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.cli.verbs import COMMANDS
from cairn.errors import OutOfMemory, OutOfResources, memory_trouble
from tests.hostile.test_programs import LASTING, TYPED
from tests.support.commands import CLOSED, Person, Typed, typed
from tests.support.servers import no_daemon_left
from tests.support.waiting import PATIENCE

# The lines are those of the list of commands: a new one is in them, or a test of that list fails.
LINES = [line for lines in TYPED.values() for line in lines if line not in LASTING]
SOME = {"search lease", "status", "files", "sync", "outline src/lease.py", "completion bash", "doctor"}


@pytest.fixture(scope="module")
def me(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    person = Person(tmp_path_factory.mktemp("streams"))
    person.commit()
    with no_daemon_left(person.environment):
        yield person


@contextmanager
def sink(kind: str) -> Iterator[int]:
    """What stands in the place of a standard stream."""
    if kind == "closed":
        yield CLOSED
        return
    if kind == "full":
        number = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, number = os.pipe()
        os.close(reader)
    try:
        yield number
    finally:
        os.close(number)


def written_to(me: Person, kind: str, *arguments: str) -> Typed:
    with sink(kind) as out:
        return typed(arguments, me.tree, me.environment, out)


def noted_to(me: Person, kind: str, *arguments: str) -> Typed:
    with sink(kind) as err:
        return typed(arguments, me.tree, me.environment, None, err)


def test_the_lines_are_those_of_every_command() -> None:
    assert {line.split()[0] for line in LINES} | {line.split()[0] for line in LASTING} == set(COMMANDS)


@pytest.mark.parametrize("line", [one if one in SOME else pytest.param(one, marks=pytest.mark.long) for one in LINES])
def test_no_command_breaks_where_its_answer_cannot_be_written(me: Person, line: str) -> None:
    assert me.cairn("index", "--offline").status == 0
    told = me.cairn(*line.split(), "--offline")
    for kind in ("gone", "closed", "full"):
        me.cairn("index", "--offline")
        done = written_to(me, kind, *line.split(), "--offline")
        assert "bug in Cairn" not in done.stderr, (kind, done)
        assert "Exception ignored" not in done.stderr, (kind, done)
        if kind == "full" and told.stdout:
            assert done.status == 1, (kind, done)
            assert "could not be written: No space left on device" in done.stderr
        else:
            assert done.status in {0, told.status}, (kind, done)
            assert "cairn: " not in done.stderr or told.status, (kind, done)


def test_what_was_to_be_done_is_done_although_nobody_reads_what_became_of_it(me: Person) -> None:
    (me.tree / "src" / "new.py").write_text("def only_now(): ...\n")
    assert written_to(me, "gone", "sync", "--offline").status == 0
    assert "only_now" in me.cairn("symbol", "only_now", "--no-sync", "--offline").stdout


def test_a_batch_whose_reader_goes_ends_without_a_word_whoever_answers(me: Person) -> None:
    me.cairn("index", "--offline")
    batch = me.tree.parent / "batch"
    batch.write_text("".join(json.dumps({"query": f"lease {number}"}) + "\n" for number in range(200)))
    for more in (["--offline"], []):
        command = [sys.executable, "-m", "cairn", "search", "--batch", str(batch), *more]
        process = subprocess.Popen(
            command, cwd=me.tree, env=me.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["status"] == "ok"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0
        process.stderr.close()
    # A batch that cannot be read is still told as such.
    assert me.cairn("search", "--batch", str(me.tree), "--offline").status == 2


@pytest.mark.long
def test_a_watch_that_nobody_reads_any_more_ends(me: Person) -> None:
    me.cairn("index", "--offline")
    command = [sys.executable, "-m", "cairn", "watch", "--json"]
    process = subprocess.Popen(command, cwd=me.tree, env=me.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    number = 0
    while process.poll() is None and number < PATIENCE * 5:
        number += 1
        (me.tree / "src" / "again.py").write_text(f"x = {number}\n")
        time.sleep(0.2)
    assert process.wait(PATIENCE) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_notes_that_nobody_can_read_stop_no_run(me: Person) -> None:
    me.cairn("index", "--offline")
    # A rule that is too long is told in a note of every run that reads it.
    rules = me.tree / "src" / ".gitignore"
    rules.write_text("x" * 5000 + "\n")
    assert "is not used" in me.cairn("sync", "--offline").stderr
    for number, kind in enumerate(("gone", "closed", "full")):
        (me.tree / "src" / f"late{number}.py").write_text(f"def later{number}(): ...\n")
        done = noted_to(me, kind, "sync", "--offline")
        assert (done.status, "1 added" in done.stdout) == (0, True), (kind, done)
        assert f"late{number}.py" in me.cairn("symbol", f"later{number}", "--no-sync", "--offline").stdout
    rules.unlink()


def test_an_answer_does_not_depend_on_who_reads_the_notes(me: Person) -> None:
    me.cairn("index", "--offline")
    for line in ("search lease --no-sync", "symbol nothing --no-sync", "read no.py"):
        told = me.cairn(*line.split(), "--offline")
        assert told.stderr, "no note, no case"
        for kind in ("gone", "closed", "full"):
            assert noted_to(me, kind, *line.split(), "--offline")[:2] == told[:2], (line, kind)


@pytest.mark.long
@pytest.mark.parametrize("line", LINES)
def test_every_command_ends_as_ever_where_its_notes_cannot_be_written(me: Person, line: str) -> None:
    for kind in ("gone", "closed", "full"):
        me.cairn("index", "--offline")
        told = me.cairn(*line.split(), "--offline")
        me.cairn("index", "--offline")
        assert noted_to(me, kind, *line.split(), "--offline").status == told.status, kind


# --- too little memory ------------------------------------------------------------------------------------------------


def within(me: Person, mib: int, *arguments: str) -> Typed:
    """What a command does with so much room for all that it loads."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

    command = [sys.executable, "-m", "cairn", *arguments, "--offline"]
    done = subprocess.run(
        command, cwd=me.tree, env=me.environment, capture_output=True, text=True, check=False, preexec_fn=limit
    )
    return Typed(done.returncode, done.stdout, done.stderr)


NOT_ENOUGH = "cairn: There was not enough memory for this command"


# With the last one Python runs and numpy does not, which without care ends the process with words of its own.
@pytest.mark.parametrize("mib", [28, 60, 100])
def test_a_command_without_enough_memory_says_so(me: Person, mib: int) -> None:
    me.cairn("index", "--offline")
    done = within(me, mib, "search", "lease")
    assert done.status == OutOfMemory.exit_status
    assert done.stderr.startswith(NOT_ENOUGH)
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("line", ["search lease", "sync"])
def test_with_any_amount_of_memory_a_command_answers_or_says_that_there_is_too_little(me: Person, line: str) -> None:
    me.cairn("index", "--offline")
    fitted = []
    for mib in range(20, 380, 40):
        (me.tree / "src" / "other.py").write_text(f"x = {mib}\n")
        done = within(me, mib, *line.split())
        assert done.status == 0 or done.stderr.startswith(NOT_ENOUGH), (mib, done)
        fitted.append(done.status == 0)
    assert (fitted[0], fitted[-1]) == (False, True)


def test_what_comes_from_too_little_memory_is_known_by_whatever_it_is_raised_as() -> None:
    def raised_from(cause: BaseException) -> ImportError:
        found = ImportError("Error importing a library; read on for advice.")
        found.__cause__ = cause
        return found

    for problem in (
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        ImportError("x.so: failed to map segment from shared object"),
        raised_from(ImportError("x.so: cannot allocate memory in static TLS block")),
    ):
        assert memory_trouble(problem) is not None, problem
    for other in (OSError(24, "Too many open files"), ImportError("No module named x"), OutOfResources(why="x")):
        assert memory_trouble(other) is None, other
    circle = ValueError()
    circle.__context__ = circle
    assert memory_trouble(circle) is None
    assert Path("/dev/full").exists(), "what the tests above write to"
