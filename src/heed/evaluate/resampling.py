"""Pass the seed of bootstrap resampling to sacreBLEU.

sacreBLEU takes its seed only from an environment variable. Here the seed is an argument; the variable is set while
sacreBLEU computes, and restored afterwards.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from heed.errors import ConfigError

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's default, so that our intervals equal those of its command line
MIN_RESAMPLES = 100  # a 95 % interval drops 1/40 at each end, which takes at least this many to be stable

_VARIABLE = "SACREBLEU_SEED"
_environment = threading.Lock()


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """Let sacreBLEU resample with this seed inside the `with` block."""
    # Refuse 0, which sacreBLEU's paired test takes for "no seed".
    if seed < 1:
        raise ConfigError(f"the seed of resampling must be at least 1, not {seed}")
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
    """Check that there are enough resamples for a 95 % interval or a test.

    Raises:
        ConfigError: there are too few.
    """
    if resamples < MIN_RESAMPLES:
        raise ConfigError(f"{resamples} resamples are too few; use at least {MIN_RESAMPLES}")
