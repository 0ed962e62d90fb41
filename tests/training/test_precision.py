"""Check that 16-bit precision is refused where it does not help, and close to float32 where it does."""

import os
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heed.config import Config, TrainConfig
from heed.errors import ConfigError
from heed.kernels import bf16_ways
from heed.model.products import in_bfloat16
from heed.training import precision
from heed.training.consistency import consistent_loss
from heed.training.learner import Learner
from heed.training.loss import label_smoothed_loss
from heed.training.precision import (
    bfloat16_fault,
    check_precision,
    faster_precision,
    make_scaler,
    products_by,
    products_in,
)
from heed.training.replicas import n_lanes
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config

CPU = torch.device("cpu")
PAIRS = [([3 + i % 7] * (1 + i % 5), [9 + i % 4] * (2 + i % 6)) for i in range(12)]
BATCH = small_batch(*zip(*PAIRS, strict=True))


def test_float16_is_refused_on_a_processor() -> None:
    with pytest.raises(ConfigError, match=r'train.precision = "float16" does not suit this device \(cpu\)'):
        check_precision("float16", CPU)
    check_precision("float32", CPU)


def test_bfloat16_is_refused_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older CPU has no such instructions, so there is nothing to try."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"architecture": "x86_64", "avx2": True})
    monkeypatch.setattr(precision, "bfloat16_fault", lambda environment: pytest.fail("tried out"))
    with pytest.raises(ConfigError, match="so it would be slower; use float32"):
        check_precision("bfloat16", CPU)


@pytest.mark.usefixtures("sixteen_bits")
def test_bfloat16_is_taken_where_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    before = dict(os.environ)
    check_precision("bfloat16", CPU, say=lambda text: pytest.fail(f"said: {text}"))
    assert dict(os.environ) == before


def test_compiled_layers_use_pytorchs_products_so_these_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    monkeypatch.setattr(bf16_ways, "chosen", lambda: "AVX512-BF16")
    monkeypatch.setattr(precision, "bfloat16_fault", lambda environment: "died of SIGILL")
    monkeypatch.setattr(precision, "_bfloat16_here", precision._bfloat16_here.__wrapped__)  # not from the cache
    check_precision("bfloat16", CPU)  # by heed's kernels
    with pytest.raises(ConfigError, match="a trial product died of SIGILL"):
        check_precision("bfloat16", CPU, compiled=True)
    assert products_by("bfloat16", CPU) == "AVX512-BF16" and products_by("bfloat16", CPU, compiled=True) == "PyTorch"


@pytest.mark.parametrize("supported", [True, False])
def test_gpus_are_asked_and_not_tried(monkeypatch: pytest.MonkeyPatch, supported: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda emulated: supported)
    monkeypatch.setattr(precision, "bfloat16_fault", lambda environment: pytest.fail("tried out"))
    with nullcontext() if supported else pytest.raises(ConfigError, match="this GPU has no bfloat16 instructions"):
        check_precision("bfloat16", torch.device("cuda"))


def test_a_trial_with_a_wrong_result_fails(tmp_path: Path) -> None:
    """In the new process, every bfloat16 product of 64 outputs has one wrong number."""
    (tmp_path / "sitecustomize.py").write_text(
        "import torch\n"
        "right = torch.nn.functional.linear\n"
        "def wrong(x, weight, bias):\n"
        "    y = right(x, weight, bias)\n"
        "    return y.index_fill(1, torch.tensor([7]), 40.0) if y.dtype == torch.bfloat16 else y\n"
        "torch.nn.functional.linear = wrong\n"
    )
    fault = bfloat16_fault({**os.environ, "PYTHONPATH": str(tmp_path)})
    assert fault is not None
    assert re.fullmatch(
        r"failed \(ArithmeticError: a product of 64 x 32 x 64 in bfloat16 is off by 0.\d+ of.*\)", fault
    )


def learner(precision: str) -> Learner:
    """Pretend that the device supports the precision."""
    made = Learner(
        Config(model=small_config(), train=TrainConfig(warmup_steps=10, learning_rate_factor=0.1)),
        Vocabulary(VOCABULARY),
        Workers(0, 1, CPU),
    )
    made.config = replace(made.config, train=replace(made.config.train, precision=precision))
    made.scaler = make_scaler(precision, CPU)
    return made


