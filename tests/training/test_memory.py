"""Compare the predicted memory with what real processes use."""

import json
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from heed.config import Config, ModelConfig, TrainConfig
from heed.kernels.library import library
from heed.model.size import kept_floats
from heed.presets import tiny
from heed.settings import build_config
from heed.training.memory import LONG_SENTENCE, fit_micro_batches, predicted_peak
from heed.vocabulary import Vocabulary
from tests.cli.conftest import COMMAND, ENVIRONMENT, write_lines
from tests.conftest import small_batch


def events(run: Path) -> dict[str, dict[str, float]]:
    """Return the last event of each kind."""
    return {record["event"]: record for record in map(json.loads, (run / "events.jsonl").read_text().splitlines())}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Write sentences that are long enough to fill batches."""
    folder = tmp_path_factory.mktemp("text")
    chance = random.Random(1)
    lines = [" ".join(chance.choices("abcdefgh", k=chance.randint(20, 40))) for _ in range(2000)]
    return [
        "train",
        "--source",
        write_lines(folder / "a", lines),
        "--target",
        write_lines(folder / "b", [line[::-1] for line in lines]),
        *("--set", "text.vocab_size=300", "--set", "model.max_length=60", "--set", "train.max_steps=3"),
    ]


def train(text: list[object], out: Path, *settings: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, *map(str, text), "--out", str(out), *(w for one in settings for w in ("--set", one))]

    def limit_memory() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, preexec_fn=limit_memory, timeout=200
    )


@pytest.mark.parametrize(
    "settings",
    [
        [
            "train.batch_tokens=6000",
            "train.micro_batch_tokens=6000",
            "model.encoder_layers=2",
            "model.decoder_layers=2",
        ],
        ["train.batch_tokens=3000", "model.dropout=0", "model.d_model=256", "model.d_ff=512", "model.encoder_layers=2"],
        ["train.batch_tokens=500", "model.encoder_layers=1", "model.decoder_layers=1"],
    ],
)
def test_the_prediction_is_within_a_quarter_of_what_happens(
    text: list[object], tmp_path: Path, settings: list[str]
) -> None:
    done = train([*text, "--preset", "tiny"], tmp_path / "run", *settings)
    assert done.returncode == 0, done.stderr
    found = events(tmp_path / "run")
    predicted, peak = found["memory"]["predicted"], found["end"]["peak_memory"]
    assert 0.75 * peak <= predicted <= 1.25 * peak, (predicted / 1e6, peak / 1e6)
    assert "memory: about" in done.stderr


def test_a_batch_that_does_not_fit_is_computed_in_smaller_micro_batches(text: list[object], tmp_path: Path) -> None:
    """Under a real memory limit. The run records the micro-batch size, for a bit-exact resume."""
    big = ["train.batch_tokens=12000", "train.micro_batch_tokens=12000", "model.d_ff=1024"]
    plain = train([*text, "--preset", "tiny"], tmp_path / "free", *big)
    assert plain.returncode == 0, plain.stderr
    assert "would not fit" not in plain.stderr
    wanted = events(tmp_path / "free")["end"]["peak_memory"]

    limit = 2 << 30
    done = train([*text, "--preset", "tiny"], tmp_path / "tight", *big, limit=limit)
    assert done.returncode == 0, done.stderr
    assert "micro-batches of 12,000 tokens would not fit into memory: train.micro_batch_tokens is now" in done.stderr
    found = events(tmp_path / "tight")
    peak = found["end"]["peak_memory"]
    assert peak < wanted
    assert 0.75 * peak <= found["memory"]["predicted"] <= 1.25 * peak
    config = json.loads((tmp_path / "tight" / "config.json").read_text())
    assert config["train"]["micro_batch_tokens"] < 12000
    assert config["train"]["batch_tokens"] == 12000
    again = subprocess.run(
        [COMMAND, "train", "--resume", str(tmp_path / "tight")], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert again.returncode == 0, again.stderr


def test_a_model_that_cannot_fit_is_refused_before_anything_is_made(text: list[object], tmp_path: Path) -> None:
    huge = ["model.d_model=65536", "model.d_ff=1048576", "model.encoder_layers=1000", "model.decoder_layers=1000"]
    done = train([*text, "--preset", "tiny"], tmp_path / "run", *huge, limit=8 << 30)
    # By hand, a layer: attention 4 d^2; feed-forward 2 d d_ff + d_ff + d; a norm 2 d. Decoders have two attentions.
    d, d_ff = 65_536, 1_048_576
    layers = 1000 * (2 * (2 * d * d_ff + d_ff + d) + 3 * 4 * d * d + 5 * 2 * d)
    assert done.returncode == 2, done.stderr
    assert f"heed train: a model of {(layers + 276 * d) / 1e6:,.0f} M parameters needs at least " in done.stderr
    assert "GB are free; lower model.d_model" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("threads", [1, 2])
def test_kept_floats_are_what_autograd_keeps(threads: int) -> None:
    """Compare the formula with what PyTorch saves for the backward pass."""
    from heed.model.transformer import Transformer
    from heed.training.batch_loss import BatchLoss

    config = ModelConfig(encoder_layers=2, decoder_layers=3, d_model=64, d_ff=160, h=4, dropout=0.1, max_length=60)
    model = Transformer(config, Vocabulary(300)).train()
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage  # keep it alive, so that its address is not reused
        return tensor.detach()

    n, length = 40, 50
    batch = small_batch([[5] * (length - 1)] * n, [[7] * (length - 1)] * n)
    torch.set_num_threads(threads)
    try:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            smoothed, _ = BatchLoss(model, 0.1)(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)
    finally:
        torch.set_num_threads(1)
    assert smoothed.requires_grad
    n_bytes, predicted = (
        sum(storage.nbytes() for storage in kept.values()),
        4 * kept_floats(config, length) * n * length,
    )
    if library() is None or threads > 1:  # no kernels: PyTorch's own attention keeps no weights
        assert n_bytes < 1.1 * predicted
    else:
        assert n_bytes == pytest.approx(predicted, rel=0.1)


def test_the_smallest_micro_batch_fits_the_longest_sentence() -> None:
    config = tiny()
    fitted = fit_micro_batches(config, 3_000_000, Vocabulary(8000), 1, at_start=10**8, free=1)
    assert fitted.train.micro_batch_tokens == config.model.max_length + 1
    assert build_config(fitted) == fitted
    assert fit_micro_batches(config, 3_000_000, Vocabulary(8000), 1, at_start=10**8, free=10**12) == config


def test_processes_share_a_batch_and_shards_a_model() -> None:
    config = Config(train=TrainConfig(batch_tokens=8000, micro_batch_tokens=8000))
    one, two = (predicted_peak(config, 10**8, Vocabulary(40_000), processes, 0) for processes in (1, 2))
    assert one - two == pytest.approx(1.35 * 4 * kept_floats(config.model, LONG_SENTENCE) * 4000, rel=1e-6)
    sharded = Config(train=TrainConfig(batch_tokens=8000, micro_batch_tokens=8000, sharded=True))
    assert two - predicted_peak(sharded, 10**8, Vocabulary(40_000), 2, 0) == 12 * 10**8 // 2


def test_memory_of_a_process() -> None:
    """In a new process: this one has freed memory that it would use again."""
    script = """
import torch
from heed.training.memory import free_memory, peak_memory, used_memory
cpu = torch.device("cpu")
before = used_memory(cpu)
filled = torch.ones(60_000_000)
during = used_memory(cpu)
del filled
print(before, during, used_memory(cpu), peak_memory(cpu), free_memory(cpu))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    before, during, after, peak, free = map(int, done.stdout.split())
    assert during - before == pytest.approx(240_000_000, rel=0.1)
    assert after < during - 200_000_000
    assert peak == pytest.approx(during, rel=0.01)  # the kernel updates the two at slightly different times
    assert free > 0
