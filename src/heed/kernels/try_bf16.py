"""Multiply in bfloat16 with the instructions that are an argument, and fail unless the results are right.

`bf16_ways.py` runs this in a separate process, because a wrong guess kills it.
"""

import itertools
import sys

import numpy as np

from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.kernels.matrix import Floats, address, bf16_scratch, bf16_size

# Rows, k, columns. Small products use other code than large ones, and may work where those do not.
_SIZES = [(1, 64, 64), (64, 32, 64), (37, 45, 70), (512, 512, 1024), (40, 2100, 33)]
_STORED = [(False, False), (False, True), (True, False), (True, True)]  # whether a and b are stored transposed
_TOLERANCE = 0.02  # relative to a result's norm; bfloat16 rounds each number by up to 0.004 of its size


def main(way: str) -> None:
    """Compare products of all sizes, of matrices stored in both ways, with those in float32.

    Raises:
        ArithmeticError: a result is wrong.
    """
    bf16_ways.use(way)
    random = np.random.default_rng(0)
    for (m, k, n), transposed in itertools.product(_SIZES, _STORED):
        a, b, out = (random.standard_normal(shape, np.float32) for shape in ((m, k), (k, n), (m, n)))
        exact = a @ b
        for expected, accumulate in ((exact + out, True), (exact, False)):
            _multiply(a, b, out, transposed, accumulate)
            distance = np.linalg.norm(out - expected) / np.linalg.norm(expected)
            if not distance < _TOLERANCE:
                raise ArithmeticError(f"a product of {m} x {k} x {n} in bfloat16 is off by {distance:.2g} of its size")


def _multiply(a: Floats, b: Floats, out: Floats, transposed: tuple[bool, bool], accumulate: bool) -> None:
    kernels, (m, n), k = library(), out.shape, len(b)
    assert kernels is not None  # see `ways`
    a, b = (np.ascontiguousarray(one.T if is_t else one) for one, is_t in zip((a, b), transposed, strict=True))
    packed, scratch = np.empty(bf16_size(k, n), np.uint32), np.empty(bf16_scratch(m, k), np.uint32)
    kernels.heed_bf16_pack(address(b), k, n, transposed[1], address(packed))
    pointers = address(a), transposed[0], address(packed), address(out)
    kernels.heed_bf16_multiply(*pointers, m, k, n, accumulate, address(scratch))


if __name__ == "__main__":
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core dump of an expected crash
    main(sys.argv[1])
