"""A sequence in, another sequence out: three sentences with what the model makes of them."""

from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "What is sequence transduction?"
_TEXTS = (SENTENCE, "Where does your brother live?", "I would like a cup of coffee, please.")


def answer(asked: Asked) -> Part:
    """Translate, and count the tokens on both sides."""
    found = asked.translator.translate(_TEXTS)
    counts = [(len(asked.ids(one)), len(asked.ids(made.text))) for one, made in zip(_TEXTS, found, strict=True)]
    rows = []
    for text, made, (n_in, n_out) in zip(_TEXTS, found, counts, strict=True):
        rows += [("in", str(n_in), text), ("out", str(n_out), made.text)]
    return Part(
        "question-transduction",
        QUESTION,
        (Table(("", "tokens", "text"), tuple(rows)),),
        (
            "Turning one sequence into another, whose length, order and symbols may differ: text into its "
            "translation, sound into text, words into a tree. A transducer reads symbols and writes symbols.",
        ),
        values={"tokens": counts},
    )
