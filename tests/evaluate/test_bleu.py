from collections.abc import Callable
from typing import Any

import pytest

from heed.errors import ConfigError
from heed.evaluate import Bleu, score

OUTPUTS = [
    "en-de.wmt13.bergamot-tiny.de",
    "en-de.wmt13.bergamot-base-memory.de",
    "en-de.wmt14.bergamot-tiny.de",
    "en-de.wmt14.bergamot-base-memory.de",
]
Texts = Callable[[str], tuple[list[str], list[str]]]


@pytest.mark.parametrize("tokenize", ["13a", "intl", "none", "char"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_score_and_counts_are_those_of_the_reference_tool(
    output: str, tokenize: str, oracle_texts: Texts, oracle_scores: dict[str, Any]
) -> None:
    hypotheses, references = oracle_texts(output)
    expected = oracle_scores[output][f"bleu_{tokenize}"]
    found = score(Bleu(tokenize=tokenize), hypotheses, references, resamples=0)
    assert found.value == pytest.approx(expected["score"], rel=1e-13)
    assert found.ngrams is not None
    assert list(found.ngrams.correct) == expected["counts"]
    assert list(found.ngrams.total) == expected["totals"]
    assert list(found.ngrams.precisions) == pytest.approx(expected["precisions"], rel=1e-13)
    assert found.ngrams.brevity_penalty == pytest.approx(expected["bp"], rel=1e-13)
    assert found.ngrams.hypothesis_length == expected["sys_len"]
    assert found.ngrams.reference_length == expected["ref_len"]


@pytest.mark.parametrize("output", OUTPUTS)
def test_lowercase(output: str, oracle_texts: Texts, oracle_scores: dict[str, Any]) -> None:
    found = score(Bleu(lowercase=True), *oracle_texts(output), resamples=0)
    assert found.value == pytest.approx(oracle_scores[output]["bleu_13a_lc"], rel=1e-13)
    assert "case:lc" in found.signature


@pytest.mark.parametrize("output", OUTPUTS)
def test_single_sentences(output: str, oracle_texts: Texts, oracle_scores: dict[str, Any]) -> None:
    expected = oracle_scores[output]["sentence_bleu_13a_exp_first20"]
    lines = zip(*oracle_texts(output), strict=True)
    found = [
        score(Bleu(), [hypothesis], [reference], resamples=0).value
        for (hypothesis, reference), _ in zip(lines, expected, strict=False)
    ]
    assert found == pytest.approx(expected, rel=1e-13)


def test_the_line_is_that_of_sacrebleu(oracle_texts: Texts) -> None:
    hypotheses, references = oracle_texts("en-de.wmt13.bergamot-tiny.de")
    found = score(Bleu(), hypotheses, references)
    signature = "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    assert found.signature.startswith(signature)
    # sacrebleu's own command line says 28.05 (μ = 28.06 ± 0.73).
    assert str(found).startswith(
        "BLEU = 28.05 [27.33, 28.78] 59.8/34.0/21.9/14.7 (BP = 0.988 ratio = 0.988 hyp_len = 62947 ref_len = 63737) "
        f"BLEU|{signature}"
    )


def test_chinese_is_counted_by_characters() -> None:
    found = score(Bleu("zh"), ["今天天气很好"], ["今天天气不好"], resamples=0)
    assert found.ngrams is not None
    assert (found.ngrams.correct[0], found.ngrams.total[0]) == (5, 6)


def test_unknown_tokenisation() -> None:
    with pytest.raises(ConfigError, match='unknown tokenisation "moses"; choose one of 13a, intl'):
        Bleu("moses")
