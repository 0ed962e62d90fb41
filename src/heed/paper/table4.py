"""Table 4: constituency parsing, labelled F1 on section 23 of the Wall Street Journal treebank."""

from typing import NamedTuple

from heed.paper.report import Part, Table
from heed.parsing.evalb import count_always, count_as_evalb, pair_up, read_sentences, totals
from heed.parsing.parameters import Parameters

CUTOFF = 40  # words; what older work reports


class Row(NamedTuple):
    """One published row."""

    parser: str
    training: str
    f1: float
    is_papers_own: bool = False


ROWS = (
    Row("Vinyals & Kaiser et al. (2014)", "WSJ only, discriminative", 88.3),
    Row("Petrov et al. (2006)", "WSJ only, discriminative", 90.4),
    Row("Zhu et al. (2013)", "WSJ only, discriminative", 90.4),
    Row("Dyer et al. (2016)", "WSJ only, discriminative", 91.7),
    Row("Transformer (4 layers)", "WSJ only, discriminative", 91.3, True),
    Row("Zhu et al. (2013)", "semi-supervised", 91.3),
    Row("Huang & Harper (2009)", "semi-supervised", 91.3),
    Row("McClosky et al. (2006)", "semi-supervised", 92.1),
    Row("Vinyals & Kaiser et al. (2014)", "semi-supervised", 92.1),
    Row("Transformer (4 layers)", "semi-supervised", 92.7, True),
    Row("Luong et al. (2015)", "multi-task", 93.0),
    Row("Dyer et al. (2016)", "generative", 93.3),
)

COMPARABLE = (
    "The published numbers are for section 23 of the Wall Street Journal, all sentences, after training on about "
    "40,000 of its trees. A number may stand beside them only for the same test trees. Other text, another size of "
    "treebank and another set of labels each change F1 by more than the parsers above differ."
)


class Ours(NamedTuple):
    """What a parser of heed's scores on some trees."""

    gold: str
    parsed: str
    sentences: int
    every_sentence: float  # F1 of all sentences
    evalb: float  # as EVALB counts: without the sentences it cannot compare
    short: float  # F1 of sentences of up to 40 words, every one counted
    short_evalb: float


def measure(gold: str, parsed: str) -> Ours:
    """Score parsed trees against gold ones, both given as files.

    Raises:
        DataError: a file cannot be read, or the numbers of trees differ.
    """
    pairs = pair_up(read_sentences(gold), read_sentences(parsed), gold, parsed)
    always = [count_always(*pair, Parameters()) for pair in pairs]
    as_evalb = [count_as_evalb(*pair, Parameters()) for pair in pairs]
    return Ours(
        gold,
        parsed,
        len(pairs),
        totals(always, True).f1,
        totals(as_evalb, False).f1,
        totals(always, True, CUTOFF).f1,
        totals(as_evalb, False, CUTOFF).f1,
    )


def part(ours: Ours | None) -> Part:
    """Return the table, with our row if there is one; * marks the paper's own rows."""
    published = Table(
        ("parser", "training", "F1"),
        tuple((f"{row.parser}{' *' * row.is_papers_own}", row.training, f"{row.f1:.1f}") for row in ROWS),
        "Labelled F1 on WSJ section 23, all sentences (* the paper's own)",
    )
    tables = [published]
    if ours is not None:
        rows = (
            ("every sentence counted", f"{ours.every_sentence:.1f}", f"{ours.short:.1f}"),
            ("raw EVALB", f"{ours.evalb:.1f}", f"{ours.short_evalb:.1f}"),
        )
        title = f"heed, on {ours.gold} ({ours.sentences:,} sentences)"
        tables.append(Table(("labelled F1", "all", f"<= {CUTOFF} words"), rows, title))
    values = {
        "metric": "labelled F1, WSJ section 23",
        "published": [row._asdict() for row in ROWS],
        "ours": None if ours is None else ours._asdict(),
    }
    return Part("table4", "Table 4: constituency parsing", tuple(tables), (COMPARABLE,), values=values)
