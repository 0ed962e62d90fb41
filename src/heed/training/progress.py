"""Where a training stands, beside weights and optimizer: all the rest that a resumed run needs."""

from dataclasses import dataclass

from heed.training.validate import Validation


@dataclass(frozen=True)
class Progress:
    step: int = 0  # updates made
    bad_batches: int = 0  # updates left out in a row, up to now
    validated_step: int = 0  # the last step validated
    best_step: int = 0  # the best one of them, and its scores
    best_perplexity: float = 0.0
    best_bleu: float = 0.0
    validations_since_best: int = 0

    @property
    def best(self) -> Validation | None:
        return Validation(self.best_perplexity, self.best_bleu, ()) if self.best_step else None
