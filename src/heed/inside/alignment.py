"""Word alignments from encoder-decoder attention: forced decoding, the heads that align best, links between words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray

from heed.data.batch import batch_of_ids
from heed.errors import DecodeError
from heed.inside.model1 import agreed
from heed.inside.observe import Kind, Observed
from heed.model.attention import attention, fused
from heed.model.transformer import Transformer
from heed.text.normalize import SPACE_MARK, normalize
from heed.text.tokenizer import Tokenizer

Floats = NDArray[np.float32]
Pair = tuple[list[int], list[int]]  # ids of a source and a target, without end tokens
Head = tuple[int, int]  # layer and head, from 0

_TOKENS_AT_ONCE = 4000
_MOST_HEADS = 8


@dataclass(frozen=True)
class Choice:
    """Which attention aligns: the mean of some heads, at the step that reads a target token or the one that writes it.

    A decoder step reads one token and writes the next. What it attends to may go with either, and often goes with the
    token it reads (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation").
    """

    heads: tuple[Head, ...]
    reads: bool
    agreement: float | None = None  # share of the links of model 1 that it finds; None: not measured

    def __str__(self) -> str:
        names = ", ".join(f"{layer + 1}.{head + 1}" for layer, head in self.heads)
        return f"heads {names} (layer.head) of the step that {'reads' if self.reads else 'writes'} a word"


@dataclass(frozen=True)
class Aligned:
    """One pair: its words, and the links (source, target, weight), one for each target word."""

    source: list[str]
    target: list[str]
    links: list[tuple[int, int, float]]


class Aligner:
    """Aligns pairs of texts with a model."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, limit: int, choice: Choice) -> None:
        """Take a model, its tokenizer, the most pieces that it reads, and heads, which are checked.

        Raises:
            DecodeError: the model has no such head.
        """
        n_layers, h = len(model.decoder), model.config.h
        for layer, head in choice.heads:
            if not (0 <= layer < n_layers and 0 <= head < h):
                raise DecodeError(
                    f"there is no head {layer + 1}.{head + 1}: the decoder has layers 1 to {n_layers}, heads 1 to {h}"
                )
        self.choice = choice
        self._model, self._tokenizer, self._limit = model, tokenizer, limit

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Aligned | None]:
        """Align pairs. None: a text has more pieces than the model's limit. A blank text gives no links."""
        encode = self._tokenizer.encode_ids
        pairs = list(zip(encode(list(sources)), encode(list(targets)), strict=True))
        found: list[Aligned | None] = []
        for pair, source, target in zip(pairs, sources, targets, strict=True):
            fits = max(map(len, pair)) <= self._limit
            found.append(Aligned(normalize(source).split(), normalize(target).split(), []) if fits else None)
        todo = [i for i, one in enumerate(found) if one and one.source and one.target]
        weights = cross_attention(self._model, [pairs[i] for i in todo], self.choice.heads)
        for i, weights_NTS in zip(todo, weights, strict=True):
            one = found[i]
            assert one
            source_words, target_words = (words_of(self._tokenizer.pieces(ids)) for ids in pairs[i])
            one.links.extend(_links(_rows(weights_NTS.mean(0), self.choice.reads), source_words, target_words))
        return found


def choose(
    model: Transformer, pairs: Sequence[Pair], on_done: Callable[[int], None] = lambda n: None
) -> tuple[Choice, list[Choice]]:
    """Choose the heads that best agree with IBM model 1 on held-out pairs, and return the best layers as well.

    Model 1 learns from the same pairs, in both directions; links that both find are the reference. The choice starts
    with the best head and adds the one that helps most, as long as one does. The mean of a whole layer is chosen if
    that is better. `on_done` is told of each number of pairs.

    Raises:
        DecodeError: there are no pairs to choose with.
    """
    if not pairs:
        raise DecodeError("there is no text to choose heads with; give --choose-on SOURCE TARGET, or --heads")
    heads = [(layer, head) for layer in range(len(model.decoder)) for head in range(model.config.h)]
    links = agreed(pairs)
    counted = []
    for weights_NTS, pair_links in zip(cross_attention(model, pairs, heads), links, strict=True):
        here = np.array(pair_links, dtype=np.int64).reshape(-1, 2)
        # Of each link, what all heads give the source positions, when the token is written and when it is read.
        counted.append((weights_NTS[:, here[:, 1], :-1], weights_NTS[:, here[:, 1] + 1, :-1], here[:, 0]))
        on_done(1)
    n_links = max(sum(map(len, links)), 1)

    def agreement(some: Sequence[Head], reads: bool) -> float:
        numbers = [heads.index(one) for one in some]
        return sum(int((one[reads][numbers].sum(0).argmax(1) == one[2]).sum()) for one in counted) / n_links

    layers, chosen = [], []
    for reads in (False, True):
        for _, group in groupby(heads, key=lambda head: head[0]):
            layer = tuple(group)
            layers.append(Choice(layer, reads, agreement(layer, reads)))
        best = Choice((), reads, 0.0)
        while len(best.heads) < min(_MOST_HEADS, len(heads)):
            others = [(*best.heads, one) for one in heads if one not in best.heads]
            scored = [Choice(some, reads, agreement(some, reads)) for some in others]
            better = max(scored, key=_agreement)
            if _agreement(better) <= _agreement(best):
                break
            best = better
        chosen.append(best)
    layers.sort(key=_agreement, reverse=True)
    return max([*chosen, layers[0]], key=_agreement), layers


