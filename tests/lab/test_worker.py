"""One thread computes, and the newest of the requests with one key wins."""

import threading
from collections.abc import Callable, Iterator

import pytest

from heed.lab.worker import BusyError, StaleError, Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


class Gate:
    """Something to compute that waits until it may go on."""

    def __init__(self, worker: Worker, key: str = "gate") -> None:
        self.entered, self.open = threading.Event(), threading.Event()
        self.was_stale = False
        self.future = worker.ask(key, self._compute)
        assert self.entered.wait(10)

    def _compute(self, is_stale: Callable[[], bool]) -> str:
        self.entered.set()
        assert self.open.wait(10)
        self.was_stale = is_stale()
        return "done"


def test_the_newest_of_those_that_wait_wins(worker: Worker) -> None:
    gate, ran = Gate(worker), []
    futures = [worker.ask("tab", lambda _, i=i: ran.append(i) or i) for i in range(5)]  # type: ignore[misc]
    other = worker.ask("other tab", lambda _: "other")
    gate.open.set()
    assert futures[-1].result(10) == 4 and other.result(10) == "other" and ran == [4]
    for future in futures[:-1]:
        with pytest.raises(StaleError):
            future.result(10)


def test_what_is_running_hears_that_it_is_stale(worker: Worker) -> None:
    gate = Gate(worker, "tab")
    newer = worker.ask("tab", lambda is_stale: is_stale())
    gate.open.set()
    assert newer.result(10) is False
    assert gate.was_stale


def test_an_error_goes_to_whoever_asked_and_the_next_one_is_computed(worker: Worker) -> None:
    with pytest.raises(ZeroDivisionError):
        worker.ask("a", lambda _: 1 / 0).result(10)
    assert worker.ask("a", lambda _: 7).result(10) == 7


def test_an_error_of_something_stale_is_not_reported(worker: Worker) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def fails(is_stale: Callable[[], bool]) -> None:
        entered.set()
        go_on.wait(10)
        raise ValueError("the search was cancelled")

    old = worker.ask("tab", fails)
    assert entered.wait(10)
    new = worker.ask("tab", lambda _: "new")
    go_on.set()
    assert new.result(10) == "new"
    with pytest.raises(StaleError):
        old.result(10)


def test_what_can_wait_comes_after_all_requests_and_once(worker: Worker) -> None:
    gate, ran = Gate(worker), []
    for _ in range(3):
        worker.later("frame", lambda _: ran.append("later"))
    worker.ask("tab", lambda _: ran.append("asked"))
    gate.open.set()
    done = threading.Event()
    worker.later("last", lambda _: done.set())
    assert done.wait(10) and ran == ["asked", "later"]


def test_a_request_that_no_one_waits_for_is_skipped(worker: Worker) -> None:
    gate, ran = Gate(worker), []
    future = worker.ask("tab", lambda _: ran.append("cancelled"))
    assert future.cancel()
    gate.open.set()
    assert worker.ask("other", lambda _: "next").result(10) == "next" and ran == []


def test_too_many_are_refused(worker: Worker) -> None:
    gate = Gate(worker)
    for i in range(64):
        worker.ask(f"tab {i}", lambda _: None)
    with pytest.raises(BusyError):
        worker.ask("one more", lambda _: None)
    worker.ask("tab 3", lambda _: None)  # takes the place of an older one
    gate.open.set()


def test_closing_drops_what_waits_and_ends_the_thread() -> None:
    worker = Worker()
    gate = Gate(worker)
    waiting = worker.ask("tab", lambda _: None)
    closing = threading.Thread(target=worker.close)
    closing.start()
    with pytest.raises(StaleError):
        waiting.result(10)
    gate.open.set()
    closing.join(10)
    assert gate.was_stale and not closing.is_alive()
    with pytest.raises(BusyError):
        worker.ask("tab", lambda _: None)
