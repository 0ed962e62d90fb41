"""The three tasks of everyone who translates. Standard library only."""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from turns import Turns, read_job

# Texts and beam in; translations and the number of tokens written, end symbols counted, out.
Translate = Callable[[Sequence[str], int], tuple[list[str], int]]


def take_turns(everything: Translate, one: Translate) -> None:
    """Text to text: making pieces of it and putting them together again is part of the work."""
    job = read_job()
    texts = Path(job["sources"]).read_text(encoding="utf-8").splitlines()
    turns = Turns()
    task = turns.wait()
    while True:
        if task == "all":
            began = time.perf_counter()
            translations, tokens = everything(texts, job["beam"])
            seconds = time.perf_counter() - began
            assert len(translations) == len(texts)
            task = turns.wait(seconds=seconds, tokens=tokens, translations=translations)
        else:
            beam, times = 1 if "greedy" in task else job["beam"], []
            for text in texts[: job["one_by_one"]]:
                began = time.perf_counter()
                one([text], beam)
                times.append(time.perf_counter() - began)
            task = turns.wait(median=statistics.median(times))
