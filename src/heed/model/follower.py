"""A Transformer whose decoder follows the source word by word.

Some outputs go through the source in order: a tree has each word of its sentence once. How many words the output has so
far says which one is next, so the decoder need not learn to find it by attention: the encoder's vector of that word is
added to its input (deterministic attention, Liu et al. 2018). A word's vector is that of its first token.
"""

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.config import ModelConfig
from heed.model import size
from heed.model.cache import DecoderState, NextTokens
from heed.model.sequences import Encoded, Packed, Padded, Sequences, SourceWords
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary


class Follower(Transformer):
    """A Transformer that gets the next source word with each target token. The vocabulary says what words are."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.next_word = nn.Linear(config.d_model, config.d_model, bias=False)
        nn.init.xavier_uniform_(self.next_word.weight)
        n_source = vocabulary.size if vocabulary.source_size is None else vocabulary.source_size
        begins_word_V = _flags(n_source, vocabulary.begins_word | {vocabulary.end})
        self.register_buffer("begins_word_V", begins_word_V, persistent=False)
        self.register_buffer("writes_word_V", _flags(vocabulary.size, vocabulary.writes_word), persistent=False)
        self.begins_word_V: Tensor
        self.writes_word_V: Tensor

    def _encoded(self, src: Padded | Packed, x: Tensor) -> Encoded:
        begins = self.begins_word_V[src.ids]
        n_B = _count_per_sentence(begins, src.sentence, int(src.sentence.amax()) + 1)  # each has its end token
        after_B = n_B.cumsum(0)
        words = SourceWords(self.next_word(x[begins]), after_B - n_B, after_B - 1)
        return replace(super()._encoded(src, x), words=words)

    def _embedded(self, tgt: Sequences, encoded: Encoded) -> Tensor:
        assert encoded.words is not None
        return super()._embedded(tgt, encoded) + encoded.words.after(
            self._n_written(tgt, len(encoded.words.first_B)), tgt.sentence
        )

    def _n_written(self, tgt: Sequences, n_sentences: int) -> Tensor:
        """Return how many words each position's sentence has up to there."""
        if isinstance(tgt, FollowingTokens):
            return tgt.n_written_BW
        writes = self.writes_word_V[tgt.ids].long()
        n_B = _count_per_sentence(writes, tgt.sentence, n_sentences)
        before_B = n_B.cumsum(0) - n_B
        return writes.flatten().cumsum(0).view_as(writes) - before_B[tgt.sentence]

    def start(self, src_BS: Tensor) -> "FollowerState":  # type: ignore[override]
        encoded = self.encode(self._padded(src_BS))
        assert encoded.words is not None
        n_written_BW = torch.zeros(len(src_BS), 1, dtype=torch.long, device=src_BS.device)
        return FollowerState(DecoderState.begin(encoded, self.config.attention_window), encoded.words, n_written_BW)

    def step(self, ids_BW: Tensor, state: "FollowerState") -> tuple[Tensor, "FollowerState"]:  # type: ignore[override]
        state = state.after(ids_BW, self.writes_word_V)
        decoder, h = state.decoder.extended(ids_BW.size(1)), self.config.h
        tgt = FollowingTokens(ids_BW, decoder, h, state.n_written_BW)
        hidden_BWD = self.decode(tgt, replace(decoder.source.encoded(h), words=state.words))
        return self.embedding.logits(hidden_BWD), replace(state, decoder=decoder)

    # --- size ---------------------------------------------------------------------------------------------

    @staticmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        return size.count_parameters(config, vocabulary) + config.d_model**2

    @staticmethod
    def kept_floats(config: ModelConfig, length: int) -> int:
        return size.kept_floats(config, length) + 3 * config.d_model

    @staticmethod
    def update_operations(
        config: ModelConfig, vocabulary: Vocabulary, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> int:
        """Count every source token as a word: it may be one."""
        words = 3 * 2 * int(sources.sum()) * config.d_model**2
        return size.update_operations(config, vocabulary, sources, targets) + words


@dataclass(frozen=True)
class FollowerState:
    """The state of a search: that of the decoder, and how many words each hypothesis has."""

    decoder: DecoderState
    words: SourceWords
    n_written_BW: Tensor

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "FollowerState":
        n_written_BW = self.n_written_BW[sentences_B].gather(1, parents_BW)
        return FollowerState(self.decoder.select(sentences_B, parents_BW), self.words.select(sentences_B), n_written_BW)

    def after(self, ids_BW: Tensor, writes_word_V: Tensor) -> "FollowerState":
        """Return the state with these tokens counted; the decoder still has to read them."""
        return replace(self, n_written_BW=self.n_written_BW + writes_word_V[ids_BW])

    def next_words(self) -> Tensor:
        """Return the vector of the next word of each hypothesis, vectors_BWD."""
        sentence_B1 = torch.arange(len(self.n_written_BW), device=self.n_written_BW.device).unsqueeze(1)
        return self.words.after(self.n_written_BW, sentence_B1)


@dataclass(frozen=True)
class FollowingTokens(NextTokens):
    """The newest token of each hypothesis, and how many words it has with it."""

    n_written_BW: Tensor


def _flags(size: int, ids: Set[int]) -> Tensor:
    flags_V = torch.zeros(size, dtype=torch.bool)
    flags_V[sorted(ids)] = True
    return flags_V


def _count_per_sentence(flags: Tensor, sentence: Tensor, n_sentences: int) -> Tensor:
    """Return how many positions of each sentence have a flag."""
    counts_B = torch.zeros(n_sentences, dtype=torch.long, device=flags.device)
    return counts_B.index_add_(0, sentence.expand_as(flags).flatten(), flags.flatten().long())
