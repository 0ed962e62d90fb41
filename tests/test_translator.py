"""Laws of translating that hold for any weights, checked with random ones in float64."""

import copy
import json
import math
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from heed.config import DecodeConfig
from heed.errors import DecodeError
from heed.kernels.library import library
from heed.loading import load
from heed.model.transformer import Transformer
from heed.options import Sampling
from heed.text.normalize import normalize
from heed.vocabulary import Vocabulary
from tests.conftest import EOS, PAD, small_config, torch_translator

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
    """With several threads, batches are translated in parallel, one per thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def make_translator(tokenizer, seed=0, **settings):
    torch.manual_seed(seed)
    model = Transformer(small_config(max_length=40, **settings), tokenizer.vocabulary).double().eval()
    model.embedding.weight.data *= 4
    return torch_translator([model], tokenizer, DecodeConfig(extra_length=6, batch_tokens=60))


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
    """Compare each hypothesis of a batched search with KV cache with one plain pass of the model."""
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


def test_score_is_the_product_of_the_pieces_probabilities(translator):
    """Compare `score`, batched and padded, with the model run on one pair at a time."""
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
    both = torch_translator([*one.models, *other.models], tokenizer, one.decode)
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


def test_a_translation_is_at_most_so_many_tokens_longer_than_its_text(tokenizer):
    """Section 6.1: 50 of them, which is the default; here 6."""
    assert DecodeConfig().extra_length == 50
    found = [one for seed in range(4) for one in make_translator(tokenizer, seed).translate(TEXTS, copy=False)]
    longer = [(one.finished, len(one.pieces) - len(one.source_pieces)) for one in found]
    assert max(more for _, more in longer) <= 6
    assert {more for finished, more in longer if not finished} == {6}  # search went on until the limit


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


def test_a_column_of_the_decoders_attention_is_the_previous_piece(translator):
    """Step t attends to nothing later: no weight right of the diagonal."""
    (found,) = translator.translate(["the quick brown fox"], attention=True)
    attention = found.attention
    assert attention.target_inputs == ["<s>", *found.pieces]
    assert attention.decoder.shape[-1] == len(attention.target_inputs)
    later = np.triu(np.ones(attention.decoder.shape[-2:], dtype=bool), k=1)
    assert later.any() and (attention.decoder[..., later] == 0).all()


def test_translations_compare_and_hash_with_attention_too(translator):
    texts = ["the quick brown fox", "dog"]
    plain = translator.translate(texts, n_best=2)
    shown = translator.translate(texts, n_best=2, attention=True)
    assert shown == plain
    assert shown[0] != shown[1] and shown[0] != replace(shown[0], pieces=[])
    assert len({*plain, *shown}) == 2
    assert shown[0].attention == shown[0].attention and shown[0].attention != shown[1].attention
    assert len({one.attention for one in shown}) == 2


def test_reprs_are_short(translator):
    (found,) = translator.translate(["dog"], n_best=2, attention=True)
    assert repr(replace(found, text="Hund", score=-0.5)) == (
        "Translation(text='Hund', score=-0.5, finished=True, cuts=())"
    ).replace("True", str(found.finished))
    assert repr(replace(found.attention, source_pieces=["a"], target_pieces=["b"])) == (
        "Attention(source_pieces=['a'], target_pieces=['b'])"
    )
    size = len(translator.tokenizer)
    assert repr(translator) == f"<Translator: torch, 1 model, 2+2 layers of width 24, vocabulary of {size}, cpu>"
    two = torch_translator(translator.models * 2, translator.tokenizer, translator.decode, int8=True)
    assert repr(two) == f"<Translator: torch, 2 models, 2+2 layers of width 24, vocabulary of {size}, cpu, int8>"


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_counts_texts(translator, threads):
    long = "the quick brown fox jumps over the lazy dog. " * 12  # in parts, but one text
    texts, calls = [*TEXTS, long, *TEXTS], []
    torch.set_num_threads(threads)
    try:
        translator.translate(texts, beam=2, progress=lambda done, total: calls.append((done, total)))
    finally:
        torch.set_num_threads(1)
    done = [one for one, _ in calls]
    assert len(calls) > 2 and {total for _, total in calls} == {len(texts)}
    assert done == sorted(done) and done[0] >= 4 and done[-1] == len(texts)  # four texts are blank


def test_an_exception_in_progress_ends_the_translation(translator):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translator.translate(TEXTS, progress=stop)
    assert len(translator.translate(TEXTS)) == len(TEXTS)


# --- what a search returns --------------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_each_pieces_log_probability(translator, method):
    """They equal those of a plain pass over the finished translation, and add up to its log-probability."""
    (model,) = translator.models
    for text, found in zip(TEXTS, translator.translate(TEXTS, **method), strict=True):
        assert sum(found.log_probabilities) == pytest.approx(found.log_probability, abs=1e-5)
        assert len(found.log_probabilities) == (len(found.pieces) + found.finished if text.strip() else 0)
        if not found.pieces:
            continue
        ids = [translator.tokenizer._processor.piece_to_id(piece) for piece in found.pieces]
        gold = [*ids, EOS] if found.finished else ids
        source = translator.tokenizer.encode(text).ids
        with torch.no_grad():
            logits = model(torch.tensor([[*source, EOS]]), torch.tensor([[PAD, *gold[:-1]]]))
        expected = logits[0].log_softmax(-1)[range(len(gold)), gold].tolist()
        assert found.log_probabilities == pytest.approx(expected, abs=1e-5)


def test_the_log_probabilities_of_parts_and_alternatives(translator):
    long = "the quick brown fox jumps over the lazy dog. " * 12
    (whole,) = translator.translate([long], n_best=3)
    for one in whole.alternatives:
        assert one.cuts
        assert sum(one.log_probabilities) == pytest.approx(one.log_probability, abs=1e-4)


def sequences(trace):
    """Return, for each step, its candidates with the pieces of their sequences."""
    before, found = [()], []
    for step in trace.steps:
        these = [(*before[one.parent], one.piece) for one in step]
        found.append(list(zip(step, these, strict=True)))
        before = [pieces for one, pieces in found[-1] if one.fate == "kept"]
    return found


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("beam", [1, 4])
def test_a_trace_contains_the_translation(translator, beam):
    plain = translator.translate(TEXTS, beam=beam, copy=False)
    traced = translator.translate(TEXTS, beam=beam, copy=False, trace=True)
    for text, one, found in zip(TEXTS, plain, traced, strict=True):
        assert found == one and one.trace is None  # tracing changes nothing
        if not text.strip():
            assert found.trace is None
            continue
        steps = sequences(found.trace)
        for number, step in enumerate(steps):
            totals = [candidate.log_probability for candidate, _ in step]
            assert totals == sorted(totals, reverse=True)
            assert sum(candidate.fate == "kept" for candidate, _ in step) <= beam
            for candidate, _ in step:
                penalty = ((5 + number + 1) / 6) ** 0.6
                assert candidate.score == pytest.approx(candidate.log_probability / penalty)
        written = (*found.pieces, "</s>") if found.finished else tuple(found.pieces)
        fate = "finished" if found.finished else "kept"
        (last,) = [one for one, pieces in steps[len(written) - 1] if pieces == written and one.fate == fate]
        assert last.log_probability == pytest.approx(found.log_probability, abs=1e-5)
        for length in range(1, len(written)):
            assert written[:length] in [pieces for one, pieces in steps[length - 1] if one.fate == "kept"]


def test_a_trace_says_why_a_candidate_was_dropped(translator):
    (found,) = translator.translate(["the quick brown fox"], beam=2, copy=False, trace=True)
    fates = [one.fate for step in found.trace.steps for one in step]
    assert "pruned: not among the best 2 that continue" in fates
    assert set(fates) <= {
        *("kept", "finished", "pruned: not among the best 2 that continue"),
        "ended, but not among the best 2",
    }


# --- deadlines and cancelling ------------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_deadline(translator, method):
    with pytest.raises(DecodeError, match="the search did not finish before its deadline"):
        translator.translate(TEXTS, seconds=0.0, **method)
    assert translator.translate(TEXTS, seconds=600, **method) == translator.translate(TEXTS, **method)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_search_is_cancelled(translator, method):
    with pytest.raises(DecodeError, match="the search was cancelled"):
        translator.translate(TEXTS, is_cancelled=lambda: True, **method)
    expected = translator.translate(TEXTS, **method)
    assert translator.translate(TEXTS, is_cancelled=lambda: False, **method) == expected


def test_a_search_is_cancelled_halfway(translator):
    asked = []

    def after_three() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(DecodeError, match="the search was cancelled"):
        translator.translate(["the quick brown fox"], is_cancelled=after_three)
    assert len(asked) == 4
    assert translator.translate([], seconds=0.0, is_cancelled=lambda: True) == []


# --- several threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("int8", [False, True], ids=["float", "int8"])
def test_several_threads_use_one_translator(tokenizer, int8):
    """Calls do not affect each other, although they share the models, the cores and the compiled decoder."""
    if int8 and library() is None:
        pytest.skip("no compiler")
    made = make_translator(tokenizer)
    texts = [[f"{text} {number}" for text in TEXTS[: 3 + number]] for number in range(4)]
    methods = [METHODS[number % len(METHODS)] for number in range(4)]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        alone = torch_translator([made.models[0].float()], tokenizer, made.decode, int8=int8)
        expected = [alone.translate(some, **method) for some, method in zip(texts, methods, strict=True)]
        shared, begin = torch_translator(alone.models, tokenizer, made.decode, int8=int8), threading.Barrier(4)

        def work(number: int) -> list[object]:
            begin.wait()
            return [shared.translate(texts[number], **methods[number]) for _ in range(5)]

        with ThreadPoolExecutor(4) as pool:
            for found, one in zip(pool.map(work, range(4)), expected, strict=True):
                assert found == [one] * 5
    finally:
        torch.set_num_threads(before)


# --- other processes --------------------------------------------------------------------------------------


SPAWN = """
import json, multiprocessing, pickle, sys
from pathlib import Path

