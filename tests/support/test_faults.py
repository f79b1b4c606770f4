"""Faults happen when they are asked for, and are gone after the test."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.faults import Faults


class Door:
    """Somebody with a method."""

    def open(self, name: str, *, wide: bool = False) -> str:
        return f"{name} {wide}"


def test_a_fault_ends_with_its_block(tmp_path: Path) -> None:
    real = os.listdir
    with Faults.meanwhile() as faults:
        faults.fail(os, "listdir", PermissionError(errno.EACCES, "no"))
        with pytest.raises(PermissionError):
            os.listdir(tmp_path)
    assert os.listdir is real


def test_faults_can_be_ended_before_the_test_ends(tmp_path: Path, faults: Faults) -> None:
    faults.fail(os, "listdir", PermissionError(errno.EACCES, "no"))
    faults.end()
    assert os.listdir(tmp_path) == []


def test_only_the_call_with_its_number_fails(tmp_path: Path, faults: Faults) -> None:
    faults.fail(os, "listdir", OSError("second"), at=2)
    assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="second"):
        os.listdir(tmp_path)
    assert os.listdir(tmp_path) == []


def test_whoever_stands_around_a_call_gets_the_real_one_and_its_arguments(faults: Faults) -> None:
    faults.around(Door, "open", lambda real, self, name, **how: real(self, name.upper(), **how))
    assert Door().open("a", wide=True) == "A True"


def test_a_call_can_have_one_answer_whatever_it_is_given(faults: Faults) -> None:
    faults.answer(Door, "open", "locked")
    assert Door().open("a", wide=True) == "locked"


def test_calls_are_noted_and_answered(faults: Faults) -> None:
    door = Door()
    noted = faults.note(door, "open")
    assert door.open("a") == "a False"
    assert noted == [("a",)]


def test_a_limit_must_be_a_number_that_is_there() -> None:
    module = ModuleType("room")
    module.__dict__.update(MOST=10, NAME="x", OPEN=True)
    with Faults.meanwhile() as faults:
        faults.limit(module, MOST=2)
        assert module.MOST == 2
        for name in ("NAME", "OPEN"):
            with pytest.raises(TypeError, match=f"room.{name} is no number"):
                faults.limit(module, **{name: 1})
        with pytest.raises(AttributeError):
            faults.limit(module, LEAST=1)
    assert module.MOST == 10
