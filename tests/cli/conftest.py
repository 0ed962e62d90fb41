"""Run the real command, and train a tiny model with it."""

import os
import pty
import random
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

import pytest

from tests.processes import Started

COMMAND = str(Path(sys.executable).with_name("heed"))
# One thread is fastest for the tiny model. Take nothing from the terminal or the settings the tests run in.
_NOT_OURS = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM", "PYTHONUNBUFFERED"}
ENVIRONMENT = {
    **{key: value for key, value in os.environ.items() if key not in _NOT_OURS},
    "OMP_NUM_THREADS": "1",
    "TERM": "xterm",
}
TINY_SETTINGS = {
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "model.d_model": 16,
    "model.d_ff": 32,
    "model.h": 2,
    "model.dropout": 0.1,
    "model.max_length": 60,
    "text.vocab_size": 300,
    "train.batch_tokens": 600,
    "train.max_steps": 40,
    "train.warmup_steps": 20,
    "train.learning_rate_factor": 0.3,
    "train.log_every": 10,
    "train.save_every": 10,
    "train.validate_every": 20,
    "decode.extra_length": 5,
}


@dataclass(frozen=True)
class Done:
    """The result of a command: its exit code, and the text of both streams."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Return the lines of standard output, split at `\\n` only."""
        assert self.out == "" or self.out.endswith("\n")
        return self.out.split("\n")[:-1]


def heed(*arguments: object, given: str | bytes = b"", timeout: float = 120) -> Done:
    """Run the command and wait for it."""
    given = given.encode() if isinstance(given, str) else given
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], input=given, capture_output=True, env=ENVIRONMENT, timeout=timeout
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def started(*arguments: object, **streams: object) -> Started[bytes]:
    """Start the command, with a pipe for each stream that is not given."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return Started([COMMAND, *map(str, arguments)], env=ENVIRONMENT, **pipes)  # type: ignore[call-overload]


def without_ctranslate2(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as if CTranslate2 were not installed."""
    script = "import sys; sys.modules['ctranslate2'] = None; from heed.cli.main import main; sys.exit(main({}))"
    command = [sys.executable, "-c", script.format([*map(str, arguments)])]
    return subprocess.run(command, input="a b\n", capture_output=True, text=True, env=ENVIRONMENT, timeout=120)


def on_a_terminal(*arguments: object) -> list[str]:
    """Run the command, which must succeed, and return the lines that a terminal of 80 columns would show."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = started(*arguments, stdin=subprocess.DEVNULL, stdout=theirs)
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 65536):
            seen += block
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return seen.decode().replace("\r\n", "\n").split("\n")[:-1]


def settings(**changes: object) -> list[str]:
    """Return the `--set` arguments of the tiny model; `train__max_steps=5` changes one."""
    merged = {**TINY_SETTINGS, **{key.replace("__", "."): value for key, value in changes.items()}}
    return [word for key, value in merged.items() for word in ("--set", f"{key}={value}")]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def letters(seed: int, n: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices("abcd", k=chance.randint(2, 6))) for _ in range(n)]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a corpus of letters whose translation is the reversed line."""
    folder = tmp_path_factory.mktemp("corpus")
    train = letters(1, 300)
    valid = [line for line in letters(2, 30) if line not in train][:12]
    for name, lines in (("train", train), ("valid", valid)):
        write_lines(folder / f"{name}.src", lines)
        write_lines(folder / f"{name}.tgt", [line[::-1] for line in lines])
    return folder


@pytest.fixture(scope="session")
def train_arguments(corpus: Path) -> list[object]:
    sides = [("--source", "train.src"), ("--target", "train.tgt")]
    sides += [("--valid-source", "valid.src"), ("--valid-target", "valid.tgt")]
    return ["train", *(word for option, name in sides for word in (option, corpus / name)), "--preset", "tiny"]


@dataclass(frozen=True)
class Trained:
    path: Path
    done: Done


TrainRun = Callable[..., Trained]


@pytest.fixture(scope="session")
def train_run(train_arguments: list[object], tmp_path_factory: pytest.TempPathFactory) -> TrainRun:
    def train(**changes: object) -> Trained:
        path = tmp_path_factory.mktemp("runs") / "run"
        done = heed(*train_arguments, "--out", path, *settings(**changes))
        assert done.code == 0, done.err
        return Trained(path, done)

    return train


@pytest.fixture(scope="session")
def trained(train_run: TrainRun) -> Trained:
    return train_run()


@pytest.fixture(scope="session")
def second(train_run: TrainRun, trained: Trained) -> Trained:
    """Train another model with the same vocabulary."""
    return train_run(train__seed=2, train__max_steps=20, text__tokenizer=trained.path / "tokenizer.model")
