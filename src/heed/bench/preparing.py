"""Measure how fast text is prepared: `heed prepare` compared with sentencepiece's encoder."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import sentencepiece

from heed.bench.rounds import in_turns, rates
from heed.bench.text import learned_tokenizer
from heed.data.corpus import ParallelText
from heed.data.prepare import available_cores, prepare

_CHUNK_LINES = 10_000  # per call of sentencepiece's encoder


def measure_preparing(
    text: ParallelText, folder: Path, vocab_size: int, rounds: int, progress: Callable[[int], None] = lambda done: None
) -> dict[str, object]:
    """Time `prepare` (read, clean, encode, store) against sentencepiece with as many threads (read, encode).

    `progress` is called with the number of turns done, of 2 x (rounds + 1).
    """
    tokenizer = learned_tokenizer(text, vocab_size)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    n_pairs, cores = text.count(), available_cores()

    def encode() -> None:
        for path in (text.source, text.target):
            with open(str(path), encoding="utf-8", newline="\n") as lines:
                while chunk := list(islice(lines, _CHUNK_LINES)):
                    processor.encode([line[:-1] for line in chunk], num_threads=cores)

    sides = {"heed": lambda: prepare(text, tokenizer, folder / "store"), "sentencepiece": encode}
    seconds = in_turns(sides, rounds, progress)
    return {
        "pairs": n_pairs,
        "vocabulary": len(tokenizer),
        "cores": cores,
        "rounds": rounds,
        "seconds": seconds,
        "pairs_per_second": {name: rates(n_pairs, taken) for name, taken in seconds.items()},
        "ratio_to_sentencepiece": min(seconds["sentencepiece"]) / min(seconds["heed"]),
    }
