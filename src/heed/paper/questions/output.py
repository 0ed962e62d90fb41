"""From the decoder's vector to a word: logits, softmax, candidates."""

import numpy as np

from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "What is the decoder's output, and how does it become a word?"
_SHOWN = 3


def answer(asked: Asked) -> Part:
    """Print the best candidates of each position of the model's own translation."""
    hidden_TD, logits_TV = asked.computed["decoder.out"], asked.computed["logits"]
    probabilities_TV = np.exp(logits_TV - logits_TV.max(-1, keepdims=True))
    probabilities_TV /= probabilities_TV.sum(-1, keepdims=True)
    written = [*asked.pieces(asked.target), "(end)"]
    rows = []
    for t, row_V in enumerate(probabilities_TV):
        best = np.argsort(-row_V)[:_SHOWN]
        shown = "  ".join(f"{_piece(asked, int(i))} {row_V[i]:.0%}" for i in best)
        rows.append((str(t + 1), written[t], shown))
    entropy = float(-(probabilities_TV * np.log(probabilities_TV + 1e-30)).sum(-1).mean())
    sizes = (
        ("decoder output", f"{hidden_TD.shape[0]} x {hidden_TD.shape[1]}", "real numbers: a vector for each position"),
        ("logits", f"{logits_TV.shape[0]} x {logits_TV.shape[1]}", "times the embedding matrix, transposed"),
        ("probabilities", f"{logits_TV.shape[0]} x {logits_TV.shape[1]}", "softmax of each row: sums to 1"),
    )
    return Part(
        "question-output",
        QUESTION,
        (
            Table(("what", "size", ""), sizes, f'"{SENTENCE}", {asked.name}'),
            Table(("position", "written", "candidates"), tuple(rows), "The most probable tokens at each position"),
        ),
        (
            "A vector of d_model numbers for each position. Its product with every token's embedding gives a score "
            "for each token of the vocabulary, softmax makes these probabilities, and search picks from them: greedy "
            "search the most probable token, beam search the most probable sequence. The token picked is the next "
            "input.",
        ),
        values={
            "hidden": list(hidden_TD.shape),
            "logits": list(logits_TV.shape),
            "row_sums": probabilities_TV.sum(-1).tolist(),
            "probability_of_written": [
                float(row[i])
                for row, i in zip(probabilities_TV, [*asked.target, asked.model.vocabulary.end], strict=True)
            ],
            "mean_entropy": entropy,
        },
    )


def _piece(asked: Asked, token: int) -> str:
    return "(end)" if token == asked.model.vocabulary.end else asked.pieces([token])[0]
