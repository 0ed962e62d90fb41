"""Section 6.1: the length penalty."""


def length_penalty(length: int, alpha: float) -> float:
    """Return lp(Y) = ((5 + |Y|) / 6)^α, counting the end token; the score of a hypothesis is log P(Y|X) / lp(Y)."""
    return float(((5 + length) / 6) ** alpha)
