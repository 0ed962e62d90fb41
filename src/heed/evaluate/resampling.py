"""The seed of bootstrap resampling, handed to sacreBLEU.

sacreBLEU takes its seed from an environment variable and from nowhere else. Here the seed is an argument;
the variable is set while sacreBLEU counts and afterwards is what it was.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from heed.errors import ConfigError

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's own, so that our intervals are those of its command line
FEWEST_RESAMPLES = 100  # 95 % intervals leave out 1/40 at each end; below this there is hardly an end

_VARIABLE = "SACREBLEU_SEED"
_environment = threading.Lock()


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """Let sacreBLEU resample with this seed inside the `with` block."""
    # Zero is refused because sacreBLEU's paired test takes it for "no seed" and draws a fresh one.
    if seed < 1:
        raise ConfigError(f"the seed of resampling must be 1 or more, not {seed}")
    with _environment:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = str(seed)
        try:
            yield
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before


def require_resamples(resamples: int) -> None:
    """
    Raises:
        ConfigError: too few resamples for a 95 % interval or a test to mean anything.
    """
    if resamples < FEWEST_RESAMPLES:
        raise ConfigError(f"{resamples} resamples are too few; use {FEWEST_RESAMPLES} or more")
