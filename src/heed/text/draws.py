"""Random numbers that follow from a seed alone, for training text that differs from epoch to epoch."""

MASK_64 = (1 << 64) - 1


class Draws:
    """A stream of random numbers that follows from a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed & MASK_64

    def unit(self) -> float:
        """Return a number from 0 to below 1."""
        self._seed = (self._seed + 0x9E3779B97F4A7C15) & MASK_64
        return (mix(self._seed) >> 11) / (1 << 53)

    def below(self, n: int) -> int:
        return int(self.unit() * n)


def mix(z: int) -> int:
    """SplitMix64's output function: 64 bits that look random, from 64 that need not."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK_64
    return z ^ (z >> 31)
