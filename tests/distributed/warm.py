"""Run the real command as one of several processes, forked from one that has everything imported.

Orders come from standard input, one JSON list per line. `["start", environment, arguments, said]` forks a process that
runs `heed` with these arguments, as `torchrun` would have started it with this environment; everything it says goes to
the file `said`. `["poll", pid]` asks for its end, `["ready"]` for nothing. Each order is answered with a number: the
process, or the exit code (negative: the signal it died of; RUNNING: there is none yet).

Tests ask for more through the environment:
HEED_TEST_GATE      a file: wait until it exists
HEED_TEST_FOLDER    the folder to change to, as on another host
HEED_TEST_FLOAT64   compute in float64, so that "equal" can mean equal to many digits
HEED_TEST_POISON    steps at which this process's gradient is infinite, though its loss is not
"""

import ctypes
import json
import os
import signal
import sys
import time
import traceback

import torch

from heed.cli.main import main

RUNNING = 1000
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


def child(environment: dict[str, str], arguments: list[str], said: str) -> int:
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    while (gate := environment.get("HEED_TEST_GATE")) and not os.path.exists(gate):
        time.sleep(0.01)
    os.chdir(environment.get("HEED_TEST_FOLDER", "."))
    if "HEED_TEST_FLOAT64" in environment:
        torch.set_default_dtype(torch.float64)
    if "HEED_TEST_POISON" in environment:
        poison({int(step) for step in environment["HEED_TEST_POISON"].split(",")})
    try:
        return main(arguments)
    except SystemExit as stop:  # wrong usage
        return int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1


def poison(steps: set[int]) -> None:
    from heed.training import loop
    from heed.training.learner import Learner

    current = 0

    def train_step(learner, micro_batches, n_tokens, step, stop_asked, original=loop.train_step):
        nonlocal current
        current = step
        return original(learner, micro_batches, n_tokens, step, stop_asked)

    def add_gradient(self, batch, scale, step, is_last, original=Learner.add_gradient):
        return original(self, batch, scale * float("inf") if current in steps else scale, step, is_last)

    loop.train_step, Learner.add_gradient = train_step, add_gradient


def serve() -> None:
    for line in sys.stdin:
        match json.loads(line):
            case ["start", environment, arguments, said]:
                answer = os.fork()
                if answer == 0:
                    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # must not outlive a killed test run
                    os.setpgid(0, 0)
                    code = child(environment, arguments, said)
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            case ["poll", pid]:
                ended, status = os.waitpid(pid, os.WNOHANG)
                answer = os.waitstatus_to_exitcode(status) if ended else RUNNING
            case ["ready"]:
                answer = 0
        print(answer, flush=True)


if __name__ == "__main__":
    warm_up = json.loads(sys.argv[1])
    assert main(warm_up) == 0  # a complete training, which imports everything
    import torch.distributed.fsdp  # noqa: E402, F401

    serve()
