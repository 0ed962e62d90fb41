"""A model of another kind, in this one file, works with training, checkpoints, validation and search.

The fixture `kinds` patches in what its author would write: a line in `model/build.py`, and the name in `ModelConfig`.
"""

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heed.checkpoint import read_all_tensors
from heed.config import Config, DecodeConfig, ModelConfig, TextConfig
from heed.durable import MANIFEST, read_json, write_manifest
from heed.engines.pytorch import PyTorchEngine
from heed.errors import CheckpointError, ConfigError, DecodeError
from heed.export.ctranslate2 import write_ctranslate2
from heed.export.huggingface import write_huggingface
from heed.loading import load
from heed.model import build
from heed.model.dropout import Dropout
from heed.model.embedding import SharedEmbedding
from heed.model.interface import Block, SequenceModel
from heed.model.sequences import Padded
from heed.run import RunFolder
from heed.settings import build_config
from heed.training.learner import Learner
from heed.training.loop import Outcome, resume, train
from heed.training.memory import predicted_peak
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch

STEPS = 12


# --- the model: gated recurrent units (Cho et al. 2014), without attention ----------------------------------


@dataclass(frozen=True)
class GruState:
    h_NBWD: Tensor  # of each decoder layer

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "GruState":
        index_1BW1 = parents_BW[None, :, :, None]
        chosen = self.h_NBWD[:, sentences_B]
        return GruState(chosen.gather(2, index_1BW1.expand(len(chosen), -1, -1, chosen.size(3))))


class Gru(SequenceModel):
    """A recurrent model: the encoder's last state is the decoder's first."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        d = config.d_model
        self.embedding = SharedEmbedding(vocabulary.size, d, vocabulary.pad)
        self.encoder = nn.ModuleList(nn.GRUCell(d, d) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(nn.GRUCell(d, d) for _ in range(config.decoder_layers))
        self.dropout = Dropout(config.dropout)

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight

    def hidden(self, src_BS: Tensor, tgt_in_BT: Tensor, real_BT: Tensor, seed_B: Tensor | None = None) -> Tensor:
        seeds = Padded(tgt_in_BT, self.vocabulary.pad).seeds(seed_B, "target") if self.training else None
        x_BTD = self.dropout(self.embedding(tgt_in_BT), seeds)
        states = [self._encode(src_BS, seed_B)] * len(self.decoder)
        outputs = []
        for x_BD in x_BTD.unbind(1):
            states = self._next(self.decoder, x_BD, states)
            outputs.append(states[-1])
        return torch.stack(outputs, 1)[real_BT]

    def _encode(self, src_BS: Tensor, seed_B: Tensor | None = None) -> Tensor:
        seeds = Padded(src_BS, self.vocabulary.pad).seeds(seed_B, "source") if self.training else None
        x_BSD = self.dropout(self.embedding(src_BS), seeds)
        states = [torch.zeros_like(x_BSD[:, 0])] * len(self.encoder)
        for x_BD, real_B1 in zip(x_BSD.unbind(1), src_BS.ne(self.vocabulary.pad).unsqueeze(-1).unbind(1), strict=True):
            new = self._next(self.encoder, x_BD, states)
            states = [torch.where(real_B1, after, before) for after, before in zip(new, states, strict=True)]
        return states[-1]

    @staticmethod
    def _next(cells: nn.ModuleList, x_RD: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
        new: list[Tensor] = []
        for cell, state in zip(cells, states, strict=True):
            new.append(cell(new[-1] if new else x_RD, state))
        return new

    def blocks(self) -> list[Block]:
        return [Block(cell) for cell in (*self.encoder, *self.decoder)]

    def start(self, src_BS: Tensor) -> GruState:
        return GruState(torch.stack([self._encode(src_BS).unsqueeze(1)] * len(self.decoder)))

    def step(self, ids_BW: Tensor, state: GruState) -> tuple[Tensor, GruState]:
        new = self._next(self.decoder, self.embedding(ids_BW).flatten(0, 1), list(state.h_NBWD.flatten(1, 2)))
        h_NBWD = torch.stack(new).view(len(new), *ids_BW.shape, -1)
        return self.embedding.logits(h_NBWD[-1]), GruState(h_NBWD)

    @staticmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        d, layers = config.d_model, config.encoder_layers + config.decoder_layers
        return vocabulary.size * d + layers * 6 * (d * d + d)

    @staticmethod
    def kept_floats(config: ModelConfig, length: int) -> int:
        return 12 * config.d_model * (config.encoder_layers + config.decoder_layers)

    @staticmethod
    def update_operations(config: ModelConfig, vocabulary: Vocabulary, sources: np.ndarray, targets: np.ndarray) -> int:
        d, n_source, n_target = config.d_model, int(sources.sum()), int(targets.sum())
        cells = n_source * config.encoder_layers + n_target * config.decoder_layers
        return 3 * 2 * (6 * d * d * cells + n_target * d * vocabulary.size)


@pytest.fixture(scope="module", autouse=True)
def kinds() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(build.KINDS, "gru", Gru)
        patch.setitem(ModelConfig.__annotations__, "kind", Literal["transformer", "gru"])
        yield


# --- using it -----------------------------------------------------------------------------------------------

MODEL = ModelConfig(encoder_layers=1, decoder_layers=2, d_model=24, h=2, dropout=0.2, max_length=30, kind="gru")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """A task of reversing a few letters, trained in two lanes."""
    folder = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(0)
    words = [" ".join(random.choice(list("abcdef"), random.integers(1, 6))) for _ in range(300)]
    (folder / "a").write_text("".join(f"{w}\n" for w in words), encoding="utf-8")
    (folder / "b").write_text("".join(f"{w[::-1]}\n" for w in words), encoding="utf-8")
    (folder / "valid-a").write_text("".join(f"{w}\n" for w in words[:20]), encoding="utf-8")
    (folder / "valid-b").write_text("".join(f"{w[::-1]}\n" for w in words[:20]), encoding="utf-8")
    settings = {
        "data": {
            f"{which}_{side}": str(folder / f"{prefix}{name}")
            for which, prefix in (("train", ""), ("valid", "valid-"))
            for side, name in (("source", "a"), ("target", "b"))
        },
        "train": {
            **{"max_steps": STEPS, "batch_tokens": 400, "micro_batch_tokens": 100, "warmup_steps": 4, "lanes": 2},
            **{"validate_every": 6, "save_every": 3, "log_every": 2, "keep_checkpoints": 3, "average_last": 3},
            "metric": "perplexity",
        },
    }
    base = Config(model=MODEL, text=TextConfig(vocab_size=280), decode=DecodeConfig(beam=3, extra_length=5))
    return build_config(base, ("test", settings))


@pytest.fixture(scope="module")
def run(config: Config, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """An uninterrupted run."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    assert train(config, path, quiet=True).reason == "finished"
    return RunFolder.open(path)


