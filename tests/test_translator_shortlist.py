"""Translating with a shortlist."""

import numpy as np
import pytest

from heed.data.shortlist import Shortlist
from heed.decode.sampling import Sampling
from heed.errors import DecodeError
from heed.translator import Translator
from tests.test_translator import METHODS, TEXTS, make_translator


def with_list(plain: Translator, shortlist: Shortlist) -> Translator:
    return Translator(plain.models, plain.tokenizer, plain.decode, shortlist=shortlist)


@pytest.fixture
def plain(tokenizer):
    return make_translator(tokenizer)


def whole(tokenizer):
    return Shortlist(np.ones((len(tokenizer), 1), dtype=np.int32), np.ones(len(tokenizer), dtype=bool))


def few(tokenizer):
    """Every tenth symbol, and for each source symbol the next two."""
    n = len(tokenizer)
    best = (np.arange(n)[:, None] + np.array([1, 2])) % n
    return Shortlist(best.astype(np.int32), np.arange(n) % 10 < 3)


@pytest.mark.parametrize("method", [*METHODS, {"beam": 3, "n_best": 3}], ids=str)
def test_a_list_of_all_symbols_changes_nothing(plain, tokenizer, method):
    listed = with_list(plain, whole(tokenizer))
    for one, other in zip(plain.translate(TEXTS, **method), listed.translate(TEXTS, **method), strict=True):
        assert one.text == other.text and one.pieces == other.pieces
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert [it.text for it in one.alternatives] == [it.text for it in other.alternatives]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_only_listed_symbols_are_written(plain, tokenizer, method):
    shortlist = few(tokenizer)
    texts = ["the quick brown fox", "über dog", "fox jumps"]
    prefixes = ["der faule", "", "Hund springt"]
    different = False
    for forced in (None, prefixes):
        found = with_list(plain, shortlist).translate(texts, prefixes=forced, attention=True, **method)
        sources = [tokenizer.encode(text).ids for text in texts]
        begins = [tokenizer.encode(text).ids for text in forced or []]
        allowed = set(tokenizer.pieces(shortlist.symbols(sources, begins).tolist()))
        for one in found:
            assert set(one.pieces) <= allowed
            assert one.attention.target_pieces == [*one.pieces, "</s>"]
        for one, begin in zip(found, begins, strict=False):
            assert one.pieces[: len(begin)] == tokenizer.pieces(begin)
        different |= [one.text for one in found] != [
            one.text for one in plain.translate(texts, prefixes=forced, **method)
        ]
    assert different  # the list does leave something out


def test_a_draft_is_refused(plain, tokenizer):
    with pytest.raises(DecodeError, match="does not go with a shortlist"):
        with_list(plain, whole(tokenizer)).translate(["dog"], beam=1, draft=lambda *_: [])


def test_an_ensemble_has_one_list(plain, tokenizer):
    twice = Translator([*plain.models, *plain.models], tokenizer, plain.decode, shortlist=few(tokenizer))
    once = with_list(plain, few(tokenizer))
    texts = ["the quick brown fox", "dog"]
    assert [t.text for t in twice.translate(texts)] == [t.text for t in once.translate(texts)]
    assert once.translate(texts, sampling=Sampling(seed=2))[0].text
