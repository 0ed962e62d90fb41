"""The native engine: heed's own search with models in C, which starts without torch."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heed.config import DecodeConfig
from heed.data.batching import cut_by_budget
from heed.engines.searching import BATCH_TOKENS_TIMES_BEAM, Engine, open_runs
from heed.engines.threads import available_threads, map_batches
from heed.errors import ConfigError
from heed.kernels.matrix import Precision
from heed.native.model import NativeModel
from heed.native.step import NativeStates, NativeStep
from heed.native.weights import load_weights, reason_not_native
from heed.run import RunFolder
from heed.settings import read_run_config
from heed.text.tokenizer import Tokenizer
from heed.translation import Attention, PairScore, Translation

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from heed.engines.pytorch import PyTorchEngine


# In a batch. More are hardly faster, since a step costs little besides its products, but take memory for their scores
# and their KV cache.
_MAX_HYPOTHESES = 128


class NativeEngine(Engine):
    """One model, or an ensemble with one vocabulary whose probabilities are averaged."""

    _min_tokens = BATCH_TOKENS_TIMES_BEAM // _MAX_HYPOTHESES

    def __init__(
        self,
        models: Sequence[NativeModel],
        tokenizer: Tokenizer,
        decode: DecodeConfig,
        precision: Precision,
        weights: str,
        open_reference: "Callable[[], PyTorchEngine]",
    ) -> None:
        """Make an engine. `weights` names the checkpoints in messages; `open_reference` loads them with torch."""
        super().__init__(tokenizer, decode, weights)
        self.models, self.precision = list(models), precision
        self.open_reference = open_reference

    def __repr__(self) -> str:
        config = self.models[0].config
        models = f"{len(self.models)} models" if len(self.models) > 1 else "1 model"
        return (
            f"native, {models}, {config.encoder_layers}+{config.decoder_layers} layers of width {config.d_model}, "
            f"vocabulary of {len(self.tokenizer):,}{'' if self.precision == 'float32' else f', {self.precision}'}"
        )

    @property
    def limit(self) -> int:
        return min(model.config.max_length for model in self.models)

    @property
    def _max_positions(self) -> int | None:
        return min((model.target_limit for model in self.models if model.target_limit), default=None)

    def _step(self, n_batches: int) -> NativeStep:
        """Several batches are computed in as many threads, but they share the steps of a single one."""
        return NativeStep(self.models, available_threads() if n_batches == 1 else 1)

    def _start(self, step: NativeStep, sources: list[list[int]]) -> NativeStates:
        return step.start(sources)

    @property
    def _n_threads(self) -> int:
        return available_threads()

    def _map_batches(
        self, work: Callable[[list[int]], list[Translation]], batches: Sequence[list[int]], n_threads: int
    ) -> Iterator[list[Translation]]:
        return map_batches(work, batches, n_threads, _pool, all_cores_if_single=True)

    def attention(self, source: list[int], target: list[int]) -> Attention:
        """Return the attention weights of the first model for this pair of ids: those of the weights it searches with.

        The target is decoded token by token, as in search.
        """
        model, vocabulary = self.models[0], self.tokenizer.vocabulary
        n_encoder, n_decoder, h = model.config.encoder_layers, model.config.decoder_layers, model.config.h
        n_source, n_target = len(source) + 1, len(target) + 1
        encoder_NHSS = np.zeros((n_encoder, h, n_source, n_source), np.float32)
        decoder_NHTT = np.zeros((n_decoder, h, n_target, n_target), np.float32)
        cross_NHTS = np.zeros((n_decoder, h, n_target, n_source), np.float32)
        state = model.start([[*source, vocabulary.end]], encoder_NHSS)
        for t, token in enumerate([vocabulary.start, *target]):
            self_NHM = np.zeros((n_decoder, h, t + 1), np.float32)
            cross_NHS = np.zeros((n_decoder, h, n_source), np.float32)
            _, state = model.step(np.array([[token]]), state, (self_NHM, cross_NHS))
            decoder_NHTT[:, :, t, : t + 1], cross_NHTS[:, :, t] = self_NHM, cross_NHS
        pieces, end = self.tokenizer.pieces, vocabulary.end
        return Attention(pieces([*source, end]), pieces([*target, end]), encoder_NHSS, decoder_NHTT, cross_NHTS)

    def score(self, ids: list[list[list[int]]]) -> list[PairScore]:
        """Score given translations by forced decoding, as the torch engine does, but token by token as in search."""
        longer = np.array([max(len(source), len(target)) for source, target in zip(*ids, strict=True)], dtype=np.int64)
        order = np.argsort(longer, kind="stable")
        bounds = cut_by_budget(np.maximum(longer[order] + 1, self._min_tokens), self.decode.batch_tokens)
        batches = [order[begin:end].tolist() for begin, end in zip(bounds, bounds[1:], strict=False)]
        found: dict[int, PairScore] = {}
        work = partial(self._score, self._step(len(batches)), ids)
        scores = map_batches(work, batches, self._n_threads, _pool, all_cores_if_single=True)
        for rows, batch in zip(batches, scores, strict=True):
            found.update(zip(rows, batch, strict=True))
        return [found[i] for i in range(len(longer))]

    def _score(self, step: NativeStep, ids: list[list[list[int]]], rows: list[int]) -> list[PairScore]:
        """Score one batch of pairs, given by their indices."""
        vocabulary = self.tokenizer.vocabulary
        state = step.start([[*ids[0][i], vocabulary.end] for i in rows])
        targets = [[*ids[1][i], vocabulary.end] for i in rows]
        newest_B1, totals_B = np.full((len(rows), 1), vocabulary.start), np.zeros(len(rows))
        for t in range(max(map(len, targets))):
            scores, state = step(newest_B1, state)
            gold_B1 = np.array([[target[t] if t < len(target) else vocabulary.pad] for target in targets])
            logprobs_B = np.take_along_axis(scores.logprobs()[:, 0], gold_B1, 1)[:, 0]
            totals_B += np.where([t < len(target) for target in targets], logprobs_B, 0.0)
            newest_B1 = gold_B1
        return [PairScore(total, len(target)) for total, target in zip(totals_B.tolist(), targets, strict=True)]


def _pool(n_threads: int) -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor  # a single sentence needs none

    return ThreadPoolExecutor(n_threads, thread_name_prefix="heed")


def reason_not_supported(folders: Sequence[Path]) -> str | None:
    """Return why the native engine cannot load the models of these run folders; None: it can.

    Raises:
        CheckpointError: a folder is missing or damaged.
    """
    for folder in folders:
        RunFolder.check(folder)
        if reason := reason_not_native(read_run_config(folder).model):
            return reason
    return None


def open_native(folders: Sequence[Path], checkpoint: str, precision: Precision = "float32") -> NativeEngine:
    """Load the models of run folders with the same vocabulary.

    Raises:
        CheckpointError: a folder is missing or damaged.
        ConfigError: the engine does not implement a model, there are no C kernels, or the processor does not compute
            in that precision.
        DecodeError: the folders have different vocabularies.
    """
    runs = open_runs(folders)
    if reason := reason_not_supported(folders):
        raise ConfigError(f"engine native: {reason}; use engine torch")
    models = [NativeModel(load_weights(run, checkpoint, precision)) for run in runs]
    weights = ", ".join(str(run.checkpoint_path(checkpoint)) for run in runs)
    open_reference = partial(_open_pytorch, folders, checkpoint, precision == "int8")
    return NativeEngine(models, runs[0].tokenizer, runs[0].config.decode, precision, weights, open_reference)


def _open_pytorch(folders: Sequence[Path], checkpoint: str, int8: bool) -> "PyTorchEngine":
    from heed.engines.pytorch import open_pytorch

    return open_pytorch(folders, checkpoint, int8)
