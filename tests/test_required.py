"""Glossary and copying hold for any weights. Untrained ones are the hardest test: they write nothing of it freely."""

import pickle
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

import heed
from heed import retranslate
from heed.config import DecodeConfig
from heed.decode.beam import beam_search
from heed.engines import searching
from heed.errors import DecodeError
from heed.model.transformer import Transformer
from heed.options import Sampling, SearchOptions
from heed.text import placement
from heed.text.glossary import Entry
from heed.text.tokenizer import Tokenizer
from heed.text.unwanted import tokens_of_digits
from heed.translation import Translation
from tests.conftest import small_config, torch_translator

SPANS = [
    "http://example.org",
    "https://example.org/a/b.html?x=1&y=%20#z",
    "https://en.wikipedia.org/wiki/It_(film)",
    "https://x.y/{id}/edit",
    "http://münchen.de/straße",
    "http://例え.jp/道",
    "http://x.y/😀",
    "www.example.org",
    "ftp://h/",
    "a.b+c@mail.example.org",
    "jörg@example.de",
    "{}",
    "{0}",
    "{name}",
    "{user.name!r:>10}",
    "{{x}}",
    "{{ count }}",
    "${HOME}",
    "%s",
    "%d",
    "%1$s",
    "%2$05d",
    "%.2f",
    "%(total)d",
    "%@",
    "<b>",
    "</b>",
    "<br/>",
    "<br />",
    '<x id="1"/>',
    '<a href="https://x.y/?q=a&amp;b">',
    "<g-1:x>",
    "13",
    "1984",
    "007",
    "299792458",
    "15:30",
    "25.12.2024",
    "+49 89 1234567",
    "@jane",
    "&nbsp;",
    "%{x}",
    "iPhone",
    "GPT-4",
    "H264",
]


def untrained(tokenizer, seed=0, n_models=1, double=True, **settings):
    torch.manual_seed(seed)
    models = [
        Transformer(small_config(max_length=60, **settings), tokenizer.vocabulary).eval() for _ in range(n_models)
    ]
    for model in models:
        model.embedding.weight.data *= 4
    models = [model.double() for model in models] if double else models
    return torch_translator(models, tokenizer, DecodeConfig(extra_length=6, batch_tokens=200))


@pytest.fixture
def translator(tokenizer):
    return untrained(tokenizer)


@pytest.fixture
def odd_characters_stay(monkeypatch):
    """Untrained weights often write broken characters, and searching them away is not what these tests are about."""
    monkeypatch.setattr(retranslate, "unwanted_in", lambda translation, given: False)


def stands_alone(span, text):
    """Return how often a span stands between spaces, apart from marks that close a sentence."""
    return len(re.findall(rf"(?<!\S){re.escape(span)}(?=[.,;:!?)\]\"'”’“‘»«›‹…]*(?:\s|$))", text))


# --- copying ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "settings"), [(0, {"beam": 1}), (1, {"beam": 4}), (2, {"beam": 3, "n_best": 3})], ids=str
)
def test_what_must_be_copied_is_copied_whatever_the_weights(tokenizer, seed, settings):
    translator = untrained(tokenizer, seed, double=False)  # the compiled decoder, where there is a compiler
    texts = [f"the quick {span} fox" for span in SPANS]
    plain = translator.translate(texts, copy=False, **settings)
    assert sum(span in one.text for span, one in zip(SPANS, plain, strict=True)) <= 2  # else this would prove nothing
    assert not any(one.forced for one in plain)
    for span, one in zip(SPANS, translator.translate(texts, **settings), strict=True):
        for it in one.alternatives or (one,):
            assert stands_alone(span, it.text), (span, it.text)
            assert it.forced == (span,)
            assert it.missing == ()


def test_a_number_is_written_in_the_way_that_the_model_prefers(tokenizer, monkeypatch, odd_characters_stay):
    """Whether 1,000.5 or 1.000,5 is right depends on the language, which the model knows."""
    monkeypatch.setattr(placement, "MIN_ATTENTION", 2.0)  # no word is replaced
    chosen = set()
    for seed in range(6):
        translator = untrained(tokenizer, seed)
        for number, exchanged in [("1,000.5", "1.000,5"), ("3.14", "3,14"), ("1,000", "1.000")]:
            (one,) = translator.translate([f"the {number} fox"])
            (plain,) = translator.translate([f"the {number} fox"], copy=False)
            has_other_digits = re.search("[0-9]", plain.text) is not None
            barred = tokens_of_digits(tokenizer) if has_other_digits else frozenset()
            options = SearchOptions(beam=4, alpha=0.6, required=[[[number]], [[exchanged]]], barred=[barred] * 2)
            ways = translator.engine.translate([f"the {number} fox"] * 2, [0, 0], options, lambda _: None)
            assert one.text == max(ways, key=lambda way: way.score).text
            assert (one.forced, one.missing) == ((number,), ())
            chosen |= {way for way in (number, exchanged) if stands_alone(way, one.text)}
    assert any("." in way[-3:] for way in chosen) and any("," in way[-3:] for way in chosen)


