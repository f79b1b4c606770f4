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
