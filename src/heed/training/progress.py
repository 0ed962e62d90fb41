"""Count a training's progress: everything that a resume needs besides weights and optimizer."""

from dataclasses import dataclass, field
from typing import Any

from heed.training.validate import Validation


@dataclass(frozen=True)
class Progress:
    """Hold the counters that a checkpoint's manifest stores."""

    step: int = 0  # steps made
    bad_batches: int = 0  # steps skipped in a row, up to now
    validated_step: int = 0  # the last validated step
    best_step: int = 0  # the best validated step; 0: none yet
    best_scores: dict[str, float] = field(default_factory=dict)
    validations_since_best: int = 0

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Progress":
        """Read the counters from a checkpoint's manifest, including one written by heed 0.1.0."""
        state = dict(state)
        if "best_bleu" in state:  # 0.1.0 had two scores, and wrote zeros before the first validation
            scores = {key: state.pop(f"best_{key}") for key in ("perplexity", "bleu")}
            state["best_scores"] = scores if state["best_step"] else {}
        return cls(**state)

    @property
    def best(self) -> Validation | None:
        """Return the best validation so far."""
        return Validation(self.best_scores) if self.best_step else None
