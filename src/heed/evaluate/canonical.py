"""Normalise lines before they are compared character by character: Unicode NFC, one space between words."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import heed
from heed.evaluate.signature import join_signature

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Signature


def canonical(line: str) -> str:
    """Return the line in NFC with white space collapsed: `é` is one character however it was typed."""
    return " ".join(unicodedata.normalize("NFC", line).split())


def sign_canonical(counted: Signature, unit: str) -> str:
    """Return the signature of a score over canonical lines, counted in these units."""
    return join_signature(
        {
            "nrefs": counted.info["nrefs"],
            "bs": counted.info["bs"],
            "seed": counted.info["seed"],
            "case": "mixed",
            "unicode": "nfc",
            "space": "collapsed",
            "unit": unit,
            "version": f"heed-{heed.__version__}",
        }
    )