from heed.vocabulary import Vocabulary
import torch

if __name__ == "__main__":
    torch.set_num_threads(1)
    translator, texts = pickle.loads(Path(sys.argv[1]).read_bytes())
    before = translator.translate(texts)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        portions = pool.map(translator.translate, [texts[::2], texts[1::2]])
    after = translator.translate(texts)
    print(json.dumps([[one.text for one in several] for several in (before, *portions, after)]))
"""


@pytest.mark.parametrize("int8", [False, True], ids=["float", "int8"])
def test_a_used_translator_is_copied_and_pickled(tokenizer, int8):
    made = make_translator(tokenizer)
    used = torch_translator([made.models[0].float()], tokenizer, made.decode, int8=int8)
    expected = used.translate(TEXTS)
    for other in (pickle.loads(pickle.dumps(used)), copy.deepcopy(used), copy.copy(used)):
        assert other.translate(TEXTS) == expected
    fresh = torch_translator(used.models, tokenizer, made.decode, int8=int8)
    assert len(pickle.dumps(used)) == len(pickle.dumps(fresh))


def test_a_pool_of_spawned_processes_translates_the_same(tokenizer, tmp_path):
    made = make_translator(tokenizer)
    used = torch_translator([made.models[0].float()], tokenizer, made.decode)
    expected = [one.text for one in used.translate(TEXTS)]
    (tmp_path / "translator").write_bytes(pickle.dumps((used, TEXTS)))
    (tmp_path / "spawn.py").write_text(SPAWN, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "spawn.py"), str(tmp_path / "translator")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [expected, expected[::2], expected[1::2], expected]


def test_an_ensemble_averages(tokenizer):
    one, other = make_translator(tokenizer, 0), make_translator(tokenizer, 1)
    both = torch_translator([*one.models, *other.models], tokenizer, one.decode)
    twice = torch_translator([*one.models, *one.models], tokenizer, one.decode)
    texts = ["the quick brown fox", "dog", "der faule Hund"]
    assert [t.text for t in twice.translate(texts)] == [t.text for t in one.translate(texts)]
    averaged = both.translate(texts, beam=1)
    assert [t.score for t in averaged] != [t.score for t in one.translate(texts, beam=1)]


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
    """Sinusoidal positions are unlimited; learned ones are not."""
    settings = DecodeConfig(extra_length=2, copy=False)
    models = {
        kind: Transformer(small_config(max_length=3, positions=kind), tokenizer.vocabulary).eval()
        for kind in ("sinusoidal", "learned")
    }
    for beam in (1, 2):
        (found,) = torch_translator([models["sinusoidal"]], tokenizer, settings).translate(["\U0001f600"], beam=beam)
        assert len(found.source_pieces) == 5  # the word boundary, and four bytes
        with pytest.raises(DecodeError, match="\U0001f600. is encoded as 5 pieces, .* learned positions for 3 only"):
            torch_translator([models["learned"]], tokenizer, settings).translate(["dog", "\U0001f600"], beam=beam)


def test_the_shortest_limit_of_several_models(tokenizer):
    models = [
        Transformer(small_config(max_length=length, positions="learned"), tokenizer.vocabulary).eval()
        for length in (40, 9)
    ]
    for several in (models, models[::-1]):
        (found,) = torch_translator(several, tokenizer, DecodeConfig()).translate(["fox " * 12], beam=2)
        assert found.cuts == ("space",)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_weights_that_are_not_finite_have_no_score(tokenizer, method, value, kind):
    translator = make_translator(tokenizer)
    model = translator.models[0].to(kind)
    model.decoder[0].feed_forward.w_2.weight.data[0, 0] = value
    translator = torch_translator([model], tokenizer, translator.decode, weights="runs/x")
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
        ({"beam": 4, "sampling": Sampling()}, "beam 4 is for beam search"),
        ({"alpha": -1.0}, "alpha must be from 0 to 10, not -1.0"),
        ({"alpha": math.nan}, "alpha must be from 0 to 10, not nan"),
        ({"alpha": 1e308}, "alpha must be from 0 to 10, not 1e.308"),
        ({"prefixes": ["a", "b"]}, "1 texts, but 2 prefixes"),
        ({"prefixes": ["x" * 500], "first_number": 7}, "the prefix of text 8 has 50[01] pieces, .* limit is 40"),
    ],
)
def test_invalid_options_are_refused(translator, wrong, message):
    with pytest.raises(DecodeError, match=message):
        translator.translate(["dog"], **wrong)


WRONG_TYPES = [
    ((None,), {}, "texts must be a list of texts (str), not None"),
    (("dog",), {}, "texts must be a list of texts (str), not str: 'dog'"),
    ((b"dog",), {}, "texts must be a list of texts (str), not bytes: b'dog'"),
    ((["dog", None],), {}, "texts[1] must be a text (str), not None"),
    (([b"x"],), {}, "texts[0] must be a text (str), not bytes: b'x'"),
    (([["a"]],), {}, "texts[0] must be a text (str), not list: ['a']"),
    ((["dog"],), {"beam": "4"}, "beam must be a whole number (int), not str: '4'"),
    ((["dog"],), {"beam": 2.5}, "beam must be a whole number (int), not float: 2.5"),
    ((["dog"],), {"beam": True}, "beam must be a whole number (int), not bool: True"),
    ((["dog"],), {"alpha": "0.6"}, "alpha must be a number (float), not str: '0.6'"),
    ((["dog"],), {"n_best": 1.0}, "n_best must be a whole number (int), not float: 1.0"),
    ((["dog"],), {"first_number": None}, "first_number must be a whole number (int), not None"),
    ((["dog"],), {"seconds": "5"}, "seconds must be a number (float), not str: '5'"),
    ((["dog"],), {"prefixes": "d"}, "prefixes must be a list of texts (str), not str: 'd'"),
    ((["dog"],), {"prefixes": [None]}, "prefixes[0] must be a text (str), not None"),
    ((["dog"],), {"sampling": 3}, "sampling must be a heed.Sampling, not int"),
]


@pytest.mark.parametrize(("texts", "options", "message"), WRONG_TYPES, ids=[message for _, _, message in WRONG_TYPES])
def test_wrong_types_are_refused_with_the_value(translator, texts, options, message):
    with pytest.raises(TypeError) as caught:
        translator.translate(*texts, **options)
    assert str(caught.value) == message


def test_wrong_types_are_refused_elsewhere(translator):
    with pytest.raises(TypeError, match=r"targets\[0\] must be a text \(str\), not None"):
        translator.score(["dog"], [None])
    with pytest.raises(TypeError, match=r"must be a text \(str\), not bytes: b'dog'"):
        translator.fits(b"dog")
    with pytest.raises(TypeError, match=r"not str: '[x]{56}\.\.\.$"):
        translator.translate("x" * 100_000)


def test_numpy_values_and_generators_are_accepted(translator):
    texts = ["the quick brown fox", "dog"]
    expected = translator.translate(texts, beam=2, alpha=1.0)
    assert translator.translate(np.array(texts), beam=np.int64(2), alpha=np.float32(1)) == expected
    assert translator.translate((text for text in texts), beam=2, alpha=1) == expected


@pytest.mark.parametrize(
    ("paths", "options", "message"),
    [
        ((["a"],), {}, """load takes folders one by one, as in load("runs/x", "runs/y"), not ['a']"""),
        ((None,), {}, """load takes folders one by one, as in load("runs/x", "runs/y"), not None"""),
        (("a",), {"checkpoint": 1100}, 'checkpoint must be "best", "last" or a name such as "step-00000500", not 1100'),
    ],
)
def test_load_refuses_wrong_types(paths, options, message):
    with pytest.raises(TypeError) as caught:
        load(*paths, **options)
    assert str(caught.value) == message


def test_a_model_of_another_vocabulary_is_refused(tokenizer):
    model = Transformer(small_config(), Vocabulary(len(tokenizer) + 1))
    with pytest.raises(DecodeError, match="do not belong together"):
        torch_translator([model], tokenizer, DecodeConfig())


def test_scoring_refuses_long_texts_and_unequal_lists(translator):
    with pytest.raises(DecodeError, match="pair 2 has .* the model's limit is 40"):
        translator.score(["dog", "fox " * 100], ["Hund", "Fuchs"])
    with pytest.raises(DecodeError, match="2 sources, but 1 targets"):
        translator.score(["dog", "fox"], ["Hund"])
    assert translator.score([], []) == []
    assert translator.translate([]) == []


class Only:
    """A constraint by which text i has exactly i tokens, all from a given list."""

    def __init__(self, tokens):
        self.tokens = np.array(tokens)

    def start(self, sentence):
        return sentence

    def allowed(self, left):
        return self.tokens if left else np.array([EOS])

    def advance(self, left, token):
        return left - 1


@pytest.mark.parametrize(
    "options", [{"beam": 4, "n_best": 3}, {"beam": 1}, {"sampling": Sampling(seed=3), "n_best": 2}]
)
def test_a_constraint_applies_to_the_right_text(tokenizer, options):
    """Texts are sorted by length into batches, but each keeps its own constraint."""
    texts = ["the quick brown fox jumps over the lazy dog", "dog", "the lazy dog", "fox fox"]
    tokens = [20, 30, 40, 41]
    found = make_translator(tokenizer).translate(texts, constraint=Only(tokens), **options)
    allowed = set(tokenizer.pieces(tokens))
    for i, translation in enumerate(found):
        for one in translation.alternatives or (translation,):
            assert len(one.pieces) == i and set(one.pieces) <= allowed and one.finished


# --- several sentences in a text ---------------------------------------------------------------------------

SEVERAL = "the quick fox jumps. The lazy dog! Why?"
ALONE = ["the quick fox jumps.", "The lazy dog!", "Why?"]


def test_sentences_are_translated_one_by_one(translator):
    (found,) = translator.translate([SEVERAL], sentences=True)
    alone = translator.translate(ALONE)
    assert found.text == " ".join(one.text for one in alone if one.text)
    assert found.log_probability == pytest.approx(sum(one.log_probability for one in alone), abs=1e-4)
    assert found.cuts == ("sentence", "sentence")
    assert translator.translate([SEVERAL])[0].cuts == ()  # not by default
    blank, one, last = translator.translate(["", SEVERAL, "Why?"], sentences=True, n_best=2)
    assert (blank.text, len(one.alternatives), last.cuts) == ("", 2, ())


def test_the_runs_setting_is_the_default_of_sentences(translator, tokenizer):
    split = torch_translator(translator.models, tokenizer, replace(translator.decode, sentences=True))
    whole, apart = translator.translate([SEVERAL]), translator.translate([SEVERAL], sentences=True)
    assert split.translate([SEVERAL]) == apart
    assert split.translate([SEVERAL], sentences=False) == whole
    assert split.translate([SEVERAL], attention=True)[0].attention is not None  # of the whole text
    assert split.translate([SEVERAL], prefixes=[""])[0].cuts == ()


def in_small_letters(translator, tokenizer, **settings):
    settings = replace(translator.decode, capitals=True, sentences=True, copy=False, **settings)
    return torch_translator(translator.models, tokenizer, settings)


def test_sentences_in_capitals_are_translated_in_small_letters(translator, tokenizer):
    given = ["THE QUICK FOX", "The lazy dog", "JUMPS {a}! THE DOG"]
    calm = ["The quick fox", "The lazy dog", "Jumps {a}! The dog"]
    made = in_small_letters(translator, tokenizer)
    found, expected = (made.translate(texts, n_best=2) for texts in (given, calm))
    for one, other, is_changed in zip(found, expected, (True, False, True), strict=True):
        texts = [it.text.upper() if is_changed else it.text for it in other.alternatives]
        assert [it.text for it in one.alternatives] == texts and one.text == texts[0]
        assert one.pieces == other.pieces and one.score == other.score
    assert made.translate(given[:1], trace=True)[0].source_pieces == tokenizer.encode(given[0]).pieces
    usual = torch_translator(translator.models, tokenizer, replace(made.decode, capitals=False)).translate(given[:1])
    assert usual[0].source_pieces == tokenizer.encode(given[0]).pieces  # not unless the run says so


def test_a_long_sentence_in_capitals_is_cut_in_small_letters(translator, tokenizer):
    long = "THE QUICK FOX JUMPS OVER " * 12 + "THE DOG"
    (one,) = in_small_letters(translator, tokenizer).translate([long])
    (other,) = translator.translate(["The" + long[3:].lower()], copy=False)
    assert one.source_pieces == other.source_pieces and one.cuts == other.cuts != ()


def test_a_glossary_finds_its_terms_in_capitals_and_keeps_their_letters(translator, tokenizer):
    made = in_small_letters(translator, tokenizer)
    for glossary in ({"FOX": "Fuchs"}, {"fox": "Fuchs"}):
        (one,) = made.translate(["THE QUICK FOX"], glossary=glossary)
        assert "Fuchs" in one.text and one.missing == () and one.forced == ("Fuchs",)
        assert one.source_pieces == tokenizer.encode("THE QUICK FOX").pieces


@pytest.mark.parametrize("options", [{"attention": True}, {"trace": True}, {"prefixes": [""]}], ids=str)
def test_sentences_cannot_have_what_belongs_to_a_whole_text(translator, options):
    with pytest.raises(DecodeError, match=f"sentences cannot be combined with {next(iter(options))}"):
        translator.translate([SEVERAL], sentences=True, **options)


def test_a_long_sentence_is_cut_among_others(translator):
    (found,) = translator.translate(["The dog. " + "Fox " * 60 + "ends. Why?"], sentences=True)
    assert found.cuts[0] == found.cuts[-1] == "sentence" and "space" in found.cuts
