"""Section 6.1: beam size and length penalty, swept on a trained model."""

import time
from collections.abc import Callable, Sequence

from heed.errors import ConfigError
from heed.evaluate import Bleu, score
from heed.loading import load
from heed.paper.chart import Axis, Series, chart
from heed.paper.report import Part, Table
from heed.paper.trained import Trained

_MOST_ALPHAS = 6  # columns that fit 80 characters
PAPERS = (4, 0.6)


def numbers(text: str, option: str) -> list[float]:
    """Return the numbers of a list such as "1,2,4".

    Raises:
        ConfigError: one is no number, or negative.
    """
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text}: must be numbers with commas between them, such as 1,2,4") from None
    if min(found) < 0:
        raise ConfigError(f"{option} {text}: must not be negative")
    return found


def whole_numbers(text: str, option: str) -> list[int]:
    """Return the whole numbers of such a list.

    Raises:
        ConfigError: one is no whole number, or negative.
    """
    found = numbers(text, option)
    if not all(one.is_integer() for one in found):
        raise ConfigError(f"{option} {text}: must be whole numbers")
    return list(map(int, found))


def part(
    one: Trained, beams: Sequence[int], alphas: Sequence[float], tell: Callable[[int], None] = lambda done: None
) -> Part:
    """Translate the text with each beam and each alpha, and return BLEU, length and time.

    Raises:
        ConfigError: too many alphas for a table, or a beam below 1.
    """
    if len(alphas) > _MOST_ALPHAS:
        raise ConfigError(f"--alphas: {len(alphas)} of them; a table has at most {_MOST_ALPHAS}")
    if min(beams) < 1:
        raise ConfigError(f"--beams: {min(beams)}; must be at least 1")
    translator = load(one.run.path)
    sources, references = [pair[0] for pair in one.pairs], [pair[1] for pair in one.pairs]
    n_words = sum(len(text.split()) for text in references)
    found: dict[tuple[int, float], tuple[float, float, float]] = {}
    for beam in beams:
        for alpha in alphas:
            began = time.perf_counter()
            texts = [each.text for each in translator.translate(sources, beam=beam, alpha=alpha, copy=False)]
            seconds = time.perf_counter() - began
            bleu = score(Bleu(), texts, references, resamples=0).value
            found[beam, alpha] = bleu, sum(len(text.split()) for text in texts) / n_words, len(texts) / seconds
            tell(len(found))
    columns = ("beam", *(f"alpha {alpha:g}" for alpha in alphas))
    tables = tuple(
        Table(columns, tuple((str(b), *(f"{found[b, a][i]:{form}}" for a in alphas)) for b in beams), title)
        for i, form, title in [
            (0, ".2f", "BLEU"),
            (1, ".3f", "Words, divided by those of the reference"),
            (2, ",.0f", "Sentences a second"),
        ]
    )
    series = [Series(f"beam {beam}", [(alpha, found[beam, alpha][0]) for alpha in alphas]) for beam in beams]
    notes = (
        f"{one.run.path}, on {len(one.pairs):,} pairs of {one.text}; sacreBLEU.",
        "The paper chose beam 4 and alpha 0.6 on the development set and prints no other, so there is nothing to "
        "compare with. Choose on held-out text, never on the test set.",
    )
    values = {
        "rows": [
            {"beam": beam, "alpha": alpha, "bleu": bleu, "length_ratio": ratio, "sentences_per_second": speed}
            for (beam, alpha), (bleu, ratio, speed) in found.items()
        ]
    }
    picture = chart("BLEU by length penalty", Axis("alpha"), Axis("BLEU"), series, [("paper", PAPERS[1])])
    return Part("beam", "Section 6.1: beam and length penalty", tables, notes, (picture,), values)
