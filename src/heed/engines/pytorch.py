"""The torch engine: heed's own search with PyTorch models, the reference and the default."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heed.config import DecodeConfig
from heed.data.batch import batch_of_ids, padded
from heed.data.batching import cut_by_budget
from heed.decode.model_step import ModelStates, ModelStep
from heed.engines.searching import Engine, open_runs
from heed.engines.threads import map_batches
from heed.errors import DecodeError
from heed.model.compiled import Snapshot, compiled, reason_not_compiled
from heed.model.int8 import check_int8, quantized
from heed.model.interface import Searchable, SequenceModel
from heed.model.transformer import AttentionWeights, Transformer
from heed.options import SearchOptions
from heed.text.tokenizer import Tokenizer
from heed.threads import thread_pool
from heed.translation import Attention, PairScore, Translation

MAX_ONE_CORE_D_MODEL = 256  # up to this d_model, one core is as fast as several for the steps of a single batch


class PyTorchEngine(Engine):
    """One model, or an ensemble with one vocabulary whose probabilities are averaged, optionally with 8-bit weights."""

    def __init__(
        self,
        models: Sequence[SequenceModel],
        tokenizer: Tokenizer,
        decode: DecodeConfig,
        int8: bool = False,
        weights: str = "the model",
    ) -> None:
        """Make an engine of models that share a tokenizer. `weights` names their checkpoints in messages.

        Raises:
            ConfigError: `int8` without C kernels, or for a model that is not a Transformer.
            DecodeError: a model has another vocabulary size than the tokenizer.
        """
        for model in models:
            if model.vocabulary != tokenizer.vocabulary:
                raise DecodeError(
                    f"the model has {model.vocabulary}, the tokenizer {tokenizer.vocabulary}: "
                    "they do not belong together; take the tokenizer the model was trained with"
                )
        if int8:
            check_int8(models)
        super().__init__(tokenizer, decode, weights)
        self.models, self.int8 = list(models), int8
        self._searchers: tuple[list[Snapshot], list[Searchable]] | None = None
        self._own_searcher: Searchable | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without what a copy makes its own: compiled decoders hold pointers."""
        state = {**self.__dict__, "_searchers": None}
        state.pop("_boundaries", None)
        return state

    def __repr__(self) -> str:
        config = self.models[0].config
        models = f"{len(self.models)} models" if len(self.models) > 1 else "1 model"
        return (
            f"torch, {models}, {config.encoder_layers}+{config.decoder_layers} layers of width {config.d_model}, "
            f"vocabulary of {len(self.tokenizer):,}, {self.device}{', int8' if self.int8 else ''}"
        )

    @property
    def device(self) -> torch.device:
        return self.models[0].device

    @property
    def limit(self) -> int:
        return min(model.config.max_length for model in self.models)

    @property
    def _max_positions(self) -> int | None:
        """The number of target positions that every model has; None: there is no limit."""
        return min((model.target_limit for model in self.models if model.target_limit), default=None)

    def supports(self, options: SearchOptions) -> str | None:
        if options.attention and not self.models[0].has_cross_attention:
            return f'attention: a model of model.kind = "{self.models[0].config.kind}" has no attention weights'
        return super().supports(options)

    def _step(self, n_batches: int) -> ModelStep:
        return ModelStep(self._current_searchers(), self.device)

    def _start(self, step: ModelStep, sources: list[list[int]]) -> ModelStates:
        return step.start(padded(sources, self.tokenizer.vocabulary.pad).to(self.device))

    @property
    def _n_threads(self) -> int:
        return torch.get_num_threads() if self.device.type == "cpu" else 1

    def _map_batches(
        self, work: Callable[[list[int]], list[Translation]], batches: Sequence[list[int]], n_threads: int
    ) -> Iterator[list[Translation]]:
        is_large = self.models[0].config.d_model > MAX_ONE_CORE_D_MODEL
        return map_batches(work, batches, n_threads, thread_pool, all_cores_if_single=is_large)

    def _gradients_off(self) -> AbstractContextManager[Any]:
        return torch.inference_mode()

    @torch.inference_mode()
    def attention(self, source: list[int], target: list[int]) -> Attention:
        """Return the attention weights of the first model for this pair of ids.

        A model without self-attention has no layers in `encoder` and `decoder`.
        """
        captured, model = AttentionWeights(), self.models[0]
        batch = batch_of_ids([source], [target], self.tokenizer.vocabulary).to(self.device)
        if isinstance(model, Transformer):
            model(batch.src_BS, batch.tgt_in_BT, captured)
        else:
            captured.encoder, captured.decoder = [torch.empty(0, 1, 0, 0)], [torch.empty(0, 1, 0, 0)]
            captured.cross = model.cross_attention(batch.src_BS, batch.tgt_in_BT)
        encoder, decoder, cross = (
            torch.cat(layers).float().cpu().numpy() for layers in (captured.encoder, captured.decoder, captured.cross)
        )
        pieces = self.tokenizer.pieces
        end = self.tokenizer.vocabulary.end
        return Attention(pieces([*source, end]), pieces([*target, end]), encoder, decoder, cross)

    @torch.inference_mode()
    def score(self, ids: list[list[list[int]]]) -> list[PairScore]:
        """Score given translations by forced decoding. `ids` are those of the sources and those of the targets.

        An ensemble averages the probabilities of each token, as it does in search.
        """
        longer = np.array([max(len(source), len(target)) for source, target in zip(*ids, strict=True)], dtype=np.int64)
        scores: list[PairScore | None] = [None] * len(longer)
        order = np.argsort(longer, kind="stable")
        bounds = cut_by_budget(longer[order] + 1, self.decode.batch_tokens)
        for begin, end in zip(bounds, bounds[1:], strict=False):
            rows = order[begin:end].tolist()
            sources, targets = ([side[i] for i in rows] for side in ids)
            batch = batch_of_ids(sources, targets, self.tokenizer.vocabulary).to(self.device)
            gold_BT1 = batch.tgt_out_BT.unsqueeze(-1)
            logprobs_BTN = torch.cat(
                [model(batch.src_BS, batch.tgt_in_BT).log_softmax(-1).gather(-1, gold_BT1) for model in self.models], -1
            )
            gold_BT = logprobs_BTN.logsumexp(-1) - math.log(len(self.models))
            real_BT = batch.tgt_out_BT.ne(batch.pad)
            totals = gold_BT.where(real_BT, 0.0).double().sum(1).tolist()
            for i, total, n_tokens in zip(rows, totals, real_BT.sum(1).tolist(), strict=True):
                scores[i] = PairScore(total, n_tokens)
        return [score for score in scores if score is not None]

    def searching_with(self, searcher: Searchable) -> "PyTorchEngine":
        """Return an engine like this one that searches with `searcher`."""
        engine = copy.copy(self)
        engine._own_searcher = searcher
        return engine

    def _current_searchers(self) -> list[Searchable]:
        """Return the models to search with, those that C implements as `CompiledTransformer`.

        They are rebuilt if a model has been changed, converted or replaced.
        """
        if self._own_searcher is not None:
            return [self._own_searcher]
        current = self._searchers  # a local name, as another thread may replace it
        if current is None or not _match(current[0], self.models):
            snapshots = [Snapshot(model) for model in self.models]
            searchers: list[Searchable] = []
            for model in self.models:
                searched = quantized(model) if self.int8 else model
                is_compiled = reason_not_compiled(searched) is None
                searchers.append(compiled(searched) if is_compiled else searched)
            self._searchers = current = snapshots, searchers
        return current[1]


def _match(snapshots: list[Snapshot], models: list[SequenceModel]) -> bool:
    return len(snapshots) == len(models) and all(map(Snapshot.matches, snapshots, models))


def open_pytorch(folders: Sequence[Path], checkpoint: str, int8: bool) -> PyTorchEngine:
    """Load the models of run folders with the same vocabulary.

    Raises:
        CheckpointError: a folder is missing or damaged.
        DecodeError: the folders have different vocabularies.
    """
    runs = open_runs(folders)
    models = [run.load_model(checkpoint) for run in runs]
    weights = ", ".join(str(run.checkpoint_path(checkpoint)) for run in runs)
    return PyTorchEngine(models, runs[0].tokenizer, runs[0].config.decode, int8, weights)
