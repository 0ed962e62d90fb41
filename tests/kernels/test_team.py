"""The team of threads that shares the products of a lone sentence."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heed.kernels.library import SOURCES, library

pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")

Part = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long)


def functions() -> ctypes.CDLL:
    """Return the library with the types of the functions that only C calls."""
    own = ctypes.CDLL(library()._name)
    own.heed_team_take.argtypes, own.heed_team_take.restype = [ctypes.c_long], ctypes.c_void_p
    own.heed_team_share.argtypes = [ctypes.c_void_p, ctypes.c_long, Part, ctypes.c_void_p]
    own.heed_team_return.argtypes = []
    return own


@contextmanager
def taken(n_threads: int) -> Iterator[int | None]:
    team = functions().heed_team_take(n_threads)
    try:
        yield team
    finally:
        functions().heed_team_return()


def computed(team: int | None, n: int) -> list[tuple[int, int]]:
    """Share n parts that take 5 ms each; return the thread and the number of each, in order."""
    found: list[tuple[int, int]] = []

    def part(_, i):
        time.sleep(0.005)
        found.append((threading.get_native_id(), i))

    functions().heed_team_share(team, n, Part(part), None)
    return found


@pytest.mark.parametrize("n_threads", [2, 3])
def test_all_threads_compute_and_each_part_once(n_threads):
    with taken(n_threads) as team:
        for n in (1, 2, 3, 30, 7):
            found = computed(team, n)
            assert sorted(i for _, i in found) == list(range(n))
        assert len({thread for thread, _ in computed(team, 30)}) == n_threads


def test_fewer_threads_than_there_are_workers():
    with taken(3) as team:
        computed(team, 9)
    with taken(2) as team:
        assert len({thread for thread, _ in computed(team, 30)}) == 2


def test_one_thread_computes_alone():
    with taken(1) as team:
        assert team is None
        assert computed(team, 4) == [(threading.get_native_id(), i) for i in range(4)]


def test_another_thread_computes_alone_meanwhile():
    found = []

    def other():
        with taken(2) as team:
            found.append(team)

    for _ in range(2):
        with taken(2) as team:
            assert team is not None
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
    assert found == [None, None]
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found[2] is not None


def run(script: str) -> str:
    """Run a script in a process of its own, with what is above."""
    code = f"from tests.kernels.test_team import *\n{script}"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_child_of_fork_has_a_team_of_its_own():
    """Even if, at the fork, another thread has the parent's."""
    script = """
holds, may_end = threading.Event(), threading.Event()
def hold():
    with taken(3) as team:
        computed(team, 9)
        holds.set()
        may_end.wait()
thread = threading.Thread(target=hold)
thread.start()
holds.wait()
child = os.fork()
if child == 0:
    with taken(3) as team:
        found = computed(team, 30)
    os._exit(0 if sorted(i for _, i in found) == list(range(30)) and len({t for t, _ in found}) == 3 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
may_end.set()
thread.join()
with taken(3) as team:
    print(len({t for t, _ in computed(team, 30)}))
"""
    assert run(script).split() == ["0", "3"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_computes_no_part_of_a_job_that_was_under_way():
    script = """
parent, stale, begun, may_end = os.getpid(), [], threading.Event(), threading.Event()
def part(_, i):
    if os.getpid() != parent:
        stale.append(i)
    elif i == 0:
        begun.set()
        may_end.wait()
    else:
        time.sleep(0.05)
part = Part(part)
def hold():
    with taken(3) as team:
        functions().heed_team_share(team, 300, part, None)
thread = threading.Thread(target=hold)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    with taken(3) as team:
        time.sleep(0.1)  # for workers to find something to do
        found = [sorted(i for _, i in computed(team, n)) for n in (30, 7, 30)]
    os._exit(0 if found == [list(range(n)) for n in (30, 7, 30)] and not stale else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
may_end.set()
thread.join()
"""
    assert run(script).split() == ["0"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no size of the process")
def test_threads_that_the_system_refuses_are_asked_for_once():
    """Then not again before a fork, even if it would allow them."""
    script = """
import resource
def has_team():
    with taken(3) as team:
        return team is not None
before = resource.getrlimit(resource.RLIMIT_AS)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 2**20, before[1]))  # less than a thread's stack
print(has_team())
resource.setrlimit(resource.RLIMIT_AS, before)
print(has_team())
child = os.fork()
if child == 0:
    os._exit(0 if has_team() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(script).split() == ["False", "False", "0"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_threads_start_when_they_are_needed():
    script = """
def count():
    return len(os.listdir("/proc/self/task"))
before = count()
with taken(1) as team:
    computed(team, 9)
print(count() - before)
with taken(3) as team:
    print(count() - before)
with taken(3) as team:
    print(count() - before)
"""
    assert run(script).split() == ["0", "2", "2"]


def test_idle_threads_sleep():
    script = """
with taken(3) as team:
    computed(team, 9)
time.sleep(0.1)
before = time.process_time()
time.sleep(1)
print(time.process_time() - before)
"""
    assert float(run(script)) < 0.02


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_a_thread_without_a_share_sleeps_and_is_not_woken():
    script = """
def tasks():
    return set(map(int, os.listdir("/proc/self/task")))
def share_nothing(team):
    own.heed_team_share(team, 2, nothing, None)
own, before = functions(), tasks()
nothing = ctypes.cast(ctypes.CDLL(None).getpid, Part)  # does not take Python's lock
with taken(3) as team:
    computed(team, 9)
(_, third), ticks = sorted(tasks() - before), os.sysconf("SC_CLK_TCK")
def seconds():
    stat = open(f"/proc/self/task/{third}/stat").read().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / ticks
def switches():
    status = open(f"/proc/self/task/{third}/status").read()
    return int(status.partition("nonvoluntary")[0].split()[-1])
with taken(2) as team:
    share_nothing(team)
    time.sleep(0.05)
    used, end = seconds(), time.monotonic() + 1
    while time.monotonic() < end:
        share_nothing(team)
    print(seconds() - used)
    slept = switches()
    for _ in range(100):
        share_nothing(team)
        time.sleep(0.001)
    print(switches() - slept)
with taken(3) as team:
    print(len({thread for thread, _ in computed(team, 30)}))
"""
    used, slept, n_threads = map(float, run(script).split())
    assert used < 0.03 and slept < 5 and n_threads == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_threads_leave_signals_to_python():
    """The system gives a signal to any thread that does not block it; Python's main thread must wake up."""
    script = """
import signal
with taken(3) as team:
    computed(team, 9)
blocked = []
for task in os.listdir("/proc/self/task"):
    lines = open(f"/proc/self/task/{task}/status").read().splitlines()
    mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:"))
    blocked.append(bool(mask >> signal.SIGINT - 1 & 1))
print(sorted(blocked)[-2:], blocked.count(False) >= 1)
"""
    if not Path("/proc/self/task").exists():
        pytest.skip("no list of threads")
    assert run(script).split() == ["[True,", "True]", "True"]


@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
def test_a_crash_in_a_thread_is_reported():
    script = """
import faulthandler, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
faulthandler.enable()
caller = threading.get_native_id()
def part(_, i):
    if threading.get_native_id() == caller:
        time.sleep(0.1)
    else:
        ctypes.string_at(0)
part = Part(part)
with taken(2) as team:
    functions().heed_team_share(team, 30, part, None)
"""
    with pytest.raises(AssertionError, match="Fatal Python error: Segmentation fault"):
        run(script)


@pytest.mark.parametrize("check", ["thread", "address,undefined"])
def test_no_data_race_and_no_wrong_access(check, tmp_path):
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))
    sources = [Path(__file__).parent / "team_at_work.c", SOURCES / "team.c"]
    options = ["-std=c11", "-O1", "-g", "-pthread", f"-fsanitize={check}", f"-I{SOURCES}"]
    made = tmp_path / "team"
    compiled = subprocess.run([compiler, *options, *sources, "-o", made], capture_output=True, text=True)
    if compiled.returncode:
        pytest.skip(f"the compiler has no -fsanitize={check}")
    done = subprocess.run([made], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this system's addresses do not suit the sanitizer")
    assert done.stdout == "0 parts were not computed exactly once\n" and done.returncode == 0, done.stderr
