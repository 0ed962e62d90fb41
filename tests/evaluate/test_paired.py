import json
from collections.abc import Callable

import numpy as np
import pytest

from heed.errors import ConfigError, DataError
from heed.evaluate import Bleu, ChrF, Metric, PaperBleu, compare, score

LoopBleu = Callable[[list[str], list[str]], tuple[float, list[int], list[int], float, int, int]]
MadeUp = tuple[list[str], list[str], list[str]]
Texts = Callable[[str], tuple[list[str], list[str]]]


@pytest.mark.parametrize("metric", [Bleu(), ChrF(), PaperBleu("de")])
def test_better_system(metric: Metric, made_up: MadeUp) -> None:
    good, poor, reference = made_up
    found = compare(metric, good, poor, reference)
    assert found.name == metric.name
    assert found.value == score(metric, good, reference, resamples=0).value
    assert found.baseline == score(metric, poor, reference, resamples=0).value
    assert found.difference > 5
    assert found.p_value == pytest.approx(1 / 1001)
    assert found.significant
    assert found.meaning == "significantly better than the baseline (p is below 0.05)"
    assert found.signature == score(metric, good, reference).signature


def test_worse_system(made_up: MadeUp) -> None:
    good, poor, reference = made_up
    found = compare(Bleu(), poor, good, reference)
    assert found.difference < -5
    assert found.meaning == "significantly worse than the baseline (p is below 0.05)"


@pytest.mark.parametrize("metric", [Bleu(), ChrF(), PaperBleu("de")])
def test_system_against_itself(metric: Metric, made_up: MadeUp) -> None:
    good, _, reference = made_up
    found = compare(metric, good, good, reference)
    assert (found.difference, found.p_value, found.significant) == (0, 1, False)
    assert found.meaning == "the two systems score the same"


def test_systems_of_about_the_same_quality(oracle_texts: Texts) -> None:
    hypotheses, references = oracle_texts("en-de.wmt13.bergamot-tiny.de")
    baseline, _ = oracle_texts("en-de.wmt13.bergamot-base-memory.de")
    found = compare(Bleu(), hypotheses, baseline, references)
    assert f"{found.difference:+.2f}" == "-0.04"
    assert 0.2 < found.p_value < 0.5
    assert found.meaning.startswith("this test set cannot tell the two systems apart")


def test_p_value_is_that_of_a_loop(made_up: MadeUp, loop_bleu: LoopBleu) -> None:
    good, _, reference = (lines[:40] for lines in made_up)
    baseline = [*good[:30], *reference[30:]]  # somewhat better than `good`, in ten lines
    found = compare(PaperBleu("de"), good, baseline, reference, resamples=200, seed=9)

    def difference(lines: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> float:
        system, other, gold = ([text[line] for line in lines] for text in (good, baseline, reference))
        return abs(loop_bleu(system, gold)[0] - loop_bleu(other, gold)[0])

    resamples = np.random.default_rng(9).choice(40, size=(200, 40), replace=True)
    differences = np.array([difference(lines) for lines in resamples])
    by_chance = int((differences - differences.mean() > difference(np.arange(40))).sum())
    assert 0 < by_chance < 100  # otherwise the example proves nothing
    assert found.p_value == pytest.approx((by_chance + 1) / 201)


def test_line_and_dictionary(made_up: MadeUp) -> None:
    good, poor, reference = made_up
    found = compare(Bleu(), good, poor, reference)
    assert str(found) == (
        f"BLEU = {found.value:.2f} against {found.baseline:.2f}: +{found.difference:.2f}, "
        f"p = 0.0010; significantly better than the baseline (p is below 0.05) BLEU|{found.signature}"
    )
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["difference"] == found.value - found.baseline
    assert (plain["p_value"], plain["significant"], plain["level"]) == (found.p_value, True, 0.05)
    assert (plain["score"], plain["baseline"]) == (found.value, found.baseline)
    assert (plain["name"], plain["signature"], plain["meaning"]) == ("BLEU", found.signature, found.meaning)


def test_same_seed_same_p(made_up: MadeUp) -> None:
    good, _, reference = made_up
    baseline = [*good[:70], *reference[70:]]
    values = [compare(ChrF(), good, baseline, reference, seed=seed).p_value for seed in (4, 4, 5)]
    assert values[0] == values[1] != values[2]


def test_unequal_numbers_of_lines() -> None:
    with pytest.raises(DataError, match="^1 hypotheses, but 2 references"):
        compare(Bleu(), ["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(DataError, match="^3 hypotheses, but 2 references"):
        compare(Bleu(), ["a", "b", "c"], ["a", "b"], ["a", "b"])


def test_a_test_needs_resamples() -> None:
    with pytest.raises(ConfigError, match="^0 resamples are too few"):
        compare(Bleu(), ["a"], ["a"], ["a"], resamples=0)
