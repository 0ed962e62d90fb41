"""The sizes of what is added at the bottom of the model: embeddings and positions."""

import torch

from heed.model.embedding import SharedEmbedding
from heed.model.positions import sinusoids
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "Why multiply embeddings by the square root of d_model?"


@torch.inference_mode()
def answer(asked: Asked) -> Part:
    """Compare the norms at initialisation, with the paper's width, and in a trained model."""
    torch.manual_seed(1)
    sizes = {"new, d_model 512": SharedEmbedding(1000, 512, 0), asked.name: asked.model.source_embedding}
    rows, values = [], {}
    for name, embedding in sizes.items():
        plain = embedding.weight.float().norm(dim=1).mean().item()
        scaled = plain * embedding.scale
        position = sinusoids(50, embedding.weight.size(1)).norm(dim=1).mean().item()
        logit = embedding.weight.float().std().item() * embedding.weight.size(1) ** 0.5
        rows.append((name, f"{plain:.2f}", f"{position:.2f}", f"{scaled:.2f}", f"{logit:.2f}"))
        values[name] = {"plain": plain, "position": position, "scaled": scaled, "logit": logit}
    columns = ("", "embedding", "position", "embedding x √d_model", "logit")
    return Part(
        "question-embedding",
        QUESTION,
        (Table(columns, tuple(rows), "Mean norm of vectors; size of a logit for a hidden vector of variance 1"),),
        (
            "Because one matrix serves two ends. Before the softmax its numbers must be small, about 1/√d_model, so "
            "that the logits start with a size of about 1. As embeddings such vectors have norm 1, while a position "
            "has norm √(d_model/2), 16 for 512: the position would drown the word. Times √d_model, the word is "
            "as large as the position or larger. The paper gives no reason; this is what the numbers say.",
        ),
        values=values,
    )
