"""The model's say on one given translation, under many changes at once: a batch row for each change."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heed.data.batch import batch_of_ids
from heed.inside.observe import Around, Observed
from heed.model.interface import SequenceModel
from heed.model.transformer import Transformer

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@torch.inference_mode()
def logits_of(
    model: SequenceModel, sources: Sequence[Sequence[int]], target: Sequence[int], around: Around | None = None
) -> Tensor:
    """Return logits_BTV of each step of a translation, without search, once for each source.

    A Transformer attends through `around`; other models have nothing to tell it.
    """
    batch = batch_of_ids(sources, [target] * len(sources), model.vocabulary).to(model.device)
    if not isinstance(model, Transformer) or around is None:
        return model(batch.src_BS, batch.tgt_in_BT).float()  # type: ignore[no-any-return]
    encoded = model.encode(Observed(batch.src_BS, batch.pad, around))
    return model.embedding.logits(model.decode(Observed(batch.tgt_in_BT, batch.pad, around), encoded)).float()


@torch.inference_mode()
def forced(
    model: SequenceModel, sources: Sequence[Sequence[int]], target: Sequence[int], around: Around | None = None
) -> tuple[Floats, Ints]:
    """Return what each source gives the translation's tokens, without search: log-probabilities and first choices.

    Both are n × T, the end token counted. A first choice is the most probable token after the same beginning.
    """
    logits_BTV = logits_of(model, sources, target, around)
    tgt_out_1T1 = torch.tensor([*target, model.vocabulary.end], device=logits_BTV.device)[None, :, None]
    logprobs_BT = logits_BTV.log_softmax(-1).gather(-1, tgt_out_1T1.expand(len(sources), -1, 1)).squeeze(-1)
    return logprobs_BT.cpu().numpy(), logits_BTV.argmax(-1).cpu().numpy()
