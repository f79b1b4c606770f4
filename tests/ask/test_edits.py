"""Questions about edits, put to a real codebase: what may be edited, what must be decided, how a rename looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.answer.semantic import decision_answer, gate_answer, rename_answer
from cairn.ask import edits
from cairn.ask.edits import Renaming, check_edit, decide, rename
from cairn.ask.structure import Asked, asked_of
from cairn.core.clock import SYSTEM_CLOCK
from cairn.core.limits import MAX_EDIT_FILES, MAX_PARSE_BYTES
from cairn.errors import NotFound, UsageError
from cairn.semantic import jobs
from cairn.semantic.ambiguity import AmbiguitySource
from cairn.semantic.editing import ACCEPT, Decision, EditReach, MutationGate, Verdict
from cairn.semantic.model import FULL, Certainty, FactFreshness
from cairn.semantic.plan import RenamePlan
from tests.answer.test_envelope import valid
from tests.conformance import conforms
from tests.semantic.worlds import TREE, World
from tests.support.faults import Faults
from tests.sync.desk import extract_here


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    extract_here(monkeypatch, SYSTEM_CLOCK)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A codebase that is only asked."""
    with pytest.MonkeyPatch.context() as patch:
        extract_here(patch, SYSTEM_CLOCK)
        world = World(tmp_path_factory.mktemp("still").resolve())
        world.refresh()
    return world