def test_several_spans_come_as_often_as_in_the_source(translator):
    texts = ["{a} fox {b} and {a} at 1984 <b> dog </b> , {a}", "%s %s %s", "http://x.y http://x.y/z http://x.y"]
    expected = [["{a}", "{b}", "{a}", "1984", "<b>", "</b>", "{a}"], ["%s"] * 3, ["http://x.y", "http://x.y/z"]]
    expected[2].append("http://x.y")
    for one, spans in zip(translator.translate(texts, beam=2), expected, strict=True):
        for span, n in Counter(spans).items():
            assert stands_alone(span, one.text) >= n
        assert set(one.forced) == set(spans)


def test_a_translation_that_lost_nothing_is_not_made_again(translator, odd_characters_stay):
    texts = ["the quick brown fox", "two dogs", "über den braunen Fuchs", ""]
    assert translator.translate(texts, copy=True) == translator.translate(texts, copy=False)


def test_the_others_of_a_batch_are_not_changed(translator):
    texts = ["the quick brown fox", "a {name} fox", "dog", "see http://x.y/z fox", "{a} dog"]
    together = translator.translate(texts)
    for text, one in zip(texts, together, strict=True):
        (alone,) = translator.translate([text])
        assert alone.text == one.text
        assert alone.forced == one.forced


def test_the_run_decides_by_default(tokenizer):
    translator = untrained(tokenizer)
    translator.engine.decode = replace(translator.decode, copy=False)
    assert translator.translate(["a {name}"])[0].forced == ()
    assert translator.translate(["a {name}"], copy=True)[0].forced == ("{name}",)


def test_a_long_text_is_copied_part_by_part(translator):
    text = " ".join(f"der faule Hund {{p{i}}} springt." for i in range(12))
    (one,) = translator.translate([text])
    assert one.cuts
    assert set(one.forced) == {f"{{p{i}}}" for i in range(12)}
    assert all(stands_alone(f"{{p{i}}}", one.text) for i in range(12))


def test_a_long_address_is_not_cut_and_one_longer_than_the_limit_is_not_translated(translator):
    short, long = "http://example.org/abc/def", "http://example.org/" + "q7" * 80
    assert translator.fits(short) and not translator.fits(long)
    text = f"der faule Hund springt {short} " * 6 + f"dog {long}, fox"
    for one in translator.translate([text], n_best=2)[0].alternatives:
        assert stands_alone(short, one.text) == 6 and stands_alone(long, one.text) == 1
        assert one.missing == ()
    (alone,) = translator.translate([long])
    assert (alone.text, alone.score, alone.missing, alone.finished) == (long, 0.0, (), True)
    (cut,) = translator.translate([long], copy=False)
    assert cut.cuts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s: %d%%", ["%s", "%d%%"]),
        ("<b>Bold</b> and <i>italic</i>", ["<b>", "</b>", "<i>", "</i>"]),
        ('<x id="1"/>here<x id="2"/>', ['<x id="1"/>', '<x id="2"/>']),
        ("from 1914 to 1918 and 2020", ["1914", "1918", "2020"]),
    ],
)
@pytest.mark.parametrize("beam", [1, 4])
def test_what_is_forced_comes_in_the_order_of_the_source(translator, text, expected, beam):
    (one,) = translator.translate([text], beam=beam)
    at = [one.text.index(span) for span in expected]
    assert at == sorted(at)
    assert one.missing == ()


def faked(translator, text):
    """Let the first search of all find this text; the next ones search."""
    translate, ids = translator.engine.translate, translator.tokenizer.encode_ids([text])[0]
    pieces = translator.tokenizer.pieces(ids)
    searched = []

    def first_this(texts, numbers, options, on_done):
        searched.append(options)
        if len(searched) > 1:
            return translate(texts, numbers, options, on_done)
        on_done(list(numbers))
        return [Translation(text, -1.0, -1.0, pieces, []) for _ in texts]

    translator.engine.translate = first_this
    return searched


