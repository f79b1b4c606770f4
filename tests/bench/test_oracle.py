"""The oracle: no answer is wrong without saying so, and a lie that is planted is found."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.oracle import LIES, Settings, main, run
from bench.oracle_questions import BROKEN, KINDS, LIED, REFUSED, RIGHT, UNSAID, WARNED, judged, question
from bench.oracle_tree import FIRST, NAMES, Tree, Truth

from cairn.tools.table import TOOLS
from tests.lengths import at_length

ONE = "# tok_00000001\ndef fn_01(one):\n    return fn_02(one)\n"
TRUTH = Truth({"a.py": ONE}, {"a.py": ONE, "run.sh": "tok_00000002 leads to fn_01\n"})


def test_no_answer_of_a_short_life_is_wrong_without_saying_so(tmp_path: Path) -> None:
    oracle = run(Settings(tmp_path, seed=4, every=6, typed_every=6), 6)
    assert oracle.faults == []
    assert (oracle.steps, oracle.indexes, oracle.questions.total()) == (6, 1, 25)


def test_a_file_that_answers_do_not_know_is_reported(tmp_path: Path) -> None:
    oracle = run(Settings(tmp_path, seed=4, lie="edit"), 10, most_faults=1)
    assert oracle.differences >= 1
    assert LIED in oracle.faults[0] or UNSAID in oracle.faults[0]


@pytest.mark.long
@pytest.mark.parametrize("lie", LIES)
def test_every_lie_is_reported_and_the_command_says_so_by_its_status(
    lie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["--steps", "100", "--seed", "3", "--stop", "1", "--lie", lie]) == 1
    assert "0 faults" not in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize(
    ("seed", "chosen"),
    [(21, {}), (22, {"watch": True}), (23, {"daemon": True, "watch": True}), (24, {"linked": True})],
    ids=["alone", "watched", "daemon", "linked worktree"],
)
def test_no_answer_of_a_longer_life_is_wrong_without_saying_so(
    seed: int, chosen: dict[str, Any], tmp_path: Path
) -> None:
    oracle = run(Settings(tmp_path, seed, **chosen), at_length(400))
    assert oracle.faults == []
    assert oracle.questions.total() >= 4 * oracle.steps


def test_every_tool_that_reads_the_code_is_asked() -> None:
    # `explore` says what `call_graph` and `read_file` say; `mcp/test_fresh.py` asks it after every kind of change.
    asked = {question(kind, TRUTH, random.Random(1)).tool for kind in KINDS}
    assert asked == {tool.name for tool in TOOLS} - {"manage_index", "index_status", "list_codebases", "explore"}


def test_a_wrong_answer_is_judged_by_what_it_says_of_itself() -> None:
    asked = question("find", TRUTH, random.Random(1))._replace(wrong=lambda *_: "it is wrong")
    said: dict[str, Any] = {"status": "ok", "coverage": {"exhaustive": True}, "warnings": ["look again"]}
    assert judged(said, asked, TRUTH).name == LIED
    assert judged({**said, "coverage": {"exhaustive": False}}, asked, TRUTH).name == WARNED
    assert judged({**said, "coverage": {"exhaustive": False}, "warnings": []}, asked, TRUTH).name == UNSAID
    assert judged({"status": "not_ready"}, asked, TRUTH).name == REFUSED
    assert judged({"status": "error", "error": {"code": "io", "message": "x"}}, asked, TRUTH).name == BROKEN
    assert judged(said, asked._replace(wrong=lambda *_: ""), TRUTH).name == RIGHT


def test_the_truth_is_read_from_the_files_and_their_rules(tmp_path: Path) -> None:
    tree = Tree(tmp_path, random.Random(1))
    for path in list(tree.truth().everything):
        (tree.folder / path).unlink()
    (tree.folder / "a.py").write_text(ONE)
    (tree.folder / "run.sh").write_text("tok_00000002\n")
    (tree.folder / "way.py").symlink_to("a.py")
    (tree.folder / "c.py").write_bytes(b"\0")
    (tree.folder / ".gitignore").write_text("*.sh\n")
    truth = tree.truth()
    assert sorted(truth.files) == [".gitignore", "a.py"]
    assert "run.sh" in truth.everything
    assert [(one.symbol, one.line) for one in truth.definitions] == [("fn_01", 2)]
    assert [(one.name, one.line, one.inside) for one in truth.calls] == [("fn_02", 3, "fn_01")]


def test_the_same_seed_lives_the_same_life(tmp_path: Path) -> None:
    lives = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        tree = Tree(tmp_path / name, random.Random(7))
        for _ in range(12):
            tree.step()
        lives.append(tree.truth().everything)
    assert lives[0] == lives[1]
    assert lives[0].keys() - set(NAMES) <= {".gitignore", ".cairnignore", "pkg/.gitignore"} | lives[1].keys()


def left_to_git(tree: Tree, truth: Truth) -> set[str]:
    """The files that git leaves out by the rules in the tree, of those about which nothing decides before git."""
    first = FIRST[truth.everything.get(".cairnignore", "")]
    open_ones = [path for path in truth.everything if first(path) is None]
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=tree.folder,
        input="\0".join(open_ones).encode(),
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    return set(done.stdout.decode().split("\0")) - {""}


def agrees_with_git(tree: Tree) -> bool:
    truth = tree.truth()
    first = FIRST[truth.everything.get(".cairnignore", "")]
    left_out = {path for path in truth.everything.keys() - truth.files.keys() if first(path) is None}
    return left_out == left_to_git(tree, truth)


def test_the_truth_about_rules_is_that_of_git_wherever_a_folder_is_moved(tmp_path: Path) -> None:
    tree = Tree(tmp_path, random.Random(1))
    (tree.folder / ".gitignore").write_text("deep/\n")
    (tree.folder / "pkg" / ".gitignore").write_text("/b.py\n")
    for name in ("pkg/b.py", "pkg/deep/b.py", "lib/b.py"):
        (tree.folder / name).parent.mkdir(exist_ok=True)
        (tree.folder / name).write_text(ONE)
    assert agrees_with_git(tree)
    (tree.folder / "pkg").rename(tree.folder / "moved")
    assert agrees_with_git(tree)
    assert {"lib/b.py"} == {path for path in tree.truth().files if path.endswith("/b.py")}


@pytest.mark.long
def test_the_truth_about_rules_is_that_of_git_in_a_whole_life(tmp_path: Path) -> None:
    tree = Tree(tmp_path, random.Random(1601))
    for _ in range(at_length(1_000)):
        tree.step()
        assert agrees_with_git(tree), tree.done