def _agreement(choice: Choice) -> float:
    return choice.agreement or 0.0


@torch.inference_mode()
def cross_attention(model: Transformer, pairs: Sequence[Pair], heads: Sequence[Head]) -> Iterator[Floats]:
    """Yield the weights of some heads for each pair, in order: heads × T × S, the ends counted.

    The translation is given, not searched for. Row i reads token i - 1 (row 0 the start) and writes token i.
    """
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][0]), len(pairs[i][1])))
    found: dict[int, Floats] = {}
    for rows in _batches(order, pairs):
        kept: dict[Head, torch.Tensor] = {}

        def around(
            kind: Kind, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
        ) -> torch.Tensor:
            if kind != "cross":
                return fused(mask)(q, k, v)
            context, weights_BHLM = attention(q, k, v, mask)
            kept.update({one: weights_BHLM[:, one[1]] for one in heads if one[0] == layer})  # noqa: B023 - called below
            return context

        batch = batch_of_ids([pairs[i][0] for i in rows], [pairs[i][1] for i in rows], model.vocabulary)
        batch = batch.to(model.device)
        encoded = model.encode(Observed(batch.src_BS, batch.pad, around))
        model.decode(Observed(batch.tgt_in_BT, batch.pad, around), encoded)
        weights_BNTS = torch.stack([kept[one] for one in heads], 1).float().cpu().numpy()
        for i, weights_NTS in zip(rows, weights_BNTS, strict=True):
            found[i] = weights_NTS[:, : len(pairs[i][1]) + 1, : len(pairs[i][0]) + 1].copy()
    for i in range(len(pairs)):
        yield found.pop(i)


def _batches(order: Sequence[int], pairs: Sequence[Pair]) -> Iterator[list[int]]:
    rows: list[int] = []
    longest = 0
    for i in order:
        longest = max(longest, *map(len, pairs[i]))
        if rows and longest * (len(rows) + 1) > _TOKENS_AT_ONCE:
            yield rows
            rows, longest = [], max(map(len, pairs[i]))
        rows.append(i)
    if rows:
        yield rows


def words_of(pieces: Sequence[str]) -> Floats:
    """Return which pieces stand for each word, as words × pieces of ones and zeros. A word begins with a space.

    Punctuation that adjoins a word does not stand for it: a full stop attends to the other full stop, wherever that is.
    """
    begins = np.array([piece.startswith(SPACE_MARK) for piece in pieces])
    begins[:1] = True
    of_word = begins.cumsum() - 1
    members = (np.arange(of_word[-1] + 1)[:, None] == of_word).astype(np.float32)
    has_letter = np.array([any(map(str.isalnum, piece)) for piece in pieces])
    lettered = members * has_letter
    chosen: Floats = np.where(lettered.any(1, keepdims=True), lettered, members)
    return chosen


def _rows(weights_TS: Floats, reads: bool) -> Floats:
    """Return a row for each target token, without its end, and a column for each source token, without its end."""
    return weights_TS[1:, :-1] if reads else weights_TS[:-1, :-1]


def _links(weights_TS: Floats, source_words: Floats, target_words: Floats) -> list[tuple[int, int, float]]:
    """Link each target word with the source word that it attends to most.

    That is the mean over the target word's tokens of the sum over the source word's.
    """
    by_word = target_words @ weights_TS @ source_words.T / target_words.sum(1, keepdims=True)
    return [(int(s), t, float(by_word[t, s])) for t, s in enumerate(by_word.argmax(1))]
