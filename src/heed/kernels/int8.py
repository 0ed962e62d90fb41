"""Linear layers with 8-bit weights, computed with the 8-bit instructions of the processor."""

import ctypes

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.kernels.library import kernels
from heed.kernels.structures import Int8Pointers

_PANEL_COLUMNS, _GROUP_ROWS, _ZERO_POINT = 64, 4, 128  # as in int8.c


class Int8Weight:
    """A quantised matrix d_in x d_out with a scale per column, its codes packed as the kernel reads them."""

    def __init__(self, codes_OI: Tensor, scale_O: Tensor) -> None:
        """Pack codes of -127 to 127, int8."""
        out, d_in = codes_OI.shape
        self.shape = d_in, out
        unsigned_OI = codes_OI.view(torch.uint8) ^ _ZERO_POINT
        padded_OI = F.pad(unsigned_OI, (0, -d_in % _GROUP_ROWS, 0, -out % _PANEL_COLUMNS))
        panels = padded_OI.view(-1, _PANEL_COLUMNS, padded_OI.size(1) // _GROUP_ROWS, _GROUP_ROWS)
        self._codes = panels.transpose(1, 2).contiguous()
        self._scale_O = scale_O.detach().contiguous()
        self.pointers = Int8Pointers(self._codes.data_ptr(), self._scale_O.data_ptr())


def int8_linear(x_RI: Tensor, weight: Int8Weight, bias_O: Tensor | None = None) -> Tensor:
    """Return x · weight + bias; each row of x is quantised with a scale of its own.

    Raises:
        ValueError: the kernel cannot take these tensors.
    """
    library = kernels(x_RI) if bias_O is None else kernels(x_RI, bias_O)
    if library is None or x_RI.dim() != 2 or x_RI.size(1) != weight.shape[0]:
        raise ValueError(
            f"x must have rows of {weight.shape[0]} float32 numbers on the CPU, not {x_RI.dtype} {tuple(x_RI.shape)}"
        )
    x_RI = x_RI.contiguous()
    (rows, d_in), out = x_RI.shape, weight.shape[1]
    if bias_O is not None and (bias_O.shape != (out,) or not bias_O.is_contiguous()):
        raise ValueError(
            f"the bias must be {out} contiguous numbers, not {tuple(bias_O.shape)}, strides {bias_O.stride()}"
        )
    y_RO, scratch = x_RI.new_empty(rows, out), x_RI.new_empty(rows * (d_in // 2 + 4))
    library.heed_int8_linear(
        *(None, x_RI.data_ptr(), ctypes.byref(weight.pointers), None if bias_O is None else bias_O.data_ptr()),
        *(y_RO.data_ptr(), rows, d_in, out, scratch.data_ptr()),
    )
    return y_RO
