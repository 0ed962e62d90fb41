"""The softmax of the consistency loss, fused with its gradient."""

import torch
from torch import Tensor

from heed.kernels.library import kernels
from heed.kernels.softmax import check_gold


def two_views_(
    logits_nV: Tensor, other_nV: Tensor, gold_n: Tensor, share: float, rest: float, consistency: float
) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
    """Turn the logits of two views into twice the gradient of their loss, in place; see two_views.c.

    Returns of each row both log-probabilities of the gold token, the sum of all log-probabilities of both views, and
    KL(p|r) + KL(r|p); or None, with the logits unchanged, if there is no kernel for these tensors.

    Raises:
        IndexError: a gold token is not in the vocabulary.
    """
    library = kernels(logits_nV, other_nV)
    if library is None or torch.get_num_threads() > 1 or not (logits_nV.is_contiguous() and other_nV.is_contiguous()):
        return None
    assert logits_nV.shape == other_nV.shape
    rows, vocab_size = logits_nV.shape
    check_gold(gold_n, vocab_size)
    gold_n = gold_n.long().contiguous()
    ratio_V = logits_nV.new_empty(vocab_size)
    gold_p_n, gold_r_n, all_n, divergence_n = found = logits_nV.new_empty(4, rows).unbind()
    tensors = logits_nV, other_nV, gold_n, ratio_V, *found
    library.heed_two_views(*(tensor.data_ptr() for tensor in tensors), rows, vocab_size, share, rest, consistency)
    return gold_p_n, gold_r_n, all_n, divergence_n
