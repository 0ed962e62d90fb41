"""How much of the first state is left after n steps: a plain recurrent network and a gated one."""

import torch
from torch import Tensor, nn

from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "What is a gated recurrent network, and why gates?"
_STEPS = (1, 5, 10, 20, 50, 100)
_WIDTH = 32
_BIAS = 4.0  # of the gate: sigmoid(4) = 0.98 of the state is kept


def answer(asked: Asked) -> Part:
    """Measure the gradient of the state after n steps with respect to the first state."""
    torch.manual_seed(1)
    inputs_LD = torch.randn(max(_STEPS), _WIDTH).double() * 0.5
    plain, gated = nn.RNNCell(_WIDTH, _WIDTH).double(), nn.GRUCell(_WIDTH, _WIDTH).double()
    with torch.no_grad():
        gated.bias_ih[_WIDTH : 2 * _WIDTH] = _BIAS  # PyTorch: h = z * old + (1 - z) * new; this is z's bias
    left = {"plain": _gradients(plain, inputs_LD), "gated": _gradients(gated, inputs_LD)}
    rows = tuple((str(n), f"{left['plain'][n]:.1e}", f"{left['gated'][n]:.3f}") for n in _STEPS)
    series = [Series(name, list(found.items())) for name, found in left.items()]
    return Part(
        "question-gates",
        QUESTION,
        (Table(("steps", "plain RNN", "GRU, gate open"), rows, "Gradient of the state after n steps by the first"),),
        (
            "A gate is a number from 0 to 1, computed from the input and the state, that decides how much of the old "
            "state is kept. While it is near 1, what was read long ago survives; a plain network overwrites all of "
            "its state at each step, and forgets exponentially fast. LSTM and GRU are gated.",
        ),
        (chart(QUESTION, Axis("steps"), Axis("gradient", log=True), series),),
        {"steps": list(_STEPS), **{name: [found[n] for n in _STEPS] for name, found in left.items()}},
    )


def _gradients(cell: nn.Module, inputs_LD: Tensor) -> dict[int, float]:
    first_D = torch.zeros(_WIDTH, dtype=torch.float64, requires_grad=True)
    state_D, found = first_D, {}
    for n, x_D in enumerate(inputs_LD, 1):
        state_D = cell(x_D, state_D)
        if n in _STEPS:
            (gradient_D,) = torch.autograd.grad(state_D.sum(), first_D, retain_graph=True)
            found[n] = gradient_D.norm().item() / _WIDTH**0.5
    return found
