"""How fast text becomes ids here: `heed prepare` beside sentencepiece's own encoder."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import sentencepiece

from heed.bench.rounds import in_turns, rates
from heed.bench.text import vocabulary
from heed.data.corpus import ParallelText
from heed.data.prepare import available_cores, prepare

_AT_ONCE = 10_000  # lines for sentencepiece's encoder


def measure_preparing(
    text: ParallelText, folder: Path, vocab_size: int, rounds: int, tell: Callable[[int], None] = lambda done: None
) -> dict[str, object]:
    """Reading, cleaning, encoding and storing, beside reading and encoding alone by as many threads.

    `tell` is told how many of 2 x (rounds + 1) turns are done.
    """
    tokenizer = vocabulary(text, vocab_size)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    n_pairs, cores = text.count(), available_cores()

    def theirs() -> None:
        for path in (text.source, text.target):
            with open(str(path), encoding="utf-8", newline="\n") as lines:
                while some := list(islice(lines, _AT_ONCE)):
                    processor.encode([line[:-1] for line in some], num_threads=cores)

    sides = {"heed": lambda: prepare(text, tokenizer, folder / "store"), "sentencepiece": theirs}
    seconds = in_turns(sides, rounds, tell)
    return {
        "pairs": n_pairs,
        "vocabulary": len(tokenizer),
        "cores": cores,
        "rounds": rounds,
        "seconds": seconds,
        "pairs_per_second": {name: rates(n_pairs, taken) for name, taken in seconds.items()},
        "ratio_to_sentencepiece": min(seconds["sentencepiece"]) / min(seconds["heed"]),
    }
