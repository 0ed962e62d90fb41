"""The loss of a batch: what training minimises."""

from functools import partial

from torch import Tensor, nn

from heed.model.dropout import random_seeds
from heed.model.interface import SequenceModel
from heed.model.transformer import as_transformer
from heed.training.consistency import consistent_loss, second_view
from heed.training.head_diversity import head_similarity
from heed.training.loss import label_smoothed_loss


class BatchLoss(nn.Module):
    """Model and loss in one module, so that DDP or FSDP can wrap both."""

    def __init__(
        self,
        model: SequenceModel,
        epsilon: float,
        consistency: float = 0.0,
        cutoff: float = 0.0,
        head_diversity: float = 0.0,
    ) -> None:
        super().__init__()
        self.model, self.epsilon, self.consistency, self.cutoff = model, epsilon, consistency, cutoff
        self.head_diversity = head_diversity

    def forward(
        self, src_BS: Tensor, tgt_in_BT: Tensor, tgt_out_BT: Tensor, seed_B: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the two sums of `Loss`; `seed` is that of each pair's dropout."""
        vocabulary = self.model.vocabulary
        real_BT = tgt_out_BT.ne(vocabulary.pad)
        gold_N, weight_VD = tgt_out_BT[real_BT], self.model.output_weight
        hidden, contexts = self.model.hidden, list[Tensor]()
        if self.head_diversity:
            hidden = partial(as_transformer(self.model, "train.head_diversity").hidden, contexts=contexts)
        hidden_ND = hidden(src_BS, tgt_in_BT, real_BT, seed_B)
        if self.consistency:
            seed_B = random_seeds(len(src_BS), src_BS.device) if seed_B is None else seed_B
            source, target, seeds = second_view(src_BS, tgt_in_BT, seed_B, self.cutoff, vocabulary)
            other_ND = hidden(source, target, real_BT, seeds)
            loss = consistent_loss(hidden_ND, other_ND, weight_VD, gold_N, self.epsilon, self.consistency)
        else:
            loss = label_smoothed_loss(hidden_ND, weight_VD, gold_N, self.epsilon)
        smoothed = loss.smoothed
        if self.head_diversity:
            smoothed = smoothed + self.head_diversity * head_similarity(contexts)
        return smoothed, loss.negative_log_likelihood
