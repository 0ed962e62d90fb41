"""Multiply in bfloat16 with PyTorch as training does, and fail unless the results are right.

`precision.py` runs this in a separate process, because a wrong guess kills it: a virtual machine may announce
instructions that it does not have.
"""

import sys
from collections.abc import Callable
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor

# Rows, inputs, outputs. Small products use other code than large ones, and may work where those do not.
_SIZES = [(64, 32, 64), (64, 64, 64), (37, 45, 70), (512, 512, 1024)]
_TOLERANCE = 0.02  # relative to a result's norm; bfloat16 rounds each number by up to 0.004 of its size


def main() -> None:
    """Compare products and attention of all sizes with those in float32.

    Raises:
        ArithmeticError: a result is wrong.
    """
    torch.manual_seed(0)
    for rows, d_in, d_out in _SIZES:
        x, weight, bias = torch.randn(rows, d_in), torch.randn(d_out, d_in), torch.randn(d_out)
        _compare(f"a product of {rows} x {d_in} x {d_out}", F.linear, x, weight, bias)
    inputs = torch.randn(3, 2, 4, 64, 64).unbind()
    _compare("attention", F.scaled_dot_product_attention, *inputs)


def _compare(name: str, function: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Compare a function and its gradients in bfloat16 with those in float32."""
    found = []
    for context in (nullcontext(), torch.autocast("cpu", torch.bfloat16)):
        leaves = [one.clone().requires_grad_() for one in inputs]
        with context:
            result = function(*leaves)
        found.append([result.detach(), *torch.autograd.grad(result.float().square().sum(), leaves)])
    for exact, rounded in zip(*found, strict=True):
        distance = float((rounded.float() - exact).norm() / exact.norm())
        if not distance < _TOLERANCE:
            raise ArithmeticError(f"{name} in bfloat16 is off by {distance:.2g} of its size")


if __name__ == "__main__":
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dump of an expected crash
    main()
