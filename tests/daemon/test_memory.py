"""Memory of our own: measured, shed in time, and given back."""

from __future__ import annotations

import os
import re

import pytest
import re2

from cairn.core import tokens
from cairn.daemon import memory
from cairn.daemon.memory import Ceiling, Pressure, give_back, open_handles, own_memory

MIB = 1 << 20


def test_what_is_held_is_seen_and_what_is_let_go_is_given_back() -> None:
    give_back()
    before = own_memory()
    held = [bytes(1_000) for _ in range(60_000)]
    during = own_memory()
    assert during > before + 40 * MIB
    held.clear()
    give_back()
    assert own_memory() < during - 30 * MIB


def test_what_is_remembered_of_words_does_not_pile_up_for_as_long_as_a_daemon_lives() -> None:
    caches = (tokens._remembered, tokens._inner, tokens._part)
    tokens.terms(" ".join(f"one{number}_two{number}" for number in range(100)))
    assert all(cache.cache_info().currsize >= 100 for cache in caches)
    give_back()
    assert [cache.cache_info().currsize for cache in caches] == [0, 0, 0]


def test_patterns_that_were_looked_for_are_forgotten_with_all_that_they_have_learned() -> None:
    for number in range(10):
        re2.compile(f"looked for {number}")
        re.compile(f"looked for {number}")
    give_back()
    assert re2._Regexp._make.cache_info().currsize == 0
    assert not any("looked for" in str(key) for key in re._cache)


def test_open_descriptors_are_counted() -> None:
    before = open_handles()
    reading, writing = os.pipe()
    assert open_handles() == before + 2
    os.close(reading)
    os.close(writing)


def test_where_the_system_does_not_say_nothing_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("builtins.open", refused)
    monkeypatch.setattr(memory.os, "listdir", refused)
    assert (own_memory(), open_handles()) == (0, 0)


def test_what_was_freed_is_given_back_once_more_is_held() -> None:
    held, tidied = [40], list[int]()

    def tidy() -> None:
        tidied.append(held[0])
        held[0] = 40

    ceiling = Ceiling(1_000, lambda: None, held=lambda: held[0], tidy=tidy)

    def look(*figures: int) -> list[int]:
        tidied.clear()
        for held[0] in figures:
            assert ceiling.look() is Pressure.NONE
        return list(tidied)

    assert look(40, 45, 50, 51, 44, 50, 60) == [40, 51, 60]
    # After a while a little is enough, and while nothing happens nothing is done.
    assert look(40, 40, 40, 40, 40, 40, 40, 41) == [41]
    assert look(40, 40, 40, 40, 40, 40, 40, 40) == []


def test_caches_are_shed_before_the_ceiling_and_above_it_three_looks_are_the_end() -> None:
    held, shed_to = [0], [0]

    def shed() -> None:
        held[0] = min(held[0], shed_to[0])

    ceiling = Ceiling(100, shed, held=lambda: held[0])

    def look(now: int, afterwards: int) -> tuple[Pressure, bool]:
        held[0], shed_to[0] = now, afterwards
        return ceiling.look(), ceiling.is_full

    assert look(79, 0) == (Pressure.NONE, False)
    assert ceiling.sheds == 0
    assert look(80, 10) == (Pressure.SHED, False)
    assert look(200, 99) == (Pressure.SHED, False)
    assert look(200, 100) == (Pressure.FULL, True)
    assert look(10, 10) == (Pressure.NONE, False)
    assert [look(200, 150)[0] for _ in range(3)] == [Pressure.FULL, Pressure.FULL, Pressure.LEAVE]
    assert ceiling.sheds == 6
