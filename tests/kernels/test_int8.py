"""Compare 8-bit linear layers, with each kind of instruction, with integer arithmetic in NumPy."""

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from heed.kernels.int8 import Int8Weight, int8_linear
from heed.kernels.library import SOURCES, library

pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")

# Compiler flags and the processor feature they need. "native" uses whatever this processor has.
VARIANTS = {"plain": ([], None), "avx2": (["-mavx2", "-mfma"], "avx2"), "native": (["-march=native"], None)}
SIZES = [(1, 1, 1), (2, 4, 64), (5, 7, 3), (6, 30, 65), (7, 33, 128), (29, 514, 200), (12, 2048, 66)]


@pytest.fixture(scope="module", params=VARIANTS)
def compiled(request, tmp_path_factory):
    options, needed = VARIANTS[request.param]
    if options and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("flags for x86 processors")
    if needed and needed not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip(f"no {needed} here")
    made = tmp_path_factory.mktemp("int8") / "int8.so"
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))
    command = [compiler, "-std=c11", "-O3", "-shared", "-fPIC", "-pthread", "-w", *options]
    command += [SOURCES / "int8.c", SOURCES / "team.c", "-o", made, "-lm"]
    subprocess.run(command, check=True)
    variant = ctypes.CDLL(str(made))
    variant.heed_int8_linear.argtypes = library().heed_int8_linear.argtypes
    variant.heed_int8_linear.restype = None
    return variant


def in_integers(x: np.ndarray, codes: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> np.ndarray:
    largest = np.abs(x).max(1, keepdims=True)
    quantised = np.rint(x * (np.float32(127) / largest)).astype(np.int64)
    return quantised @ codes.astype(np.int64).T * (largest / 127.0) * scales + bias


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("with_bias", [False, True])
def test_each_kind_of_instruction_gives_the_integer_result(monkeypatch, compiled, sizes, with_bias):
    monkeypatch.setattr("heed.kernels.int8.kernels", lambda *_: compiled)
    rows, d_in, out = sizes
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, d_in)).astype(np.float32) * 10.0 ** random.integers(-4, 4, (rows, 1), dtype=np.int32)
    x = x.astype(np.float32)
    codes = random.integers(-127, 128, (out, d_in), dtype=np.int8)
    scales = random.uniform(0.01, 3, out).astype(np.float32)
    bias = random.normal(size=out).astype(np.float32) * with_bias
    weight = Int8Weight(torch.from_numpy(codes), torch.from_numpy(scales))
    found = int8_linear(torch.from_numpy(x), weight, torch.from_numpy(bias) if with_bias else None)
    exact = in_integers(x, codes, scales, bias)
    np.testing.assert_allclose(found.numpy(), exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max(1).min())


def test_the_largest_sums_are_exact(monkeypatch, compiled):
    """With scales of 1 the result is the integers themselves. Any two of these products overflow 16 bits."""
    monkeypatch.setattr("heed.kernels.int8.kernels", lambda *_: compiled)
    signs = np.random.default_rng(1).choice([-127, 127], (7, 1024))
    signs[0], signs[1] = 127, -127
    signs[2, ::2], signs[2, 1::2] = 127, -127
    codes = signs.astype(np.int8)
    found = int8_linear(torch.from_numpy(codes).float(), Int8Weight(torch.from_numpy(codes), torch.ones(7)))
    assert found.numpy().astype(np.int64).tolist() == (signs @ signs.T).tolist()


def test_nan_makes_its_row_nan_and_leaves_the_others_alone():
    weight, x = Int8Weight(torch.full((3, 8), 5, dtype=torch.int8), torch.ones(3)), torch.ones(3, 8)
    x[1, 4] = torch.nan
    found = int8_linear(x, weight)
    assert found[1].isnan().all()
    torch.testing.assert_close(found[[0, 2]], torch.full((2, 3), 40.0))


@pytest.mark.parametrize(
    ("x", "bias"),
    [
        pytest.param(torch.ones(2, 7), None, id="other rows"),
        pytest.param(torch.ones(8), None, id="one dimension"),
        pytest.param(torch.ones(2, 8).half(), None, id="16 bits"),
        pytest.param(torch.ones(2, 8), torch.ones(2), id="short bias"),
        pytest.param(torch.ones(2, 8), torch.ones(6)[::2], id="bias with gaps"),
        pytest.param(torch.ones(2, 8), torch.ones(3).half(), id="bias of 16 bits"),
    ],
)
def test_tensors_the_kernel_cannot_take_are_refused(x, bias):
    with pytest.raises(ValueError, match=r"^x must have rows of 8 float32|^the bias must be 3 contiguous"):
        int8_linear(x, Int8Weight(torch.ones(3, 8, dtype=torch.int8), torch.ones(3)), bias)
