"""Write numbers for people, the same way everywhere."""


def counted(n: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: "1 pair", "2,000 pairs"; `plural` is for nouns that do not simply add an s."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def perplexity(value: float) -> str:
    """Write a perplexity: two digits after the point, and never more than eight characters below 1e100."""
    return f"{value:.2f}" if value < 99_999.995 else f"{value:.2e}"


def gigabytes(n_bytes: float) -> str:
    """Write a size in memory: "640 MB", "3.2 GB"."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
