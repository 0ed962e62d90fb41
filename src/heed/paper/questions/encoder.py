"""What the decoder gets from the encoder: shapes of a real forward pass, and a check by hand."""

import numpy as np

from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "What goes from the encoder to the decoder, and where?"


def answer(asked: Asked) -> Part:
    """List what is handed over, and compute one of the keys from the encoder output."""
    arrays, layers = asked.computed, asked.model.decoder
    out_SD = arrays["encoder.out"]
    rows = [("encoder output", _shape(out_SD), "a vector for each source token")]
    worst = 0.0
    for number, layer in enumerate(layers):
        k_HSK, v_HSC = (arrays[f"decoder.{number}.cross.{name}"] for name in "kv")
        rows += [
            (f"keys, decoder layer {number + 1}", _shape(k_HSK), "encoder output times its W_K"),
            (f"values, decoder layer {number + 1}", _shape(v_HSC), "encoder output times its W_V"),
        ]
        weight = layer.cross_attention.w_k.weight.detach().float().cpu().numpy()  # type: ignore[union-attr, operator]
        by_hand = out_SD @ weight.T
        h, n, d_k = k_HSK.shape
        worst = max(worst, float(np.abs(by_hand.reshape(n, h, d_k).transpose(1, 0, 2) - k_HSK).max()))
    n_queries = arrays["decoder.0.cross.q"].shape[1]
    rows.append(("queries", _shape(arrays["decoder.0.cross.q"]), "the decoder's, of each target token"))
    return Part(
        "question-encoder",
        QUESTION,
        (Table(("what", "shape", "from"), tuple(rows), f'"{SENTENCE}", {asked.name}'),),
        (
            "One matrix, a row for each source token, with the end of the sentence as one more. It goes to every "
            "decoder layer, into the middle sub-layer, as keys and values; queries are the decoder's own. It is "
            "computed once for a sentence, however many words are written. It is not squeezed into one vector.",
        ),
        values={
            "encoder_output": list(out_SD.shape),
            "source_tokens": len(asked.source) + 1,
            "queries": n_queries,
            "target_tokens": len(asked.target) + 1,
            "layers": len(layers),
            "largest_difference_by_hand": worst,
        },
    )


def _shape(array: np.ndarray) -> str:
    return " x ".join(map(str, array.shape))
