"""The three translation tasks of every peer. Standard library only."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from turns import Turns, read_job

# Takes texts and beam; returns translations and the number of tokens written, including end tokens.
Translate = Callable[[Sequence[str], int], tuple[list[str], int]]


def take_turns(everything: Translate, one: Callable[[int], Translate] | None = None) -> None:
    """Translate from text to text: tokenising and detokenising are part of the measured work.

    `one(threads)` translates one sentence at a time; a trial decides between one and two threads. Default:
    `everything`.
    """
    job = read_job()
    texts = Path(job["sources"]).read_text(encoding="utf-8").splitlines()
    turns = Turns()
    task = turns.wait()
    alone: tuple[int, Translate] | None = None if one else (0, everything)
    while True:
        if task == "all":
            began = time.perf_counter()
            translations, tokens = everything(texts, job["beam"])
            seconds = time.perf_counter() - began
            assert len(translations) == len(texts)
            task = turns.wait(seconds=seconds, tokens=tokens, translations=translations)
        else:
            beam = 1 if "greedy" in task else job["beam"]
            if alone is None and one:
                trials = {threads: _median(one(threads), texts[:10], beam) for threads in (1, 2)}
                best = min(trials, key=lambda threads: trials[threads])
                alone = best, one(best)
            task = turns.wait(median=_median(alone[1], texts[: job["one_by_one"]], beam), threads=alone[0])


def _median(translate: Translate, texts: list[str], beam: int) -> float:
    times = []
    for text in texts:
        began = time.perf_counter()
        translate([text], beam)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