@pytest.mark.parametrize(
    ("source", "found", "expected", "forced"),
    [
        ("the fox 7 dog 128", "78 Hund 128", ["7", "128"], "7"),
        ("the fox 11 dog 1969", "119 Hund 1969", ["11", "1969"], "11"),
        ("fox 7 {a}", "Fuchs 77 {a}", ["7"], "7"),
        ("the fox $25.99", "Fuchs 25 Hund.99", ["25", "99"], "25.99"),
    ],
)
def test_a_number_that_became_another_is_forced_and_no_other_digits_come(translator, source, found, expected, forced):
    searched = faked(translator, found)
    (one,) = translator.translate([source])
    assert sorted(re.findall("[0-9]+", one.text)) == sorted(expected)
    assert one.forced == (forced,) and one.missing == ()
    assert len(searched) >= 2


def test_a_small_number_may_be_written_out(translator):
    searched = faked(translator, "Fuchs sieben 128")
    (one,) = translator.translate(["fox 7 dog 128"])
    assert (one.text, one.forced, len(searched)) == ("Fuchs sieben 128", (), 1)


@pytest.mark.parametrize("found", ["Fuchs \ufffd Hund", "Fuchs\u200b Hund", "\u00adFuchs", "Fuchs \ufeff"])
@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 4}, {"beam": 4, "n_best": 2}], ids=str)
def test_broken_and_invisible_characters_are_searched_away(tokenizer, found, settings):
    for seed in range(3):
        translator = untrained(tokenizer, seed)
        searched = faked(translator, found)
        (one,) = translator.translate(["the fox {a} こ"], **settings)
        for it in one.alternatives or (one,):
            assert not set(it.text) & set("\ufffd\u200b\u00ad\ufeff")
            assert "{a}" in it.text
        assert len(searched) >= 2


def test_characters_of_the_source_are_no_reason_to_search_again(translator):
    searched = faked(translator, "Fuchs\u200b Hund")
    (one,) = translator.translate(["the\u200b fox"])
    assert (one.text, len(searched)) == ("Fuchs\u200b Hund", 1)
    translator.translate(["the fox"], copy=False)


def test_a_symbol_at_the_beginning_is_the_tag_of_a_language():
    lines = ["the quick brown fox jumps over the lazy dog"] * 4
    tokenizer = Tokenizer.learn(lines, 300, symbols=["<de>"])
    assert tokenizer.symbols == {"<de>"}
    one, other = untrained(tokenizer).translate(["<de> fox", "fox <de> dog"])
    assert one.forced == ()
    assert other.forced == ("<de>",)


def test_sampling_and_prefixes_do_without_copying_and_refuse_it_if_asked(translator):
    assert translator.translate(["a {b}"], sampling=Sampling())[0].forced == ()
    assert translator.translate(["a {b}"], prefixes=["fox"])[0].forced == ()
    with pytest.raises(DecodeError, match="copying cannot be combined with sampling"):
        translator.translate(["a {b}"], sampling=Sampling(), copy=True)
    with pytest.raises(DecodeError, match="copying cannot be combined with prefixes"):
        translator.translate(["a {b}"], prefixes=["fox"], copy=True)


# --- where it stands --------------------------------------------------------------------------------------


def aligned(translator):
    """Let each step attend to the source word of the same number, whatever the weights."""
    attention = translator.engine.attention

    def diagonal(source, target):
        found = attention(source, target)
        words_T, words_S = (
            np.cumsum([piece.startswith("▁") for piece in pieces[:-1]] + [True])
            for pieces in (found.target_pieces, found.source_pieces)
        )
        same_TS = (words_T[:, None] == words_S).astype(np.float32)
        return replace(found, cross=np.broadcast_to(same_TS / same_TS.sum(1, keepdims=True).clip(1), found.cross.shape))

    translator.engine.attention = diagonal
    return translator


