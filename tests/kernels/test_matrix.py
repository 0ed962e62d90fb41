"""Compare products with packed matrices with NumPy in float64, and with plain integers for 8 bits."""

import ctypes
import math

import numpy as np
import pytest

from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.kernels.matrix import Bfloat16Matrix, Float32Matrix, Int8Matrix, Matrix, address, quantised

pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")

SIZES = [(1, 1), (7, 3), (24, 64), (33, 65), (128, 192), (130, 257)]


in_bfloat16 = pytest.mark.skipif(not bf16_ways.chosen(), reason="needs a processor with AVX512-BF16")
KINDS = [Float32Matrix, pytest.param(Bfloat16Matrix, marks=in_bfloat16), Int8Matrix]


def product(x: np.ndarray, matrix: Matrix) -> np.ndarray:
    (rows, d_in), d_out = x.shape, matrix.shape[1]
    y, pointers = np.full((rows, d_out), np.nan, np.float32), matrix.pointers
    scratch = np.empty(matrix.scratch(rows, d_in), np.float32)
    if isinstance(matrix, Float32Matrix):
        library().heed_float32_linear(None, address(x), pointers.float32, address(y), rows, d_in, d_out)
    elif isinstance(matrix, Bfloat16Matrix):
        to_multiply = address(x), False, pointers.bf16, address(y)
        library().heed_bf16_multiply(*to_multiply, rows, d_in, d_out, False, address(scratch))
    else:
        codes = ctypes.byref(pointers.int8)
        library().heed_int8_linear(None, address(x), codes, None, address(y), rows, d_in, d_out, address(scratch))
    return y


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(("d_in", "d_out"), SIZES)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 13])
def test_products_in_float32(d_in, d_out, rows):
    x, weight = numbers(rows, d_in), numbers(d_out, d_in, seed=1)
    matrix = Float32Matrix(d_in, d_out)
    matrix.put(0, weight)
    np.testing.assert_allclose(product(x, matrix), x.astype(float) @ weight.T.astype(float), atol=1e-4)


@pytest.mark.parametrize(("d_in", "d_out"), SIZES)
def test_products_in_8_bits(d_in, d_out):
    x, weight = numbers(5, d_in), numbers(d_out, d_in, seed=1)
    matrix = Int8Matrix(d_in, d_out)
    matrix.put(0, weight)
    expected = np.zeros((5, d_out))
    for r in range(5):
        for o in range(d_out):
            scale = abs(weight[o]).max() / np.float32(127)
            x_scale = abs(x[r]).max() / np.float32(127)
            codes = [round(float(w / scale)) for w in weight[o]]
            x_codes = [round(float(v * (np.float32(127) / abs(x[r]).max()))) for v in x[r]]
            expected[r, o] = sum(a * b for a, b in zip(codes, x_codes, strict=True)) * float(scale) * float(x_scale)
    np.testing.assert_allclose(product(x, matrix), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_side_by_side_in_any_order(kind):
    parts = [numbers(width, 10, seed=width) for width in (14, 3, 70)]
    whole, pieces = kind(10, 87), kind(10, 87)
    whole.put(0, np.concatenate(parts))
    for first, part in ((17, parts[2]), (0, parts[0]), (14, parts[1])):
        pieces.put(first, part)
    x = numbers(4, 10)
    np.testing.assert_array_equal(product(x, pieces), product(x, whole))


@pytest.mark.parametrize("kind", [Float32Matrix, Int8Matrix])
def test_columns_are_the_weights_rows(kind):
    weight = numbers(130, 9)
    codes, scale = quantised(weight)
    matrix = kind(9, 130)
    matrix.put_codes(0, codes, scale)
    ids = np.array([[0, 129, 64], [63, 5, 5]])
    np.testing.assert_array_equal(matrix.columns(ids), (codes * scale[:, None])[ids])
    assert abs(matrix.columns(ids) - weight[ids]).max() <= abs(weight).max() / 254 * 1.001


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_stays_in_its_row_and_column(value, kind):
    x, weight = numbers(3, 20), numbers(70, 20, seed=1)
    clean, damaged = kind(20, 70), kind(20, 70)
    clean.put(0, weight)
    bad_x, bad_weight = x.copy(), weight.copy()
    bad_x[1, 3] = bad_weight[66, 2] = value
    damaged.put(0, bad_weight)
    found, expected = product(bad_x, damaged), product(x, clean)
    assert not np.isfinite(found[1]).any() and not np.isfinite(found[:, 66]).any()
    rest = np.ix_([0, 2], [*range(66), *range(67, 70)])
    np.testing.assert_array_equal(found[rest], expected[rest])


def test_quantising_is_that_of_the_torch_model():
    torch = pytest.importorskip("torch")
    from heed.model.int8 import quantise

    weight = numbers(40, 30)
    weight[3] = 0.0
    codes, scale = quantise(torch.from_numpy(weight))
    found_codes, found_scale = quantised(weight)
    np.testing.assert_array_equal(found_codes, codes.numpy())
    np.testing.assert_array_equal(found_scale, scale.numpy())
