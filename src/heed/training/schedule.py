"""Compute the learning rate: section 5.3, equation (3)."""


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return factor · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5). The first step is number 1."""
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))
