"""What each head does, measured on a sample of text: how often its heaviest weight falls on what."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from heed.data.batch import batch_of_ids
from heed.inside.model1 import Model1
from heed.inside.observe import KINDS, Kind, Observed
from heed.model.attention import attention
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]

# What is measured of each kind of attention. Cross-attention has no previous or next token, but an aligned one.
ROLES: dict[Kind, tuple[str, ...]] = {
    "encoder": ("previous", "same", "next", "end", "stop", "rare"),
    "decoder": ("previous", "same", "end", "stop", "rare"),
    "cross": ("aligned", "end", "stop", "rare"),
}
NAMES_FROM_SHARE = 0.4  # a role names a head when it has at least this share of the positions
_PAIRS_AT_ONCE = 16


@dataclass(frozen=True)
class Sample:
    """Pairs of ids without end tokens, and where they are from."""

    pairs: Sequence[tuple[list[int], list[int]]]
    name: str


@dataclass(frozen=True)
class Roles:
    """The share of positions whose heaviest weight falls on a role's token: of each kind, layers × heads × roles."""

    share: dict[Kind, Floats]
    chance: dict[Kind, Floats]  # the same for a head that picks any position it may attend to, roles only
    n_pairs: int
    sample: str

    def name(self, kind: Kind, layer: int, head: int) -> str:
        """Return the role that has the largest share above chance, if that share is large; else "mixed"."""
        share = self.share[kind][layer, head]
        best = int((share - self.chance[kind]).argmax())
        return ROLES[kind][best] if share[best] >= NAMES_FROM_SHARE else "mixed"


@torch.inference_mode()
def measure_roles(
    model: Transformer,
    sample: Sample,
    stops: frozenset[int],
    n_layers: dict[Kind, int],
    h: int,
    on_done: Callable[[int], None],
) -> Roles:
    """Run the model over a sample and count. `on_done` is told of each number of pairs.

    `stops`: the ids of full stops, question marks and the like.
    """
    vocabulary, pairs = model.vocabulary, sorted(sample.pairs, key=lambda pair: len(pair[0]))
    counts = np.bincount([one for pair in pairs for side in pair for one in side], minlength=vocabulary.size)
    model1 = Model1(pairs)
    hits = {kind: np.zeros((n_layers[kind], h, len(ROLES[kind]))) for kind in KINDS}
    chances = {kind: np.zeros(len(ROLES[kind])) for kind in KINDS}
    n_rows = dict.fromkeys(KINDS, 0)
    for begin in range(0, len(pairs), _PAIRS_AT_ONCE):
        some = pairs[begin : begin + _PAIRS_AT_ONCE]
        heaviest = _heaviest(model, some, n_layers)
        for row, (source, target) in enumerate(some):
            src, tgt = [*source, vocabulary.end], [*target, vocabulary.end]
            inputs = [vocabulary.start, *target]  # what the decoder reads, position by position
            n_source, n_target = len(src), len(tgt)
            masks = {
                "encoder": _positions(src, n_source, counts, stops, vocabulary),
                "decoder": _positions(inputs, n_target, counts, stops, vocabulary),
                "cross": {
                    **_tokens(src, n_target, counts, stops, vocabulary),
                    "aligned": _aligned(model1, source, target),
                },
            }
            for kind in KINDS:
                length = n_source if kind == "encoder" else n_target
                chosen_NHL = heaviest[kind][:, row, :, :length]
                allowed = np.ones((length, n_source if kind != "decoder" else n_target), dtype=bool)
                allowed = np.tril(allowed) if kind == "decoder" else allowed
                for r, role in enumerate(ROLES[kind]):
                    mask_LM = masks[kind][role]
                    hits[kind][:, :, r] += mask_LM[np.arange(length), chosen_NHL].sum(-1)
                    chances[kind][r] += ((mask_LM & allowed).sum(1) / allowed.sum(1)).sum()
                n_rows[kind] += length
        on_done(len(some))
    return Roles(
        {kind: (hits[kind] / max(n_rows[kind], 1)).astype(np.float32) for kind in KINDS},
        {kind: (chances[kind] / max(n_rows[kind], 1)).astype(np.float32) for kind in KINDS},
        len(pairs),
        sample.name,
    )


def _heaviest(
    model: Transformer, pairs: Sequence[tuple[list[int], list[int]]], n_layers: dict[Kind, int]
) -> dict[Kind, NDArray[np.int64]]:
    """Return where each head's heaviest weight falls: of each kind, layers × pairs × heads × rows."""
    found: dict[Kind, list[NDArray[np.int64]]] = {kind: [] for kind in KINDS}

    def around(
        kind: Kind, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        context, weights_BHLM = attention(q, k, v, mask)
        found[kind].append(weights_BHLM.argmax(-1).cpu().numpy())
        return context

    sources, targets = zip(*pairs, strict=True)
    batch = batch_of_ids(sources, targets, model.vocabulary).to(model.device)
    model.decode(Observed(batch.tgt_in_BT, batch.pad, around), model.encode(Observed(batch.src_BS, batch.pad, around)))
    return {kind: np.stack(found[kind]) for kind in KINDS}


def _positions(
    ids: list[int], n_rows: int, counts: NDArray[np.int64], stops: frozenset[int], vocabulary: Vocabulary
) -> dict[str, Bools]:
    """Return each role's positions in self-attention, as rows × columns."""
    eye = np.eye(n_rows, dtype=bool)
    return {
        **_tokens(ids, n_rows, counts, stops, vocabulary),
        "previous": np.eye(n_rows, k=-1, dtype=bool),
        "same": eye,
        "next": np.eye(n_rows, k=1, dtype=bool),
    }


def _tokens(
    ids: list[int], n_rows: int, counts: NDArray[np.int64], stops: frozenset[int], vocabulary: Vocabulary
) -> dict[str, Bools]:
    """Return the columns that are the end token (or the start), a full stop, or the rarest token of the sentence."""
    is_edge = np.array([one in (vocabulary.end, vocabulary.start) for one in ids])
    is_stop = np.array([one in stops for one in ids])
    often = np.where(is_edge | is_stop, np.iinfo(np.int64).max, counts[ids])
    rarest = (np.arange(len(ids)) == often.argmin()) & ~(is_edge | is_stop)
    return {
        name: np.broadcast_to(mask, (n_rows, len(ids)))
        for name, mask in (("end", is_edge), ("stop", is_stop), ("rare", rarest))
    }


def _aligned(model1: Model1, source: list[int], target: list[int]) -> Bools:
    """Return the source token that most likely made each target token, as rows × columns; the ends align."""
    ids = np.array(source, dtype=np.int64)
    found = np.zeros((len(target) + 1, len(source) + 1), dtype=bool)
    # The same token may stand in the sentence twice.
    found[:-1, :-1] = ids[None, :] == ids[model1.best(source, target)][:, None]
    found[-1, -1] = True
    return found
