"""Format numbers and suggestions for messages, the same way everywhere."""

import difflib
from collections.abc import Iterable

TORCH_IS_MISSING = (
    "PyTorch is not installed: pip install 'heed[train]'. Only translating and scoring work without it, and need a C "
    "compiler"
)


def counted(n: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: "1 pair", "2,000 pairs"; `plural` is for nouns that do not simply add an s."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def perplexity(value: float) -> str:
    """Write a perplexity: two digits after the point, and never more than eight characters below 1e100."""
    return f"{value:.2f}" if value < 99_999.995 else f"{value:.2e}"


def gigabytes(n_bytes: float) -> str:
    """Write a size in memory: "640 MB", "3.2 GB"."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the known name nearest to a wrong one: '; did you mean "train"?', or "" if none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{near[0]}"?' if near else ""
