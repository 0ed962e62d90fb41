"""The model's say on one given translation, under many changes at once: a batch row for each change."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from heed.data.batch import batch_of_ids
from heed.inside.observe import Around, Observed
from heed.model.transformer import Transformer

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@torch.inference_mode()
def forced(
    model: Transformer, sources: Sequence[Sequence[int]], target: Sequence[int], around: Around
) -> tuple[Floats, Ints]:
    """Return what each source gives the translation's tokens, without search: log-probabilities and first choices.

    Both are n × T, the end token counted. A first choice is the most probable token after the same beginning.
    """
    batch = batch_of_ids(sources, [target] * len(sources), model.vocabulary).to(model.device)
    encoded = model.encode(Observed(batch.src_BS, batch.pad, around))
    logits_BTV = model.embedding.logits(model.decode(Observed(batch.tgt_in_BT, batch.pad, around), encoded))
    logprobs_BT = logits_BTV.float().log_softmax(-1).gather(-1, batch.tgt_out_BT.unsqueeze(-1)).squeeze(-1)
    return logprobs_BT.cpu().numpy(), logits_BTV.argmax(-1).cpu().numpy()
