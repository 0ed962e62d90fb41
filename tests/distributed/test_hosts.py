"""Train with `torchrun --nnodes=2` in two network namespaces that act as hosts."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributed.conftest import (
    LONG,
    SHARDED,
    Torchrun,
    Training,
    Whole,
    assert_same_end,
    events_of,
    wait_for_step,
)

ADDRESSES = ["10.213.77.1", "10.213.77.2"]


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


@pytest.fixture
def hosts() -> Iterator[list[tuple[str, str]]]:
    """Create two network namespaces that see only each other; return name and interface of each."""
    names = [(f"heed{os.getpid()}{side}", f"hd{os.getpid()}{side}"[-15:]) for side in "ab"]
    try:
        try:
            for space, _ in names:
                ip("netns", "add", space)
            (one, card), (other, other_card) = names
            ip("link", "add", card, "netns", one, "type", "veth", "peer", "name", other_card, "netns", other)
            for (space, name), address in zip(names, ADDRESSES, strict=True):
                ip("-n", space, "addr", "add", f"{address}/24", "dev", name)
                ip("-n", space, "link", "set", name, "up")
                ip("-n", space, "link", "set", "lo", "up")
        except OSError as error:
            pytest.skip(f"this system lets us make no network namespaces: {error}")
        yield names
    finally:
        for space, _ in names:
            with contextlib.suppress(OSError):
                ip("netns", "del", space)


@contextlib.contextmanager
def torchrun_on_each(
    hosts: list[tuple[str, str]], folder: Path, *words: str, options: tuple[str, ...] = ()
) -> Iterator[list[Torchrun]]:
    started: list[Torchrun] = []
    try:
        for n, (space, card) in enumerate(hosts):
            command = ["ip", "netns", "exec", space, sys.executable, "-m", "torch.distributed.run", "--nnodes=2"]
            command += ["--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={ADDRESSES[0]}:29400"]
            command += [f"--rdzv-conf=is_host={1 - n}", f"--local-addr={ADDRESSES[n]}", "--rdzv-id=heed", *options]
            environment = {"GLOO_SOCKET_IFNAME": card, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
            started.append(Torchrun(folder / f"host-{n}", [*command, "-m", "heed", *words], environment))
        yield started
    finally:
        for one in started:
            one.kill()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
def test_two_hosts(
    training: Training, hosts: list[tuple[str, str]], whole: Whole, tmp_path: Path, kind: list[str]
) -> None:
    """The weights are identical to those of two processes on one host."""
    run = tmp_path / "run"
    with torchrun_on_each(hosts, tmp_path, *training.arguments, *kind, "--out", str(run)) as started:
        assert [one.wait() for one in started] == [0, 0], "\n".join(one.said() for one in started)
        assert sorted(one.said().count("done after 6 steps") for one in started) == [0, 1]
    assert_same_end(run, whole(2, *kind))


@pytest.mark.slow
@pytest.mark.parametrize("host", [0, 1])
def test_a_process_of_one_host_is_lost(
    training: Training, hosts: list[tuple[str, str]], whole: Whole, tmp_path: Path, host: int
) -> None:
    """Only one torchrun counts the restart, but both hosts must treat it as one."""
    run, words = tmp_path / "run", [*training.arguments, *LONG, "--out", str(tmp_path / "run")]
    with torchrun_on_each(hosts, tmp_path, *words, options=("--max-restarts=3",)) as started:
        wait_for_step(run, 5, started[0])
        worker = next(pid for rank in (0, 1) if (pid := started[host].find_worker(rank)))
        os.kill(worker, signal.SIGKILL)
        assert [one.wait() for one in started] == [0, 0], "\n".join(one.said() for one in started)
    assert len(events_of(run, "resume")) == 1
    assert_same_end(run, whole(2, *LONG))
