"""The softmax of the loss, fused with subtracting the share of the gold tokens."""

import torch
from torch import Tensor

from heed.kernels.library import kernels


def softmax_less_gold_(logits_nV: Tensor, gold_n: Tensor, share: float) -> tuple[Tensor, Tensor, Tensor] | None:
    """In place: exp(logit - the row's highest), minus `share` times the row's sum at the gold token.

    Returns the rows' sums, the logarithms of their softmax denominators, and their gold logits; or None, with the
    logits unchanged, if there is no kernel for these tensors.

    Raises:
        IndexError: a gold token is not in the vocabulary.
    """
    library = kernels(logits_nV)
    if library is None or torch.get_num_threads() > 1 or not logits_nV.is_contiguous():
        return None
    rows, vocab_size = logits_nV.shape
    check_gold(gold_n, vocab_size)
    gold_n = gold_n.long().contiguous()
    sums_n, normalizers_n, gold_logits_n = logits_nV.new_empty(3, rows).unbind()
    library.heed_softmax_less_gold(
        *(logits_nV.data_ptr(), gold_n.data_ptr()),
        *(sums_n.data_ptr(), normalizers_n.data_ptr(), gold_logits_n.data_ptr()),
        *(rows, vocab_size, share),
    )
    return sums_n, normalizers_n, gold_logits_n


def check_gold(gold_n: Tensor, vocab_size: int) -> None:
    """Check what a kernel takes as positions in a row.

    Raises:
        IndexError: a gold token is not in the vocabulary.
    """
    if len(gold_n) and not 0 <= int(gold_n.min()) <= int(gold_n.max()) < vocab_size:
        raise IndexError(
            f"gold tokens from {int(gold_n.min())} to {int(gold_n.max())}, but a vocabulary of {vocab_size}"
        )
