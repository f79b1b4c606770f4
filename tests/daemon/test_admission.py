"""Who is served next: bounds, turns, deadlines and cancelling, without a socket."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cairn.daemon.admission import Admission, Ticket
from cairn.errors import CairnError, Cancelled, DaemonBusy, DeadlinePassed, QueryTimeout
from tests.support.clock import ManualClock
from tests.support.waiting import PATIENCE, until

LONG = 1_000.0


class Room:
    """Requests that are worked on until they are let go."""

    def __init__(self, **bounds: int) -> None:
        self.clock = ManualClock()
        self.admission = Admission(self.clock, **bounds)
        self.go = threading.Event()
        self.done: list[str] = []
        self.given_up: dict[str, str] = {}

    def submit(self, client: str, name: str, seconds: float = LONG) -> Ticket:
        def work(ticket: Ticket) -> None:
            self.go.wait(PATIENCE)
            if ticket.settle():
                self.done.append(name)

        def give_up(why: CairnError) -> None:
            self.given_up[name] = why.code

        return self.admission.submit(client, work, give_up, seconds)

    def busy(self, running: int) -> None:
        until(lambda: self.admission.load().running == running)


@pytest.fixture
def room() -> Iterator[Callable[..., Room]]:
    made: list[Room] = []

    def make(**bounds: Any) -> Room:
        made.append(Room(**bounds))
        return made[-1]

    yield make
    for one in made:
        one.go.set()
        until(lambda one=one: one.admission.load().running == one.admission.load().queued == 0)  # type: ignore[misc]
        assert one.admission.close(0.0)


def test_only_so_many_are_worked_on_and_only_so_many_wait(room: Callable[..., Room]) -> None:
    found = room(at_once=2, queue=3, each=4)
    for number in range(5):
        found.submit(f"client {number}", str(number))
        found.busy(min(number + 1, 2))
    with pytest.raises(DaemonBusy, match="3 wait already") as refused:
        found.submit("another", "6")
    assert refused.value.fields["retry_after_ms"]
    load = found.admission.load()
    assert (load.running, load.queued, load.refused) == (2, 3, 1)
    found.go.set()
    until(lambda: len(found.done) == 5)


def test_one_client_waits_for_its_own_requests_and_the_others_still_come_in(room: Callable[..., Room]) -> None:
    found = room(at_once=8, queue=32, each=4)
    for number in range(9):
        found.submit("greedy", str(number))
    found.busy(4)
    found.submit("modest", "mine")
    found.busy(5)
    load = found.admission.load()
    assert (load.queued, load.refused) == (5, 0)
    found.go.set()
    until(lambda: len(found.done) == 10)
    assert found.given_up == {}


def test_only_a_client_whose_own_line_is_full_is_told_to_come_again(room: Callable[..., Room]) -> None:
    found = room(at_once=2, queue=32, each=1, line=3)
    for number in range(4):
        found.submit("greedy", str(number))
        found.busy(1)
    with pytest.raises(DaemonBusy, match="3 of yours wait already") as refused:
        found.submit("greedy", "5")
    assert refused.value.fields["retry_after_ms"]
    found.submit("modest", "mine")
    found.go.set()
    until(lambda: len(found.done) == 5)


def test_clients_take_turns(room: Callable[..., Room]) -> None:
    found = room(at_once=1, queue=32, each=8)
    found.submit("x", "first")
    found.busy(1)
    for name in ("a1", "a2", "a3"):
        found.submit("a", name)
    for name in ("b1", "b2"):
        found.submit("b", name)
    found.submit("c", "c1")
    found.go.set()
    until(lambda: len(found.done) == 7)
    assert found.done == ["first", "a1", "b1", "c1", "a2", "b2", "a3"]


def test_one_that_waits_too_long_is_given_up_and_makes_room(room: Callable[..., Room]) -> None:
    found = room(at_once=1, queue=1, each=4)
    found.submit("a", "at work", seconds=30.0)
    found.busy(1)
    found.submit("b", "waiting", seconds=10.0)
    assert found.admission.expire() == 10.0
    found.clock.advance(10.0)
    assert found.admission.expire() == 20.0
    assert found.given_up == {"waiting": DeadlinePassed.code}
    assert found.admission.load().queued == 0
    found.clock.advance(20.0)
    # Who works on it goes on, but nobody is told of it any more.
    assert found.admission.expire() is None
    assert found.given_up["at work"] == DeadlinePassed.code
    found.go.set()
    found.busy(0)
    assert found.done == []


def test_a_cancelled_one_is_never_begun_and_one_at_work_learns_of_it(room: Callable[..., Room]) -> None:
    found = room(at_once=1, queue=4, each=4)
    working = found.submit("a", "at work")
    found.busy(1)
    waiting = found.submit("a", "waiting")
    for ticket in (working, waiting):
        found.admission.cancel(ticket)
        assert ticket.cancelled()
        found.admission.cancel(ticket)
    assert found.given_up == {"at work": Cancelled.code, "waiting": Cancelled.code}
    found.go.set()
    found.busy(0)
    assert found.done == []
    assert found.admission.load().queued == 0


def test_while_it_closes_what_is_there_is_finished_and_nothing_is_let_in(room: Callable[..., Room]) -> None:
    found = room(at_once=1, queue=4, each=2, line=1)
    found.submit("a", "at work")
    found.busy(1)
    found.submit("a", "waiting")
    closed: list[bool] = []
    closing = threading.Thread(target=lambda: closed.append(found.admission.close(LONG)))
    closing.start()
    until(lambda: _is_refused(found))
    assert closed == []
    found.go.set()
    closing.join(PATIENCE)
    assert closed == [True]
    assert found.done == ["at work", "waiting"]


def test_it_does_not_wait_for_one_that_never_ends(room: Callable[..., Room]) -> None:
    found = room(at_once=1)
    found.submit("a", "stuck")
    found.busy(1)
    assert found.admission.close(0.0) is False


def test_work_that_raises_costs_no_worker(room: Callable[..., Room]) -> None:
    found = room(at_once=1)
    found.go.set()

    for problem in (ValueError("secret"), QueryTimeout(seconds=1, done=1, files=2)):
        told: list[CairnError] = []

        def broken(_: Ticket, problem: Exception = problem) -> None:
            raise problem

        found.admission.submit("a", broken, told.append, LONG)
        until(lambda told=told: told)  # type: ignore[misc]
        # A sentence of ours is told; anything else could hold anything.
        assert [one.code for one in told] == [problem.code if isinstance(problem, CairnError) else "internal"]
        assert "secret" not in str(told[0])
    found.submit("a", "after it")
    until(lambda: found.done == ["after it"])


def _is_refused(found: Room) -> bool:
    # Its line is full, so it is refused in any case; the question is why.
    with pytest.raises(DaemonBusy) as refused:
        found.submit("a", "late")
    return "about to leave" in str(refused.value)


def test_what_would_end_a_thread_ends_its_request_only(room: Callable[..., Room]) -> None:
    """A command that parses its arguments may ask the process to exit."""
    one = room(at_once=1)

    def leaves(_: Ticket) -> None:
        raise SystemExit(2)

    one.admission.submit("mine", leaves, lambda why: one.given_up.update(first=why.code), LONG)
    until(lambda: "first" in one.given_up)
    one.go.set()
    one.submit("mine", "second")
    until(lambda: one.done == ["second"])
