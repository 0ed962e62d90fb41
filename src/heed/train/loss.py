"""Section 5.4: label smoothing."""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from heed.data.batch import Batch
from heed.model.transformer import Transformer
from heed.text.tokenizer import PAD


@dataclass(frozen=True)
class Loss:
    """Sums over the target tokens of a batch."""

    smoothed: Tensor  # what is minimised
    negative_log_likelihood: Tensor  # of the gold symbols: what perplexity is made of (not differentiable)


def label_smoothed_loss(logits_NV: Tensor, gold_N: Tensor, epsilon: float) -> Loss:
    """Cross-entropy against 1 - ε on the gold symbol and ε / (V - 1) on each other one, summed."""
    vocab_size = logits_NV.size(-1)
    # PyTorch spreads its ε' over all V symbols, the gold one too; ε' = ε V / (V - 1) makes the two the same.
    smoothing = epsilon * vocab_size / (vocab_size - 1)
    smoothed = F.cross_entropy(logits_NV, gold_N, reduction="sum", label_smoothing=smoothing)
    detached_NV = logits_NV.detach()
    gold_logit_N = detached_NV.gather(1, gold_N.unsqueeze(1)).squeeze(1)
    return Loss(smoothed, (detached_NV.logsumexp(-1) - gold_logit_N).sum())


def batch_loss(model: Transformer, batch: Batch, epsilon: float) -> Loss:
    """The loss of a batch. Padding costs nothing: it is left out before the softmax."""
    hidden_BTD = model.decode(batch.tgt_in_BT, model.encode(batch.src_BS))
    real_BT = batch.tgt_out_BT.ne(PAD)
    logits_NV = model.embedding.logits(hidden_BTD[real_BT])
    return label_smoothed_loss(logits_NV, batch.tgt_out_BT[real_BT], epsilon)
