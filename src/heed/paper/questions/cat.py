"""Self-attention, a recurrent and a convolutional layer on the same sentence: operations, steps, paths, numbers."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from heed.model.attention import SelfAttention, attention
from heed.paper.questions.asked import SENTENCE, Asked, gradient_norms
from heed.paper.report import Part, Table

QUESTION = "How do self-attention, an RNN and a CNN read the same sentence?"
_WIDTH, _KERNEL = 64, 3


def answer(asked: Asked) -> Part:
    """Run the three layers, count, and see on which words "its" depends."""
    words = SENTENCE.replace(".", " .").split()
    n, its = len(words), words.index("its")
    torch.manual_seed(1)
    own, recurrent = SelfAttention(_WIDTH, 1, _WIDTH, _WIDTH), nn.GRU(_WIDTH, _WIDTH, bias=False)
    convolution = nn.Conv1d(_WIDTH, _WIDTH, _KERNEL, padding=_KERNEL // 2, bias=False)
    layers: dict[str, Callable[[Tensor], Tensor]] = {
        "self-attention": lambda x: own(x[None], own.keys_values(x[None]), lambda q, k, v: attention(q, k, v)[0])[0],
        "GRU": lambda x: recurrent(x)[0],
        "convolution": lambda x: convolution(x.T[None])[0].T,
    }
    x_LD = torch.randn(n, _WIDTH, requires_grad=True)
    operations = {name: _operations(layer, x_LD) for name, layer in layers.items()}
    # The formulas of the same layers: projections and products with all positions; three gates with two matrices each.
    expected = {
        "self-attention": 4 * n * _WIDTH**2 + 2 * n**2 * _WIDTH,
        "GRU": 6 * n * _WIDTH**2,
        "convolution": _KERNEL * n * _WIDTH**2,
    }
    table_1 = {"self-attention": n**2 * _WIDTH, "GRU": n * _WIDTH**2, "convolution": _KERNEL * n * _WIDTH**2}
    steps = {"self-attention": 1, "GRU": n, "convolution": 1}
    paths = {"self-attention": _layers_needed(layers["self-attention"], x_LD), "GRU": n}
    paths["convolution"] = _layers_needed(layers["convolution"], x_LD)
    shares = {name: _shares(layer(x_LD)[its], x_LD) for name, layer in layers.items()}
    counted = tuple(
        (
            name,
            *(f"{counts[name]:,}" for counts in (operations, expected, table_1)),
            str(steps[name]),
            str(paths[name]),
        )
        for name in layers
    )
    depends = tuple((word, *(f"{shares[name][i]:.0%}" for name in layers)) for i, word in enumerate(words))
    columns = ("", "operations", "by formula", "O(·) of Table 1", "steps in a row", "path")
    return Part(
        "question-cat",
        QUESTION,
        (
            Table(
                columns,
                counted,
                f"{n} tokens, width {_WIDTH}, kernel {_KERNEL}; multiply-adds; path from first word to last",
            ),
            Table(("word", *layers), depends, 'What "its" depends on after one new layer: share of the gradient'),
        ),
        (
            "Self-attention gives every word a direct path to every other, all at once. The GRU reads in order: "
            '"its" knows what came before, nothing after, and "cat" reaches it through the states between. The '
            "convolution sees one neighbour on each side; the path is the number of layers (for the GRU, steps) until "
            "the last word depends on the first. The words are random vectors and the layers are new, so the shares "
            "say what a layer can reach. For sentences shorter than the width, n < d, self-attention's n² products "
            "are the smaller part of its cost.",
        ),
        values={"operations": operations, "expected": expected, "paths": paths, "shares": shares, "its": its},
    )


def _operations(layer: Callable[[Tensor], Tensor], x_LD: Tensor) -> int:
    """Return the multiply-adds in the matrix products that PyTorch carries out."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x_LD.detach())
    return int(counter.get_total_flops()) // 2


def _layers_needed(layer: Callable[[Tensor], Tensor], x_LD: Tensor) -> int:
    """Return how many times a layer must be stacked until its last output depends on the first input."""
    y_LD = x_LD
    for n_layers in range(1, len(x_LD) + 1):
        y_LD = layer(y_LD)
        if gradient_norms(y_LD[-1], x_LD)[0] > 0:
            return n_layers
    return len(x_LD)


def _shares(output: Tensor, given_LD: Tensor) -> list[float]:
    norms = gradient_norms(output, given_LD)
    return [norm / sum(norms) for norm in norms]