@pytest.fixture(scope="module")
def unread(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A codebase that no indexer has read, and that is only asked."""
    with pytest.MonkeyPatch.context() as patch:
        extract_here(patch, SYSTEM_CLOCK)
        return World(tmp_path_factory.mktemp("unread").resolve())


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path.resolve())
    world.refresh()
    return world


def gate(world: World, *files: str, sync: bool = True) -> MutationGate:
    with world.session(sync=sync) as session:
        reply = check_edit(session, [Asked(name, name, session.root) for name in files])
        valid(gate_answer(reply))
        valid(gate_answer(reply, judged=False))
        assert reply.value is not None
        return reply.value


def plan(world: World, symbol: str, new: str, *, sync: bool = True) -> RenamePlan:
    with world.session(sync=sync) as session:
        reply = rename(session, Renaming(asked_of(symbol, session.root), new))
        valid(rename_answer(reply))
        assert reply.value is not None, reply.miss
        return reply.value


def decided(world: World, signature: str, choice: str, about: str | Renaming) -> Decision:
    with world.session() as session:
        asked = about if isinstance(about, Renaming) else [Asked(about, about, session.root)]
        reply = decide(session, signature, [choice], asked, note="because")
        valid(decision_answer(reply))
        assert reply.value is not None, reply.miss
        return reply.value


# --- the gate ---------------------------------------------------------------------------------------------------------


@conforms("002.AX3", "002.LAY1")
def test_clean_and_certain_files_may_be_edited_across_files(still: World) -> None:
    told = gate(still, "app.py", "lib.py")
    assert told.verdict is Verdict.AUTOMATIC
    assert {one.reach for one in told.files} == {EditReach.CROSS_FILE}


@conforms("002.AX3", "002.LAY1")
def test_an_edit_blocks_the_file_and_those_who_lean_on_it_with_a_witness(world: World) -> None:
    world.replace("lib.py", "return who", "return who + who")
    told = gate(world, "lib.py", "app.py")
    assert told.verdict is Verdict.BLOCKED
    lib, app = told.files
    assert (lib.state.freshness, app.state.freshness) == (FactFreshness.DIRTY, FactFreshness.PENDING_CHECK)
    assert app.witness is not None
    assert "lib.py" in app.witness.reasons[0]
    assert "cairn semantic refresh" in app.witness.cure
    # By its syntax alone it can be edited inside of one definition.
    assert {lib.reach, app.reach} == {EditReach.LOCAL}
    world.refresh(["lib.py"])
    assert gate(world, "lib.py", "app.py").verdict is Verdict.AUTOMATIC


def test_what_was_saved_after_the_snapshot_closes_the_gate_even_without_a_sync(world: World) -> None:
    world.replace("app.py", "main", "other")
    told = gate(world, "app.py", "lib.py", sync=False)
    assert [one.verdict for one in told.files] == [Verdict.BLOCKED, Verdict.AUTOMATIC]
    assert told.files[0].state.freshness is FactFreshness.DIRTY
    assert told.files[0].reach is EditReach.NONE


def test_the_witness_names_the_job_that_will_cure_it(world: World) -> None:
    world.replace("lib.py", "return who", "return None")
    with world.database.writing() as db:
        job = jobs.enqueue(db, "python:.", FULL, head="", reason="test").job
    witness = gate(world, "lib.py").files[0].witness
    assert witness is not None
    assert witness.job is not None
    assert (witness.job.id, str(job) in witness.cure) == (job, True)


@conforms("002.FS1", "002.AX3")
def test_without_an_indexer_everything_is_blocked_and_says_what_to_do(unread: World) -> None:
    told = gate(unread, "app.py", "pyproject.toml")
    assert [(one.state.freshness, one.state.certainty) for one in told.files] == [
        (FactFreshness.UNINDEXED, Certainty.UNKNOWN)
    ] * 2
    assert told.verdict is Verdict.BLOCKED
    assert all(one.witness and "cairn semantic refresh" in one.witness.cure for one in told.files)


def test_a_file_of_no_context_says_so(still: World) -> None:
    one = gate(still, "pyproject.toml").files[0]
    assert (one.context, one.verdict) == (None, Verdict.BLOCKED)
    assert one.witness is not None
    assert "cairn semantic discover" in one.witness.cure


def test_a_file_that_is_not_there_is_not_found(still: World) -> None:
    with still.session() as session:
        reply = check_edit(session, [Asked("gone.py", "gone.py", session.root)])
        assert reply.miss is not None
        assert isinstance(reply.miss.error, NotFound)
        assert valid(gate_answer(reply))["status"] == "not_found"
        with pytest.raises(UsageError):
            check_edit(session, [Asked("app.py", "app.py", session.root)] * (MAX_EDIT_FILES + 1))
        with pytest.raises(UsageError):
            check_edit(session, [])


# --- decisions --------------------------------------------------------------------------------------------------------

TWICE = "def load():\n    return 1\n\n\ndef load():\n    return 2\n"


@conforms("002.AX3", "002.DB3")
def test_a_decision_opens_the_gate_and_is_replayed_for_identical_inputs_only(world: World) -> None:
    world.write("twice.py", TWICE)
    world.commit("two")
    world.refresh()
    told = gate(world, "twice.py")
    assert told.verdict is Verdict.NEEDS_DECISION
    (question,) = told.files[0].open
    assert [candidate.id for candidate in question.candidates] == ["twice.py:1", "twice.py:5"]
    kept = decided(world, question.signature[:12], "twice.py:5", "twice.py")
    assert kept.proof["note"] == "because"
    assert set(kept.proof["fileHashes"]) == {"twice.py"}
    again = gate(world, "twice.py")
    assert again.verdict is Verdict.AUTOMATIC
    assert again.files[0].decided[0].selected == ("twice.py:5",)
    # The same commit and other bytes: no replay, and a decision of its own that does not fail to be kept.
    world.write("twice.py", TWICE + "\n")
    world.refresh()
    assert gate(world, "twice.py").verdict is Verdict.NEEDS_DECISION
    decided(world, question.signature, ACCEPT, "twice.py")
    assert gate(world, "twice.py").files[0].decided[0].selected == (ACCEPT,)
    # The bytes of the first time again, and its decision with them.
    world.write("twice.py", TWICE)
    world.refresh()
    assert gate(world, "twice.py").files[0].decided[0].selected == ("twice.py:5",)
    # Another commit asks again.
    world.write("notes.py", "value = 2\n")
    world.commit("three")
    world.refresh()
    assert gate(world, "twice.py").verdict is Verdict.NEEDS_DECISION


def test_a_decision_must_be_about_something_and_one_of_its_choices(world: World) -> None:
    world.write("twice.py", TWICE)
    world.refresh()
    signature = gate(world, "twice.py").files[0].open[0].signature
    with world.session() as session:
        files = [Asked("twice.py", "twice.py", session.root)]
        for bad in (["lib.py:1"], []):
            with pytest.raises(UsageError, match="Choose among"):
                decide(session, signature, bad, files)
        with pytest.raises(UsageError, match="at least"):
            decide(session, signature[:3], [ACCEPT], files)
        reply = decide(session, "0" * 64, [ACCEPT], files)
        assert reply.miss is not None
        assert isinstance(reply.miss.error, NotFound)


# --- renames ----------------------------------------------------------------------------------------------------------


def test_a_rename_is_a_patch_that_git_applies_and_nothing_breaks(world: World) -> None:
    told = plan(world, "greet", "welcome")
    assert told.verdict is Verdict.AUTOMATIC
    assert [(one.path, one.places) for one in told.edits] == [("app.py", 3), ("hand.py", 1), ("lib.py", 1)]
    assert told.mentions == ("notes.py",)
    world.git("apply", "-", data=told.patch)
    changed = {path: (world.tree / path).read_text() for path in TREE}
    assert changed == TREE | {path: TREE[path].replace("greet", "welcome") for path in ("app.py", "hand.py", "lib.py")}
    # What was planned from what was known is what an indexer finds afterwards.
    world.refresh()
    assert gate(world, "app.py", "hand.py", "lib.py").verdict is Verdict.AUTOMATIC
    assert plan(world, "welcome", "greet").patch.count(b"\n+") - 3 == 4


@conforms("002.AX3")
def test_a_rename_is_blocked_while_a_file_with_the_name_is_not_clean(world: World) -> None:
    world.write("new.py", "from lib import greet\ngreet()\n")
    told = plan(world, "greet", "welcome")
    assert (told.verdict, told.patch) == (Verdict.BLOCKED, b"")
    assert [one.path for one in told.gate.files if one.verdict is Verdict.BLOCKED] == ["new.py"]
    world.refresh(["new.py"])
    assert ("new.py", 2) in {(one.path, one.places) for one in plan(world, "greet", "welcome").edits}
    world.replace("lib.py", "(who)", "(who, more)")
    blocked = plan(world, "greet", "welcome")
    assert (blocked.verdict, blocked.edits, blocked.patch) == (Verdict.BLOCKED, (), b"")


def test_a_use_that_the_indexer_does_not_know_must_be_decided(world: World) -> None:
    world.write("guess.py", "def run(value):\n    value.meet()\n")
    world.refresh()
    told = plan(world, "Host.meet", "encounter")
    assert told.verdict is Verdict.NEEDS_DECISION
    (question,) = told.open
    assert (question.source, question.path, question.line) == (AmbiguitySource.UNRESOLVED_USE, "guess.py", 2)
    renaming = Renaming(asked_of("Host.meet", str(world.tree)), "encounter")
    decided(world, question.signature, ACCEPT, renaming)
    left = plan(world, "Host.meet", "encounter")
    assert left.verdict is Verdict.AUTOMATIC
    assert [one.path for one in left.edits] == ["lib.py"]
    decided(world, question.signature, question.candidates[0].id, renaming)
    meant = plan(world, "Host.meet", "encounter")
    assert meant.verdict is Verdict.AUTOMATIC
    world.git("apply", "-", data=meant.patch)
    assert "value.encounter()" in (world.tree / "guess.py").read_text()


@pytest.mark.parametrize("use", ["print(value.meet, 1)", "value.meet = 3", "print(f'{value.meet}')", "value(meet=1)"])
def test_a_place_that_is_no_call_and_that_the_indexer_does_not_know_must_be_decided(world: World, use: str) -> None:
    world.write("guess.py", f"def run(value):\n    {use}  # meet\n")
    world.refresh()
    told = plan(world, "Host.meet", "encounter")
    assert [(one.source, one.path, one.line) for one in told.open] == [(AmbiguitySource.UNRESOLVED_USE, "guess.py", 2)]
    renaming = Renaming(asked_of("Host.meet", str(world.tree)), "encounter")
    decided(world, told.open[0].signature, told.open[0].candidates[0].id, renaming)
    world.git("apply", "-", data=plan(world, "Host.meet", "encounter").patch)
    assert f"    {use}  # meet".replace("meet", "encounter", 1) in (world.tree / "guess.py").read_text()


def test_a_file_that_was_not_parsed_is_not_called_certain_and_closes_the_gate(world: World, faults: Faults) -> None:
    world.write("large.py", "from lib import greet\n\ngreet(1)\n" + "# ...\n" * (MAX_PARSE_BYTES // 6 + 1))
    world.refresh()
    (file,) = gate(world, "large.py").files
    assert (file.state.freshness, file.state.certainty) == (FactFreshness.CLEAN, Certainty.UNKNOWN)
    assert (file.verdict, file.reach) == (Verdict.BLOCKED, EditReach.NONE)
    assert file.witness is not None
    assert "by hand" in file.witness.cure
    parsed: list[int] = []
    faults.around(edits, "places_of_name", lambda real, data, *rest: parsed.append(len(data)) or real(data, *rest))
    told = plan(world, "greet", "welcome")
    assert (told.verdict, told.patch) == (Verdict.BLOCKED, b"")
    assert 0 < max(parsed) < MAX_PARSE_BYTES, "what may have killed the one who tried is not tried again here"


def test_a_text_that_may_name_what_is_renamed_must_be_decided_and_prose_stays(world: World) -> None:
    world.write("texts.py", '"""About greet."""\n\nREGISTRY = {"greet": 1}\nsaid = "please greet them"\n')
    world.write("hooks.yaml", "entry: lib:greet\n")
    world.write("notes.md", "`greet` is a function.\n")
    world.refresh()
    told = plan(world, "greet", "welcome")
    assert [(one.source, one.path, one.line) for one in told.open] == [
        (AmbiguitySource.NAME_IN_TEXT, "hooks.yaml", 1),
        (AmbiguitySource.NAME_IN_TEXT, "texts.py", 3),
    ]


def test_what_is_ambiguous_about_other_names_does_not_stop_a_rename(world: World) -> None:
    world.write(
        "lib.py", TREE["lib.py"] + TWICE + "def look(one, key):\n    return getattr(one, key), getattr(one, 'x')\n"
    )
    world.refresh()
    assert gate(world, "lib.py").verdict is Verdict.NEEDS_DECISION
    assert plan(world, "greet", "welcome").verdict is Verdict.AUTOMATIC
    assert plan(world, "Host.meet", "encounter").verdict is Verdict.AUTOMATIC
    assert plan(world, "greet", "load").verdict is Verdict.NEEDS_DECISION


def test_a_use_through_an_unknown_value_makes_its_file_ambiguous_if_a_member_has_the_name(world: World) -> None:
    world.write("guess.py", "def run(value):\n    value.meet()\n    value.strange()\n")
    world.refresh()
    (file,) = gate(world, "guess.py").files
    assert [(one.source, one.name, one.line) for one in file.open] == [(AmbiguitySource.UNRESOLVED_USE, "meet", 2)]
    assert [one.id for one in file.open[0].candidates] == ["lib.py:6"]


def test_an_override_is_renamed_with_what_it_overrides(world: World) -> None:
    world.write("more.py", "from lib import Host\n\nclass Inn(Host):\n    def meet(self):\n        self.meet()\n")
    world.refresh()
    told = plan(world, "Inn.meet", "encounter")
    assert [(one.path, one.places) for one in told.edits] == [("lib.py", 2), ("more.py", 2)]


def test_a_name_that_is_there_already_must_be_decided(still: World) -> None:
    told = plan(still, "greet", "main")
    assert told.verdict is Verdict.NEEDS_DECISION
    assert {one.source for one in told.open} == {AmbiguitySource.NAME_TAKEN}
    assert {one.path for one in told.open} == {"app.py"}


@pytest.mark.parametrize(
    ("symbol", "new"), [("greet", "not a name"), ("greet", "class"), ("greet", "greet"), ("greet", "a-b")]
)
def test_a_new_name_that_cannot_be_one_is_refused(still: World, symbol: str, new: str) -> None:
    with pytest.raises(UsageError):
        plan(still, symbol, new)


def test_what_has_changed_on_disk_gets_no_patch(world: World) -> None:
    world.replace("app.py", "main", "other")
    told = plan(world, "greet", "welcome", sync=False)
    assert (told.verdict, told.patch) == (Verdict.BLOCKED, b"")


def test_a_rename_without_an_indexer_is_blocked(unread: World) -> None:
    told = plan(unread, "greet", "welcome")
    assert (told.verdict, told.patch) == (Verdict.BLOCKED, b"")
