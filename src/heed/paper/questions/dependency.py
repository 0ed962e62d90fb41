"""Does the last position depend on the first? One layer of each kind, at several distances."""

import torch
from torch import Tensor, nn

from heed.model.attention import SelfAttention, fused
from heed.paper.questions.asked import Asked, gradient_norms
from heed.paper.report import Part, Table

QUESTION = "What is a global dependency?"
_LENGTHS = (2, 4, 16, 64, 256)
_WIDTH = 32


def answer(asked: Asked) -> Part:
    """Measure the gradient of the last output with respect to the first input."""
    torch.manual_seed(1)
    attention, recurrent = SelfAttention(_WIDTH, 4, 8, 8).double(), nn.GRU(_WIDTH, _WIDTH).double()
    convolution = nn.Conv1d(_WIDTH, _WIDTH, 3, padding=1).double()
    found: dict[str, list[float]] = {"self-attention": [], "GRU": [], "convolution": []}
    for n in _LENGTHS:
        x_LD = torch.randn(n, _WIDTH).double().requires_grad_()
        outputs: dict[str, Tensor] = {
            "self-attention": attention(x_LD, attention.keys_values(x_LD), _attend),
            "GRU": recurrent(x_LD)[0],
            "convolution": convolution(x_LD.T).T,
        }
        for name, y_LD in outputs.items():
            found[name].append(gradient_norms(y_LD[-1], x_LD)[0])
    rows = tuple((str(n - 1), *(_shown(norms[i]) for norms in found.values())) for i, n in enumerate(_LENGTHS))
    return Part(
        "question-dependency",
        QUESTION,
        (Table(("distance", *found), rows, "Gradient of the last output by the first input; one layer each"),),
        (
            "A word whose form or meaning depends on another one, however far away. One layer of self-attention "
            "reaches every position directly: with equal weights a share of 1/n each. A GRU reaches them too, but "
            "through every state between, and a convolution of width 3 sees its two neighbours only.",
        ),
        values={"distance": [n - 1 for n in _LENGTHS], **found},
    )


def _shown(norm: float) -> str:
    return f"{norm:.1e}" if norm else "none"


def _attend(q_HLK: Tensor, k_HMK: Tensor, v_HMC: Tensor) -> Tensor:
    return fused(None)(q_HLK[None], k_HMK[None], v_HMC[None])[0]
