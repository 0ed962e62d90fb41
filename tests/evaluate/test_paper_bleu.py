import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import ConfigError
from heed.evaluate import Bleu, PaperBleu, score
from heed.evaluate.paper_bleu import split_compounds

LoopBleu = Callable[[list[str], list[str]], tuple[float, list[int], list[int], float, int, int]]
Texts = Callable[[str], tuple[list[str], list[str]]]
AT = " ##AT##-##AT## "

# Counted by the Perl of Moses: replace-unicode-punctuation, tokenizer -l de, the authors' substitution of
# hyphens, multi-bleu. (correct, total, hypothesis length, reference length, score)
PERL = {
    "en-de.wmt13.bergamot-tiny.de": (
        [38254, 20763, 12765, 8141],
        [63890, 60890, 57901, 54929],
        (63890, 64248, "28.42"),
    ),
    "en-de.wmt13.bergamot-base-memory.de": (
        [38308, 20782, 12794, 8145],
        [64177, 61177, 58187, 55212],
        (64177, 64248, "28.45"),
    ),
    "en-de.wmt14.bergamot-tiny.de": (
        [37597, 21611, 13683, 8920],
        [61175, 58438, 55701, 52970],
        (61175, 59301, "31.14"),
    ),
    "en-de.wmt14.bergamot-base-memory.de": (
        [37670, 21573, 13600, 8889],
        [61205, 58468, 55731, 52998],
        (61205, 59301, "31.05"),
    ),
}


@pytest.mark.parametrize("output", PERL)
def test_counts_are_those_of_the_perl_scripts(output: str, oracle_texts: Texts) -> None:
    correct, total, (hypothesis_length, reference_length, value) = PERL[output]
    found = score(PaperBleu("de"), *oracle_texts(output), resamples=0)
    assert found.ngrams is not None
    assert list(found.ngrams.correct) == correct
    assert list(found.ngrams.total) == total
    assert found.ngrams.hypothesis_length == hypothesis_length
    assert found.ngrams.reference_length == reference_length
    assert f"{found.value:.2f}" == value


def test_score_is_that_of_a_loop(oracle_texts: Texts, loop_bleu: LoopBleu) -> None:
    hypotheses, references = (lines[:400] for lines in oracle_texts("en-de.wmt13.bergamot-tiny.de"))
    metric = PaperBleu("de")
    value, correct, total, penalty, hypothesis_length, reference_length = loop_bleu(
        metric.prepare(hypotheses), metric.prepare(references)
    )
    found = score(metric, hypotheses, references, resamples=0)
    assert found.ngrams is not None
    assert found.value == pytest.approx(value, rel=1e-12)
    assert (list(found.ngrams.correct), list(found.ngrams.total)) == (correct, total)
    assert found.ngrams.brevity_penalty == pytest.approx(penalty, rel=1e-12)
    assert (found.ngrams.hypothesis_length, found.ngrams.reference_length) == (hypothesis_length, reference_length)


def test_newstest2014_scores_a_point_above_sacrebleu(oracle_texts: Texts) -> None:
    texts = oracle_texts("en-de.wmt14.bergamot-tiny.de")
    above = score(PaperBleu("de"), *texts, resamples=0).value - score(Bleu(), *texts, resamples=0).value
    assert 1.0 < above < 1.5


def test_counted_by_hand() -> None:
    found = score(PaperBleu("de"), ["a b c d e"], ["a b c d f g"], resamples=0)
    # 4/5 of the words, 3/4, 2/3 and 1/2 of the longer n-grams: their product is 1/5. Five words for six.
    assert found.value == pytest.approx(100 * (1 / 5) ** (1 / 4) * math.exp(1 - 6 / 5), rel=1e-12)


def test_nothing_is_smoothed() -> None:
    text = ["ein Haus am See"], ["ein Haus am Meer"]  # no run of four words agrees
    assert score(PaperBleu("de"), *text, resamples=0).value == 0
    assert score(Bleu(), *text, resamples=0).value > 0


def test_case_counts() -> None:
    assert score(PaperBleu("de"), ["der Hund ist da ."], ["Der Hund ist da ."], resamples=0).value < 100


@pytest.mark.parametrize(
    ("line", "split"),
    [
        ("rich-text format", f"rich{AT}text format"),
        ("ab-cd-ef", f"ab{AT}cd{AT}ef"),
        ("a-b-c", f"a{AT}b-c"),
        ("1-2-3-4", f"1{AT}2-3{AT}4"),
        ("Prêt-à-porter", f"Prêt{AT}à{AT}porter"),  # Perl sees the two bytes of `à`
        ("x--y", f"x{AT}-y"),
        ("Haus- und Hofhund", "Haus- und Hofhund"),
        ("-5 Grad", "-5 Grad"),
        ("a - b", "a - b"),
        ("-", "-"),
        ("", ""),
    ],
)
def test_hyphens_are_split_as_perl_does(line: str, split: str) -> None:
    assert split_compounds(line) == split


@given(st.text(alphabet=st.sampled_from("ab-ä€ ")))
def test_splitting_only_adds_marks(line: str) -> None:
    assert split_compounds(line).replace(AT, "-") == line


def test_preparation() -> None:
    assert PaperBleu("de").prepare(["Er sagte: „Das ist’s, z. B. die E-Mail-Adresse…“", ""]) == [
        f"Er sagte : „ Das ist &apos; s , z. B. die E{AT}Mail{AT}Adresse ... &quot;",
        "",
    ]


def test_preparation_follows_the_language() -> None:
    line = ["l'homme"]
    assert PaperBleu("fr").prepare(line) == ["l&apos; homme"]
    assert PaperBleu("en").prepare(line) == ["l &apos;homme"]
    assert PaperBleu("de").prepare(line) == ["l &apos; homme"]


def test_cannot_be_taken_for_sacrebleu() -> None:
    text = ["ein Haus am See"], ["ein Haus am See"]
    found, sacre = score(PaperBleu("de"), *text), score(Bleu(), *text)
    assert found.name == "paperBLEU"
    assert found.signature.startswith(
        "nrefs:1|bs:1000|seed:12345|case:mixed|punct:ascii|tok:moses-de|compounds:split|smooth:none|sacremoses:"
    )
    assert found.signature != sacre.signature
    assert found.value == pytest.approx(100)
    assert found.interval == pytest.approx((100, 100))


def test_unknown_language() -> None:
    with pytest.raises(ConfigError, match='no rules for the language "german", only for as, .*; choose "en"'):
        PaperBleu("german")
