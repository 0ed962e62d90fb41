"""The sinusoids: what they look like, and a shift by k as one matrix for all positions."""

import math

import torch
from torch import Tensor

from heed.model.positions import sinusoids
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import Asked
from heed.paper.questions.grid import picture
from heed.paper.report import Part, Table

QUESTION = "What do position encodings look like, and why sines and cosines?"
_WIDTH, _POSITIONS, _SHIFTS = 512, 200, (1, 5, 50)
_SHOWN = (0, 1, 2, 10, 50)
_DRAWN, _SHADES = 16, "·░▒▓█"


def answer(asked: Asked) -> Part:
    """Print a few, and hold PE(pos + k) against a matrix times PE(pos)."""
    table_LD = sinusoids(_POSITIONS + max(_SHIFTS), _WIDTH).double()
    columns = ("pos", "sin, 2π", "cos, 2π", "sin, dim 100", "cos, dim 100", "sin, dim 400")
    rows = tuple((str(pos), *(f"{table_LD[pos, dim].item():+.3f}" for dim in (0, 1, 100, 101, 400))) for pos in _SHOWN)
    errors = {
        k: (table_LD[:_POSITIONS] @ shift_matrix(k, _WIDTH).T - table_LD[k : k + _POSITIONS]).abs().max().item()
        for k in _SHIFTS
    }
    products = table_LD[:_POSITIONS] @ table_LD[:_POSITIONS].T
    by_distance = [(products.diagonal(k).mean().item(), products.diagonal(k).std().item()) for k in range(60)]
    likeness = Series("PE(pos) · PE(pos + k)", [(k, mean) for k, (mean, _) in enumerate(by_distance)])
    small = sinusoids(32, 48)
    drawn = tuple((str(pos), _shades(row[0::2]), _shades(row[1::2])) for pos, row in enumerate(small[:_DRAWN].tolist()))
    return Part(
        "question-positions",
        QUESTION,
        (
            Table(columns, rows, "d_model 512; wavelengths from 2π to 10000·2π"),
            Table(("pos", "sines, fast to slow", "cosines"), drawn, "d_model 48: white is -1, black is 1"),
            Table(
                ("k", "largest error of M_k PE(pos)", "positions"),
                tuple((str(k), f"{error:.0e}", str(_POSITIONS)) for k, error in errors.items()),
                "PE(pos + k) = M_k PE(pos), one matrix M_k for every position",
            ),
        ),
        (
            "Each pair of dimensions is a clock hand with a speed of its own: sin and cos of the same angle. To move "
            "on by k turns every hand by a fixed angle, which is a rotation, so a linear function that does not "
            "depend on pos: attention can learn to look k places back, with one matrix for all positions. The "
            "product of two encodings depends on their distance alone.",
        ),
        (
            picture(
                "Positions (rows) × dimensions (columns)",
                ((small + 1) / 2).tolist(),
                [str(i) if i % 4 == 0 else "" for i in range(32)],
                [str(j) if j % 8 == 0 else "" for j in range(48)],
                10,
            ),
            chart("Likeness by distance", Axis("distance k"), Axis("product"), [likeness]),
        ),
        {"errors": {str(k): error for k, error in errors.items()}, "spread": max(spread for _, spread in by_distance)},
    )


def _shades(row: list[float]) -> str:
    """Return numbers from -1 to 1 as shades of grey."""
    return "".join(_SHADES[min(len(_SHADES) - 1, int((value + 1) / 2 * len(_SHADES)))] for value in row)


def shift_matrix(k: int, d_model: int) -> Tensor:
    """Return matrix_DD that turns PE(pos) into PE(pos + k): a rotation of each pair of dimensions."""
    matrix_DD = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = k / 10000 ** (i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        matrix_DD[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    return matrix_DD
