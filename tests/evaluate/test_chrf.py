from collections.abc import Callable
from typing import Any

import pytest

from heed.evaluate import ChrF, score

OUTPUTS = [
    "en-de.wmt13.bergamot-tiny.de",
    "en-de.wmt13.bergamot-base-memory.de",
    "en-de.wmt14.bergamot-tiny.de",
    "en-de.wmt14.bergamot-base-memory.de",
]
Texts = Callable[[str], tuple[list[str], list[str]]]


@pytest.mark.parametrize(
    ("metric", "key", "name"), [(ChrF(), "chrf", "chrF2"), (ChrF(word_order=2), "chrf++", "chrF2++")]
)
@pytest.mark.parametrize("output", OUTPUTS)
def test_score_is_that_of_the_reference_tool(
    output: str, metric: ChrF, key: str, name: str, oracle_texts: Texts, oracle_scores: dict[str, Any]
) -> None:
    found = score(metric, *oracle_texts(output), resamples=0)
    assert found.value == pytest.approx(oracle_scores[output][key], rel=1e-13)
    assert found.name == name


def test_line_has_signature_and_interval_but_no_word_counts() -> None:
    found = score(ChrF(), ["ein Haus am See", "ein Hund"], ["ein Haus am Meer", "ein Hund"])
    assert found.ngrams is None
    assert found.interval is not None
    low, high = found.interval
    assert found.signature.startswith("nrefs:1|bs:1000|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")
    assert str(found) == f"chrF2 = {found.value:.2f} [{low:.2f}, {high:.2f}] chrF2|{found.signature}"
