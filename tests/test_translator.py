"""Texts to translations: laws that hold for any weights, checked on random ones in float64."""

import math

import numpy as np
import pytest
import torch

from heed.config import DecodeConfig
from heed.decode.sampling import Sampling
from heed.errors import DecodeError
from heed.model.transformer import Transformer
from heed.symbols import EOS, PAD
from heed.text.normalize import normalize
from heed.translator import Translator
from tests.conftest import small_config

TEXTS = [
    "the quick brown fox",
    "",
    "dog",
    "der faule Hund springt über den braunen Fuchs und über die Katze",
    "   ",
    "fox jumps",
    "über über über",
]


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request):
    """With several threads, batches are translated side by side, each in a thread of its own."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def make_translator(tokenizer, seed=0, **settings):
    torch.manual_seed(seed)
    model = Transformer(small_config(max_length=40, **settings), len(tokenizer)).double().eval()
    model.embedding.weight.data *= 4
    return Translator([model], tokenizer, DecodeConfig(extra_length=6, batch_tokens=60))


@pytest.fixture
def translator(tokenizer):
    return make_translator(tokenizer)


METHODS = [{"beam": 1}, {"beam": 4}, {"beam": 3, "alpha": 0.0}, {"sampling": Sampling(seed=4)}]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_padding_and_batch_mates_never_change_a_translation(translator, method):
    together = translator.translate(TEXTS, **method)
    for number, (text, found) in enumerate(zip(TEXTS, together, strict=True)):
        (alone,) = translator.translate([text], **method, first_number=number)
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-5)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_order_and_count_are_kept(translator, method):
    found = translator.translate(TEXTS, **method)
    backwards = translator.translate(TEXTS[::-1], **{**method, "sampling": None})
    assert len(found) == len(TEXTS)
    for text, one in zip(TEXTS, found, strict=True):
        assert one.source_pieces == translator.tokenizer.encode(text).pieces
        assert (one.text == "") >= (text.strip() == "")
    if "sampling" not in method:
        assert [one.text for one in backwards[::-1]] == [one.text for one in found]


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_blank_texts_stay_blank(translator, method):
    for texts in ([], [""], ["  ", "\u2028", ""]):
        assert [one.text for one in translator.translate(texts, **method)] == [""] * len(texts)


@pytest.mark.parametrize("method", [{"beam": 4}, {"sampling": Sampling(seed=4)}], ids=str)
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_search_score_is_forced_decoding_score(tokenizer, positions, method):
    """Each hypothesis of a cached, shared-memory, batched search against one plain pass of the model."""
    translator = make_translator(tokenizer, positions=positions)
    (model,) = translator.models
    for text, found in zip(TEXTS, translator.translate(TEXTS, n_best=4, **method), strict=True):
        assert len(found.alternatives) == (4 if text.strip() else 0)
        for one in found.alternatives:
            ids = [translator.tokenizer._processor.piece_to_id(piece) for piece in one.pieces]
            gold = [*ids, EOS] if one.finished else ids
            with torch.no_grad():
                logits = model(
                    torch.tensor([[*translator.tokenizer.encode(text).ids, EOS]]), torch.tensor([[PAD, *gold[:-1]]])
                )
            expected = logits[0].log_softmax(-1)[range(len(gold)), gold].sum().item()
            assert one.log_probability == pytest.approx(expected, abs=1e-5)
            assert one.score == pytest.approx(expected / ((5 + len(gold)) / 6) ** 0.6, abs=1e-5)


def test_score_is_the_probability_of_each_piece_multiplied(translator):
    """`score` (batched, padded) against the model run on one pair at a time."""
    sources, targets = ["the quick brown fox", "dog", "fox"], ["der", "der schnelle braune Fuchs springt", ""]
    (model,) = translator.models
    for source, target, found in zip(sources, targets, translator.score(sources, targets), strict=True):
        gold = [*translator.tokenizer.encode(target).ids, EOS]
        with torch.no_grad():
            logits = model(
                torch.tensor([[*translator.tokenizer.encode(source).ids, EOS]]), torch.tensor([[PAD, *gold[:-1]]])
            )
        assert found.n_tokens == len(gold)
        expected = logits[0].log_softmax(-1)[range(len(gold)), gold].sum().item()
        assert found.log_probability == pytest.approx(expected, abs=1e-9)


def test_score_of_several_models_is_that_of_their_mean_probability(tokenizer):
    one, other = make_translator(tokenizer, 0), make_translator(tokenizer, 1)
    both = Translator([*one.models, *other.models], tokenizer, one.decode)
    source, target = "the quick brown fox", "der schnelle Fuchs"
    gold = [*tokenizer.encode(target).ids, EOS]
    inputs = torch.tensor([[*tokenizer.encode(source).ids, EOS]]), torch.tensor([[PAD, *gold[:-1]]])
    with torch.no_grad():
        probabilities = [model(*inputs)[0].softmax(-1)[range(len(gold)), gold] for model in both.models]
    expected = sum(math.log((p + q) / 2) for p, q in zip(*(each.tolist() for each in probabilities), strict=True))
    (found,) = both.score([source], [target])
    assert found.log_probability == pytest.approx(expected, abs=1e-9)
    assert found.log_probability != pytest.approx(one.score([source], [target])[0].log_probability, abs=0.1)


@pytest.mark.usefixtures("threads")
def test_n_best_are_different_and_sorted(translator):
    for one in translator.translate(TEXTS[:1] + TEXTS[2:4], beam=4, n_best=3):
        assert len(one.alternatives) == 3
        assert one.alternatives[0].text == one.text
        scores = [other.score for other in one.alternatives]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(other.pieces) for other in one.alternatives}) == 3


@pytest.mark.usefixtures("threads")
def test_long_texts_are_translated_in_parts(translator):
    long = "the quick brown fox jumps over the lazy dog. " * 12
    short, whole = translator.translate(["dog", long])
    assert whole.cuts and set(whole.cuts) == {"sentence end"}
    assert short.cuts == ()
    spelt = "".join(whole.source_pieces).replace("▁", " ").replace("<0x2E>", ".")
    assert spelt.strip() == normalize(long)
    with pytest.raises(DecodeError, match="text 2 .* cannot have a prefix"):
        translator.translate(["dog", long], prefixes=["", "a"])


def test_an_unbroken_text_is_not_cut_off(translator):
    (found,) = translator.translate(["x" * 500], beam=1)
    assert "anywhere" in found.cuts
    assert "".join(found.source_pieces).replace("▁", "") == "x" * 500


@pytest.mark.usefixtures("threads")
def test_a_prefix_begins_the_translation(translator):
    texts = ["the quick brown fox", "dog", "über"]
    prefixes = ["der faule", "", "Hund springt"]
    for method in METHODS:
        for one, prefix in zip(translator.translate(texts, prefixes=prefixes, **method), prefixes, strict=True):
            pieces = translator.tokenizer.encode(prefix).pieces
            assert one.pieces[: len(pieces)] == pieces


def test_attention_has_every_head_and_sums_to_one(translator):
    (found,) = translator.translate(["the quick brown fox"], attention=True)
    attention = found.attention
    n_source, n_target = len(found.source_pieces) + 1, len(found.pieces) + 1
    assert attention.source_pieces == [*found.source_pieces, "</s>"]
    assert attention.target_pieces == [*found.pieces, "</s>"]
    assert attention.encoder.shape == (2, 2, n_source, n_source)
    assert attention.decoder.shape == (2, 2, n_target, n_target)
    assert attention.cross.shape == (2, 2, n_target, n_source)
    for weights in (attention.encoder, attention.decoder, attention.cross):
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)
    assert translator.translate(["dog"])[0].attention is None


def test_an_ensemble_votes(tokenizer):
    one, other = make_translator(tokenizer, 0), make_translator(tokenizer, 1)
    both = Translator([*one.models, *other.models], tokenizer, one.decode)
    twice = Translator([*one.models, *one.models], tokenizer, one.decode)
    texts = ["the quick brown fox", "dog", "der faule Hund"]
    assert [t.text for t in twice.translate(texts)] == [t.text for t in one.translate(texts)]
    votes = both.translate(texts, beam=1)
    assert [t.score for t in votes] != [t.score for t in one.translate(texts, beam=1)]


@pytest.mark.usefixtures("threads")
def test_samples_differ_between_numbers_and_seeds(translator):
    text = "the quick brown fox jumps"
    a, b = translator.translate([text, text], sampling=Sampling(seed=1))
    (c,) = translator.translate([text], sampling=Sampling(seed=2))
    (again,) = translator.translate([text], sampling=Sampling(seed=1), first_number=1)
    assert len({a.text, b.text, c.text}) == 3
    assert again.text == b.text


def test_learned_positions_bound_the_output(tokenizer):
    translator = make_translator(tokenizer, positions="learned")
    text = " ".join(["fox"] * 40)
    assert translator.fits(text)
    for beam in (1, 2):
        assert len(translator.translate([text], beam=beam)[0].pieces) <= 41


def test_a_character_of_more_pieces_than_learned_positions(tokenizer):
    """Sinusoidal positions have no last one; learned ones do."""
    settings = DecodeConfig(extra_length=2)
    models = {
        kind: Transformer(small_config(max_length=3, positions=kind), len(tokenizer)).eval()
        for kind in ("sinusoidal", "learned")
    }
    for beam in (1, 2):
        (found,) = Translator([models["sinusoidal"]], tokenizer, settings).translate(["\U0001f600"], beam=beam)
        assert len(found.source_pieces) == 5  # the mark of a word's beginning, and four bytes
        with pytest.raises(DecodeError, match="\U0001f600. is spelt in 5 pieces, .* learned positions for 3 only"):
            Translator([models["learned"]], tokenizer, settings).translate(["dog", "\U0001f600"], beam=beam)


def test_the_shortest_limit_of_several_models(tokenizer):
    models = [
        Transformer(small_config(max_length=length, positions="learned"), len(tokenizer)).eval() for length in (40, 9)
    ]
    for several in (models, models[::-1]):
        (found,) = Translator(several, tokenizer, DecodeConfig()).translate(["fox " * 12], beam=2)
        assert found.cuts == ("space",)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_weights_that_are_not_finite_have_no_score(tokenizer, method, value, kind):
    translator = make_translator(tokenizer)
    model = translator.models[0].to(kind)
    model.decoder[0].feed_forward.w_2.weight.data[0, 0] = value
    translator = Translator([model], tokenizer, translator.decode, weights="runs/x")
    with pytest.raises(DecodeError, match="no finite score: the weights of runs/x are not finite"):
        translator.translate(["the quick brown fox"], **method)
    assert not math.isfinite(translator.score(["dog"], ["Hund"])[0].log_probability)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_best": 5}, r"n_best 5 needs a beam of at least 5 \(beam is 4\)"),
        ({"n_best": 0}, "n_best must be from 1 to 1,000, not 0"),
        ({"n_best": 1001, "sampling": Sampling()}, "n_best must be from 1 to 1,000, not 1001"),
        ({"beam": 0}, "beam must be from 1 to 1,000, not 0"),
        ({"beam": 10**12}, "beam must be from 1 to 1,000, not 10{12}"),
        ({"beam": 4, "sampling": Sampling()}, "beam 4 is for searching"),
        ({"alpha": -1.0}, "alpha must be from 0 to 10, not -1.0"),
        ({"alpha": math.nan}, "alpha must be from 0 to 10, not nan"),
        ({"alpha": 1e308}, "alpha must be from 0 to 10, not 1e.308"),
        ({"prefixes": ["a", "b"]}, "1 texts, but 2 prefixes"),
        ({"prefixes": ["x" * 500], "first_number": 7}, "the prefix of text 8 has 50[01] pieces, .* limit is 40"),
    ],
)
def test_contradictions_are_refused(translator, wrong, message):
    with pytest.raises(DecodeError, match=message):
        translator.translate(["dog"], **wrong)


def test_one_text_is_not_a_list_of_texts(translator):
    with pytest.raises(TypeError, match="a list of texts"):
        translator.translate("dog")


def test_a_model_of_another_vocabulary_is_refused(tokenizer):
    model = Transformer(small_config(), len(tokenizer) + 1)
    with pytest.raises(DecodeError, match="do not belong together"):
        Translator([model], tokenizer, DecodeConfig())


def test_scoring_refuses_what_does_not_fit(translator):
    with pytest.raises(DecodeError, match="pair 2 has .* the model's limit is 40"):
        translator.score(["dog", "fox " * 100], ["Hund", "Fuchs"])
    with pytest.raises(DecodeError, match="2 sources, but 1 targets"):
        translator.score(["dog", "fox"], ["Hund"])
    assert translator.score([], []) == []
    assert translator.translate([]) == []
