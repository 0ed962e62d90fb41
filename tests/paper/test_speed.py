"""The speed of this machine, also while other programs use its cores."""

import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from heed.config import Config, DataConfig
from heed.paper import speed, table3
from heed.paper.report import lines
from heed.paper.speed import Speed, Timed, longest_wait, speed_of, waits
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_config
from tests.processes import Started


def test_what_a_thread_waited_for_a_core_is_not_its_own_time() -> None:
    """By hand: the fastest update takes 1.5 seconds without its wait; 10 seconds pass for 6 of work."""
    found = speed_of([Timed(3.0, 0.5), Timed(5.0, 3.0), Timed(2.0, 0.5)], operations=4.0)
    assert found == Speed(1.5 / 4.0, 10.0 / 6.0)


def test_threads_wait_at_the_same_time() -> None:
    assert longest_wait({"1": 1.0, "2": 5.0}, {"1": 4.0, "2": 6.0, "3": 2.0}) == 3.0
    assert longest_wait({}, {}) == 0.0


def test_a_wait_while_the_waits_are_read_makes_no_update_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by hand: an update takes a second, and after each look at the waits, the core is lost for two."""
    now, waited = 0.0, 0.0

    def read() -> dict[str, float]:
        nonlocal now, waited
        found = {"1": waited}
        now, waited = now + 2, waited + 2
        return found

    def update(*_: object) -> None:
        nonlocal now
        now += 1

    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(speed, "waits", read)
    monkeypatch.setattr(speed, "train_step", update)
    found = speed.measured_speed(Config(model=small_config()), Vocabulary(VOCABULARY))
    assert found.seconds_per_operation > 0 and found.slowdown >= 1


@pytest.mark.skipif(not waits() or not hasattr(os, "sched_setaffinity"), reason="needs Linux's counts of waiting")
def test_the_wait_on_a_shared_core_is_counted() -> None:
    """Two programs on one core: the time of a loop is what the clock of the thread says, and its wait.

    The host of a virtual machine may take some of it, too.
    """
    found: list[tuple[float, float, float]] = []
    core = min(os.sched_getaffinity(0))

    def loop() -> None:
        os.sched_setaffinity(threading.get_native_id(), {core})
        before, began, used = waits(), time.perf_counter(), time.thread_time()
        while time.thread_time() - used < 0.3:
            pass
        used = time.thread_time() - used
        seconds = time.perf_counter() - began
        name = str(threading.get_native_id())
        found.append((seconds, used, waits()[name] - before[name]))

    other = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint('ready', flush=True)\nwhile True: pass"
    with Started([sys.executable, "-c", other], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        thread = threading.Thread(target=loop)
        thread.start()
        thread.join()
        process.kill()
    ((seconds, used, waited),) = found
    assert waited > 0.1 * seconds
    assert seconds - waited - used == pytest.approx(0, abs=0.5 * waited)


def test_a_plan_on_a_busy_machine_says_so() -> None:
    rows = table3.plans(["base"], "tiny", 1, DataConfig())
    busy, free = (table3.plan_of(rows, "tiny", Speed(1e-9, slowdown)) for slowdown in (2.5, 1.1))
    assert busy.values == free.values
    assert "about 2.5 times as long" in " ".join(lines(busy)) and "times as long" not in " ".join(lines(free))
