"""Check what a training prints, on a terminal and elsewhere."""

import io
import math
import os
import pty
import re
import struct
import termios
from contextlib import suppress
from fcntl import ioctl

import pytest

from heed.training.log import Log
from heed.training.setup import few_pairs
from heed.training.step import StepResult
from heed.wording import counted, perplexity

WILD = [1.0, 14.2, 551.9, 6142.3, 10_660.4, 99_999.996, 1e9, 1e305, math.inf]


def told(log: Log, max_steps: int) -> None:
    log.event("start", step=0, batches_per_epoch=10)
    for step, value in enumerate(WILD, max_steps - len(WILD) + 1):
        log.step(step, StepResult(math.log(min(value, 1e300)), value, 300, 1.0, 1e-3), log_every=1)
    log.validating()
    log.pause(1.0)
    log.close()


def everything(terminal: int) -> str:
    """Read a terminal whose other side is closed: what is written arrives in parts."""
    seen = b""
    with suppress(OSError):  # the end
        while part := os.read(terminal, 1 << 20):
            seen += part
    return seen.decode()


def test_the_bar_keeps_its_form_and_fits_80_columns() -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    with open(theirs, "w", encoding="utf-8") as stream, pytest.MonkeyPatch.context() as environment:
        environment.setenv("TERM", "xterm")
        told(Log(None, 100_000, stream), 100_000)
    seen = everything(ours)
    os.close(ours)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen).replace("\r", "\n").split("\n")
    bars = [line.rstrip() for line in lines if "━" in line]
    assert max(map(len, bars)) < 80
    numbers = [line for line in bars if "ppl" in line and "e+305" not in line]
    assert len({line.index("tok/s") - line.index("loss") for line in numbers}) == 1
    assert "ppl" in bars[-1]  # "validating ..." does not stay


@pytest.mark.parametrize("value", WILD)
def test_a_perplexity_is_short(value: float) -> None:
    assert len(perplexity(value)) <= 9
    assert float(perplexity(value)) == pytest.approx(value, rel=0.01)


def test_without_a_terminal_lines_are_short() -> None:
    stream = io.StringIO()
    told(Log(None, 100, stream), 100)
    lines = stream.getvalue().splitlines()
    assert len([line for line in lines if line.startswith("step ")]) == len(WILD)
    assert max(map(len, lines)) < 110
    assert "validating" not in stream.getvalue()


@pytest.mark.parametrize(
    ("n", "words", "expected"),
    [
        (0, ["pair"], "0 pairs"),
        (1, ["pair"], "1 pair"),
        (2, ["pair"], "2 pairs"),
        (1, ["batch", "batches"], "1 batch"),
        (1_000, ["batch", "batches"], "1,000 batches"),
    ],
)
def test_counts_agree_with_their_nouns(n: int, words: list[str], expected: str) -> None:
    assert counted(n, *words) == expected


def test_few_pairs_are_said_with_a_preset_to_think_of() -> None:
    assert few_pairs("tiny", 1).startswith("only 1 pair: ")
    assert few_pairs("base", 50).startswith("only 50 pairs: ") and "--preset tiny" in few_pairs("base", 50)
    assert few_pairs("base", 20_000) == "20,000 pairs are few for base: consider --preset tiny or swift"
    assert few_pairs("big", 500_000) == "500,000 pairs are few for big: consider --preset small"
    assert few_pairs("tiny", 20_000) == few_pairs("small", 500_000) == few_pairs("base", 4_500_000) == ""
    assert all(len(line) < 80 for n in (1, 9_999, 20_000) for line in few_pairs("small", n).splitlines())
