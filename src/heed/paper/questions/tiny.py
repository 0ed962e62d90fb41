"""Train tiny Transformers in seconds, on the short sentences of the demo's grammar, a word a token."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice

import torch
from torch import Tensor

from heed.config import ModelConfig
from heed.data.batch import Batch, batch_of_ids
from heed.demo.grammar import part_of, sentences
from heed.inside.observe import NOTHING_OFF, Around, Observed, Switches, heads_gated
from heed.model.build import build_model
from heed.model.transformer import Transformer, as_transformer
from heed.training.batch_loss import BatchLoss
from heed.training.loss import label_smoothed_loss
from heed.vocabulary import Vocabulary

SHAPE = ModelConfig(
    encoder_layers=1, decoder_layers=1, d_model=64, d_ff=128, h=4, dropout=0.0, norm="pre", max_length=64
)
_BATCH = 64  # pairs
_WARMUP_STEPS = 30

Pairs = list[tuple[list[int], list[int]]]


@dataclass(frozen=True)
class Language:
    """Short pairs of the grammar as ids, and the words behind them."""

    words: tuple[str, ...]  # from id 3 on
    train: Pairs  # sorted by length, so that neighbours make a batch
    held_out: Pairs  # sentences that are not in `train`, made of its words

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(3 + len(self.words))

    def text(self, ids: list[int]) -> str:
        return " ".join(self.words[one - 3] if one > 2 else "?" for one in ids)


@cache
def language(drawn: int = 15_000, max_words: int = 6) -> Language:
    """Return the short sentences of so many drawn from the grammar: some 2,500 to train on, about 80 held out."""
    pairs = {pair.source: pair for pair in islice(sentences(1), drawn) if len(_words(pair.source)) <= max_words}
    training = [pair for pair in pairs.values() if part_of(pair.source) == "train"]
    words = sorted({word for pair in training for text in (pair.source, pair.target) for word in _words(text)})
    number = {word: 3 + i for i, word in enumerate(words)}
    parts: dict[bool, Pairs] = {True: [], False: []}
    for pair in pairs.values():
        source, target = ([number.get(word, 0) for word in _words(text)] for text in (pair.source, pair.target))
        if all(source) and all(target):
            parts[part_of(pair.source) == "train"].append((source, target))
    return Language(tuple(words), sorted(parts[True], key=lambda pair: len(pair[1])), parts[False])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


@dataclass(frozen=True)
class Trained:
    """A tiny model after its training."""

    model: Transformer
    losses: list[float]  # of each step, per token, without label smoothing
    held_out_loss: float  # given the right tokens before each
    translations: list[list[int]]  # of the held-out sentences, written token by token
    right: float  # the share of them that is right word for word


def train(
    shape: ModelConfig = SHAPE,
    steps: int = 300,
    rate: float = 5e-3,
    seed: int = 1,
    switches: Switches = NOTHING_OFF,
    text: Language | None = None,
    head_diversity: float = 0.0,
    prepare: Callable[[Transformer], None] = lambda model: None,
) -> Trained:
    """Train a model, and translate the held-out sentences.

    `switches` are off in training and in translation. `head_diversity` is that of TrainConfig. `prepare` changes the
    model first, such as by hooks.
    """
    torch.manual_seed(seed)
    text = text or language()
    vocabulary, pairs = text.vocabulary, text.train
    model = as_transformer(build_model(shape, vocabulary), "a tiny training")
    prepare(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
    draw, plain = random.Random(seed), heads_gated({}, switches)
    losses = []
    for step in range(steps):
        begin = draw.randrange(max(1, len(pairs) - _BATCH))
        batch = _batch(pairs[begin : begin + _BATCH], vocabulary)
        if head_diversity:
            of_batch = BatchLoss(model, 0.0, head_diversity=head_diversity)
            sums = of_batch(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)
            penalised, loss = (one / batch.n_tokens for one in sums)
        else:
            penalised = loss = batch_loss(model, batch, plain)
        losses.append(loss.item())
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / _WARMUP_STEPS, 2 * (1 - step / steps))
        optimizer.zero_grad()
        penalised.backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        held_out = _batch(text.held_out, vocabulary)
        written = _translate(model, held_out, plain)
        right = sum(made == target for made, (_, target) in zip(written, text.held_out, strict=True)) / len(written)
        return Trained(model, losses, batch_loss(model, held_out, plain).item(), written, right)


def batch_loss(model: Transformer, batch: Batch, around: Around) -> Tensor:
    """Return the loss per token, without label smoothing."""
    encoded = model.encode(Observed(batch.src_BS, batch.pad, around))
    hidden_BTD = model.decode(Observed(batch.tgt_in_BT, batch.pad, around), encoded)
    real_BT = batch.tgt_out_BT.ne(batch.pad)
    loss = label_smoothed_loss(hidden_BTD[real_BT], model.output_weight, batch.tgt_out_BT[real_BT], 0.0)
    return loss.smoothed / batch.n_tokens


def first_batch() -> Batch:
    """Return 64 pairs of the training text."""
    return _batch(language().train[-_BATCH:], language().vocabulary)


def _batch(pairs: Pairs, vocabulary: Vocabulary) -> Batch:
    sources, targets = zip(*pairs, strict=True)
    return batch_of_ids(sources, targets, vocabulary)


def _translate(model: Transformer, batch: Batch, around: Around) -> list[list[int]]:
    """Translate greedily; all that is written is decoded at every step, as a model without the causal mask needs."""
    encoded = model.encode(Observed(batch.src_BS, batch.pad, around))
    ids_BT = torch.full((len(batch.src_BS), 1), model.vocabulary.start)
    for _ in range(batch.tgt_out_BT.size(1)):
        hidden_BTD = model.decode(Observed(ids_BT, batch.pad, around), encoded)
        next_B1 = model.embedding.logits(hidden_BTD[:, -1]).argmax(-1, keepdim=True)
        ids_BT = torch.cat((ids_BT, next_B1), 1)
    written = [[*row, model.vocabulary.end] for row in ids_BT[:, 1:].tolist()]
    return [row[: row.index(model.vocabulary.end)] for row in written]
