"""Less sequential generation: guess what comes next, and let one pass of the model compute guesses, too.

The paper names it as future work. Search asks for one step after the other, as ever, and gets what the model computed
for exactly what was written: guessed before, or not. So it finds the same, guess or no guess. What is won is passes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from heed.decode.beginnings import Beginning, Beginnings
from heed.decode.draft import Draft
from heed.decode.step import Step
from heed.model.incremental import IncrementalDecoder


@dataclass(frozen=True)
class AheadState:
    """The hypotheses of one sentence, and what has been computed for it."""

    computed: Beginnings
    hypotheses: Sequence[Beginning] = ((),)

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "AheadState":
        return AheadState(self.computed, [self.hypotheses[parent] for parent in parents_BW[0].tolist()])


def ahead(
    decoder: IncrementalDecoder, src_1S: Tensor, draft: Draft, n_guesses: int, limit: int
) -> tuple[Step[AheadState], AheadState]:
    """A step for one sentence, with `n_guesses` in each pass, none beyond `limit` symbols; and its first state."""
    guess = draft.of(src_1S)

    def step(ids_BW: Tensor, state: AheadState) -> tuple[Tensor, AheadState]:
        computed = state.computed
        hypotheses = [(*one, symbol) for one, symbol in zip(state.hypotheses, ids_BW[0].tolist(), strict=True)]
        if any(one not in computed for one in hypotheses):
            guesses = [one for one in guess(hypotheses, n_guesses) if len(one) <= limit]
            computed.compute([*hypotheses, *guesses])
            computed.keep_what_follows(hypotheses)
        return computed.logits(hypotheses).unsqueeze(0), AheadState(computed, hypotheses)

    return step, AheadState(Beginnings(decoder, src_1S))
