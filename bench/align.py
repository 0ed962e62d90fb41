"""Alignment error rate on the demo's test sentences, whose true alignment the grammar knows.

    python bench/align.py runs/demo

Heads are chosen on the demo's validation text, without the true alignment, as `heed align` does; the numbers are for
its test text. Model 1 learns words (in lower case, without punctuation) from the test text and --train pairs of the
training text. Prints a table in Markdown.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from heed.demo.grammar import Pair, corpus
from heed.demo.grammar.alignment import true_alignments
from heed.engines.pytorch import PyTorchEngine
from heed.evaluate.alignment import Links, Reference, alignment_score
from heed.inside.alignment import Aligner, Choice, choose
from heed.inside.model1 import Model1, agreed
from heed.loading import load
from heed.model.transformer import Transformer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the run folder that `heed demo` made")
    parser.add_argument("--train", type=int, default=50_000, help="pairs that model 1 learns from, besides the test's")
    args = parser.parse_args()

    data = corpus()
    sources, targets = [pair.source for pair in data.test], [pair.target for pair in data.test]
    references = [Reference(one.sure, one.possible) for one in true_alignments(sources)]
    engine = load(args.model).engine
    assert isinstance(engine, PyTorchEngine)
    model = engine.models[0]
    assert isinstance(model, Transformer)

    def row(name: str, found: Sequence[Links]) -> None:
        score = alignment_score(found, references)
        print(f"| {name} | {score.error_rate:.1%} | {score.precision:.1%} | {score.recall:.1%} |")

    def attend(name: str, choice: Choice) -> None:
        found = Aligner(model, engine.tokenizer, engine.limit, choice).align(sources, targets)
        row(f"{name}: {choice}", [frozenset((s, t) for s, t, _ in one.links) for one in found if one])

    held_out = [[getattr(pair, side) for pair in data.valid] for side in ("source", "target")]
    encoded = [engine.tokenizer.encode_ids(texts) for texts in held_out]
    choice, layers = choose(model, list(zip(*encoded, strict=True)))
    print("| | AER | precision | recall |\n| --- | --- | --- | --- |")
    row("diagonal: word n to word n", [_diagonal(pair) for pair in data.test])
    pairs = _as_ids([*data.test, *data.train[: args.train]])
    model1 = Model1(pairs)
    forward = [model1.best(*pair) for pair in pairs[: len(sources)]]
    row("IBM model 1", [frozenset((int(s), t) for t, s in enumerate(one)) for one in forward])
    row("IBM model 1, both directions agree", [frozenset(links) for links in agreed(pairs)[: len(sources)]])
    for reads in (False, True):
        best = next(one for one in layers if one.reads == reads)
        attend(f"best layer that {'reads' if reads else 'writes'}, mean of its heads", best)
    attend("chosen", choice)


def _diagonal(pair: Pair) -> Links:
    n = len(pair.source.split())
    return frozenset((min(t, n - 1), t) for t in range(len(pair.target.split())))


def _as_ids(pairs: Iterable[Pair]) -> list[tuple[list[int], list[int]]]:
    numbers: dict[str, int] = {}

    def ids(text: str) -> list[int]:
        words = (word.strip(".,!?").lower() for word in text.split())
        return [numbers.setdefault(word, len(numbers)) for word in words]

    return [(ids(pair.source), ids(pair.target)) for pair in pairs]


if __name__ == "__main__":
    main()
