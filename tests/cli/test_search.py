"""`cairn search` as people, scripts and harnesses meet it."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cairn.cli.main import command_parser, main
from cairn.cli.output import Output
from cairn.search.types import Mode
from tests.conformance import conforms
from tests.schemas import check
from tests.support.commands import Person, Typed
from tests.support.waiting import PATIENCE, until
from tests.sync.desk import Desk, extract_here

MODES = [mode.value for mode in Mode]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ask(*arguments: str, stdout: io.StringIO | None = None) -> Typed:
    out, err = stdout or io.StringIO(), io.StringIO()
    status = main(arguments, Output(out, err, environ=os.environ))
    return Typed(status, out.getvalue(), err.getvalue())


def answer(*arguments: str, status: int = 0) -> dict[str, Any]:
    found = ask(*arguments, "--json")
    assert (found.status, found.stderr) == (status, "")
    value: dict[str, Any] = json.loads(found.stdout)
    check(value, value["schema"])
    return value


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A tree and a home with its index, of which every test gets a copy."""
    person = Person(tmp_path_factory.mktemp("person"))
    (person.tree / "src" / "publish.py").write_text("def publish(snapshot):\n    return snapshot\n")
    person.commit()
    assert person.cairn("index").status == 0
    return person


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing is indexed yet."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("CAIRN_HOME", str(home))
    monkeypatch.delenv("CAIRN_DEBUG", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return home


@pytest.fixture
def tree(indexed: Person, nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tree as a copy of one's own under its own root, indexed there."""
    folder = (tmp_path / "tree").resolve()
    shutil.copytree(indexed.tree, folder)
    monkeypatch.chdir(folder)
    assert ask("index", "-q").status == 0
    return folder


# --- the first time and later -----------------------------------------------------------------------------------------


def test_the_first_search_indexes_the_folder_and_later_ones_catch_up(
    nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "a.py").write_text("def first():\n    return 1\n")
    monkeypatch.chdir(folder)
    found = ask("first")
    assert found.status == 0
    assert found.stdout.startswith("a.py:1  first (function)\n  1 def first():\n  2     return 1\n")
    (folder / "b.py").write_text("def second():\n    return 2\n")
    value = answer("search", "second", "--mode", "symbol")
    assert [row["path"] for row in value["results"]] == ["b.py"]
    assert (value["freshness"]["mode"], value["freshness"]["changedFiles"]) == ("synced", 1)
    assert answer("search", "second")["freshness"]["changedFiles"] == 0
    assert len(list((nobody / "data").iterdir())) == 1


def test_a_first_word_that_is_no_command_is_searched_for(tree: Path) -> None:
    (tree / "status.md").write_text("The status of things.\n")
    assert ask("how does one steal a lease").stdout.startswith("src/lease.py:")
    assert "status.md:1" in ask("search", "status").stdout
    assert ask("status").stdout.startswith(f"{tree} is indexed.")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_answers_in_the_published_shape(tree: Path, mode: str) -> None:
    value = answer("search", "lease", "--mode", mode, "--explain")
    assert value["status"] == "ok"
    assert value["codebaseRoot"] == str(tree)
    assert value["coverage"] == {
        "eligible": 4,
        "indexed": 4,
        "skipped": {"binary": 1, "ignored": 1, "sensitive_name": 1, "vcs_internal": 1},
        "exhaustive": mode in ("symbol", "regex", "path"),
    }
    assert "src/lease.py" in [row["path"] for row in value["results"]]
    assert set(value["timingsMs"]) == {"sync", "search", "total"}


def test_the_modes_of_the_command_are_those_of_the_search() -> None:
    assert command_parser("search")._option_string_actions["--mode"].choices == MODES


def test_a_file_is_shown_once_or_with_each_of_its_places(tree: Path) -> None:
    (tree / "src" / "two.py").write_text("def lend():\n    return 1\n\n\ndef lend_again():\n    return lend()\n")
    shown = {
        group: [one["startLine"] for one in answer("lend", "--mode", "regex", "--group", group)["results"]]
        for group in ("file", "none")
    }
    assert [len(shown["file"]), len(shown["none"])] == [1, 3]
    assert (
        answer("lend", "--mode", "regex")["results"] == answer("lend", "--mode", "regex", "--group", "file")["results"]
    )
    wrong = ask("lend", "--group", "all")
    assert (wrong.status, "invalid choice: 'all'" in wrong.stderr) == (2, True)


def test_without_a_sync_nothing_is_looked_at_and_nothing_is_made(tree: Path, nobody: Path) -> None:
    (tree / "new.py").write_text("def brand_new(): ...\n")
    value = answer("search", "brand_new", "--mode", "symbol", "--no-sync")
    assert (value["freshness"]["mode"], value["results"]) == ("not_checked", [])
    shutil.rmtree(nobody)
    assert answer("search", "x", "--no-sync", status=10)["status"] == "not_indexed"
    assert not nobody.exists()


# --- where is searched ------------------------------------------------------------------------------------------------


def test_a_path_inside_a_codebase_filters_to_it(tree: Path) -> None:
    assert {row["path"] for row in answer("search", "lease", "src")["results"]} == {"src/lease.py"}
    assert {row["path"] for row in answer("search", "lease", "README.md")["results"]} == {"README.md"}
    both = answer("search", "lease", "src", "README.md", "--mode", "regex")
    assert [row["path"] for row in both["results"]] == ["README.md", "src/lease.py"]
    assert [row["path"] for row in answer("search", "lease", "src", ".", "--mode", "regex")["results"]] == [
        "README.md",
        "src/lease.py",
    ]


def test_the_codebase_is_found_from_a_folder_below(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "src")
    found = ask("search", "lease", "--mode", "regex")
    assert "../README.md:1" in found.stdout
    assert "\nlease.py:1" in found.stdout


def test_a_folder_without_git_is_its_own_root(tree: Path, tmp_path: Path) -> None:
    inner = tmp_path / "plain" / "inner"
    inner.mkdir(parents=True)
    (inner / "a.py").write_text("alpha = 1\n")
    (tmp_path / "plain" / "b.py").write_text("alpha = 2\n")
    value = answer("search", "alpha", str(inner))
    assert (value["codebaseRoot"], [row["path"] for row in value["results"]]) == (str(inner.resolve()), ["a.py"])


def test_several_codebases_are_searched_as_one(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "lease.py").write_text("class Lease:\n    pass\n")
    value = answer("search", "Lease", ".", str(other), "--mode", "symbol")
    assert {(row["codebase"], row["path"]) for row in value["results"]} >= {
        (str(tree), "src/lease.py"),
        (str(other.resolve()), "lease.py"),
    }
    assert [row["status"] for row in value["codebases"]] == ["ok", "ok"]
    assert value["coverage"]["partial"] is False
    ask("clear", "--root", str(other))
    value = answer("search", "Lease", ".", str(other), "--mode", "symbol")
    assert [row["status"] for row in value["codebases"]] == ["ok", "not_indexed"]
    assert (value["coverage"]["partial"], value["coverage"]["exhaustive"]) == (True, False)
    assert "it was cleared" in ask("search", "Lease", ".", str(other)).stderr
    ask("clear")
    assert answer("search", "Lease", ".", str(other), status=10)["status"] == "not_indexed"


def test_several_codebases_are_paged_as_one(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for number in range(5):
        (other / f"lease{number}.py").write_text("class Lease:\n    pass\n")
        (tree / f"lease{number}.py").write_text("class Lease:\n    pass\n")
    query = ("search", "class Lease", ".", str(other), "--mode", "regex", "-k", "4")
    seen, page = [], answer(*query)
    while True:
        seen += [(row["codebase"], row["path"]) for row in page["results"]]
        if "continuation" not in page:
            break
        page = answer(*query, "--continue", page["continuation"])
    assert len(seen) == len(set(seen)) == 11


# --- pages ------------------------------------------------------------------------------------------------------------


def test_the_next_page_is_from_the_same_snapshot_whatever_has_changed(tree: Path) -> None:
    for number in range(6):
        (tree / f"z{number}.py").write_text("zebra = 1\n")
    query = ("search", "zebra", "--mode", "regex", "-k", "2")
    first = answer(*query)
    assert [row["path"] for row in first["results"]] == ["z0.py", "z1.py"]
    for number in range(5):
        (tree / f"z{number}.py").unlink()
    assert [row["path"] for row in answer(*query)["results"]] == ["z5.py"]
    second = answer(*query, "--continue", first["continuation"])
    assert [row["path"] for row in second["results"]] == ["z2.py", "z3.py"]
    assert second["snapshot"] == first["snapshot"]
    other = answer("search", "horse", "--continue", first["continuation"], status=2)
    assert other["error"]["code"] == "bad_continuation"
    assert answer("search", "horse", "--continue", "AAAA", status=2)["error"]["code"] == "bad_continuation"


def test_a_page_of_a_snapshot_that_is_gone_is_refused(tree: Path, nobody: Path) -> None:
    first = answer("search", "e", "--mode", "regex", "-k", "1")
    shutil.rmtree(nobody)
    ask("index")
    found = answer("search", "e", "--mode", "regex", "-k", "1", "--continue", first["continuation"], status=2)
    assert "has changed since" in found["error"]["message"]


# --- gates ------------------------------------------------------------------------------------------------------------


def test_a_cleared_index_is_never_filled_by_the_way(tree: Path) -> None:
    ask("clear")
    found = ask("search", "lease")
    assert (found.status, found.stdout) == (10, "")
    assert "it was cleared" in found.stderr
    assert answer("search", "lease", status=10)["reason"] == "not_indexed"
    assert answer("status", status=10)["state"] == "cleared"


def test_an_index_made_with_another_model_asks_for_a_reindex(
    nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "desk")
    extract_here(monkeypatch, desk.clock)
    desk.put("a.py", "def first(): ...\n")
    desk.index()
    monkeypatch.setenv("CAIRN_HOME", str(desk.home))
    monkeypatch.chdir(desk.tree)
    value = answer("search", "first", status=12)
    assert (value["status"], value["reason"]) == ("requires_reindex", "requires_reindex")
    assert "embeddingProvider" in value["hints"]["differs"]
    assert len(list((desk.home / "data").iterdir())) == 1, "an index was made by the way"
    assert ask("reindex", "-q").status == 0
    assert answer("search", "first")["results"]


def test_a_store_in_which_nothing_is_whole_says_so(tree: Path, nobody: Path) -> None:
    for data in nobody.glob("data/*/segments/*/data.bin"):
        content = bytearray(data.read_bytes())
        content[-1] ^= 1
        data.chmod(0o600)
        data.write_bytes(content)
    value = answer("search", "lease", status=90)
    assert value["hints"]["staleLocal"]["completionProof"] == "invalid_payload"
    assert "Store corrupt" in ask("search", "lease").stderr


def test_a_large_folder_is_not_indexed_unless_somebody_says_so(
    nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "large"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.py").write_text("zebra = 1\n")
    monkeypatch.chdir(folder)
    nobody.mkdir(exist_ok=True)
    nobody.chmod(0o700)
    (nobody / "config.toml").write_text("[index]\nask_above = 3\n")
    found = ask("search", "zebra")
    assert found.status == 10
    assert "it holds 4 files, which takes a while" in found.stderr
    assert "Run `cairn index`" in found.stderr
    assert not list(nobody.glob("data/*/snapshots/*"))
    for typed, status in (("n\n", 10), ("y\n", 0)):
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        out, err = io.StringIO(), Terminal()
        assert main(["search", "zebra"], Output(out, err)) == status
        assert "holds 4 files" in err.getvalue()


def test_a_home_is_not_indexed_by_the_way(nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "me"
    (home / "documents").mkdir(parents=True)
    monkeypatch.chdir(home)
    found = ask("search", "letter")
    assert found.status == 10
    assert "a home folder is not indexed unless you ask for it" in found.stderr
    assert not nobody.exists()


# --- a step before the read that fails --------------------------------------------------------------------------------


def test_a_sync_that_fails_does_not_fail_the_search(nobody: Path, tree: Path) -> None:
    (nobody / "config.toml").write_text('[index]\ncollisions = "refuse"\n')
    (tree / "A.py").write_text("x = 1\n")
    (tree / "a.py").write_text("x = 1\n")
    value = answer("search", "lease")
    assert (value["status"], value["freshness"]["mode"]) == ("ok", "sync_failed")
    assert value["results"]
    assert "name_collision" in value["warnings"][0]
    assert "A.py" not in json.dumps(value["warnings"])
    assert "`cairn sync` says more" in ask("search", "lease").stderr


WRITER = (
    "import sys\nfrom cairn.store.disk import Disk\nfrom cairn.store.publish.lease import RunKind\n"
    "from cairn.store.publish.writer import open_writer\n"
    "with Disk.at(*sys.argv[1:3], create=True) as disk, open_writer(disk, 'x', RunKind(sys.argv[3])):\n"
    "    print('held', flush=True)\n    sys.stdin.read()\n"
)


def test_a_folder_whose_first_run_was_killed_is_not_indexed_by_the_way(tree: Path, nobody: Path) -> None:
    [store] = (nobody / "data").iterdir()
    shutil.rmtree(store)
    command = [sys.executable, "-c", WRITER, str(nobody), f"data/{store.name}", "create"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"held\n"
        assert answer("search", "lease", status=11)["reason"] == "indexing"
        writer.kill()
    assert "the run that was to make it did not finish" in answer("search", "lease", status=10)["message"]
    assert ask("index", "-q").status == 0
    assert answer("search", "lease")["results"]


def test_another_writer_is_not_waited_for(tree: Path, nobody: Path) -> None:
    [store] = (nobody / "data").iterdir()
    (tree / "new.py").write_text("def brand_new(): ...\n")
    for kind, status in (("sync", 0), ("reindex", 11)):
        command = [sys.executable, "-c", WRITER, str(nobody), f"data/{store.name}", kind]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"held\n"
            value = answer("search", "lease", status=status)
            assert value["indexing"]["indexingType"] == ("catchup" if kind == "sync" else "full")
            if kind == "sync":
                assert value["freshness"]["mode"] == "skipped_indexing"
            else:
                assert value["status"] == "not_ready"
                assert value["hints"]["lastGood"]["with"] == "allowStale"
                stale = answer("search", "lease", "--stale-ok")
                assert (stale["status"], stale["freshness"]["mode"]) == ("ok", "stale_ok")
                assert stale["results"]
            assert writer.stdin is not None
            writer.stdin.close()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["search", ""], 2, "The query is empty."),
        (["search", "   "], 2, "The query is empty."),
        (["search"], 2, "A query is missing."),
        (["search", "x" * 100_000], 2, "The query has 100,000 characters, and 4,096 are the most."),
        (["search", "x" * 100_000, "--mode", "regex"], 2, "it has 100,000 bytes"),
        (["search", "a(b", "--mode", "regex"], 2, "at position 2"),
        (["search", r"(a)\1", "--mode", "regex"], 2, "a back-reference, at position 4, is not supported"),
        (["search", "lnag:python x"], 2, "`lnag:` is no operator; the nearest is `lang:`"),
        (["search", "x lang:klingon"], 2, "`klingon` is nothing that `lang:` knows"),
        (["search", "x", "-k", "0"], 2, "The number of results must be a whole number from 1 to 100."),
        (["search", "x", "-k", "many"], 2, "invalid int value"),
        (["search", "x", "--context", "1000"], 2, "from 0 to 200"),
        (["search", "x", "--no-signal", "magic"], 2, "There is no signal called `magic`"),
        (["search", "x", "--mode", "magic"], 2, "invalid choice"),
        (["search", "x", "nowhere"], 2, "There is no file or folder called nowhere; put a query of several words"),
        (["search", "x", "--batch", "nowhere"], 2, "There is no file or folder called x"),
        (["search", "--batch", "nowhere"], 2, "The batch nowhere cannot be read: No such file or directory."),
    ],
)
def test_a_mistake_gets_one_sentence_and_makes_no_index(
    nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, sentence: str
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    monkeypatch.chdir(folder)
    found = ask(*arguments)
    assert (found.status, found.stdout) == (status, "")
    assert sentence in found.stderr
    assert len(found.stderr.splitlines()) == 2
    assert not nobody.exists()


def test_arguments_that_are_no_utf8_are_answered(indexed: Person) -> None:
    command = [sys.executable, "-m", "cairn", "search", b"l\xffease", "--include", b"\xfe*", "--no-sync"]
    found = subprocess.run(command, cwd=indexed.tree, capture_output=True, check=False, env=indexed.environment)
    assert (found.returncode, b"Traceback" in found.stderr) == (0, False)
    found = subprocess.run([*command, "--mode", "regex"], cwd=indexed.tree, capture_output=True, check=False,
                           env=indexed.environment)  # fmt: skip
    assert found.returncode == 2
    assert b"it is not UTF-8 at position 2" in found.stderr


def test_options_stand_anywhere_and_after_two_dashes_there_are_none(tree: Path) -> None:
    (tree / "dash.py").write_text("x = '--batch'\n")
    for line in (["--mode", "regex", "--", "--batch", "."], ["--mode", "regex", "--", "--batch"]):
        assert ask("search", *line).stdout.startswith("dash.py:1")
    assert ask("search", "-k", "3", "steal", "--mode", "regex", "src", "-q").stdout.startswith("src/lease.py:2")
    assert ask("steal", "--mode", "regex", "src").stdout.startswith("src/lease.py:2")


@pytest.mark.parametrize("mode", MODES)
def test_a_folder_with_nothing_to_index_says_that_there_is_nothing(
    nobody: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    found = ask("search", "lease", "--mode", mode)
    assert (found.status, found.stdout) == (0, "Nothing found: there is no file to search in.\n")


def test_an_interrupted_first_search_loses_nothing_and_the_next_one_resumes(tmp_path: Path) -> None:
    person = Person(tmp_path)
    for number in range(600):
        (person.tree / "src" / f"m{number}.py").write_text("".join(f"def f{n}(x):\n    return x\n" for n in range(60)))
    command = [sys.executable, "-m", "cairn", "search", "f7", "--mode", "symbol", "--json"]
    with subprocess.Popen(
        command, cwd=person.tree, env=person.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as first:
        until(lambda: list(person.home.glob("data/*/locks/writer_lease.json")))
        time.sleep(0.3)
        first.send_signal(signal.SIGINT)
        out, err = first.communicate()
    assert first.returncode == 130, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
    again = person.cairn(*command[3:])
    assert again.status == 0
    assert json.loads(again.stdout)["coverage"]["indexed"] == 603


# --- batches ----------------------------------------------------------------------------------------------------------


def batch(tree: Path, *lines: str | bytes, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    data = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    command = [sys.executable, "-m", "cairn", "search", "--batch", "-", "--json", *options, str(tree)]
    found = subprocess.run(command, input=data, capture_output=True, check=False, env=os.environ)
    assert (found.returncode, found.stderr) == (0, b"")
    values = [json.loads(line) for line in found.stdout.splitlines()]
    for value in values:
        check(value, value["schema"])
    return values


def test_every_line_of_a_batch_gets_one_line_and_a_bad_one_an_error(tree: Path) -> None:
    values = batch(
        tree,
        '{"query": "", "k": 1}',
        "",
        "not json",
        "[1]",
        '{"query": 7, "id": "seven"}',
        '{"query": "lease", "id": true}',
        '{"query": "lease", "id": 9, "k": 1000}',
        '{"query": "' + "x" * 100_000 + '"}',
        b'{"query": "l\xffease", "id": "bytes"}',
        '{"query": "lease", "id": "last", "k": 1}',
        options=("-k", "10"),
    )
    assert [value["status"] for value in values] == ["error"] * 8 + ["ok"] * 2
    assert {value["error"]["code"] for value in values[:8]} == {"invalid_query"}
    assert [value.get("id") for value in values] == [None] * 4 + ["seven", None, 9, None, "bytes", "last"]
    assert "longer than" in values[7]["error"]["message"]
    assert len(values[-1]["results"]) == 1


def test_a_batch_answers_at_once_from_one_warm_process(tree: Path) -> None:
    command = [sys.executable, "-m", "cairn", "search", "--batch", "-", "--json", "-k", "10", str(tree)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        modes = []
        for query in ("", "steal", "publish"):
            process.stdin.write(json.dumps({"query": query, "k": 5}) + "\n")
            process.stdin.flush()
            value = json.loads(process.stdout.readline())
            modes.append(value.get("freshness", {}).get("mode"))
        process.stdin.close()
        assert process.wait(timeout=PATIENCE) == 0
    assert modes == [None, "synced", "synced"]


def test_a_batch_can_be_a_file(tree: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"query": "lease"}\n{"query": "publish"}')
    found = ask("search", "--batch", str(questions), "--mode", "lexical")
    assert [json.loads(line)["results"][0]["path"] for line in found.stdout.splitlines()] == [
        "src/lease.py",
        "src/publish.py",
    ]
    assert ask("search", "--batch", str(questions), "--continue", "x").status == 2


# --- what people see --------------------------------------------------------------------------------------------------


def test_a_result_is_a_place_to_click_its_definition_and_its_lines(tree: Path) -> None:
    found = ask("search", "def steal", "--mode", "regex", "--context", "1")
    assert found.stdout == (
        "src/lease.py:2  Lease.steal (method)\n"
        "  1 class Lease:\n  2     def steal(self):\n  3         return take(self)\n"
    )


def test_colours_are_for_terminals_and_for_those_who_want_them(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in ask("search", "steal").stdout
    assert "\x1b[31msteal\x1b[0m" in ask("search", "steal", "--mode", "regex", stdout=Terminal()).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in ask("search", "steal", stdout=Terminal()).stdout


def test_the_score_is_shown_to_those_who_ask_for_it(tree: Path) -> None:
    assert "score" not in ask("search", "steal the lease").stdout
    assert "  score " in ask("search", "steal the lease", "--explain").stdout


def test_nothing_found_says_whether_that_is_a_proof(tree: Path) -> None:
    proof = ask("search", "zebra", "--mode", "regex", "--fail-empty")
    searched = "Nothing found in 4 files, and all of them were searched."
    assert (proof.status, proof.stdout) == (0, f"{searched} Left out 3: 1 binary, 1 ignored, 1 sensitive name.\n")
    none = ("search", "qqzzxxyy", "--mode", "lexical")
    assert ask(*none).stdout == "Nothing found. That is no proof: `--mode regex` searches every line.\n"
    assert (ask(*none).status, ask(*none, "--fail-empty").status) == (0, 1)
    assert answer(*none, "--fail-empty", status=1)["coverage"]["exhaustive"] is False


def test_text_that_would_steer_a_terminal_is_made_visible(tree: Path) -> None:
    (tree / "evil.py").write_text("# \x1b[2J zebra \u202e and \x07 back\n")
    found = ask("search", "zebra", "--mode", "regex")
    assert found.stdout.splitlines()[1] == "  1 # \\x1b[2J zebra \\u202e and \\x07 back"


# --- fingerprints -----------------------------------------------------------------------------------------------------


@conforms("003.FP10", "003.FP11")
def test_an_edit_of_the_ranking_changes_the_query_fingerprint_and_nothing_else(tree: Path, nobody: Path) -> None:
    (tree / ".cairn.toml").write_text("")
    before_ = answer("search", "lease", "--mode", "regex")
    stores = sorted((nobody / "data").iterdir())
    (tree / ".cairn.toml").write_text('[query]\nscope = "docs"\n')
    after = answer("search", "lease", "--mode", "regex")
    assert [row["path"] for row in before_["results"]] == ["README.md", "src/lease.py"]
    assert [row["path"] for row in after["results"]] == ["README.md"]
    assert after["fingerprints"]["query"] != before_["fingerprints"]["query"]
    assert after["fingerprints"]["index"] == before_["fingerprints"]["index"]
    assert after["fingerprints"]["ignore"] == before_["fingerprints"]["ignore"]
    assert sorted((nobody / "data").iterdir()) == stores
    # The settings are a file of the tree: it alone was indexed again.
    assert after["freshness"]["changedFiles"] == 1


@conforms("003.FP10")
def test_a_new_version_of_the_ranking_is_a_new_query_fingerprint(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before_ = answer("search", "lease")
    monkeypatch.setattr("cairn.ask.session.RANKING_VERSION", "another")
    after = answer("search", "lease")
    assert after["fingerprints"]["query"] != before_["fingerprints"]["query"]
    assert after["snapshot"] == before_["snapshot"]
    assert after["results"] == before_["results"]
