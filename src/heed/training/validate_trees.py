"""Validate a parser: its perplexity, and the labelled F1 of its trees of held-out sentences."""

import math
from collections.abc import Callable, Sequence

from heed.config import DecodeConfig
from heed.engines.pytorch import PyTorchEngine
from heed.errors import DecodeError
from heed.model.interface import SequenceModel
from heed.options import SearchOptions
from heed.parser import parse_sentences
from heed.parsing.evalb import count_always, totals
from heed.parsing.parameters import Parameters
from heed.parsing.tokenizer import TreeTokenizer
from heed.parsing.trees import parse_tree
from heed.training.collapse import signs_of_collapse
from heed.training.stop import Interrupted
from heed.training.validate import Validation, perplexity_of, samples_of
from heed.training.workers import Workers

_CHUNK_TREES = 100  # between two checks for a stop request


def validate_trees(
    model: SequenceModel,
    tokenizer: TreeTokenizer,
    pairs: Sequence[tuple[str, str]],
    decode: DecodeConfig,
    workers: Workers,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Validation:
    """Score a parser on held-out pairs of sentence and tree; each process takes a share of them.

    Perplexity leaves out trees with labels or tags that the vocabulary lacks: they have no probability.

    Raises:
        Interrupted: `stop_asked` returned True in one of the processes.
    """
    was_training = model.training
    model.eval()
    share, trees = workers.share(list(pairs)), []
    log_probability, n_tokens = 0.0, 0
    try:
        engine = PyTorchEngine([model], tokenizer, decode)
        options = SearchOptions(beam=decode.beam, alpha=decode.alpha)
        for begin in range(0, -(-len(pairs) // workers.size), _CHUNK_TREES):
            if workers.any(stop_asked())[0]:
                raise Interrupted
            gold = [parse_tree(tree) for _, tree in share[begin : begin + _CHUNK_TREES]]
            for pair in engine.score(tokenizer.encode_pairs(gold)):
                log_probability += pair.log_probability
                n_tokens += pair.n_tokens
            try:
                trees += [str(one.tree) for one in parse_sentences(engine, [tree.words() for tree in gold], options)]
            except DecodeError:  # no finite score: the weights overflowed
                log_probability = -math.inf
                trees += [""] * len(gold)
    finally:
        model.train(was_training)
    total, n_total = workers.sum(log_probability, n_tokens)
    shares = workers.gather(trees)
    trees = [shares[i % workers.size][i // workers.size] for i in range(len(pairs))]
    if not math.isfinite(total):
        trees = [""] * len(pairs)
    counts = [
        count_always(parse_tree(gold), parse_tree(tree) if tree else None, Parameters())
        for (_, gold), tree in zip(pairs, trees, strict=True)
    ]
    scores = {"perplexity": perplexity_of(total, n_total), "f1": totals(counts, every_sentence=True).f1}
    signs = signs_of_collapse(scores["perplexity"], tokenizer.vocabulary.size, [tree for _, tree in pairs], trees)
    return Validation(scores, samples_of(pairs, trees), tuple(signs))
