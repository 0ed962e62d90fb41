"""Matrices as the kernels for linear layers read them, packed once from NumPy arrays.

A weight is d_in x d_out; checkpoints store its transpose, with a row for each output. Several weights can be put side
by side into one matrix.
"""

import ctypes
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heed.kernels.library import library
from heed.kernels.structures import Int8Pointers, WeightPointers

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]
Ints = NDArray[np.integer[Any]]

Precision = Literal["float32", "bfloat16", "int8"]  # of weights

_PANEL_COLUMNS, _GROUP_ROWS, _ZERO_POINT = 64, 4, 128  # as in float32.c and int8.c
_PAIR_COLUMNS, _BF16_DEPTH, _BF16_ROWS = 32, 32, 32  # as in bf16_pairs.h: columns of a panel, padding in k and in rows
_INT8_MAX = 127
_TINY = 1e-30  # a row's largest number; anything smaller would make 127 / x overflow


def address(array: NDArray[Any]) -> int:
    """Return the address of a contiguous array's first element. `array.ctypes.data` takes four times as long."""
    return ctypes.addressof(ctypes.c_char.from_buffer(array.data))


def bf16_pairs(k: int) -> int:
    """Return the number of pairs in a column of a packed matrix with k rows."""
    return -(-k // _BF16_DEPTH) * _BF16_DEPTH // 2


def bf16_size(k: int, n: int) -> int:
    """Return the number of pairs of a packed matrix with k rows and n columns."""
    return bf16_pairs(k) * -(-n // _PANEL_COLUMNS) * _PANEL_COLUMNS


def bf16_scratch(m: int, k: int) -> int:
    """Return how many numbers of 4 bytes a product of m x k numbers needs as scratch."""
    return (m + _BF16_ROWS) * bf16_pairs(k)


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
        return WeightPointers(float32=address(self._panels))

    @staticmethod
    def scratch(rows: int, d_in: int) -> int:
        """Return how many floats a product with `rows` rows needs as scratch."""
        return 0

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


class Bfloat16Matrix:
    """A matrix in bfloat16. The processor must have been checked: see `bf16_ways.chosen`."""

    def __init__(self, d_in: int, d_out: int) -> None:
        self.shape = d_in, d_out
        n_panels = -(-d_out // _PANEL_COLUMNS)
        self._panels = np.zeros((n_panels, _PANEL_COLUMNS // _PAIR_COLUMNS, bf16_pairs(d_in), _PAIR_COLUMNS), np.uint32)

    @property
    def pointers(self) -> WeightPointers:
        """What C gets; the matrix must live as long."""
        return WeightPointers(bf16=address(self._panels))

    @staticmethod
    def scratch(rows: int, d_in: int) -> int:
        """Return how many floats a product with `rows` rows needs as scratch."""
        return bf16_scratch(rows, d_in)

    def put(self, first: int, weight_OI: Floats) -> None:
        """Round a weight and pack it into the columns from `first` on, which are still zero, a panel at a time."""
        kernels, d_in = library(), self.shape[0]
        assert kernels is not None  # the processor has been checked
        for panel, columns, rows in _panels(first, len(weight_OI)):
            part_OI, packed = np.zeros((_PANEL_COLUMNS, d_in), np.float32), np.empty_like(self._panels[panel])
            part_OI[columns] = weight_OI[rows]
            kernels.heed_bf16_pack(address(part_OI), d_in, _PANEL_COLUMNS, True, address(packed))
            self._panels[panel] |= packed  # all other columns of `packed` are zero

    def put_codes(self, first: int, codes_OI: Codes, scale_O: Floats) -> None:
        """Pack a weight that is stored in 8 bits, a panel at a time."""
        for _, _, rows in _panels(first, len(codes_OI)):
            self.put(first + rows.start, codes_OI[rows] * scale_O[rows, None])

    def columns(self, numbers: Ints) -> Floats:
        """Return these columns in float32, as rows."""
        panels, places = numbers // _PANEL_COLUMNS, numbers % _PANEL_COLUMNS
        pairs = np.ascontiguousarray(self._panels[panels, places // _PAIR_COLUMNS, :, places % _PAIR_COLUMNS])
        upper_halves = pairs.view(np.uint16)[..., : self.shape[0]].astype(np.uint32)
        return (upper_halves << 16).view(np.float32)


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
        return WeightPointers(int8=Int8Pointers(address(self._codes), address(self._scale_O)))

    @staticmethod
    def scratch(rows: int, d_in: int) -> int:
        """Return how many floats a product with `rows` rows needs as scratch."""
        return rows * (d_in // 2 + 4)

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


Matrix = Float32Matrix | Bfloat16Matrix | Int8Matrix
MATRICES: dict[Precision, type[Matrix]] = {"float32": Float32Matrix, "bfloat16": Bfloat16Matrix, "int8": Int8Matrix}
