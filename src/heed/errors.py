"""Define every error that heed raises on purpose.

    HeedError
    ├── ConfigError       an invalid setting (the command exits with 2)
    ├── DataError         a corpus or text file that cannot be used as it is
    ├── TokenizerError    a vocabulary that cannot be learnt or read, or does not fit
    ├── CheckpointError   a run folder that is missing, locked, changed or of another format
    │   └── DamageError   a file in it that is not what was written: truncated, corrupted, missing
    ├── DecodeError       a translation request that cannot be carried out
    └── TrainingError     a training that cannot continue
        └── DivergedError because its loss, its gradient or its model is no longer finite

A message says what is wrong, with the value, where, and what to do next. Wrong types and shapes from a programmer
stay `TypeError` and `ValueError`. Only `cli/main.py` turns these errors into exit codes.
"""

import re

# All but line end and tab, and lone surrogates, which cannot be printed at all.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """Return the text with control characters escaped, so that a file's content cannot control the terminal."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


class HeedError(Exception):
    """Base class of all errors that a user can do something about."""

    def __str__(self) -> str:
        return printable(super().__str__())


class ConfigError(HeedError):
    """A setting that is unknown, of the wrong type, or contradicts another."""


class DataError(HeedError):
    """A corpus that cannot be used as it is: missing, misaligned, empty, not UTF-8."""


class TokenizerError(HeedError):
    """A vocabulary that cannot be learnt or read, or does not fit the model."""


class CheckpointError(HeedError):
    """A run folder that is missing, damaged, in use, or of another format version."""


class DamageError(CheckpointError):
    """A file that is not what was written. An older checkpoint may be intact."""


class DecodeError(HeedError):
    """A translation request that cannot be carried out as asked."""


class TrainingError(HeedError):
    """A training that cannot continue."""


class DivergedError(TrainingError):
    """A training whose loss, gradient or model is no longer finite: other settings may help."""
