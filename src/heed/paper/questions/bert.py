"""The encoder alone, the decoder alone: the same layers under other masks."""

import torch

from heed.data.batch import batch_of_ids
from heed.model.masks import causal_mask
from heed.model.transformer import AttentionWeights
from heed.paper.questions.asked import Asked
from heed.paper.questions.grid import marks, picture
from heed.paper.report import Part, Table

QUESTION = "How does this become BERT, and how the chat bots?"
_WORDS = ("the", "cat", "chased", "its", "tail")


@torch.inference_mode()
def answer(asked: Asked) -> Part:
    """Draw the masks side by side, and change the last word of each stack's input."""
    n = len(_WORDS)
    full, causal = torch.ones(n, n), causal_mask(n)[0, 0].float()
    masks = Table(
        ("may attend to", *(word[:4] for word in _WORDS), " ", *(word[:4] for word in _WORDS)),
        tuple((word, *marks(full[i].tolist()), " ", *marks(causal[i].tolist())) for i, word in enumerate(_WORDS)),
        "Left: the encoder (BERT). Right: the decoder (GPT)",
    )
    family = Table(
        ("", "layers of figure 1", "mask", "trained to"),
        (
            ("this paper", "encoder and decoder", "none; causal", "translate"),
            ("BERT (2018)", "encoder only", "none", "fill in hidden words"),
            ("GPT (2018 on)", "decoder, no cross-attention", "causal", "write the next token"),
            ("T5, BART (2019)", "encoder and decoder", "none; causal", "restore damaged text"),
        ),
    )
    weight = _weight_on_later_positions(asked)
    return Part(
        "question-bert",
        QUESTION,
        (masks, family),
        (
            "The layers stay; what is kept of figure 1, the mask and the task change. An encoder sees both sides of "
            "every word: good for understanding text, unable to write it word by word. A decoder sees only what is "
            "before: it can write on from any text, and if it was shown conversations, write the next turn. In "
            f"{asked.name}, encoder positions put {weight['encoder']:.0%} of their attention on later ones, decoder "
            f"positions {weight['decoder']:.0%}.",
        ),
        (
            picture("Encoder only: BERT", full.tolist(), _WORDS, _WORDS, 44),
            picture("Decoder only: GPT", causal.tolist(), _WORDS, _WORDS, 44),
        ),
        {"later": weight},
    )


def _weight_on_later_positions(asked: Asked) -> dict[str, float]:
    """Return the share of attention that falls on later positions, in each stack."""
    captured = AttentionWeights()
    batch = batch_of_ids([asked.source], [asked.target], asked.model.vocabulary)
    asked.model(batch.src_BS, batch.tgt_in_BT, captured)
    return {
        name: float(torch.stack([one.triu(1).sum(-1).mean() for one in weights]).mean())
        for name, weights in (("encoder", captured.encoder), ("decoder", captured.decoder))
    }
