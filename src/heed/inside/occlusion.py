"""Occlusion: leave one source word out, and see which words of the translation miss it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from heed.inside.forced import Floats, Ints, forced
from heed.inside.observe import NOTHING_OFF, Switches, heads_gated
from heed.model.interface import SequenceModel


@dataclass(frozen=True)
class Occlusion:
    """What each token of the translation becomes when a source word is left out: source words × T.

    The end token stays, so there is no row for it.
    """

    change: Floats  # of the log-probability of each token
    first_choice: Ints  # the most probable token after the same beginning


def leave_words_out(
    model: SequenceModel,
    source: Sequence[int],
    target: Sequence[int],
    words: Sequence[Sequence[int]],
    on_done: Callable[[int], None],
    switches: Switches = NOTHING_OFF,
    instead: Sequence[int] = (),
) -> Occlusion:
    """Score the translation once for each source word that is left out, or replaced by the tokens of `instead`.

    `on_done` is told of each.
    """
    whole_T = forced(model, [source], target, heads_gated({}, switches))[0][0]
    rows = []
    for word in words:
        shortened = [*source[: word[0]], *instead, *source[word[-1] + 1 :]]
        rows.append(forced(model, [shortened], target, heads_gated({}, switches)))
        on_done(1)
    changes = np.stack([logprobs[0] for logprobs, _ in rows]) - whole_T
    return Occlusion(changes, np.stack([chosen[0] for _, chosen in rows]))