@pytest.mark.parametrize("beam", [1, 4])
def test_what_was_lost_replaces_the_word_that_was_written_from_its_source(tokenizer, beam, odd_characters_stay):
    n_compared = 0
    for seed in range(12):
        translator = aligned(untrained(tokenizer, seed))
        for source in ["a", "{name}", "1984", "iPhone"]:
            texts = [f"{source} fox", f"the {source} dog", f"over the {source} fox"]
            for at, (text, plain) in enumerate(
                zip(texts, translator.translate(texts, copy=False, beam=beam), strict=True)
            ):
                words = plain.text.split(" ")
                if len(words) <= at or not words[at].isalpha() or len(words) != sum(p[0] == "▁" for p in plain.pieces):
                    continue
                required = "der Schlaue" if source == "a" else source
                (one,) = translator.translate([text], glossary={"a": "der Schlaue"}, beam=beam)
                assert one.text == " ".join([*words[:at], required, *words[at + 1 :]])
                assert one.finished and (one.forced, one.missing) == ((required,), ())
                (scored,) = translator.score([text], [one.text])
                assert one.log_probability == pytest.approx(scored.log_probability, abs=1e-4)
                n_compared += 1
    assert n_compared >= 2


def test_all_of_the_n_best_are_searched_for(translator):
    translator.engine.attention = None  # calling it would fail
    (one,) = translator.translate(["the fox"], glossary={"fox": "Fuchs"}, n_best=3)
    assert all(stands_alone("Fuchs", it.text) for it in one.alternatives)


# --- glossary ---------------------------------------------------------------------------------------------

GLOSSARY = {"fox": "Fuchs", "quick brown fox": "Reineke, der Schlaue", "dog": "Hund", "Dog": "Dogge"}


