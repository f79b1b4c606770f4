"""A compiler judges a plan in a copy: what it finds new stands against it, and whatever goes wrong is said."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.core.config import SemanticConfig
from cairn.semantic import checking
from cairn.semantic.checking import CheckPlace, CheckWork, check, expected_seconds, is_too_much, wanted_by
from cairn.semantic.model import Family
from cairn.semantic.plan import CompilerError, PlanCheck
from tests.semantic.indexers import real_indexer
from tests.support.faults import Faults

FILES = {
    "lib.py": b"def load():\n    return 1\n",
    "app.py": b"from lib import load\n\nload()\nmissing\n",
    "other name.py": b"missing\n",
}
CHANGED = {"lib.py": b"def fetch():\n    return 1\n"}
# Finds a name that nothing defines, as pyright does; `missing` is wrong before and after.
JUDGE = """
import json, os, re, sys
tree = sys.argv[sys.argv.index("-p") + 1]
assert os.path.exists(os.path.join(tree, "pyrightconfig.json"))
text = {name: open(os.path.join(tree, name)).read() for name in os.listdir(tree) if name.endswith(".py")}
known = set(re.findall(r"def (\\w+)", " ".join(text.values())))
found = []
for name, content in sorted(text.items()):
    for number, line in enumerate(content.splitlines()):
        for word in re.findall(r"^(\\w+)(?:\\(\\))?$", line):
            if word not in known:
                found.append({"file": os.path.realpath(os.path.join(tree, name)), "severity": "error",
                    "message": f'"{word}" is not defined', "range": {"start": {"line": number, "character": 0}}})
print(json.dumps({"generalDiagnostics": found}))
raise SystemExit(bool(found))
"""


def place(tmp_path: Path, body: str | None = JUDGE, **settings: int) -> CheckPlace:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"node": "raise SystemExit(9)", **({} if body is None else {"pyright": body})}.items():
        (folder / name).write_text(f"#!{sys.executable}\n{text}\n")
        (folder / name).chmod(0o755)
    (tmp_path / "tree").mkdir()
    environ = {"PATH": str(folder), "HOME": str(tmp_path)}
    return CheckPlace(str(tmp_path / "tree"), str(tmp_path / "home"), environ, SemanticConfig(**settings))


def judged(where: CheckPlace, changed: dict[str, bytes] | None = None) -> PlanCheck:
    found = check(Family.PYTHON, CheckWork(FILES, CHANGED if changed is None else changed), where, "load", "fetch")
    assert not list(Path(where.home, "cache", "semantic").glob("*")), "nothing is left of the copy"
    return found


def test_an_error_that_is_new_stands_against_a_plan_and_one_from_before_does_not(tmp_path: Path) -> None:
    where = place(tmp_path)
    assert judged(where) == PlanCheck(("pyright",), "", (CompilerError("app.py", 3, '"load" is not defined'),))
    whole = {**CHANGED, "app.py": b"from lib import fetch\n\nfetch()\nmissing\n"}
    assert judged(where, whole) == PlanCheck(("pyright",))


@pytest.mark.parametrize(
    "name", ["other name.py", "caf\u00e9.py", "-c.py", "a;b'$(c).py", "(one)[two].py", ".py", "a\n.py", "__init__.py"]
)
def test_a_file_of_any_name_is_checked_and_named_as_it_is(tmp_path: Path, name: str) -> None:
    files = FILES | {name: b"from lib import load\n\nload()\n", f"some folder/{name}": b"deep\n"}
    found = check(Family.PYTHON, CheckWork(files, CHANGED), place(tmp_path), "load", "fetch")
    assert CompilerError(name, 3, '"load" is not defined') in found.errors


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (None, "there is no program pyright on PATH (`cairn doctor` says how to get it)"),
        ("print('rubbish')", "what it said is no answer of pyright"),
        ("print('{}')", "what it said is no answer of pyright"),
        ("import os; os.kill(os.getpid(), 11)", "it was killed by signal 11"),
        ("import time; time.sleep(600)", "it took longer than 1 seconds"),
    ],
)
def test_a_compiler_that_is_not_there_or_goes_wrong_is_said_and_stops_nothing(
    tmp_path: Path, body: str | None, why: str
) -> None:
    found = judged(place(tmp_path, body, seconds=1))
    assert (found.by, found.errors) == ((), ())
    assert found.why_not.startswith(why)


def test_what_runs_a_project_and_what_says_too_much_is_not_checked(tmp_path: Path, faults: Faults) -> None:
    where = place(tmp_path)
    for family in (Family.RUST, Family.JVM, None):
        assert "run what a project names" in check(family, CheckWork({}, {}), where, "a", "b").why_not
    faults.limit(checking, CHECK_SAID_BYTES=20)
    assert judged(where).why_not == "it said too much"


def test_a_check_that_takes_long_is_made_when_it_is_asked_for_only() -> None:
    small, large = {"a.py": 1_000}, {"a.py": 100_000_000}
    assert expected_seconds(Family.GO, small) < 60 < expected_seconds(Family.GO, large)
    assert is_too_much(Family.PYTHON, small) == is_too_much(None, large) == ""
    assert is_too_much(Family.PYTHON, large).startswith("it would take about 6,5")
    assert [
        path for path in ("a.py", "a.go", "b/go.mod", "b/tsconfig.base.json") if wanted_by(Family.PYTHON, path)
    ] == [
        "a.py",
        "b/go.mod",
        "b/tsconfig.base.json",
    ]


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no go")
@pytest.mark.long
def test_go_vet_finds_a_use_that_was_forgotten(tmp_path: Path) -> None:
    files = {
        "go.mod": b"module example.org/m\n\ngo 1.21\n",
        "m.go": b"package m\n\nfunc load() int { return 1 }\n",
        "n.go": b"package m\n\nvar x = load()\n",
    }
    changed = {"m.go": files["m.go"].replace(b"load", b"fetch")}
    where = replace(place(tmp_path), environ=dict(os.environ))
    found = check(Family.GO, CheckWork(files, changed), where, "load", "fetch")
    assert (found.by, [(one.path, one.line) for one in found.errors]) == (("go vet",), [("n.go", 3)])
    whole = {**changed, "n.go": files["n.go"].replace(b"load", b"fetch")}
    assert check(Family.GO, CheckWork(files, whole), where, "load", "fetch") == PlanCheck(("go vet",))
    lacking = {**files, "n.go": b'package m\n\nimport "example.org/none"\n\nvar x = none.X\n'}
    assert check(Family.GO, CheckWork(lacking, changed), where, "load", "fetch").why_not


@pytest.mark.long
def test_tsc_reads_a_folder_that_the_project_names_and_the_copy_names_otherwise(tmp_path: Path) -> None:
    files = {
        "tsconfig.json": b'{"compilerOptions": {"strict": true}, "include": ["my src"]}',
        "my src/a.ts": b"export function load(a: number) { return a; }\n",
        "my src/b.ts": b"import { load } from './a';\nload(1);\n",
    }
    folder = os.path.dirname(real_indexer("scip-typescript"))
    if not os.path.exists(os.path.join(folder, "tsc")):
        pytest.skip("the indexer came without its compiler")
    where = replace(place(tmp_path), environ={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    changed = {"my src/a.ts": files["my src/a.ts"].replace(b"load", b"fetch")}
    found = check(Family.TYPESCRIPT, CheckWork(files, changed), where, "load", "fetch")
    assert (found.by, [(one.path, one.line) for one in found.errors]) == (("tsc",), [("my src/b.ts", 1)])
