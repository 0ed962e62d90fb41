"""Compare the native engine's time for a lone sentence with one thread and with all.

    python bench/team.py [--untrained tiny] [--model FOLDER] [--threads N] [--sentences 5] [--rounds 20] [--json]

Greedy and with beam 4, with weights in float32 and in 8 bits. Both sides run in this process, in turns; the best round
counts. An untrained model has fresh weights of a preset's shape and the vocabulary of the model in the box, and writes
as many tokens as the limit on the length allows. Run it on an idle machine: threads that share a product wait for each
other.
"""

import argparse
import json
import os
import tempfile
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from heed.bench.rounds import in_turns, machine
from heed.box import default_model, find_model
from heed.demo.grammar import sentences
from heed.engines.threads import available_threads
from heed.loading import load
from heed.presets import preset
from heed.run import RunFolder
from heed.translator import Translator

SEED = 1
BEAMS = {"greedy": 1, "beam 4": 4}


def untrained_run(name: str, folder: Path) -> Path:
    """Make a run of fresh weights that never end a sentence."""
    import torch

    from heed.model.transformer import Transformer

    tokenizer, config = RunFolder.open(default_model()).tokenizer, preset(name)
    config = replace(config, decode=replace(config.decode, extra_length=10))
    torch.manual_seed(SEED)
    model = Transformer(config.model, tokenizer.vocabulary)
    # Its logit is 0 then, while the best of thousands are well above.
    model.embedding.weight.data[tokenizer.vocabulary.end] = 0.0
    RunFolder.create(folder, config, tokenizer).save_step(0, {"model": model.state_dict()}, {})
    return folder


def one_by_one(translator: Translator, texts: list[str], beam: int, n_threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(n_threads)  # the engine reads it in each call
    for text in texts:
        translator.translate([text], beam=beam, copy=False)


def measure(run: Path, checkpoint: str, texts: list[str], n_threads: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return the best milliseconds per sentence of each side, and their ratio, by precision and search."""
    found = {}
    for precision, int8 in (("float32", False), ("int8", True)):
        translator = load(run, checkpoint=checkpoint, int8=int8, engine="native")
        for search, beam in BEAMS.items():
            work = partial(one_by_one, translator, texts, beam)
            seconds = in_turns({"one": partial(work, 1), "all": partial(work, n_threads)}, rounds)
            one, several = (1000 * min(seconds[side]) / len(texts) for side in ("one", "all"))
            found[f"{precision}, {search}"] = {"one": one, "all": several, "ratio": one / several}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--untrained", metavar="PRESET", help="fresh weights of this shape, such as tiny or base")
    which.add_argument("--model", metavar="FOLDER", help="a run folder or a name in the box (default: its default)")
    parser.add_argument("--threads", type=int, metavar="N", help="of the other side (default: all, at most 4)")
    parser.add_argument("--sentences", type=int, default=5, metavar="N", help="built-in ones, one after the other")
    parser.add_argument("--rounds", type=int, default=20, metavar="N")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    n_threads = args.threads or min(4, available_threads())
    if n_threads < 2:
        raise SystemExit("there is one thread only: unset OMP_NUM_THREADS, or give --threads")
    texts = [pair.source for pair in islice(sentences(SEED), args.sentences)]
    with tempfile.TemporaryDirectory() as folder:
        if args.untrained:
            run, checkpoint = untrained_run(args.untrained, Path(folder) / "run"), "last"
        else:
            run, checkpoint = find_model(args.model) if args.model else default_model(), "best"
        found = measure(run, checkpoint, texts, n_threads, args.rounds)
    here, model = machine(), f"untrained {args.untrained}" if args.untrained else args.model or run.name
    if args.json:
        print(json.dumps({"model": model, "threads": n_threads, "milliseconds": found, "machine": here}))
        return
    print(f"{model}, {len(texts)} sentences one by one, best of {args.rounds} rounds; milliseconds per sentence")
    print(f"{here['processor']}, {here['cores']} cores, load {here.get('load', 'unknown')}\n")
    print(f"{'':<18} {'1 thread':>10} {f'{n_threads} threads':>10} {'ratio':>6}")
    for name, row in found.items():
        print(f"{name:<18} {row['one']:>10.2f} {row['all']:>10.2f} {row['ratio']:>6.2f}")


if __name__ == "__main__":
    main()
