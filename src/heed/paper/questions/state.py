"""A recurrent network of two numbers reads five words, one after the other."""

import torch

from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "What is the hidden state of a recurrent network?"


def answer(asked: Asked) -> Part:
    """Print the state after each word, and after the same words in another order."""
    words = SENTENCE.rstrip(".").split()
    torch.manual_seed(2)
    vectors_LD = torch.randn(len(words), 4)  # one for each word
    network = torch.nn.RNN(4, 2)
    with torch.inference_mode():
        states_LH, _ = network(vectors_LD)
        by_hand_LH = _by_hand(network, vectors_LD)
        reversed_LH, _ = network(vectors_LD.flip(0))
    rows = [
        (str(t + 1), word, f"{a:+.3f}", f"{b:+.3f}")
        for t, (word, (a, b)) in enumerate(zip(words, states_LH.tolist(), strict=True))
    ]
    a, b = reversed_LH[-1].tolist()
    rows.append(("5", "the words in reverse", f"{a:+.3f}", f"{b:+.3f}"))
    return Part(
        "question-state",
        QUESTION,
        (Table(("t", "after", "h[0]", "h[1]"), tuple(rows), "h_t = tanh(W x_t + U h_(t-1) + b), two numbers"),),
        (
            "All that a recurrent network knows of the words so far: a vector of fixed size, made anew from the last "
            "one and the next word. It must be computed in order, and its size does not grow with the sentence.",
        ),
        values={
            "states": states_LH.tolist(),
            "largest_difference_to_the_formula": (states_LH - by_hand_LH).abs().max().item(),
            "order_matters": (states_LH[-1] - reversed_LH[-1]).abs().max().item(),
        },
    )


def _by_hand(network: torch.nn.RNN, vectors_LD: torch.Tensor) -> torch.Tensor:
    """Compute the formula in the table's title with the network's weights."""
    w, u, b, c = (getattr(network, name) for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))
    state_H, found = torch.zeros(2), []
    for vector_D in vectors_LD:
        state_H = torch.tanh(w @ vector_D + b + u @ state_H + c)
        found.append(state_H)
    return torch.stack(found)
