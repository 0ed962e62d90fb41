"""Signatures: `key:value|key:value`, as sacreBLEU writes them.

A number nobody can make again is no result, so every score says how it was counted and, where it is
known, how the translations were made.
"""

from collections.abc import Mapping

# A value may hold the separators (a Windows path does); percent-encoded, it can still be read back.
_ESCAPES = str.maketrans({"%": "%25", "|": "%7C", ":": "%3A"})


def join_signature(pairs: Mapping[str, object]) -> str:
    """`key:value` for each pair, joined by bars; pairs whose value is None are left out."""
    return "|".join(f"{key}:{_written(value)}" for key, value in pairs.items() if value is not None)


def decoding_signature(
    *, beam: int, alpha: float, checkpoint: str | None, model_hash: str | None, heed_version: str
) -> str:
    """How translations were made, to go into the signature of their score (`Score.made_by`)."""
    return join_signature(
        {"beam": beam, "alpha": alpha, "checkpoint": checkpoint, "model": model_hash, "heed": heed_version}
    )


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).translate(_ESCAPES)