@pytest.mark.parametrize("settings", [{"beam": 1}, {"beam": 4}, {"beam": 4, "n_best": 4}], ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_terms_appear_whatever_the_weights(tokenizer, seed, settings):
    translator = untrained(tokenizer, seed)
    texts = ["the fox", "a quick brown fox, Fox and Dog", "no term", "dog dog"]
    expected = [["Fuchs"], ["Reineke, der Schlaue", "Fuchs", "Dogge"], [], ["Hund", "Hund"]]
    for one, terms in zip(translator.translate(texts, glossary=GLOSSARY, **settings), expected, strict=True):
        assert [entry.target for entry in one.terms] == terms
        for it in one.alternatives or (one,):
            assert it.missing == ()
            for term, n in Counter(terms).items():
                assert stands_alone(term, it.text) >= n


def test_a_term_that_is_there_anyway_is_not_forced(translator, odd_characters_stay):
    (plain,) = translator.translate(["the quick brown fox"])
    words = plain.text.split()
    (one,) = translator.translate(["the quick brown fox"], glossary={"fox": words[0]})
    assert one.text == plain.text
    assert one.terms == (Entry("fox", words[0]),)
    assert one.forced == ()


def test_all_of_the_n_best_have_the_term_even_if_the_best_has_it_anyway(tokenizer):
    n_compared = 0
    for seed in range(10):
        translator = untrained(tokenizer, seed)
        (plain,) = translator.translate(["the quick brown fox"], n_best=4)
        for word in plain.text.split():
            if all(stands_alone(word, one.text) for one in plain.alternatives):
                continue
            (found,) = translator.translate(["the quick brown fox"], n_best=4, glossary={"fox": word})
            assert len(found.alternatives) == 4
            assert all(word in one.text and not one.missing for one in found.alternatives)
            n_compared += 1
            break
    assert n_compared


def test_the_second_pass_has_what_is_left_of_the_time(translator, odd_characters_stay):
    engine, asked = translator.engine, []
    translate = engine.translate
    engine.translate = lambda texts, numbers, options, on_done: (
        asked.append(options.seconds) or translate(texts, numbers, options, on_done)
    )
    translator.translate(["the fox"], glossary=GLOSSARY, seconds=100.0)
    first, second = asked
    assert first == 100.0
    assert 0 < second < 100.0


def test_ensembles_threads_pickles_and_attention(tokenizer):
    translator = untrained(tokenizer, n_models=2)
    texts = [f"the fox {i} dog" for i in range(20)]
    expected = translator.translate(texts, glossary=GLOSSARY)
    assert all(set(one.forced) >= {"Fuchs"} or "Fuchs" in one.text for one in expected)
    with ThreadPoolExecutor(3) as pool:
        several = list(pool.map(lambda _: translator.translate(texts, glossary=GLOSSARY), range(3)))
    copy = pickle.loads(pickle.dumps(translator))
    for found in (*several, copy.translate(texts, glossary=heed.Glossary(GLOSSARY))):
        assert [one.text for one in found] == [one.text for one in expected]
    (one,) = translator.translate(["the fox"], glossary=GLOSSARY, attention=True, trace=True)
    assert one.attention.target_pieces[:-1] == one.pieces
    assert len(one.trace.steps) >= len(one.pieces)


def test_scores_are_those_of_the_translation(tokenizer, odd_characters_stay):
    """Forcing changes what is found, not how it is scored: compare with forced decoding of the same pieces."""
    n_compared = 0
    for seed in range(8):
        translator = untrained(tokenizer, seed)
        ids = {piece: number for number, piece in enumerate(tokenizer.pieces(range(len(tokenizer))))}
        (one,) = translator.translate(["the fox and {name}"], glossary=GLOSSARY, alpha=0.0)
        assert sum(one.log_probabilities) == pytest.approx(one.log_probability)
        if one.finished:
            target = [ids[piece] for piece in one.pieces]
            (scored,) = translator.engine.score([tokenizer.encode_ids(["the fox and {name}"]), [target]])
            assert scored.log_probability == pytest.approx(one.log_probability, abs=1e-4)
            n_compared += 1
    assert n_compared


def test_a_search_with_terms_ranks_by_probability_alone_and_scores_as_usual(
    translator, monkeypatch, odd_characters_stay
):
    """A length penalty would divide the price of the terms by the length, so that more words after them pay."""
    alphas = []

    def watched(step, state, task, *more):
        alphas.append(task.alpha)
        return beam_search(step, state, task, *more)

    monkeypatch.setattr(searching, "beam_search", watched)
    (one,) = translator.translate(["the fox"], glossary=GLOSSARY, alpha=0.7, n_best=2)
    assert alphas == [0.7, 0.0]
    assert one.alternatives[0].log_probability >= one.alternatives[1].log_probability
    for it in one.alternatives:
        assert it.score == pytest.approx(it.log_probability / ((5 + len(it.pieces) + it.finished) / 6) ** 0.7)


def test_terms_that_do_not_fit_the_positions_are_reported_as_missing(tokenizer):
    translator = untrained(tokenizer, positions="learned")
    (one,) = translator.translate(["fox " * 9], glossary={"fox": "Reineke der schlaue Fuchs"})
    assert len(one.pieces) <= 61
    assert one.missing
    assert set(one.missing) == {"Reineke der schlaue Fuchs"}
    assert stands_alone("Reineke der schlaue Fuchs", one.text)
    assert not one.finished


def test_progress_and_deadline_hold_for_the_whole_call(translator):
    calls = []
    translator.translate(["the fox", "", "dog {a}"], glossary=GLOSSARY, progress=lambda *done: calls.append(done))
    assert calls[-1] == (3, 3)
    assert all(done <= 3 for done, _ in calls)
    with pytest.raises(DecodeError, match="deadline"):
        translator.translate(["the fox"] * 50, glossary=GLOSSARY, seconds=0)
    with pytest.raises(DecodeError, match="cancelled"):
        translator.translate(["the fox"], glossary=GLOSSARY, is_cancelled=lambda: True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampling": Sampling()}, "a glossary cannot be combined with sampling, which draws at random"),
        ({"prefixes": ["a"]}, "a glossary cannot be combined with prefixes"),
        ({"constraint": object()}, "a glossary cannot be combined with a constraint"),
    ],
)
def test_what_a_glossary_cannot_be_combined_with_is_refused(translator, settings, message):
    with pytest.raises(DecodeError, match=message):
        translator.translate(["fox"], glossary=GLOSSARY, **settings)


def test_a_glossary_of_another_type_is_refused(translator):
    with pytest.raises(TypeError, match=r"glossary must be a heed.Glossary or a dict, not str"):
        translator.translate(["fox"], glossary="terms.tsv")
    with pytest.raises(heed.DataError, match="entry 1: the target term is empty"):
        translator.translate(["fox"], glossary={"fox": " "})


def test_without_terms_a_search_for_other_characters_ranks_as_usual(translator, monkeypatch):
    """Nothing has to be written there, so nothing has a price that a length penalty could divide."""
    alphas = []

    def watched(step, state, task, *more):
        alphas.append(task.alpha)
        return beam_search(step, state, task, *more)

    monkeypatch.setattr(searching, "beam_search", watched)
    monkeypatch.setattr(retranslate, "unwanted_in", lambda translation, given: True)
    translator.translate(["the fox", "dog"], alpha=0.7, beam=2)
    assert len(alphas) > 1 and set(alphas) == {0.7}
