"""A model with parts switched off, as a model to look into and to search with."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from heed.inside.observe import Observed, Switches, heads_gated
from heed.inside.walk import private_copy
from heed.model.interface import Searchable
from heed.model.sequences import Encoded
from heed.model.transformer import Transformer


def switched(model: Transformer, switches: Switches) -> Transformer:
    """Return the model over the same weights without the layers and positions that are off.

    What is off of attention is the batch's business: it attends through `switches`.
    """
    changed = private_copy(model).eval()
    for name, layers in (("encoder", changed.encoder), ("decoder", changed.decoder)):
        for number, layer in enumerate(layers):
            if (name, number) in switches.layers:
                layer.register_forward_hook(_hand_on)
    if not switches.positions:
        changed.source_positions.register_forward_hook(_zeros)
        changed.target_positions.register_forward_hook(_zeros)
    return changed


def _hand_on(module: nn.Module, given: tuple[Any, ...], made: Tensor) -> Tensor:
    x: Tensor = given[0]
    return x


def _zeros(module: nn.Module, given: tuple[Any, ...], made: Tensor) -> Tensor:
    return torch.zeros_like(made)


@dataclass(frozen=True)
class _Written:
    """What each hypothesis has written so far. There is no KV cache."""

    encoded: Encoded
    ids_BWt: Tensor

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "_Written":
        ids_BWt = self.ids_BWt[sentences_B]
        chosen_BWt = ids_BWt.gather(1, parents_BW.unsqueeze(-1).expand(-1, -1, ids_BWt.size(2)))
        return _Written(_rows(self.encoded, sentences_B), chosen_BWt)


class SwitchedSearch(Searchable):
    """Search with parts of a model switched off: each step decodes all that is written.

    A KV cache would keep what earlier positions computed before later ones were there. That is right only as long as
    the causal mask hides later ones from them.
    """

    def __init__(self, model: Transformer, switches: Switches) -> None:
        """Search with a model that `switched` returned."""
        self._model, self._around = model, heads_gated({}, switches)

    def start(self, src_BS: Tensor) -> _Written:
        encoded = self._model.encode(Observed(src_BS, self._model.vocabulary.pad, self._around))
        return _Written(encoded, src_BS.new_empty(len(src_BS), 1, 0))

    def step(self, ids_BW: Tensor, state: _Written) -> tuple[Tensor, _Written]:
        ids_BWt = torch.cat((state.ids_BWt, ids_BW.unsqueeze(-1)), -1)
        n_sentences, width, _ = ids_BWt.shape
        sentence_R = torch.arange(n_sentences, device=ids_BW.device).repeat_interleave(width)
        tgt = Observed(ids_BWt.flatten(0, 1), self._model.vocabulary.pad, self._around)
        hidden_RtD = self._model.decode(tgt, _rows(state.encoded, sentence_R))
        logits_RV = self._model.embedding.logits(hidden_RtD[:, -1])
        return logits_RV.view(n_sentences, width, -1), _Written(state.encoded, ids_BWt)


def _rows(encoded: Encoded, rows_R: Tensor) -> Encoded:
    mask_B11S = encoded.mask_B11S
    keys_values = [(k.index_select(0, rows_R), v.index_select(0, rows_R)) for k, v in encoded.keys_values]
    return Encoded(keys_values, None if mask_B11S is None else mask_B11S.index_select(0, rows_R))
