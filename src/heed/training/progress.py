"""Where a training stands, beside weights and optimizer: all the rest that a resumed run needs."""

from dataclasses import dataclass, field
from typing import Any

from heed.training.validate import Validation


@dataclass(frozen=True)
class Progress:
    step: int = 0  # updates made
    bad_batches: int = 0  # updates left out in a row, up to now
    validated_step: int = 0  # the last step validated
    best_step: int = 0  # the best one of them, and its scores
    best_scores: dict[str, float] = field(default_factory=dict)
    validations_since_best: int = 0

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Progress":
        """Read what a checkpoint's manifest says, also one that heed 0.1.0 wrote."""
        state = dict(state)
        if "best_bleu" in state:  # 0.1.0 knew two scores, and wrote zeros before the first validation
            scores = {key: state.pop(f"best_{key}") for key in ("perplexity", "bleu")}
            state["best_scores"] = scores if state["best_step"] else {}
        return cls(**state)

    @property
    def best(self) -> Validation | None:
        return Validation(self.best_scores) if self.best_step else None
