"""Import torch with the garbage collector paused: the import dominates start-up time."""

import gc
import sys


def import_torch() -> None:
    """Import torch with the garbage collector paused. Commands that need torch call this before they import it.

    The import creates hundreds of thousands of permanent objects. Collections during the import would make it a seventh
    slower. Freezing the objects keeps later collections, and the one at exit, from scanning them.
    """
    if "torch" in sys.modules:
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import torch  # noqa: F401

        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
