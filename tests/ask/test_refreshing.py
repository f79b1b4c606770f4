"""A refresh from the tree to the facts: with a small real program as the indexer, and with scip-python itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cairn.ask.prepare import Policy, prepare
from cairn.ask.refreshing import Refreshed, RefreshOutcome, Watcher, Wish, refresh, trouble_of
from cairn.ask.session import Session, whole
from cairn.errors import IndexerMissing, NoContext, NotIndexed
from cairn.graph.informed import PinnedView
from cairn.semantic import jobs
from cairn.semantic.database import SemanticDatabase
from cairn.semantic.facts import SemanticFacts
from cairn.semantic.model import FULL, FactFreshness, Family, JobStatus, RefreshScope, of_files
from tests.semantic import fake_indexer
from tests.semantic.indexers import real_indexer
from tests.support.repos import commit, make_repo

LIB = "def greet(who):\n    return who\n"
APP = "from lib import greet\n\ngreet(1)\n"
OTHER = "x = 1\n"


class Project:
    """A repository of Python files, a home, and the programs on PATH."""

    def __init__(self, folder: Path, tools: str | Path) -> None:
        self.tree, self.home, self.tools = (folder / "tree").resolve(), folder / "home", Path(tools)
        self.tree.mkdir()
        self.environ = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "CAIRN_HOME": str(self.home), "HOME": "/"}
        self.write("pyproject.toml", '[project]\nname = "demo"\n')
        for path, text in (("lib.py", LIB), ("app.py", APP), ("other.py", OTHER)):
            self.write(path, text)
        make_repo(self.tree)
        self.commit()
        self.steps: list[str] = []
        self.create = True

    def write(self, path: str, text: str) -> None:
        (self.tree / path).write_text(text)

    def commit(self) -> None:
        commit(self.tree)

    def mood(self, mood: str) -> None:
        (self.tools / "mood").write_text(mood)

    @contextmanager
    def opened(self) -> Iterator[Session]:
        with Session(whole(str(self.tree), self.environ), self.environ) as session:
            prepare(session, Policy(create=self.create))
            yield session

    def refresh(self, *contexts: str, scope: RefreshScope | None = None) -> Refreshed:
        watcher = Watcher(lambda step, _: self.steps.append(step))
        [found] = refresh(self.opened, Wish(scope, contexts), self.environ, watcher)
        return found

    @property
    def database(self) -> SemanticDatabase:
        return SemanticDatabase(str(self.home), str(self.tree))

    def states(self) -> dict[str, FactFreshness]:
        with self.opened() as session:
            view = PinnedView(session.kept(lambda view: view))
            found = self.database.ask(lambda db: _states(SemanticFacts(db, view)))
        assert found is not None
        return found

    def heard(self, path: str, line: int, column: int) -> list[str]:
        """What an indexer said of a place: how its symbols end."""
        said = (
            "SELECT i.symbol FROM occurrences o JOIN files f ON f.id = o.file_id JOIN identities i"
            " ON i.id = o.identity_id WHERE (f.path, o.start_line, o.start_col) = (?, ?, ?)"
        )
        found = self.database.ask(lambda db: db.execute(said, (path, line, column)).fetchall())
        return [symbol.rpartition("/")[2] for (symbol,) in found or ()]

    def jobs(self) -> list[tuple[JobStatus, RefreshScope]]:
        found = self.database.ask(jobs.jobs)
        assert found is not None
        return [(job.status, job.scope) for job in found]


def _states(facts: SemanticFacts) -> dict[str, FactFreshness]:
    return {facts.paths[key[1]]: standing.freshness for key, standing in facts.standings.items()}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, fake_indexer.install(tmp_path / "tools"))


CLEAN = dict.fromkeys(("lib.py", "app.py", "other.py"), FactFreshness.CLEAN)


def test_the_first_refresh_takes_in_all_and_the_second_finds_nothing_to_do(project: Project) -> None:
    first = project.refresh()
    assert first.outcome is RefreshOutcome.COMPLETED
    assert first.ended is not None
    assert first.ended.imported is not None
    assert set(first.ended.imported.files) == set(CLEAN)
    assert project.states() == CLEAN
    assert project.steps == ["claimed", "indexing", "checking", "importing", "completed"]
    assert project.refresh().outcome is RefreshOutcome.UNCHANGED
    assert project.jobs() == [(JobStatus.COMPLETED, FULL)]


def test_an_edit_that_others_see_makes_stale_and_what_leans_on_it_is_refreshed_with_it(project: Project) -> None:
    project.refresh()
    project.write("lib.py", LIB.replace("(who)", "(who, more)"))
    assert project.states() == {**CLEAN, "lib.py": FactFreshness.DIRTY, "app.py": FactFreshness.STALE}
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN
    assert project.jobs()[0] == (JobStatus.COMPLETED, of_files(["app.py", "lib.py"]))


def test_an_edit_that_nobody_sees_makes_others_wait_and_its_own_refresh_makes_them_clean(project: Project) -> None:
    project.refresh()
    project.write("lib.py", LIB.replace("return who", "return 2"))
    assert project.states() == {**CLEAN, "lib.py": FactFreshness.DIRTY, "app.py": FactFreshness.PENDING_CHECK}
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN
    assert project.jobs()[0] == (JobStatus.COMPLETED, of_files(["lib.py"]))


def test_a_file_that_is_gone_takes_what_was_known_of_it_along(project: Project) -> None:
    project.refresh()
    os.unlink(project.tree / "lib.py")
    project.write("app.py", "def greet(): ...\n\n\ngreet()\n")
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.jobs()[0] == (JobStatus.COMPLETED, FULL)
    assert project.states() == {"app.py": FactFreshness.CLEAN, "other.py": FactFreshness.CLEAN}


def test_what_is_named_is_refreshed_and_nothing_else(project: Project) -> None:
    project.refresh()
    assert project.refresh(scope=of_files(["app.py"])).outcome is RefreshOutcome.COMPLETED
    assert project.jobs()[0] == (JobStatus.COMPLETED, of_files(["app.py"]))
    assert project.refresh("python", scope=FULL).outcome is RefreshOutcome.COMPLETED
    assert project.jobs()[0] == (JobStatus.COMPLETED, FULL)
    assert project.refresh(scope=of_files(["README.md"])).outcome is RefreshOutcome.UNCHANGED
    for wrong in ("rust", "python:elsewhere"):
        with pytest.raises(NoContext, match="there is no context"):
            project.refresh(wrong)


def test_a_commit_in_mid_run_discards_the_output_and_it_is_done_again_at_the_new_one(project: Project) -> None:
    project.mood(
        "run echo 'def later(): ...' > later.py; git add -A; git -c user.name=m -c user.email=m@x commit -qm x"
    )
    # Each run commits anew, the last one not: nothing is left to commit.
    found = project.refresh()
    assert found.outcome in (RefreshOutcome.COMPLETED, RefreshOutcome.FAILED)
    assert project.jobs()[-1][0] is JobStatus.SUPERSEDED
    project.mood("")
    project.refresh()
    assert project.states() == {**CLEAN, "later.py": FactFreshness.CLEAN}


@pytest.mark.long
def test_a_file_that_is_saved_in_mid_run_is_not_believed(project: Project) -> None:
    project.mood("run echo 'x = 2' > other.py")
    found = project.refresh(scope=FULL)
    assert found.ended is not None
    assert found.ended.imported is not None
    assert found.ended.imported.changed == ("other.py",)
    assert "other.py" not in project.states()
    project.mood("")
    project.refresh()
    assert project.states() == CLEAN


@pytest.mark.parametrize(
    ("mood", "code"),
    [
        ("crash", "indexer_failed"),
        pytest.param("garbage", "semantic_unreadable", marks=pytest.mark.long),
        pytest.param("nothing", "indexer_empty", marks=pytest.mark.long),
        pytest.param("empty", "indexer_empty", marks=pytest.mark.long),
    ],
)
def test_an_indexer_that_fails_leaves_its_reason_in_the_job_and_everything_else_as_it_was(
    project: Project, mood: str, code: str
) -> None:
    project.refresh()
    project.write("lib.py", LIB + "more = 1\n")
    project.mood(mood)
    found = project.refresh()
    assert found.outcome is RefreshOutcome.FAILED
    trouble = trouble_of([found])
    assert trouble is not None
    assert trouble.code == code
    [job, _] = project.database.ask(jobs.jobs) or ()
    assert (job.error or "").startswith(f"{code}: ")
    assert project.states()["other.py"] is FactFreshness.CLEAN
    with project.opened() as session:
        assert session.gate.is_open


def test_a_missing_indexer_is_told_and_counts_only_where_no_other_did_its_work(project: Project) -> None:
    project.environ["PATH"] = str(project.tools)
    (project.tools / "git").symlink_to(shutil.which("git") or "")
    project.write("package.json", "{}")
    project.write("web.ts", "export const x = 1\n")
    found = {one.context.family: one for one in refresh(project.opened, Wish(), project.environ)}
    python, typescript = found[Family.PYTHON], found[Family.TYPESCRIPT]
    assert (python.outcome, typescript.outcome) == (RefreshOutcome.COMPLETED, RefreshOutcome.FAILED)
    assert trouble_of([python, typescript]) is None
    assert isinstance(trouble_of([typescript]), IndexerMissing)


@pytest.mark.long
def test_files_that_an_indexer_never_speaks_of_do_not_make_it_run_again(project: Project) -> None:
    project.write("notes.pyi", "x: int\n")
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.refresh().outcome is RefreshOutcome.UNCHANGED
    project.write("notes.pyi", "y: int\n")
    assert project.refresh().outcome is RefreshOutcome.COMPLETED


def test_without_an_index_or_a_language_there_is_nothing_to_refresh(project: Project) -> None:
    project.create = False
    with pytest.raises(NotIndexed):
        project.refresh()
    assert not (project.home / "semantic").exists()
    project.create = True
    for path in ("lib.py", "app.py", "other.py"):
        os.unlink(project.tree / path)
    with pytest.raises(NoContext, match="no file of a language"):
        project.refresh()


def test_a_damaged_database_is_made_anew_and_answers_go_on_meanwhile(project: Project) -> None:
    project.refresh()
    Path(project.database.path).write_bytes(b"no database" * 1_000)
    with project.opened() as session:
        assert session.gate.is_open
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN


def test_a_repository_without_commits_and_a_folder_without_git_are_refreshed_too(project: Project) -> None:
    shutil.rmtree(project.tree / ".git")
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    make_repo(project.tree)
    project.write("lib.py", LIB + "more = 1\n")
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN


def test_the_job_of_a_killed_process_is_done_by_the_next(project: Project) -> None:
    project.refresh()
    project.write("lib.py", LIB + "more = 1\n")
    with project.database.writing() as db:
        jobs.enqueue(db, "python:.", of_files(["lib.py"]), head="gone", reason="test")
        assert jobs.claim(db) is not None
        db.execute("UPDATE refresh_jobs SET holder = '{}' WHERE status = 'running'")
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN


def test_while_another_process_is_at_it_that_is_said_and_what_was_asked_waits(project: Project) -> None:
    project.refresh()
    project.write("lib.py", LIB + "more = 1\n")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project.tree, check=True, capture_output=True, text=True
    ).stdout
    with project.database.writing() as db:
        jobs.enqueue(db, "python:.", of_files(["lib.py"]), head=head.strip(), reason="test")
        assert jobs.claim(db) is not None
    found = project.refresh()
    assert found.outcome is RefreshOutcome.ELSEWHERE
    assert found.job is not None
    assert found.job.status is JobStatus.RUNNING
    assert [status for status, _ in project.jobs()][:2] == [JobStatus.QUEUED, JobStatus.RUNNING]


def test_the_real_indexer_of_python_from_the_tree_to_clean_facts_and_back_again(tmp_path: Path) -> None:
    project = Project(tmp_path, Path(real_indexer("scip-python")).parent)
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN
    project.write("lib.py", "moved = 1\n" + LIB)
    assert project.states()["lib.py"] is FactFreshness.DIRTY
    assert project.refresh().outcome is RefreshOutcome.COMPLETED
    assert project.states() == CLEAN
    uses = (
        "SELECT f.path, o.start_line, o.start_col, o.role FROM occurrences o JOIN files f ON f.id = o.file_id"
        " JOIN identities i ON i.id = o.identity_id WHERE i.symbol LIKE '%lib/greet().' ORDER BY 1, 2"
    )
    assert project.database.ask(lambda db: db.execute(uses).fetchall()) == [
        ("app.py", 1, 16, "reference"),
        ("app.py", 3, 0, "reference"),
        ("lib.py", 2, 4, "definition"),
    ]


@pytest.mark.long
def test_the_real_indexer_of_typescript_refreshes_what_has_changed(tmp_path: Path) -> None:
    tools = Path(real_indexer("scip-typescript")).parent
    project = Project(tmp_path, tools)
    for path in ("lib.py", "app.py", "other.py", "pyproject.toml"):
        os.unlink(project.tree / path)
    project.write("package.json", '{"name": "demo", "version": "1.0.0"}')
    project.write("tsconfig.json", '{"include": ["*.ts"]}')
    project.write("lib.ts", "export function greet(who: string) { return who }\n")
    project.write("app.ts", 'import { greet } from "./lib"\ngreet("ä")\n')
    before = sorted(path.name for path in project.tree.iterdir())
    assert project.refresh("typescript").outcome is RefreshOutcome.COMPLETED
    assert project.states() == {"lib.ts": FactFreshness.CLEAN, "app.ts": FactFreshness.CLEAN}
    project.write("lib.ts", "export function greet(who: string) { return who + who }\n")
    project.write("package.json", '{"name": "demo", "version": "2.0.0"}')
    assert project.refresh("typescript").outcome is RefreshOutcome.COMPLETED
    assert project.states() == {"lib.ts": FactFreshness.CLEAN, "app.ts": FactFreshness.CLEAN}
    assert sorted(path.name for path in project.tree.iterdir()) == before
    uses = (
        "SELECT f.path, o.start_line, o.start_col FROM occurrences o JOIN files f ON f.id = o.file_id JOIN identities i"
        " ON i.id = o.identity_id WHERE i.symbol LIKE '%greet().' ORDER BY 1, 2"
    )
    found = project.database.ask(lambda db: db.execute(uses).fetchall())
    assert found == [("app.ts", 1, 9), ("app.ts", 2, 0), ("lib.ts", 1, 16)]


@pytest.mark.long
def test_what_the_indexer_of_typescript_has_found_out_by_itself_makes_stale_too(tmp_path: Path) -> None:
    project = Project(tmp_path, Path(real_indexer("scip-typescript")).parent)
    for path in ("lib.py", "app.py", "other.py", "pyproject.toml"):
        os.unlink(project.tree / path)
    project.write("package.json", '{"name": "demo", "version": "1.0.0"}')
    project.write("tsconfig.json", '{"include": ["**/*.ts"]}')
    kinds = "export class Cat { speak() { return 1 } }\nexport class Dog { speak() { return 2 } }\n"
    project.write("kinds.ts", kinds)
    project.write("lib.ts", 'import { Cat, Dog } from "./kinds"\nexport function make() { return new Cat() }\n')
    project.write("app.ts", 'import { make } from "./lib"\nmake().speak()\n')
    assert project.refresh("typescript").outcome is RefreshOutcome.COMPLETED
    assert project.heard("app.ts", 2, 7) == ["Cat#speak()."]

    # No signature changes, and nobody wrote the type of what is returned.
    project.write("lib.ts", 'import { Cat, Dog } from "./kinds"\nexport function make() { return new Dog() }\n')
    assert project.states()["app.ts"] is FactFreshness.PENDING_CHECK
    assert project.refresh("typescript", scope=of_files(["lib.ts"])).outcome is RefreshOutcome.COMPLETED
    assert project.states()["app.ts"] is FactFreshness.STALE
    assert project.refresh("typescript").outcome is RefreshOutcome.COMPLETED
    assert project.states()["app.ts"] is FactFreshness.CLEAN
    assert project.heard("app.ts", 2, 7) == ["Dog#speak()."]

    # A new file that goes before the one that was meant.
    (project.tree / "lib").mkdir()
    os.rename(project.tree / "lib.ts", project.tree / "lib/index.ts")
    project.write("lib/index.ts", 'import { Cat } from "../kinds"\nexport function make() { return new Cat() }\n')
    assert project.refresh("typescript").outcome is RefreshOutcome.COMPLETED
    assert project.heard("app.ts", 2, 7) == ["Cat#speak()."]
    project.write("lib.ts", 'import { Dog } from "./kinds"\nexport function make() { return new Dog() }\n')
    assert project.states()["app.ts"] is FactFreshness.PENDING_CHECK
    assert project.refresh("typescript").outcome is RefreshOutcome.COMPLETED
    assert set(project.states().values()) == {FactFreshness.CLEAN}
    assert project.heard("app.ts", 2, 7) == ["Dog#speak()."]
