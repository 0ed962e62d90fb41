"""Section 6.1: the length penalty."""


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α, the end symbol counted; a hypothesis scores log P(Y|X) / lp(Y)."""
    return float(((5 + length) / 6) ** alpha)
