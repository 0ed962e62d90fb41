"""Compare products in bfloat16 with products of numbers rounded by hand and summed in 64 bits.

The code for AMX runs on any processor with AVX512-BF16 here: compiled with tiles that are emulated in plain C.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from heed.kernels import bf16, bf16_ways, library
from heed.kernels.matrix import Bfloat16Matrix
from heed.model.products import Bfloat16Factor, Bfloat16Products, in_bfloat16

pytestmark = pytest.mark.skipif(not bf16_ways.ways(), reason="needs a C compiler and a processor with AVX512-BF16")

EMULATED = Path(__file__).with_name("emulated_tiles.h")
SIZES = [(1, 1, 1), (1, 300, 7), (7, 3, 65), (6, 32, 64), (13, 33, 64), (12, 31, 130), (100, 257, 16), (5, 64, 1)]
SIZES += [(3, 0, 5), (32, 32, 32), (33, 63, 97), (40, 2100, 33), (600, 1000, 32)]  # more than a block in k, and in rows


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("emulated") / "kernels.so"
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(library, "_FLAGS", [*library._FLAGS, f'-DTILES_HEADER="{EMULATED}"'])
        library._compile(shutil.which("cc") or "gcc", path)
    return library._opened(path)


@pytest.fixture(autouse=True, params=["AVX512-BF16", "AMX, emulated"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "AMX, emulated":
        found = request.getfixturevalue("emulated")
        for module in ("bf16", "bf16_ways", "matrix"):
            monkeypatch.setattr(f"heed.kernels.{module}.library", lambda: found)
        bf16_ways.use("AMX")
        assert bf16_ways.ways.__wrapped__() == ("AMX", "AVX512-BF16")
    else:
        bf16_ways.use("AVX512-BF16")
    yield


def rounded(x: torch.Tensor) -> np.ndarray:
    """Round to 8 significant bits, ties to even, by the bits of the numbers; return 64-bit floats."""
    bits = x.contiguous().numpy().view(np.uint32).astype(np.uint64)
    bits += 0x7FFF + ((bits >> 16) & 1)
    return (bits & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


def matrix(rows: int, columns: int, transposed: bool, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    shape = (columns, rows) if transposed else (rows, columns)
    x = torch.randn(shape, generator=random)
    return x.T if transposed else x


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_products_of_all_shapes(m: int, k: int, n: int, transposed: tuple[bool, bool]) -> None:
    a, b = matrix(m, k, transposed[0], 1), matrix(k, n, transposed[1], 2)
    found = bf16.multiply(a, bf16.pack(b))
    # Each product of two rounded numbers is exact in 32 bits; only sums round.
    np.testing.assert_allclose(found.numpy(), rounded(a) @ rounded(b), atol=2e-6 * k, rtol=0)


def test_rounding_is_to_the_nearest_and_to_even() -> None:
    one = bf16.pack(torch.ones(1, 1))
    numbers = torch.tensor([1 + 2**-8, 1 + 2**-8 + 2**-20, 1 + 3 * 2**-8, 1 - 2**-9, -(1 + 3 * 2**-8)]).unsqueeze(1)
    found = bf16.multiply(numbers, one).flatten().tolist()
    assert found == [1.0, 1 + 2**-7, 1 + 2**-6, 1.0, -(1 + 2**-6)]


@pytest.mark.parametrize(("m", "k", "n"), [(9, 40, 70), (64, 96, 64), (35, 1100, 40)])
def test_a_product_can_be_added(m: int, k: int, n: int) -> None:
    a, b = matrix(m, k, True, 1), matrix(k, n, False, 2)
    out = torch.full((m, n), 3.0)
    assert bf16.multiply(a, bf16.pack(b), out, accumulate=True) is out
    np.testing.assert_allclose(out.numpy(), 3 + rounded(a) @ rounded(b), atol=max(1e-4, 2e-6 * k))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_and_infinity_stay_in_their_rows_and_columns(bad: float) -> None:
    a, b = matrix(20, 33, False, 1).abs(), matrix(33, 70, False, 2).abs()
    a[4, 32] = bad  # the last of an odd number: it must not meet the padding
    found = bf16.multiply(a, bf16.pack(b))
    assert not found[4].isfinite().any() and found[[*range(4), *range(5, 20)]].isfinite().all()
    a[4, 32], b[5, 69] = 1.0, bad
    found = bf16.multiply(a, bf16.pack(b))
    assert not found[:, 69].isfinite().any() and found[:, :69].isfinite().all()


def test_the_kernels_multiply_with_tiles() -> None:
    path, objdump = library.library_path(), shutil.which("objdump")
    if path is None or objdump is None:
        pytest.skip("needs objdump, and kernels in the cache")
    code = subprocess.run([objdump, "-d", path], capture_output=True, text=True, check=True).stdout
    for instruction in ("ldtilecfg", "tileloadd", "tdpbf16ps", "tilestored", "tilerelease"):
        assert instruction in code


def test_sizes_and_types_that_do_not_match_are_refused() -> None:
    b = bf16.pack(torch.ones(4, 5))
    for a, out in ((torch.ones(2, 3), None), (torch.ones(2, 4), torch.ones(2, 4)), (torch.ones(2, 4).double(), None)):
        with pytest.raises(ValueError):
            bf16.multiply(a, b, out)


def test_a_linear_layer_and_its_gradients() -> None:
    torch.manual_seed(1)
    x, weight = torch.randn(3, 5, 24, requires_grad=True), torch.randn(40, 24, requires_grad=True)
    bias, grad = torch.randn(40, requires_grad=True), torch.randn(3, 5, 40)
    with Bfloat16Products():
        assert in_bfloat16()
        y = F.linear(x, weight, bias)
    assert not in_bfloat16()
    y.backward(grad)  # outside of the context: a layer computed in bfloat16 has such gradients
    flat, flat_grad = x.detach().reshape(15, 24), grad.reshape(15, 40)
    expected = [
        (y, rounded(flat) @ rounded(weight.detach()).T + bias.detach().numpy()),
        (x.grad, rounded(flat_grad) @ rounded(weight.detach())),
        (weight.grad, rounded(flat_grad).T @ rounded(flat)),
        (bias.grad, flat_grad.numpy().sum(0)),
    ]
    for found, by_hand in expected:
        np.testing.assert_allclose(found.detach().numpy().reshape(by_hand.shape), by_hand, atol=1e-4)


def test_the_products_of_the_loss() -> None:
    torch.manual_seed(1)
    hidden, weight, grad = torch.randn(7, 12), torch.randn(33, 12), torch.randn(7, 33)
    factor = Bfloat16Factor(weight)
    logits = factor.logits(hidden, torch.empty(7, 33))
    np.testing.assert_allclose(logits.numpy(), rounded(hidden) @ rounded(weight).T, atol=1e-4)
    np.testing.assert_allclose(
        factor.grad_hidden(grad, torch.empty(7, 12)).numpy(), rounded(grad) @ rounded(weight), atol=1e-4
    )
    total = torch.ones(33, 12)
    factor.add_grad_weight(grad, hidden, total)
    np.testing.assert_allclose(total.numpy(), 1 + rounded(grad).T @ rounded(hidden), atol=1e-4)


def linear(x: torch.Tensor, weight: Bfloat16Matrix) -> torch.Tensor:
    """Multiply as the layers of search do."""
    (rows, d_in), d_out = x.shape, weight.shape[1]
    y, scratch = torch.full((rows, d_out), torch.nan), torch.empty(weight.scratch(rows, d_in))
    pointers, sizes = (x.data_ptr(), False, weight.pointers.bf16, y.data_ptr()), (rows, d_in, d_out)
    bf16._call("heed_bf16_multiply", *pointers, *sizes, False, scratch.data_ptr())
    return y


@pytest.mark.parametrize(("d_in", "d_out"), [(1, 1), (24, 64), (33, 65), (130, 257), (2100, 40)])
def test_layers_of_search_give_a_row_the_same_alone_and_with_others(d_in: int, d_out: int) -> None:
    x, weight = matrix(70, d_in, False, 1), matrix(d_out, d_in, False, 2)
    packed = Bfloat16Matrix(d_in, d_out)
    packed.put(0, weight.numpy())
    together = linear(x, packed)
    np.testing.assert_allclose(together.numpy(), rounded(x) @ rounded(weight).T, atol=2e-6 * d_in)
    for rows in (1, 2, 3, 4, 5, 7, 16, 17, 33):
        for begin in (0, 37):
            assert torch.equal(linear(x[begin : begin + rows].clone(), packed), together[begin : begin + rows]), rows


def test_columns_of_a_layer_are_its_rounded_weights() -> None:
    weight, packed = matrix(130, 9, False, 1), Bfloat16Matrix(9, 130)
    packed.put(0, weight[:70].numpy())
    packed.put(70, weight[70:].numpy())
    ids = np.array([[0, 129, 64], [63, 32, 31]])
    np.testing.assert_array_equal(packed.columns(ids), rounded(weight)[ids])
    codes, scale = np.arange(-60, 57, dtype=np.int8).reshape(13, 9), np.linspace(0.1, 0.7, 13, dtype=np.float32)
    packed = Bfloat16Matrix(9, 13)
    packed.put_codes(0, codes, scale)
    expected = rounded(torch.from_numpy(codes * scale[:, None]))
    np.testing.assert_array_equal(packed.columns(np.arange(13)), expected)