def checkpoints(run: RunFolder) -> dict[str, dict[str, dict[str, Tensor]]]:
    return {folder.name: read_all_tensors(folder) for folder in sorted((run.path / "checkpoints").iterdir())}


def test_it_is_built_and_its_parameters_counted() -> None:
    model = build.build_model(MODEL, Vocabulary(VOCABULARY))
    assert isinstance(model, Gru) and (model.vocabulary.size, model.target_limit) == (VOCABULARY, None)
    assert sum(weight.numel() for weight in model.parameters()) == Gru.count_parameters(MODEL, Vocabulary(VOCABULARY))


class TiedGru(Gru):
    """One cell for all layers of a side, so that there are fewer tensors than layers."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(replace(config, encoder_layers=1, decoder_layers=1), vocabulary)
        self.config = config

    @staticmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        return Gru.count_parameters(replace(config, encoder_layers=1, decoder_layers=1), vocabulary)


def test_a_model_may_have_fewer_tensors_than_layers(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(build.KINDS, "gru", TiedGru)
    config = replace(run.config, model=replace(MODEL, encoder_layers=10, decoder_layers=10))
    model = build.build_model(config.model, run.tokenizer.vocabulary)
    tied = RunFolder.create(tmp_path / "run", config, run.tokenizer)
    tied.save_step(1, {"model": dict(model.state_dict())}, {"config": config.to_dict()})
    loaded = RunFolder.open(tied.path).load_model().state_dict()
    assert len(loaded) < 20
    assert all(torch.equal(loaded[name], weight) for name, weight in model.state_dict().items())


def test_the_memory_foretold_is_that_of_its_kind() -> None:
    own, other = (Config(model=replace(MODEL, kind=kind)) for kind in ("gru", "transformer"))
    assert predicted_peak(own, 1000, Vocabulary(VOCABULARY), 1, 0) != predicted_peak(
        other, 1000, Vocabulary(VOCABULARY), 1, 0
    )


PAIRS = [([3 + i % 7] * (1 + i % 5), [9 + i % 4] * (2 + i % 6)) for i in range(12)]


def gradients(bounds: list[int], lanes: int) -> dict[str, Tensor | None]:
    base = Config(model=MODEL)
    learner = Learner(
        replace(base, train=replace(base.train, lanes=lanes)),
        Vocabulary(VOCABULARY),
        Workers(0, 1, torch.device("cpu")),
    )
    learner.model.train()
    batches = [
        small_batch(*zip(*PAIRS[begin:end], strict=True), first_pair=begin)
        for begin, end in zip(bounds, bounds[1:], strict=False)
    ]
    train_step(learner, batches, sum(batch.n_tokens for batch in batches), 1)
    return {name: weight.grad for name, weight in learner.model.named_parameters()}


@pytest.mark.parametrize(("cuts", "lanes"), [([0, 5, 12], 1), ([0, 2, 3, 12], 1), ([0, 12], 2), ([0, 7, 12], 3)])
def test_micro_batches_and_lanes_do_not_matter(cuts: list[int], lanes: int) -> None:
    whole, parts = gradients([0, len(PAIRS)], 1), gradients(cuts, lanes)
    for name, gradient in whole.items():
        assert gradient is not None and gradient.abs().sum() > 0
        torch.testing.assert_close(parts[name], gradient, atol=1e-6, rtol=1e-4, msg=name)


def test_it_learns_and_is_validated_and_averaged(run: RunFolder) -> None:
    found = [event for event in run.events() if event["event"] == "validation"]
    names = ["step 6", "step 12", "the average of steps 6, 9, 12"]
    assert [event["of"] for event in found] == names
    assert found[1]["perplexity"] < found[0]["perplexity"] < 280
    best = run.best()
    assert best is not None and best["perplexity"] == min(event["perplexity"] for event in found)
    assert (run.path / "checkpoints" / "average-00000012").is_dir()
    assert run.config.model.kind == "gru"


@pytest.mark.parametrize("stop", [5, 6])
def test_resumed_equals_uninterrupted(config: Config, run: RunFolder, tmp_path: Path, stop: int) -> None:
    def interrupt(step: int, result: object) -> None:
        if step == stop:
            signal.raise_signal(signal.SIGINT)

    outcome: Outcome = train(config, tmp_path / "parts", on_step=interrupt, quiet=True)
    assert (outcome.reason, outcome.step) == ("interrupted", stop)
    outcome = resume(tmp_path / "parts", quiet=True)
    assert (outcome.reason, outcome.step) == ("finished", STEPS)
    parts = RunFolder.open(tmp_path / "parts")
    assert parts.best() == run.best()
    whole, resumed = checkpoints(run), checkpoints(parts)
    for name in whole.keys() & resumed.keys():
        assert whole[name].keys() == resumed[name].keys()
        for group, tensors in whole[name].items():
            for key, tensor in tensors.items():
                assert torch.equal(tensor, resumed[name][group][key]), f"{name}: {group}: {key}"
    assert {"average-00000012", "step-00000012"} <= whole.keys() & resumed.keys()


@pytest.mark.parametrize("beam", [1, 4])
def test_search_scores_equal_those_of_forced_decoding(run: RunFolder, beam: int) -> None:
    translator, model = load(run.path), run.load_model()
    id_of = {piece: i for i, piece in enumerate(run.tokenizer.pieces(range(len(run.tokenizer))))}
    texts = ["a b c", "f", "d e f a b", "c c", "e d c b a"]
    found = [
        (text, one)
        for text, best in zip(texts, translator.translate(texts, beam=beam, n_best=beam), strict=True)
        for one in best.alternatives or [best]
    ]
    assert len(found) == beam * len(texts)
    for text, one in found:
        batch = small_batch(run.tokenizer.encode_ids([text]), [[id_of[piece] for piece in one.pieces]])
        with torch.inference_mode():
            logprobs_TV = model(batch.src_BS, batch.tgt_in_BT)[0].log_softmax(-1)
        forced = logprobs_TV.gather(1, batch.tgt_out_BT.T).flatten().tolist()
        assert one.log_probabilities == pytest.approx(forced[: len(one.pieces) + one.finished], abs=1e-4)
        assert one.log_probability == pytest.approx(sum(one.log_probabilities), abs=1e-4)


def test_what_only_a_transformer_can_do_is_refused(run: RunFolder, tmp_path: Path) -> None:
    model, tokenizer, decode = run.load_model(), run.tokenizer, run.config.decode
    with pytest.raises(DecodeError, match='model.kind = "gru" has no attention'):
        load(run.path).translate(["a"], attention=True)
    is_a_gru = 'only for model.kind = "transformer", but this model is a "gru"'
    with pytest.raises(ConfigError, match=f"8-bit weights .*{is_a_gru}"):
        PyTorchEngine([model], tokenizer, decode, int8=True)
    with pytest.raises(ConfigError, match=f"CTranslate2: {is_a_gru}"):
        write_ctranslate2(tmp_path, model, tokenizer, decode)
    with pytest.raises(ConfigError, match=f"Marian: {is_a_gru}"):
        write_huggingface(tmp_path, model, tokenizer, decode)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_without_a_kind_is_a_transformer(run: RunFolder) -> None:
    """Checkpoints named no kind when there was only one."""
    path = run.checkpoint_path("last")
    manifest = read_json(path / MANIFEST)
    run.check_fingerprint(path)
    try:
        model = {key: value for key, value in manifest["model"].items() if key != "kind"}
        write_manifest(path, {**manifest, "model": model})
        with pytest.raises(CheckpointError, match="it was trained with model kind = transformer"):
            run.check_fingerprint(path)
        RunFolder(
            run.path, replace(run.config, model=replace(MODEL, kind="transformer")), run.tokenizer
        ).check_fingerprint(path)
    finally:
        write_manifest(path, manifest)
