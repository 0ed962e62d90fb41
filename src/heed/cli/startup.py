"""Import torch with the garbage collector paused: the import dominates start-up time."""

import gc
import sys

from heed.errors import ConfigError
from heed.wording import TORCH_IS_MISSING


def import_torch() -> None:
    """Import torch with the garbage collector paused. Commands that need torch call this before they import it.

    The import creates hundreds of thousands of permanent objects. Collections during the import would make it a seventh
    slower. Freezing the objects keeps later collections, and the one at exit, from scanning them.

    Raises:
        ConfigError: torch is not installed.
    """
    if "torch" in sys.modules:
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import torch  # noqa: F401

        gc.freeze()
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ConfigError(TORCH_IS_MISSING) from None
    finally:
        if was_enabled:
            gc.enable()
