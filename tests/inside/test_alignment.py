"""Word alignments: attention of a given translation, the choice of heads, and links between words."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch

from heed.errors import DecodeError
from heed.inside import alignment
from heed.inside.alignment import Aligner, Choice, Head, Pair, choose, cross_attention, words_of
from heed.inside.model1 import agreed
from heed.inside.walk import record
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary
from tests.conftest import small_config
from tests.inside.conftest import small_translator

CHANCE = np.random.default_rng(4)
# Source token n goes with target token n + 20, in reversed order, whatever stands around it.
PAIRS: list[Pair] = []
for _ in range(60):
    source = CHANCE.permutation(np.arange(4, 16))[: CHANCE.integers(4, 8)].tolist()
    PAIRS.append((source, [one + 20 for one in source[::-1]]))
HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(5)
    return Transformer(small_config(), Vocabulary(40)).eval()


def test_weights_are_those_of_a_pass_over_one_pair(model: Transformer) -> None:
    some = [HEADS[3], HEADS[0]]
    for pair, weights_NTS in zip(PAIRS[:9], cross_attention(model, PAIRS[:9], some), strict=True):
        walk = record(model, *pair)
        for (layer, head), found in zip(some, weights_NTS, strict=True):
            np.testing.assert_allclose(found, walk[f"decoder.{layer}.cross.weights"][head], atol=1e-5)


def test_model_1_finds_links_in_both_directions() -> None:
    for (source, _), links in zip(PAIRS, agreed(PAIRS), strict=True):
        assert links == [(len(source) - 1 - t, t) for t in range(len(source))]


@pytest.mark.parametrize("reads", [True, False])
def test_the_head_that_aligns_is_chosen(monkeypatch: pytest.MonkeyPatch, model: Transformer, reads: bool) -> None:
    """Head 2.1 is made to look at the source of the token that it reads, or writes; the others at random."""
    chance = np.random.default_rng(1)

    def fake(model: object, pairs: Sequence[Pair], heads: Sequence[Head]) -> Iterator[np.ndarray]:
        for source, target in pairs:
            weights = chance.random((len(heads), len(target) + 1, len(source) + 1)).astype(np.float32)
            weights[heads.index((1, 0))] = 0
            for t in range(len(target)):
                weights[heads.index((1, 0)), t + reads, len(source) - 1 - t] = 1
            yield weights

    monkeypatch.setattr(alignment, "cross_attention", fake)
    told: list[int] = []
    choice, layers = choose(model, PAIRS, told.append)
    assert choice.heads == ((1, 0),) and choice.reads == reads and choice.agreement == 1
    assert {head[0] for head in layers[0].heads} == {1} and layers[0].reads == reads and len(layers) == 4
    assert sum(told) == len(PAIRS)
    assert str(choice) == f"heads 2.1 (layer.head) of the step that {'reads' if reads else 'writes'} a word"


def test_heads_are_not_chosen_without_text_or_where_there_are_none(model: Transformer, tokenizer: Tokenizer) -> None:
    with pytest.raises(DecodeError, match="no text to choose heads with; give --choose-on"):
        choose(model, [])
    with pytest.raises(DecodeError, match=r"no head 3\.1: the decoder has layers 1 to 2, heads 1 to 2"):
        Aligner(model, tokenizer, 60, Choice(((2, 0),), reads=True))


def test_punctuation_stands_for_a_word_only_if_there_is_nothing_else() -> None:
    np.testing.assert_array_equal(
        words_of(["▁Ver", "ein", ".", "▁", "–", "▁«", "du", "»", "?"]),
        [[1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0, 0]],
    )


@pytest.mark.parametrize("reads", [True, False])
def test_links_are_the_heaviest_words_by_loops(tokenizer: Tokenizer, reads: bool) -> None:
    translator = small_translator(tokenizer)
    (model,) = translator.models
    sources = ["the quick brown fox.", "", "lazy  dog", "the fox jumps"]
    targets = ["der schnelle Fuchs!", "der", "der faule Hund", " "]
    aligner = Aligner(model, tokenizer, 60, Choice(((1, 0), (0, 1)), reads))  # type: ignore[arg-type]
    found = aligner.align(sources, targets)
    for n in (0, 2):
        (source,), (target,) = (tokenizer.encode_ids([texts[n]]) for texts in (sources, targets))
        walk = record(model, source, target)  # type: ignore[arg-type]
        mean = (walk["decoder.1.cross.weights"][0] + walk["decoder.0.cross.weights"][1]) / 2
        one = found[n]
        assert one is not None
        assert (one.source, one.target) == (sources[n].split(), targets[n].split())
        assert [t for _, t, _ in one.links] == list(range(len(one.target)))
        for s, t, weight in one.links:
            heard = []
            for word in range(len(one.source)):
                rows, columns = _pieces(tokenizer, target, t), _pieces(tokenizer, source, word)
                total = sum(float(mean[row + reads, column]) for row in rows for column in columns)
                heard.append(total / len(rows))
            assert s == int(np.argmax(heard)) and weight == pytest.approx(heard[s], abs=1e-5)
    for n in (1, 3):  # blank on one side
        assert found[n] is not None and found[n].links == []  # type: ignore[union-attr]


def test_a_pair_over_the_limit_is_told(tokenizer: Tokenizer) -> None:
    (model,) = small_translator(tokenizer).models
    aligner = Aligner(model, tokenizer, 10, Choice(((0, 0),), reads=True))  # type: ignore[arg-type]
    assert [one is None for one in aligner.align(["dog", "dog " * 11], ["Hund", "Hund"])] == [False, True]
    assert [one is None for one in aligner.align(["dog"], ["Hund " * 11])] == [True]


def _pieces(tokenizer: Tokenizer, ids: list[int], word: int) -> list[int]:
    """Return the numbers of a word's pieces that have a letter, by walking over them."""
    at, found = -1, []
    for number, piece in enumerate(tokenizer.pieces(ids)):
        at += piece.startswith("▁")
        if at == word and any(one.isalpha() for one in piece):
            found.append(number)
    return found
