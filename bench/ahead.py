"""Guessing ahead beside plain greedy search: one sentence at a time, the same weights, in turns.

    python bench/ahead.py --model runs/x --phrases train.de --input val.en

Passes of the decoder and the median time of a sentence, for 0 to 6 symbols guessed at a time; the best of some rounds.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch

import heed
from heed.decode.ahead import PhraseMemory, search_ahead
from heed.decode.step import Task
from heed.model.incremental import IncrementalDecoder
from heed.symbols import EOS, PAD, UNK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--checkpoint", default="best")
    parser.add_argument("--phrases", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    translator = heed.load(args.model, checkpoint=args.checkpoint)
    encode = translator.tokenizer.encode_ids
    memory = PhraseMemory(encode(args.phrases.read_text(encoding="utf-8").splitlines()))
    sources = encode(args.input.read_text(encoding="utf-8").splitlines()[: args.sentences])
    decoder = Counted(translator.models[0])

    found: dict[int, list[list[int]]] = {}
    passes: dict[int, int] = {}
    best: dict[int, float] = {}
    for _ in range(args.rounds):
        for n_ahead in (0, 1, 2, 3, 4, 6):
            decoder.passes, seconds, found[n_ahead] = 0, [], []
            for ids in sources:
                task = Task([len(ids) + 50], PAD, EOS, 0.6, None, (PAD, UNK))
                began = time.perf_counter()
                one = search_ahead(decoder, torch.tensor([[*ids, EOS]]), task, memory, n_ahead)
                seconds.append(time.perf_counter() - began)
                found[n_ahead].append(one.ids)
            passes[n_ahead] = decoder.passes
            best[n_ahead] = min(best.get(n_ahead, 1e9), statistics.median(seconds))
    for n_ahead, seconds_each in best.items():
        same = sum(one == other for one, other in zip(found[0], found[n_ahead], strict=True))
        print(
            f"{n_ahead} ahead: {passes[n_ahead]:,} passes ({passes[0] / passes[n_ahead]:.2f} times fewer), "
            f"{1e3 * seconds_each:.1f} ms a sentence ({best[0] / seconds_each:.2f} times as fast), "
            f"{same} of {len(sources)} the same"
        )


class Counted(IncrementalDecoder):
    passes = 0

    def extend(self, *args: object) -> torch.Tensor:
        self.passes += 1
        return super().extend(*args)


if __name__ == "__main__":
    main()
