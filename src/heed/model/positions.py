"""Section 3.5: positional encoding, a vector per position that is added to the embedding."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def sinusoids(n_positions: int, d_model: int) -> Tensor:
    """Return table_LD: PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i+1) = cos(pos / 10000^(2i/d))."""
    # In float64: float32 angles are too coarse for the high frequencies at large positions.
    position_L1 = torch.arange(n_positions, dtype=torch.float64).unsqueeze(1)
    even_D = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle_LD = position_L1 / 10000 ** (even_D / d_model)
    return torch.stack((angle_LD.sin(), angle_LD.cos()), dim=-1).flatten(1).float()


_MAX_INITIAL_POSITIONS = 4096  # of the table; it grows when needed


class SinusoidalPositions(nn.Module):
    """Sinusoids with wavelengths from 2π to 10000·2π. The table grows when needed."""

    table_LD: Tensor
    limit: int | None = None

    def __init__(self, d_model: int, n_positions: int) -> None:
        super().__init__()
        # Not saved with the weights: it can be recomputed.
        self.register_buffer("table_LD", sinusoids(min(n_positions, _MAX_INITIAL_POSITIONS), d_model), persistent=False)

    def forward(self, position: Tensor, n_positions: int) -> Tensor:
        """Return the vectors of these positions, all below `n_positions`."""
        return F.embedding(position, self.table(n_positions))

    def table(self, n: int) -> Tensor:
        """Return the vectors of the first n positions: table_LD."""
        if n > self.table_LD.size(0):
            self.table_LD = sinusoids(2 * n, self.table_LD.size(1)).to(self.table_LD)
        return self.table_LD[:n]


class LearnedPositions(nn.Module):
    """Table 3 row (E): a learned vector per position, so the number of positions is limited."""

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
            raise ValueError(f"a sentence of {n} positions for a model with {self.weight.size(0)} learned positions")
        return self.weight[:n]
