"""Guessing ahead beside plain search: one sentence at a time, the same weights, in turns.

    python bench/ahead.py --model runs/x --phrases train.de --input val.en [--draft runs/small] [--size base]

Passes of the decoder, and the time of all sentences (of each the best of some rounds), greedy and with a beam of 4, for
some numbers of guesses in a pass. `--size base`: beside each pass of the model, one of an untrained decoder of that
preset over as many symbols: what a model of that size would take if it decided as this one does. Before that: how long
one pass takes by the number of symbols in it.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch

import heed
from heed.config import preset
from heed.decode.ahead import ahead
from heed.decode.beam import beam_search
from heed.decode.draft import Draft, PhraseMemory
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelState, model_step
from heed.decode.step import Hypothesis, Task
from heed.model.incremental import IncrementalDecoder, Past, to_add
from heed.model.transformer import Transformer
from heed.symbols import EOS, PAD, UNK

GUESSES = {1: (1, 2, 3, 4, 6), 4: (4, 8, 16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--checkpoint", default="best")
    parser.add_argument("--phrases", type=Path, required=True)
    parser.add_argument("--draft", help="a run of the same vocabulary")
    parser.add_argument("--size", help="a preset")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    translator = heed.load(args.model, checkpoint=args.checkpoint)
    encode = translator.tokenizer.encode_ids
    drafts: dict[str, Draft] = {"phrases": PhraseMemory(encode(args.phrases.read_text(encoding="utf-8").splitlines()))}
    if args.draft:
        drafts["draft"] = heed.load(args.draft, checkpoint=args.checkpoint).as_draft_of(translator)
    sources = encode(args.input.read_text(encoding="utf-8").splitlines()[: args.sentences])
    larger = None
    if args.size:
        larger = IncrementalDecoder(Transformer(preset(args.size).model, len(translator.tokenizer)).eval())
    decoder = Counted(translator.models[0], larger)
    with torch.inference_mode():
        time_passes(larger or decoder, len(translator.tokenizer))
        for beam, numbers in GUESSES.items():
            ways = {"plain": plain(decoder, beam)}
            ways |= {f"{name}, {n}": guessing(decoder, beam, drafts[name], n) for name in drafts for n in numbers}
            print(f"beam {beam}")
            compare(ways, decoder, sources, args.rounds)


def time_passes(decoder: IncrementalDecoder, vocab_size: int) -> None:
    past, begin = decoder.start(torch.randint(3, vocab_size, (1, 20))), 15
    best: dict[int, float] = {}
    for _ in range(20):
        for n in (1, 2, 4, 8, 12, 16, 20):
            ids_1N = torch.randint(3, vocab_size, (1, n))
            sees_NM = torch.cat((torch.ones(n, begin), torch.eye(n)), 1).bool()
            sees_1NM = to_add(sees_NM, past.sources[0].k_BSX).unsqueeze(0)
            past.n_slots = begin
            began = time.perf_counter()
            decoder.extend(past, ids_1N, begin, sees_1NM)
            best[n] = min(best.get(n, 1e9), time.perf_counter() - began)
    print("symbols in a pass: " + ", ".join(f"{n}: {1e3 * t:.2f} ms ({t / best[1]:.2f})" for n, t in best.items()))


class Counted(IncrementalDecoder):
    """Counts passes; each also costs one of a larger decoder, if there is one."""

    def __init__(self, model: Transformer, larger: IncrementalDecoder | None) -> None:
        super().__init__(model)
        self.passes, self._larger = 0, larger

    def start(self, src_BS: torch.Tensor) -> Past:
        if self._larger is not None:
            self._beside = self._larger.start(src_BS)
        return super().start(src_BS)

    def extend(self, past: Past, *rest: object) -> torch.Tensor:
        self.passes += 1
        if self._larger is not None:
            self._beside.n_slots = past.n_slots
            self._larger.extend(self._beside, *rest)
        return super().extend(past, *rest)


Way = Callable[[torch.Tensor, Task], Hypothesis]


def plain(decoder: IncrementalDecoder, beam: int) -> Way:
    def search(src_1S: torch.Tensor, task: Task) -> Hypothesis:
        step, state = model_step(decoder), ModelState(decoder.start(src_1S))
        return (greedy_search(step, state, task) if beam == 1 else beam_search(step, state, task, beam))[0][0]

    return search


def guessing(decoder: IncrementalDecoder, beam: int, draft: Draft, n_guesses: int) -> Way:
    def search(src_1S: torch.Tensor, task: Task) -> Hypothesis:
        step, state = ahead(decoder, src_1S, draft, n_guesses, task.limits[0])
        return (greedy_search(step, state, task) if beam == 1 else beam_search(step, state, task, beam))[0][0]

    return search


def compare(ways: dict[str, Way], decoder: Counted, sources: list[list[int]], rounds: int) -> None:
    found: dict[str, list[list[int]]] = {}
    passes: dict[str, int] = {}
    best: dict[str, list[float]] = {way: [1e9] * len(sources) for way in ways}
    for _ in range(rounds):
        found = {way: [] for way in ways}
        passes = dict.fromkeys(ways, 0)
        for i, ids in enumerate(sources):
            src_1S, task = torch.tensor([[*ids, EOS]]), Task([len(ids) + 50], PAD, EOS, 0.6, None, (PAD, UNK))
            for way, search in ways.items():  # sentence by sentence: what slows the machine down hits all alike
                decoder.passes, began = 0, time.perf_counter()
                one = search(src_1S, task)
                best[way][i] = min(best[way][i], time.perf_counter() - began)
                passes[way] += decoder.passes
                found[way].append(one.ids)
    for way in ways:
        same = sum(one == other for one, other in zip(found["plain"], found[way], strict=True))
        print(
            f"  {way:12} {passes[way]:6,} passes ({passes['plain'] / passes[way]:.2f} times fewer), "
            f"{1e3 * sum(best[way]) / len(sources):7.2f} ms a sentence "
            f"({sum(best['plain']) / sum(best[way]):.2f} times as fast), {same} of {len(sources)} the same"
        )


if __name__ == "__main__":
    main()
