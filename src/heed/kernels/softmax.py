"""The softmax of the loss, and what the gold symbols take off it."""

import torch
from torch import Tensor

from heed.kernels.library import kernels


def softmax_less_gold_(logits_nV: Tensor, gold_n: Tensor, share: float) -> tuple[Tensor, Tensor, Tensor] | None:
    """Make exp(logit - the row's highest) of the logits, in their place, and take `share` of a row's sum off its gold.

    Returns the rows' sums, logarithms of the softmax's denominators, and gold logits; None, and nothing is done, where
    there is no kernel for these tensors.
    """
    library = kernels(logits_nV)
    if library is None or torch.get_num_threads() > 1 or not logits_nV.is_contiguous():
        return None
    rows, vocab_size = logits_nV.shape
    if rows and not 0 <= int(gold_n.min()) <= int(gold_n.max()) < vocab_size:
        raise IndexError(f"gold symbols from {int(gold_n.min())} to {int(gold_n.max())} of {vocab_size}")
    gold_n = gold_n.long().contiguous()
    sums_n, normalizers_n, gold_logits_n = logits_nV.new_empty(3, rows).unbind()
    library.heed_softmax_less_gold(
        *(logits_nV.data_ptr(), gold_n.data_ptr()),
        *(sums_n.data_ptr(), normalizers_n.data_ptr(), gold_logits_n.data_ptr()),
        *(rows, vocab_size, share),
    )
    return sums_n, normalizers_n, gold_logits_n
