"""Measure what the tree constraint costs in beam search, and how often the model would write no tree without it.

    python bench/parsing.py --model runs/p --trees dev.mrg
    python bench/parsing.py --model runs/p --trees dev.mrg --sentences 200 --beam 8

The same sentences are parsed with and without the constraint, in turns, with one thread. Time is processor time, the
best of the rounds, which other work on the machine disturbs least. Without the constraint, a model that has learnt
little writes until its length limit, so the ratio is also given per step of search.
"""

import argparse
import time
from itertools import islice

import torch

from heed.decode.search import Task
from heed.loading import load
from heed.options import SearchOptions
from heed.parser import parse_sentences
from heed.parsing.trees import read_treebank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--trees", required=True)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--beam", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    translator = load(args.model)
    engine = translator._pytorch()
    sentences = [tree.words() for tree in islice(read_treebank(args.trees), args.sentences)]
    beam = args.beam or translator.decode.beam
    options = SearchOptions(beam=beam, alpha=translator.decode.alpha)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    steps: dict[bool, int] = {}
    malformed = 0
    for _ in range(args.rounds):
        for constrained in (True, False):
            with _Steps() as counted:
                began = time.process_time()
                found = parse_sentences(engine, sentences, options, constrained=constrained)
                seconds[constrained].append(time.process_time() - began)
            steps[constrained] = counted.n
            if not constrained:
                malformed = sum(one.tree is None for one in found)
    best = {key: min(times) for key, times in seconds.items()}
    print(f"{len(sentences)} sentences, beam {beam}, processor time, best of {args.rounds}")
    for constrained, name in ((True, "with the constraint"), (False, "without")):
        per_step = 1000 * best[constrained] / steps[constrained]
        print(f"  {name:22} {best[constrained]:8.2f} s {steps[constrained]:8,} steps {per_step:8.2f} ms a step")
    print(f"  ratio {best[True] / best[False]:.2f}, per step {_per_step(best, steps):.2f}")
    print(f"  without the constraint, {malformed} outputs are no trees: {100 * malformed / len(sentences):.1f} %")


def _per_step(best: dict[bool, float], steps: dict[bool, int]) -> float:
    return best[True] / steps[True] / (best[False] / steps[False])


class _Steps:
    """Counts the steps of search: each checks the time once."""

    def __enter__(self) -> "_Steps":
        self.n, self._check = 0, Task.check_time

        def check(task: Task) -> None:
            self.n += 1
            self._check(task)

        Task.check_time = check  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        Task.check_time = self._check  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
