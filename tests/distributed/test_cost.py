"""Recompute the numbers of docs/cluster.md and bench/NOTES.md, and check their formula against PyTorch's own count."""

import re
import runpy

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from heed.model.size import count_parameters
from heed.model.transformer import Transformer
from heed.presets import preset
from heed.training.batch_loss import BatchLoss
from heed.vocabulary import Vocabulary
from tests.conftest import small_batch, small_config
from tests.distributed.conftest import ROOT

TEXT = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("docs/cluster.md", "bench/NOTES.md"))
BENCH = runpy.run_path(str(ROOT / "bench" / "cluster.py"))
flops_per_token, seconds = BENCH["flops_per_token"], BENCH["seconds"]


def row(name: str) -> list[str]:
    """Return the cells of a table's row, without its name."""
    found = re.search(rf"^\| {re.escape(name)} \| (.*) \|$", TEXT, re.MULTILINE)
    assert found, name
    return found[1].split(" | ")


def test_formula_is_what_is_multiplied() -> None:
    """Counted by PyTorch as it computes, forward and backward."""
    vocabulary, length, sentences = 50, 9, 3
    # The formula assumes the paper's dimensions (h x d_k = d).
    config = small_config(d_model=24, d_ff=40, h=2, d_k=12, d_v=12)
    loss = BatchLoss(
        Transformer(config, Vocabulary(vocabulary)).double(), 0.1
    )  # for which there are no kernels of our own
    ids = torch.randint(3, vocabulary, (sentences, length - 1)).tolist()
    batch = small_batch(ids, ids)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # it does not see into the others
        loss(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)[0].backward()
    counted = counter.get_total_flops() / (sentences * length)
    unseen = 2 * vocabulary * config.d_model  # the product that is added to the embedding's gradient in place
    assert counted + unseen == pytest.approx(flops_per_token(config, vocabulary, length), rel=1e-9)


@pytest.mark.parametrize(("name", "steps", "published"), [("base", 100_000, 3.3e18), ("big", 300_000, 2.3e19)])
def test_beside_the_paper(name: str, steps: int, published: float) -> None:
    formula, paper, ratio = row(f"{name}, {steps:,} steps")
    computed = steps * 25_000 * flops_per_token(preset(name).model, 37_000, 25)
    assert float(formula) == float(f"{computed:.1e}")
    assert float(paper) == published
    assert float(ratio) == round(computed / published, 2)


def test_the_papers_own_numbers() -> None:
    """Table 2 is time x GPUs x 9.5 TFLOPS: 12 hours for base, 3.5 days for big."""
    assert float(f"{12 * 3600 * 8 * 9.5e12:.1e}") == 3.3e18
    assert float(f"{3.5 * 86400 * 8 * 9.5e12:.1e}") == 2.3e19


@pytest.mark.parametrize(("name", "steps", "epochs"), [("base", 100_000, "2.0"), ("big", 300_000, "6.0")])
def test_thirty_six_million_pairs(name: str, steps: int, epochs: str) -> None:
    tokens = 36e6 * 35
    assert float("1.26e9") == tokens
    per_token = flops_per_token(preset(name).model, 32_000, 35)
    for cells, n in (
        (row(f"{name}, one epoch"), tokens),
        (row(f"{name}, {steps:,} steps ({epochs} epochs)"), steps * 25_000),
    ):
        assert float(cells[0]) == float(f"{n * per_token:.1e}")
        for cell, fraction in zip(cells[1:], (0.3, 0.1), strict=True):
            value, unit = cell.split()
            expected = seconds(n * per_token, 8, 312e12, fraction) / {"min": 60, "h": 3600}[unit]
            assert float(value) == round(expected, 1 if unit == "h" else 0)
    assert float(epochs) == round(steps * 25_000 / tokens, 1)


def test_an_update_of_big() -> None:
    model = preset("big").model
    prose = " ".join(TEXT.split())
    assert "42 ms" in prose
    assert round(1e3 * seconds(25_000 * flops_per_token(model, 32_000, 35), 8, 312e12, 0.3)) == 42
    n_parameters = count_parameters(model, Vocabulary(32_000))
    assert "1.5 GB" in prose and round(2 * 7 / 8 * 4 * n_parameters / 1e9, 1) == 1.5
    assert "3.4 GB for `big`" in prose and round(16 * count_parameters(model, Vocabulary(37_000)) / 1e9, 1) == 3.4
