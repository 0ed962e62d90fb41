"""Section 3.3: position-wise feed-forward networks."""

from torch import Tensor, nn

from heed.model.fused import linear_relu


class FeedForward(nn.Module):
    """Equation (2): FFN(x) = max(0, x W₁ + b₁) W₂ + b₂, applied to every position."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        for layer in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.w_2(linear_relu(x, self.w_1))
        return y