@pytest.mark.usefixtures("sixteen_bits")
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_losses_follow_those_of_float32(precision: str) -> None:
    full, half = learner("float32"), learner(precision)
    losses = []
    for step in range(1, 41):
        results = [train_step(one, [BATCH], BATCH.n_tokens, step) for one in (full, half)]
        assert results[1].applied or results[1].overflowed
        losses.append([result.loss for result in results])
    assert losses[-1][0] < 0.7 * losses[0][0]
    for in_full, in_half in losses:
        assert in_half == pytest.approx(in_full, rel=0.02)
    assert all(weight.dtype == torch.float32 for weight in half.model.parameters())


@pytest.mark.usefixtures("sixteen_bits")
@pytest.mark.parametrize(("precision", "tolerance"), [("bfloat16", 2e-2), ("float16", 1e-5)])
def test_the_loss_by_itself(precision: str, tolerance: float) -> None:
    """float16 computes the loss in float32: gradients of unlikely tokens would underflow."""
    torch.manual_seed(0)
    hidden, weight, gold = torch.randn(30, 16), torch.randn(500, 16), torch.randint(0, 500, (30,))
    found = {}
    for name in ("float32", precision):
        inputs = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        with products_in(name, CPU):
            loss = label_smoothed_loss(*inputs, gold, 0.1).smoothed
        loss.backward()
        found[name] = loss.detach(), *(one.grad for one in inputs)
    for full, half in zip(found["float32"], found[precision], strict=True):
        assert half.dtype == torch.float32
        assert (full - half).abs().max() <= tolerance * full.abs().max()


@pytest.mark.skipif(not bf16_ways.ways(), reason="without kernels for bfloat16, this loss is computed in float32")
def test_the_consistency_loss_by_itself() -> None:
    torch.manual_seed(0)
    weight, gold = torch.randn(500, 16), torch.randint(0, 500, (30,))
    views, found = torch.randn(2, 30, 16).unbind(), {}
    for name in ("float32", "bfloat16"):
        inputs = [one.clone().requires_grad_() for one in (*views, weight)]
        with products_in(name, CPU):
            loss = consistent_loss(*inputs, gold, 0.1, 3.0).smoothed
        loss.backward()
        found[name] = loss.detach(), *(one.grad for one in inputs)
    for full, half in zip(found["float32"], found["bfloat16"], strict=True):
        assert half.dtype == torch.float32 and not torch.equal(full, half)
        assert (full - half).abs().max() <= 2e-2 * full.abs().max()


@pytest.mark.usefixtures("sixteen_bits")
def test_a_gradient_too_large_for_float16_lowers_its_scale_and_is_left_out() -> None:
    one = learner("float16")
    before = one.model.embedding.weight.detach().clone()
    one.model.decoder[0].feed_forward.w_1.weight.register_hook(lambda gradient: gradient * torch.inf)
    result = train_step(one, [BATCH], BATCH.n_tokens, 1)
    assert (result.applied, result.overflowed) == (False, True)
    assert torch.equal(before, one.model.embedding.weight)
    assert one.scaler.get_scale() == 2**16 / 2


@pytest.mark.usefixtures("sixteen_bits")
def test_the_scale_is_part_of_the_state() -> None:
    one, other = learner("float16"), learner("float16")
    for step in range(1, 4):
        train_step(one, [BATCH], BATCH.n_tokens, step)
    one.scaler.update(128.0)
    other.load(one.state(), "state")
    assert other.scaler.get_scale() == 128.0
    results = [train_step(each, [BATCH], BATCH.n_tokens, 4).loss for each in (one, other)]
    assert results[0] == results[1]
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


@pytest.mark.skipif(not bf16_ways.ways(), reason="needs a C compiler and a processor with AVX512-BF16")
def test_own_products_run_in_lanes_like_those_of_float32() -> None:
    workers, config = Workers(0, 1, CPU), Config()
    half = replace(config, train=replace(config.train, precision="bfloat16", lanes=2))
    assert precision.has_own_products("bfloat16", CPU)
    assert n_lanes(half, workers) == 2
    with products_in("bfloat16", CPU):
        assert in_bfloat16() and not torch.is_autocast_enabled("cpu")


def test_a_faster_precision_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bf16_ways, "ways", lambda: ("AVX512-BF16",))
    assert "train.precision=bfloat16" in faster_precision("float32", CPU)
    assert not faster_precision("bfloat16", CPU) and not faster_precision("float32", torch.device("cuda"))
    monkeypatch.setattr(bf16_ways, "ways", tuple)
    assert not faster_precision("float32", CPU)
