"""`cairn.open`: what a program gets, and what importing the package costs it."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cairn
from cairn.core.progress import Phase, Progress
from tests.support.waiting import PATIENCE
from tests.sync.desk import Desk, extract_here

SOURCE = "class Lease:\n    def steal(self, victim):\n        return victim\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = (tmp_path / "tree").resolve()
    folder.mkdir()
    (folder / "lease.py").write_text(SOURCE)
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    return folder


def test_a_folder_is_indexed_when_it_is_opened_and_then_found(tree: Path) -> None:
    told: list[Progress] = []
    with cairn.open(str(tree), progress=told.append) as code:
        assert code.root == str(tree)
        [hit] = code.search("steal the lease", k=5)
        assert isinstance(hit, cairn.Hit)
        assert isinstance(code, cairn.Code)
        assert (hit.path, hit.language, hit.layer) == ("lease.py", "python", "syntactic")
        assert hit.text in SOURCE
        [found] = code.search("steal", mode="symbol")
        assert (found.symbol, found.start_line, found.kind) == ("Lease.steal", 2, "method")
    assert Phase.INDEXING in {at.phase for at in told}


def test_it_catches_up_when_it_is_opened_again_and_before_every_question(tree: Path) -> None:
    with cairn.open(str(tree)) as code:
        before = code.snapshot
    (tree / "publish.py").write_text("def publish(): ...\n")
    with cairn.open(str(tree)) as code:
        assert code.snapshot != before
        assert [hit.path for hit in code.search("publish", mode="symbol")] == ["publish.py"]
        (tree / "publish.py").unlink()
        assert code.search("publish", mode="symbol") == []
        (tree / "again.py").write_text("def publish(): ...\n")
        assert [one.path for one in code.symbol("publish")] == ["again.py"]
        assert [one.name for one in code.outline("again.py").definitions] == ["publish"]


def test_a_wrong_question_is_an_error_with_a_sentence(tree: Path) -> None:
    with cairn.open(str(tree)) as code:
        with pytest.raises(cairn.InvalidQuery, match="empty"):
            code.search("")
        with pytest.raises(cairn.InvalidPattern, match="position"):
            code.search("(", mode="regex")
        with pytest.raises(cairn.UsageError, match="no mode called 'magic'; there are hybrid"):
            code.search("x", mode="magic")
        with pytest.raises(cairn.UsageError, match="no group called"):
            code.search("x", group="all")
        with pytest.raises(cairn.InvalidQuery, match="from 1 to 100"):
            code.search("x", k=0)


def test_pages_follow_one_another_and_a_page_fits_in_so_many_tokens(tree: Path) -> None:
    for number in range(5):
        (tree / f"part{number}.py").write_text(f"def publish_{number}():\n    return publish\n")
    with cairn.open(str(tree)) as code:
        for ask in (
            lambda **how: code.search("publish", mode="regex", **how),
            lambda **how: code.search("publish", mode="lexical", **how),
            lambda **how: code.symbol("publish", **how),
        ):
            whole = [found.path for found in ask()]
            assert len(whole) == 5
            assert [found.path for first in range(0, 7, 2) for found in ask(k=2, offset=first)] == whole
        uses = code.references("publish_1", min_tier="name_only")
        assert code.references("publish_1", 1, min_tier="name_only", offset=uses.total).uses == ()
        short = code.search("publish", mode="lexical", max_tokens=40)
        assert 0 < len(short) < 5
        following = code.search("publish", mode="lexical", offset=len(short))
        assert [hit.path for hit in (*short, *following)] == [
            hit.path for hit in code.search("publish", mode="lexical")
        ]
        with pytest.raises(cairn.InvalidQuery, match="of at least 0"):
            code.search("publish", offset=-1)
        with pytest.raises(cairn.InvalidQuery, match="no signal called `magic`"):
            code.search("publish", without=["magic"])


def test_what_is_no_value_of_an_option_is_refused(tree: Path) -> None:
    with cairn.open(str(tree)) as code:
        with pytest.raises(cairn.UsageError, match="There is no kind called 'klass'; there are module, "):
            code.symbol("Lease", kinds=["klass"])
        with pytest.raises(cairn.UsageError, match="`include` takes a list of texts"):
            code.search("lease", include="*.py")
        with pytest.raises(cairn.InvalidQuery, match="`magic` is nothing that `scope:` knows"):
            code.search("lease", scope="magic")
        assert [one.name for one in code.outline("lease.py", start=2).definitions] == ["Lease", "steal"]
        assert [one.name for one in code.outline("lease.py", start=1, end=1).definitions] == ["Lease"]


def test_after_close_nothing_answers(tree: Path) -> None:
    code = cairn.open(str(tree))
    code.close()
    code.close()
    assert code.snapshot is None
    for ask in (lambda: code.search("x"), lambda: code.symbol("x"), lambda: code.read("lease.py"), code.map):
        with pytest.raises(cairn.UsageError, match=r"was closed; `cairn\.open` opens it again"):
            ask()
    assert code.snapshot is None, "asking does not open it again"


def test_a_home_is_not_indexed_by_the_way(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tree))
    with pytest.raises(cairn.NotIndexed, match="a home folder is not indexed unless you ask"):
        cairn.open(str(tree))


def test_an_index_made_with_another_model_is_refused(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path / "desk")
    extract_here(monkeypatch, desk.clock)
    monkeypatch.setenv("CAIRN_HOME", str(desk.home))
    desk.put("a.py", "x = 1\n")
    desk.index()
    with pytest.raises(cairn.EmbeddingModelChangedError, match="embeddingModel") as told:
        cairn.open(str(desk.tree))
    assert isinstance(told.value, cairn.IndexNotReadyError)
    assert told.value.exit_status == 12


def test_the_names_of_the_errors_are_exported() -> None:
    assert issubclass(cairn.IndexingInProgressError, cairn.IndexNotReadyError)
    assert all(hasattr(cairn, name) for name in cairn.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        cairn.nothing  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = (
        "import sys, time; began = time.process_time(); import cairn; spent = time.process_time() - began;"
        "heavy = sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 're2', 'sqlite3', 'tree_sitter'});"
        "ours = {name.split('.')[1] for name in sys.modules if name.startswith('cairn.')};"
        "print(heavy, ours, spent < 0.5)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout.strip() == "[] set() True"


def test_structure_can_be_asked_for_and_a_miss_is_an_error_with_a_sentence(tree: Path) -> None:
    (tree / "notes.txt").write_text("one\ntwo\n")
    (tree / "copy.py").write_text(SOURCE)
    with cairn.open(str(tree)) as code:
        outline = code.outline("lease.py")
        assert isinstance(outline, cairn.FileOutline)
        assert [(one.qualified, one.kind, one.depth) for one in outline.definitions] == [
            ("Lease", "class", 0),
            ("Lease.steal", "method", 1),
        ]
        assert [one.name for one in code.outline("lease.py", "Lease.steal").definitions] == ["steal"]
        text = code.read("lease.py", 2, 2)
        assert isinstance(text, cairn.FileText)
        assert (text.text, text.disk, text.lines) == ("    def steal(self, victim):", "same", 3)
        assert code.read("lease.py").text + "\n" == SOURCE
        found = code.symbol("steal")
        assert all(isinstance(one, cairn.Definition) for one in found)
        assert [one.place for one in found] == ["copy.py:2", "lease.py:2"]
        assert [hit.path for hit in code.similar("lease.py", 1, k=1)] == ["copy.py"]
        with pytest.raises(cairn.Ambiguous, match="2 definitions are called Lease"):
            code.symbol("Lease", exact=True)
        with pytest.raises(cairn.NotFound, match="Nothing is called Nope"):
            code.symbol("Nope", exact=True)
        with pytest.raises(cairn.NotFound, match=r"no file gone\.py"):
            code.outline("gone.py")
        with pytest.raises(cairn.Unsupported, match="cut by lines"):
            code.outline("notes.txt")
        with pytest.raises(cairn.UsageError, match="counted from 1"):
            code.read("lease.py", 3, 2)
    with pytest.raises(cairn.UsageError, match="was closed"):
        code.outline("lease.py")


def test_who_calls_a_definition_and_what_it_calls_are_graphs(tree: Path) -> None:
    (tree / "app.py").write_text("from lease import Lease\n\ndef run():\n    made()\n\ndef made():\n    Lease()\n")
    with cairn.open(str(tree)) as code:
        told = code.callers("Lease", depth=2)
        assert isinstance(told, cairn.CallGraph)
        assert [(edge.src, edge.dst, edge.tier) for edge in told.edges] == [
            ("app.py#made", "lease.py#Lease", "proven"),
            ("app.py#run", "app.py#made", "proven"),
        ]
        assert len(code.callers("Lease", k=1, depth=2, min_tier="proven").edges) == 1
        assert [edge.dst for edge in code.callees("run", path="app.py").edges] == ["app.py#made"]
        with pytest.raises(cairn.UsageError, match="from 1 to 3"):
            code.callees("run", depth=99)
        with pytest.raises(cairn.NotFound, match="Nothing is called Nope"):
            code.callers("Nope")


def test_who_uses_a_definition_is_told_with_how_sure_that_is(tree: Path) -> None:
    (tree / "app.py").write_text("from lease import Lease\nLease().steal(1)\n")
    (tree / "copy.py").write_text(SOURCE)
    with cairn.open(str(tree)) as code:
        told = code.references("Lease", path="lease.py")
        assert isinstance(told, cairn.Uses)
        assert all(isinstance(use, cairn.Use) for use in told.uses)
        assert [(use.place, use.kind, use.tier) for use in told.uses] == [
            ("app.py:2", "call", "proven"),
            ("app.py:1", "import", "proven"),
        ]
        assert [use.kind for use in code.references("lease.py:1", k=1).uses] == ["call"]
        assert [one.path for one in code.references("Lease").candidates] == ["lease.py"]
        with pytest.raises(cairn.Ambiguous, match="2 definitions are called Lease"):
            code.references("Lease", exact=True)
        with pytest.raises(cairn.NotFound, match="Nothing is called Nope"):
            code.references("Nope")
        with pytest.raises(cairn.UsageError, match="There is no tier called 'sure'"):
            code.references("Lease", path="lease.py", min_tier="sure")


NEEDED = {"query": "lease", "name": "Lease", "path": "lease.py", "line": 1}
ODD = [None, 3, 1.5, True, b"x", ["x"], [3], {"x": 1}, object(), Path("x"), "\ud800", "\0", ""]
METHODS = [name for name, made in inspect.getmembers(cairn.Code, inspect.isfunction) if not name.startswith("_")]


def _arguments(method: Callable[..., object]) -> Iterator[str]:
    return (name for name in inspect.signature(method).parameters if name != "self")


def _given(method: Callable[..., object]) -> dict[str, object]:
    return {name: NEEDED[name] for name in _arguments(method) if name in NEEDED and name != "self"}


def test_every_argument_of_every_method_takes_or_refuses_any_value_with_one_sentence(tree: Path) -> None:
    with cairn.open(str(tree)) as code:
        for name in METHODS:
            method = getattr(code, name)
            # A map is made without a query, and a definition is looked for in all files, unless they are named.
            needed = {key: value for key, value in _given(method).items() if not _may_be_none(method, key)}
            for argument in _arguments(method):
                for odd in ODD:
                    try:
                        method(**{**needed, argument: odd})
                    except cairn.CairnError as told:
                        sentence = str(told)
                        assert sentence.endswith("."), (name, argument, odd, sentence)


def _may_be_none(method: Callable[..., object], argument: str) -> bool:
    return inspect.signature(method).parameters[argument].default is not inspect.Parameter.empty


def test_none_is_refused_where_there_must_be_a_value(tree: Path) -> None:
    with pytest.raises(cairn.UsageError, match=r"`path` takes the name of a file or folder, not None\."):
        cairn.open(None)  # type: ignore[arg-type]
    with pytest.raises(cairn.UsageError, match=r"`progress` takes a function, not int\."):
        cairn.open(str(tree), progress=3)  # type: ignore[arg-type]
    with cairn.open(tree) as code:
        with pytest.raises(cairn.InvalidQuery, match=r"`query` takes a text, not None\."):
            code.search(None)  # type: ignore[arg-type]
        with pytest.raises(cairn.UsageError, match=r"`languages` takes texts, not int\."):
            code.symbol("Lease", languages=[3])  # type: ignore[list-item]
        with pytest.raises(cairn.UsageError, match=r"`exact` takes True or False, not None\."):
            code.symbol("Lease", exact=None)  # type: ignore[arg-type]
        with pytest.raises(cairn.UsageError, match="`name` holds half a character"):
            code.callers("\ud83d")


def test_every_method_of_a_closed_codebase_says_that_it_is_closed(tree: Path) -> None:
    with cairn.open(str(tree)) as code:
        pass
    for name in METHODS:
        if name != "close":
            with pytest.raises(cairn.UsageError, match=r"was closed; `cairn\.open` opens it again"):
                getattr(code, name)(**_given(getattr(code, name)))


FORKS = """
import os, sys, threading
import cairn

