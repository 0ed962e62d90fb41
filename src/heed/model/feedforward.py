"""Section 3.3: position-wise feed-forward networks."""

import torch.nn.functional as F
from torch import Tensor, nn

from heed.kernels import relu


class FeedForward(nn.Module):
    """Equation (2): FFN(x) = max(0, x W₁ + b₁) W₂ + b₂, the same at every position."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        for layer in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x_BLD: Tensor) -> Tensor:
        if self.training and relu.is_for_products_of(x_BLD):  # the same with fewer goes
            inner_BLF = relu.relu_(F.linear(x_BLD, self.w_1.weight), self.w_1.bias)
        else:
            inner_BLF = self.w_1(x_BLD).relu()
        y_BLD: Tensor = self.w_2(inner_BLF)
        return y_BLD
