"""Update weights with Adam (section 5.3), by PyTorch's fused kernel for all weights.

PyTorch's `Optimizer` class is not used: creating one imports PyTorch's compiler, which takes a second at every start.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

MOMENTS = ("exp_avg", "exp_avg_sq")  # running averages of gradients and of their squares


class Adam:
    """Hold the two moments and the step count of each weight, and update the weights."""

    def __init__(self, weights: Iterable[nn.Parameter], beta1: float, beta2: float, epsilon: float) -> None:
        self.weights = list(weights)
        self.betas, self.epsilon = (beta1, beta2), epsilon
        self.state: dict[nn.Parameter, dict[str, Tensor]] = {}
        self.param_groups = [{"params": self.weights}]  # GradScaler reads it

    def zero_grad(self) -> None:
        """Drop the gradients of all weights."""
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Update every weight that has a gradient."""
        changed = [weight for weight in self.weights if weight.grad is not None]
        for weight in changed:
            if weight not in self.state:
                moments = {name: torch.zeros_like(weight) for name in MOMENTS}
                self.state[weight] = {"step": torch.zeros((), device=weight.device), **moments}
        states = [self.state[weight] for weight in changed]
        gradients = [weight.grad for weight in changed if weight.grad is not None]
        means, squares = ([state[name] for state in states] for name in MOMENTS)
        adam(
            list[Tensor](changed),
            gradients,
            means,
            squares,
            max_exp_avg_sqs=[],
            state_steps=[state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=self.betas[0],
            beta2=self.betas[1],
            lr=rate,
            weight_decay=0.0,
            eps=self.epsilon,
            maximize=False,
        )
