"""Translating with a shortlist beside scoring all symbols: the same weights, in turns, by torch.

    heed shortlist --model runs/x
    python bench/shortlist.py --model runs/x --input test.en --reference test.de

BLEU, and the best of some rounds: all sentences in bulk, and some one by one. Time is the processor's, of all threads:
a machine that does other things as well disturbs it least.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import sacrebleu

import heed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--checkpoint", default="best")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--alone", type=int, default=40, help="sentences translated one by one")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    texts, reference = (path.read_text(encoding="utf-8").splitlines() for path in (args.input, args.reference))
    both = {
        name: heed.load(args.model, checkpoint=args.checkpoint, shortlist=shortlist)
        for name, shortlist in (("all symbols", False), ("shortlist", True))
    }

    found: dict[str, list[str]] = {}
    rounds: dict[str, list[list[float]]] = {name: [] for name in both}
    for _ in range(args.rounds):
        for name, translator in both.items():
            began = time.process_time()
            found[name] = [one.text for one in translator.translate(texts, beam=4)]
            seconds = [time.process_time() - began]
            for beam in (4, 1):
                for text in texts[: args.alone]:
                    began = time.process_time()
                    translator.translate([text], beam=beam)
                    seconds.append(time.process_time() - began)
            rounds[name].append(seconds)

    best = {name: np.min(several, axis=0) for name, several in rounds.items()}
    summed = {name: (s[0], s[1 : 1 + args.alone].sum(), s[1 + args.alone :].sum()) for name, s in best.items()}
    for name, (bulk, beam_4, greedy) in summed.items():
        ratios = [one / own for one, own in zip(summed["all symbols"], summed[name], strict=True)]
        print(
            f"{name}: BLEU {sacrebleu.corpus_bleu(found[name], [reference]).score:.2f}; "
            f"bulk, beam 4: {bulk:.2f} s ({ratios[0]:.2f} times as fast); "
            f"alone, beam 4: {1e3 * beam_4 / args.alone:.1f} ms ({ratios[1]:.2f}); "
            f"alone, greedy: {1e3 * greedy / args.alone:.1f} ms ({ratios[2]:.2f})"
        )
    same = sum(one == other for one, other in zip(*found.values(), strict=True))
    print(f"{same:,} of {len(texts):,} translations are the same")


if __name__ == "__main__":
    main()