code = cairn.open(sys.argv[1])
ended = threading.Event()

def search():
    while not ended.is_set():
        code.search("steal the lease")

thread = threading.Thread(target=search)
thread.start()
statuses = []
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        right = code.search("steal the lease")[0].path == "lease.py" and code.symbol("steal")[0].path == "lease.py"
        with cairn.open(sys.argv[1]) as own:
            os._exit(0 if right and own.search("lease", mode="regex") else 1)
    statuses.append(os.waitpid(child, 0)[1])
ended.set()
thread.join()
print(sum(statuses))
"""


@pytest.mark.parametrize("forks", [5, pytest.param(300, marks=pytest.mark.long)])
def test_a_child_that_is_forked_while_another_thread_searches_answers(tree: Path, forks: int) -> None:
    for number in range(40):
        (tree / f"part{number}.py").write_text(f"def publish_{number}():\n    return lease\n")
    told = _python(FORKS, str(tree), str(forks))
    assert told.stdout == "0\n", told.stderr


def _python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As a user runs it; a child that hangs is found when patience ends."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE
    )


@pytest.mark.parametrize("processes", [3])
def test_processes_that_open_a_new_folder_at_once_all_work_with_its_one_index(tree: Path, processes: int) -> None:
    script = (
        "import sys, cairn\nwith cairn.open(sys.argv[1]) as code: print(code.search('steal')[0].path, code.snapshot)"
    )
    for number in range(60):
        (tree / f"part{number}.py").write_text(f"def publish_{number}():\n    return lease\n")
    began = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tree)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    told = [one.communicate(timeout=PATIENCE) for one in began]
    assert {one.returncode for one in began} == {0}, told
    assert len({said for said, _ in told}) == 1, "each answers from the one snapshot"
    assert told[0][0].startswith("lease.py ")
