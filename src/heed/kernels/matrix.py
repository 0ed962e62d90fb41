"""Matrices as the kernels for linear layers read them, packed once from NumPy arrays.

A weight is d_in x d_out; checkpoints store its transpose, with a row for each output. Several weights can be put side
by side into one matrix.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.kernels.structures import Int8Pointers, WeightPointers

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]
Ints = NDArray[np.integer[Any]]

_PANEL_COLUMNS, _GROUP_ROWS, _ZERO_POINT = 64, 4, 128  # as in float32.c and int8.c
_INT8_MAX = 127
_TINY = 1e-30  # a row's largest number; anything smaller would make 127 / x overflow


def address(array: NDArray[Any]) -> int:
    """Return the address of an array's first element; `array.ctypes.data` takes several times as long."""
    found: int = array.__array_interface__["data"][0]
    return found


def quantised(weight_OI: Floats) -> tuple[Codes, Floats]:
    """Return the codes of a weight, from -127 to 127, and the scale of each row, as `heed.model.int8` does."""
    scale_O = np.maximum(np.abs(weight_OI).max(1), np.float32(_TINY)) / np.float32(_INT8_MAX)
    with np.errstate(invalid="ignore"):  # the codes of a row with NaN are arbitrary: its scale is NaN
        return np.rint(weight_OI / scale_O[:, None]).astype(np.int8), scale_O


def _panels(first: int, n: int) -> "list[tuple[int, slice, slice]]":
    """Return, for each panel that n columns from `first` on touch, its number, its columns and their place in the n."""
    found = []
    for panel in range(first // _PANEL_COLUMNS, -(-(first + n) // _PANEL_COLUMNS)):
        begin = max(first, panel * _PANEL_COLUMNS)
        end = min(first + n, (panel + 1) * _PANEL_COLUMNS)
        columns = slice(begin - panel * _PANEL_COLUMNS, end - panel * _PANEL_COLUMNS)
        found.append((panel, columns, slice(begin - first, end - first)))
    return found


class Float32Matrix:
    """A matrix in float32."""

    def __init__(self, d_in: int, d_out: int) -> None:
        self.shape = d_in, d_out
        self._panels = np.zeros((-(-d_out // _PANEL_COLUMNS), d_in, _PANEL_COLUMNS), np.float32)

    @property
    def pointers(self) -> WeightPointers:
        """What C gets; the matrix must live as long."""
        return WeightPointers(address(self._panels))

    def put(self, first: int, weight_OI: Floats) -> None:
        """Pack a weight into the columns from `first` on."""
        for panel, columns, rows in _panels(first, len(weight_OI)):
            self._panels[panel, :, columns] = weight_OI[rows].T

    def put_codes(self, first: int, codes_OI: Codes, scale_O: Floats) -> None:
        """Pack a weight that is stored in 8 bits, a panel at a time."""
        for panel, columns, rows in _panels(first, len(codes_OI)):
            np.multiply(codes_OI[rows].T, scale_O[rows], out=self._panels[panel, :, columns])

    def columns(self, numbers: Ints) -> Floats:
        """Return these columns, as rows: the embeddings of tokens, if this is the projection before the softmax."""
        return self._panels[numbers // _PANEL_COLUMNS, :, numbers % _PANEL_COLUMNS]


class Int8Matrix:
    """A matrix in 8 bits with a scale for each column."""

    def __init__(self, d_in: int, d_out: int) -> None:
        self.shape = d_in, d_out
        n_panels, n_groups = -(-d_out // _PANEL_COLUMNS), -(-d_in // _GROUP_ROWS)
        self._codes = np.zeros((n_panels, n_groups, _PANEL_COLUMNS, _GROUP_ROWS), np.uint8)
        self._scale_O = np.zeros(n_panels * _PANEL_COLUMNS, np.float32)

    @property
    def pointers(self) -> WeightPointers:
        """What C gets; the matrix must live as long."""
        return WeightPointers(None, Int8Pointers(address(self._codes), address(self._scale_O)))

    def put(self, first: int, weight_OI: Floats) -> None:
        """Quantise a weight and pack it into the columns from `first` on, a panel at a time."""
        for _, _, rows in _panels(first, len(weight_OI)):
            self.put_codes(first + rows.start, *quantised(weight_OI[rows]))

    def put_codes(self, first: int, codes_OI: Codes, scale_O: Floats) -> None:
        """Pack a weight that is stored in 8 bits."""
        n_groups, padding = self._codes.shape[1], -self.shape[0] % _GROUP_ROWS
        self._scale_O[first : first + len(scale_O)] = scale_O
        for panel, columns, rows in _panels(first, len(codes_OI)):
            unsigned_OI = np.pad(codes_OI[rows].view(np.uint8) ^ _ZERO_POINT, ((0, 0), (0, padding)))
            self._codes[panel, :, columns] = unsigned_OI.reshape(-1, n_groups, _GROUP_ROWS).swapaxes(0, 1)

    def columns(self, numbers: Ints) -> Floats:
        """Return these columns in float32, as rows."""
        groups = self._codes[numbers // _PANEL_COLUMNS, :, numbers % _PANEL_COLUMNS]
        codes = (groups ^ _ZERO_POINT).view(np.int8).reshape(*numbers.shape, -1)[..., : self.shape[0]]
        return codes * self._scale_O[numbers][..., None]


Matrix = Float32Matrix | Int8Matrix
