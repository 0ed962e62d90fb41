"""Section 3.5: positional encoding. Both kinds have a vector per position, which is added to the embedding."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def sinusoids(n_positions: int, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same): table_LD."""
    # In float64, because float32 loses the fast sines of far positions.
    position_L1 = torch.arange(n_positions, dtype=torch.float64).unsqueeze(1)
    even_D = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle_LD = position_L1 / 10000 ** (even_D / d_model)
    return torch.stack((angle_LD.sin(), angle_LD.cos()), dim=-1).flatten(1).float()


_FIRST_POSITIONS = 4096  # computed ahead, at most


class SinusoidalPositions(nn.Module):
    """Fixed waves from 2π to 10000·2π. The table grows with what is asked of it."""

    table_LD: Tensor
    limit: int | None = None

    def __init__(self, d_model: int, n_positions: int) -> None:
        super().__init__()
        # Not part of the saved weights: it can be computed.
        self.register_buffer("table_LD", sinusoids(min(n_positions, _FIRST_POSITIONS), d_model), persistent=False)

    def forward(self, position: Tensor, n_positions: int) -> Tensor:
        """Return the vectors of these positions, all below `n_positions`."""
        return F.embedding(position, self.table(n_positions))

    def table(self, n: int) -> Tensor:
        """Return the vectors of the first n positions: table_LD."""
        if n > self.table_LD.size(0):
            self.table_LD = sinusoids(2 * n, self.table_LD.size(1)).to(self.table_LD)
        return self.table_LD[:n]


class LearnedPositions(nn.Module):
    """Table 3 row (E): a learned vector per position, so there is a last one."""

    def __init__(self, d_model: int, n_positions: int) -> None:
        super().__init__()
        self.limit: int | None = n_positions
        self.weight = nn.Parameter(torch.empty(n_positions, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, position: Tensor, n_positions: int) -> Tensor:
        """Return the vectors of these positions, all below `n_positions`."""
        return F.embedding(position, self.table(n_positions))

    def table(self, n: int) -> Tensor:
        """Return the vectors of the first n positions: table_LD."""
        if n > self.weight.size(0):
            raise ValueError(f"position {n} of a model with {self.weight.size(0)} learned positions")
        return self.weight[:n]
