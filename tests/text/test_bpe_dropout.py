"""BPE-dropout, beside sentencepiece (which merges without dropout) and beside probabilities worked out exactly."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from heed.errors import TokenizerError
from heed.text.bpe_dropout import BpeDropout, merged
from heed.text.draws import mix
from heed.text.tokenizer import Tokenizer
from heed.text.words import LineEncoder

LINES = ["the quick brown fox jumps over the lazy dog", "die schnelle Füchsin springt über den faulen Hund"] * 5
UNSEEN = ["quickest foxes overjumped", "überspringende Hündin ¿漢?", "x", "<tag> the <tag>fox"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.learn(LINES, 360, symbols=["<tag>"])


def encoded(tokenizer: Tokenizer, line: str) -> np.ndarray:
    return LineEncoder(tokenizer).encode(line + "\n")[0]


@pytest.mark.parametrize("line", LINES[:2] + UNSEEN)
def test_without_dropout_it_is_sentencepiece(tokenizer: Tokenizer, line: str) -> None:
    """Its merges are the same, so cutting words anew must change nothing."""
    ids = encoded(tokenizer, line)
    assert BpeDropout(tokenizer, 0.0)(ids, 1, 1).tolist() == ids.tolist()


@pytest.mark.parametrize("line", LINES[:2] + UNSEEN)
def test_the_text_stays(tokenizer: Tokenizer, line: str) -> None:
    ids, cut = encoded(tokenizer, line), BpeDropout(tokenizer, 0.5)
    variants = {tuple(cut(ids, epoch, 7).tolist()) for epoch in range(20)}
    assert len(variants) > 3 or line == "x"
    for variant in variants:
        assert tokenizer.decode(list(variant)) == tokenizer.decode(ids.tolist())
        assert variant.count(tokenizer.vocabulary.end) == 1 and variant[-1] == tokenizer.vocabulary.end
        assert tokenizer.pieces(variant).count("<tag>") == line.count("<tag>")


def test_a_pure_function_of_seed_and_number(tokenizer: Tokenizer) -> None:
    ids = encoded(tokenizer, LINES[0])
    one, other = BpeDropout(tokenizer, 0.3), BpeDropout(tokenizer, 0.3)
    first = [one(ids, seed, number).tolist() for seed in range(3) for number in range(3)]
    backwards = [other(ids, seed, number).tolist() for seed in range(2, -1, -1) for number in range(2, -1, -1)]
    assert first == backwards[::-1]
    assert len({tuple(ids) for ids in first}) > 3


def test_probabilities() -> None:
    """Of every segmentation of a word, by summing over all subsets of merges that may be skipped."""
    score_of = {"ab": -1.0, "bc": -2.0, "abc": -3.0, "cd": -4.0, "abcd": -5.0}
    p = 0.3

    @cache
    def exact(pieces: tuple[str, ...]) -> Counter[tuple[str, ...]]:
        places = [i for i in range(len(pieces) - 1) if pieces[i] + pieces[i + 1] in score_of]
        places.sort(key=lambda i: -score_of[pieces[i] + pieces[i + 1]])
        found: Counter[tuple[str, ...]] = Counter({pieces: p ** len(places)})
        for rank, i in enumerate(places):  # all better ones are skipped, this one is not
            rest = exact((*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]))
            for end, probability in rest.items():
                found[end] += p**rank * (1 - p) * probability
        return found

    n = 20_000
    seen = Counter(tuple(merged(list("abcd"), score_of, p, mix(i))) for i in range(n))
    expected = exact(tuple("abcd"))
    assert sum(expected.values()) == pytest.approx(1)
    for pieces, probability in expected.items():
        assert seen[pieces] / n == pytest.approx(probability, abs=4 * (probability / n) ** 0.5 + 1e-9), pieces


def test_another_kind_of_vocabulary_is_refused() -> None:
    with pytest.raises(TokenizerError, match="byte-pair"):
        BpeDropout(Tokenizer.learn(LINES, 400, unit="character"), 0.1)
