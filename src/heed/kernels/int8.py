"""Matrix products with weights of 8 bits, by the instructions that processors have for them."""

import ctypes

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.kernels.library import kernels

_PANEL, _FOUR, _ZERO = 64, 4, 128  # as in int8.h


class Int8Pointers(ctypes.Structure):
    _fields_ = [("steps", ctypes.c_void_p), ("scales", ctypes.c_void_p)]


class Int8Weight:
    """A matrix of d_in x d_out, its steps packed as the kernel wants them; each column's have a size of their own."""

    def __init__(self, steps_OI: Tensor, scale_O: Tensor) -> None:
        """`steps_OI`: -127 to 127, int8."""
        out, d_in = steps_OI.shape
        self.shape = d_in, out
        above_zero_OI = steps_OI.view(torch.uint8) ^ _ZERO
        whole_OI = F.pad(above_zero_OI, (0, -d_in % _FOUR, 0, -out % _PANEL))
        self._steps = whole_OI.view(-1, _PANEL, whole_OI.size(1) // _FOUR, _FOUR).transpose(1, 2).contiguous()
        self._scale_O = scale_O.detach().contiguous()
        self.pointers = Int8Pointers(self._steps.data_ptr(), self._scale_O.data_ptr())


def int8_product(x_RI: Tensor, weight: Int8Weight, bias_O: Tensor | None = None) -> Tensor:
    """x · weight + bias; each row of x is rounded to 8 bits by itself.

    Raises:
        ValueError: what the kernel cannot take.
    """
    library = kernels(x_RI) if bias_O is None else kernels(x_RI, bias_O)
    if library is None or x_RI.dim() != 2 or x_RI.size(1) != weight.shape[0]:
        raise ValueError(f"not rows of {weight.shape[0]} numbers of float32 on the processor: {x_RI.shape}")
    x_RI = x_RI.contiguous()
    (rows, d_in), out = x_RI.shape, weight.shape[1]
    if bias_O is not None and (bias_O.shape != (out,) or not bias_O.is_contiguous()):
        raise ValueError(f"not a bias of {out} numbers, one after the other: {bias_O.shape}")
    y_RO, room = x_RI.new_empty(rows, out), x_RI.new_empty(rows * (d_in // 2 + 4))
    library.heed_int8_product(
        *(x_RI.data_ptr(), ctypes.byref(weight.pointers), None if bias_O is None else bias_O.data_ptr()),
        *(y_RO.data_ptr(), rows, d_in, out, room.data_ptr()),
    )
    return y_RO
