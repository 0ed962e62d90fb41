"""Compute the learning rate: section 5.3, equation (3), and a cooldown that the paper does not have."""


def learning_rate(step: int, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Return factor · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5). The first step is number 1."""
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))


def cooldown(step: int, max_steps: int, cooldown_steps: int) -> float:
    """Return the share of the learning rate left at a step: 1, falling linearly to 0 in the last `cooldown_steps`."""
    return min(1.0, (max_steps + 1 - step) / (cooldown_steps + 1))
