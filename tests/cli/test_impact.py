"""`cairn impact` as people and scripts meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.answer.test_envelope import VALIDATORS
from tests.support.commands import Person


@pytest.fixture
def me(tmp_path: Path) -> Person:
    me = Person(tmp_path)
    (me.tree / "src" / "app.py").write_text("from lease import Lease\n\n\ndef go():\n    return Lease().steal()\n")
    (me.tree / "tests").mkdir()
    (me.tree / "tests" / "test_app.py").write_text("from app import go\n\n\ndef test_go():\n    go()\n")
    me.commit()
    return me


def test_what_a_change_reaches_is_printed_and_given_in_json(me: Person) -> None:
    shown = me.cairn("impact", "Lease.steal")
    assert (shown.status, shown.stdout.splitlines()[0]) == (0, "src/lease.py:2  Lease.steal (method)  public")
    assert "go  return Lease().steal()" in shown.stdout
    assert "tests/test_app.py  (calls lead to it)" in shown.stdout
    (me.tree / "src" / "app.py").write_text("from lease import Lease\n\n\ndef go():\n    return [Lease().steal()]\n")
    told = json.loads(me.cairn("impact", "--diff", "--json").stdout)
    VALIDATORS[told["schema"]].validate(told)
    assert [(one["symbol"], one["change"]) for one in told["changed"]] == [("go", "body")]
    assert [one["path"] for one in told["results"]] == ["tests/test_app.py"]
    assert told["revision"] == me.head()
    nowhere = me.cairn("impact", "--diff", "--output=x")
    assert nowhere.status in (2, 15)
    assert not (me.tree / "x").exists()


def test_what_still_uses_a_name_that_a_change_took_away_comes_first(me: Person) -> None:
    lease = me.tree / "src" / "lease.py"
    (me.tree / "src" / "far.py").write_text("def far(one):\n    # steal\n    return one.steal()\n")
    (me.tree / "src" / "held.py").write_text("from lease import Lease\n\nHOW = Lease.steal\n")
    me.commit()
    lease.write_text(lease.read_text().replace("def steal", "def take"))
    told = json.loads(me.cairn("impact", "--diff", "--json").stdout)
    VALIDATORS[told["schema"]].validate(told)
    assert [(one["symbol"], one["change"]) for one in told["changed"]] == [("Lease.take", "renamed")]
    left = {(one["path"], one["line"]): one["tier"] for one in told["callers"]}
    assert left[("src/app.py", 5)] == left[("src/held.py", 3)] == "likely"
    assert ("src/far.py", 3) not in left
    shown = me.cairn("impact", "--diff").stdout
    assert "return Lease().steal()" in shown
    assert "HOW = Lease.steal" in shown
    lease.write_text("")
    told = json.loads(me.cairn("impact", "--diff", "--json").stdout)
    assert ("src/app.py", 1) in {(one["path"], one["line"]) for one in told["callers"]}
