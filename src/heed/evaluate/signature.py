"""Write signatures: `key:value|key:value`, as sacreBLEU writes them.

A result must be reproducible, so every score records how it was computed and, if known, how the translations were made.
"""

from collections.abc import Mapping

# A value may contain the separators (a Windows path does); percent-encoding keeps it readable.
_ESCAPES = str.maketrans({"%": "%25", "|": "%7C", ":": "%3A"})


def join_signature(pairs: Mapping[str, object]) -> str:
    """Return `key:value` for each pair, joined by bars, without pairs whose value is None."""
    return "|".join(f"{key}:{_written(value)}" for key, value in pairs.items() if value is not None)


def decoding_signature(
    *, beam: int, alpha: float, checkpoint: str | None, model_hash: str | None, heed_version: str
) -> str:
    """Return how translations were made, for the signature of their score (`Score.made_by`)."""
    return join_signature(
        {"beam": beam, "alpha": alpha, "checkpoint": checkpoint, "model": model_hash, "heed": heed_version}
    )


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).translate(_ESCAPES)
