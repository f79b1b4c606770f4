"""Tests that carry a row really prove it: the committed mutants still apply, and in the long run each is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance_report import load as load_table
from tests.lengths import at_intervals
from tests.mutants.change import NoSuchChange, changed
from tests.mutants.run import Mutant, NoSuchTest, load, node_ids, problem, run

MUTANTS = load()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.title)
def test_a_mutant_still_applies(mutant: Mutant) -> None:
    assert problem(mutant) is None


def test_a_mutant_that_names_a_row_names_a_claimed_one() -> None:
    assert {mutant.row for mutant in MUTANTS if mutant.row} <= load_table().claimed


def test_a_mutant_that_no_longer_applies_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "limits.py").write_text("A = 1\nB = [1, 1]\n")
    tests = ("test_limits.py",)
    assert problem(Mutant("A", "A = 1", "A = 2", tests), tmp_path) is None
    assert problem(Mutant("A", "C = 1", "C = 2", tests), tmp_path) == "`A` (limits.py) does not say `C = 1`"
    assert problem(Mutant("B", "1", "2", tests), tmp_path) == "2 places in `B` say `1`: limits.py:2, limits.py:2"
    assert problem(Mutant("C", "1", "2", tests), tmp_path) == "no module has a function, class or constant `C`"
    assert problem(Mutant("A", "A = 1", "A  =  1  # one", tests), tmp_path) is not None
    assert problem(Mutant("A", "A = 1", "A = 2", ()), tmp_path) == "it names no test"
    gone = Mutant("A", "A = 1", "A = 2", ("test_gone.py",))
    assert problem(gone, tmp_path) == "no test is called test_gone.py"


_LEASE = '''
class Lease:
    @property
    def age(self) -> float:
        # Why it is so.
        return (
            self.now - self.then
        )

    def steal(self, name="ü"):
        """Take it."""
        if self.age > 3 and not (self.held
                or self.kept):  # Both count.
            self.fs.sync()
            self.run("UPDATE leases SET holder = ?"
                     " WHERE id = ?")
        elif name: return f"{name} = {self.age}"
        return 1
'''


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved" / "lease.py").write_text(_LEASE)
    (tmp_path / "other.py").write_text("class Lease:\n    def steal(self):\n        return 3\n")
    return tmp_path


_EITHER = "(self.held\n                or self.kept)"
_SQL = '"UPDATE leases SET holder = ?"\n                     " WHERE id = ?"'
_AGE = "return (\n            self.now - self.then\n        )"


@pytest.mark.parametrize(
    ("where", "statement", "becomes", "before", "after"),
    [
        ("Lease.steal", "return 1", "return 2", "return 1", "return 2"),
        ("Lease", "return 1", "return 2", "return 1", "return 2"),
        ("Lease.steal", "return 1", "", "return 1", "pass"),
        ("Lease.steal", "self.fs.sync()", "", "self.fs.sync()", "pass"),
        ("Lease.steal", "self.age > 3", "False", "self.age > 3", "(False)"),
        ("Lease.steal", "self.held or self.kept", "self.held", _EITHER, "((self.held))"),
        ("Lease.steal", "f'{name} = {self.age}'", "name", 'f"{name} = {self.age}"', "(name)"),
        ("Lease.steal", "'ü'", "'u'", '"ü"', "('u')"),
        ("Lease.steal", "'? WHERE'", "'? AND'", _SQL, "('UPDATE leases SET holder = ? AND id = ?')"),
        ("Lease.age", "return self.now - self.then", "a = 1\nreturn a", _AGE, "a = 1\n        return a"),
    ],
)
def test_a_statement_is_found_in_any_form_and_only_its_text_changes(
    moved: Path, where: str, statement: str, becomes: str, before: str, after: str
) -> None:
    assert _LEASE.count(before) == 1
    assert changed(moved, where, statement, becomes) == ("moved/lease.py", _LEASE.replace(before, after))


@pytest.mark.parametrize(
    ("statement", "becomes", "why"),
    [
        ("return 4", "return 5", r"\(moved/lease.py, other.py\) does not say `return 4`"),
        ("name = 'ü'", "name = 'u'", "does not say"),
        ("'? WHERE'", "x", "must be a string"),
        ("self.age > 3", "x = 1", "must be one expression"),
        ("'EA'", "'IA'", "does not say"),
        ("'?'", "'!'", "says it 2 times"),
        ("if", "x", "`statement` is not Python"),
        ("return 1", "if", "`becomes` is not Python"),
        ("self.age", "*self.age", "would not be Python with it"),
        ("if name: return f'{name} = {self.age}'", "x = 1", "is an `elif` there"),
        ("", "1", "`statement` is empty"),
        ("return 1", "return 1  # one", "changes nothing"),
    ],
)
def test_what_is_wrong_with_a_change_is_said(moved: Path, statement: str, becomes: str, why: str) -> None:
    with pytest.raises(NoSuchChange, match=why):
        changed(moved, "Lease.steal", statement, becomes)


def test_a_test_is_found_by_its_name_wherever_it_lies() -> None:
    name = "test_a_test_is_found_by_its_name_wherever_it_lies"
    assert node_ids([name, f"test_mutants.py::{name}"]) == [f"tests/test_mutants.py::{name}"] * 2
    assert node_ids(["test_mutants.py"]) == ["tests/test_mutants.py"]
    for wrong in ("test_nobody_knows", "test_limits.py::" + name, "mutants.py"):
        with pytest.raises(NoSuchTest, match=f"no test is called {wrong}"):
            node_ids([wrong])
    with pytest.raises(NoSuchTest, match=r"2 tests are called test_damage_is_survived: tests/.*, tests/"):
        node_ids(["test_damage_is_survived"])


@pytest.mark.long
def test_every_mutant_is_killed_by_its_tests() -> None:
    assert {mutant.title: wrong for mutant, wrong in run(at_intervals(MUTANTS)) if wrong is not None} == {}


@pytest.mark.long
def test_a_change_that_no_test_sees_is_called_a_survivor() -> None:
    tests = ("test_every_limit_is_a_positive_number",)
    harmless = Mutant("MAX_LINK_HOPS", "MAX_LINK_HOPS = 32", "MAX_LINK_HOPS = 33", tests)
    assert [wrong for _, wrong in run([harmless])] == ["its tests pass"]


def test_one_claimed_row_in_five_has_a_mutant() -> None:
    assert len({mutant.row for mutant in MUTANTS if mutant.row}) * 5 >= len(load_table().claimed)
