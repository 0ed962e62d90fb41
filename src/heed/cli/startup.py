"""Importing torch, which is most of what the first word waits for."""

import gc
import sys


def import_torch() -> None:
    """Import torch while the garbage collector rests. Verbs that need it call this before they import it.

    An import makes hundreds of thousands of objects that all stay. Looked through for garbage again and again, they
    make importing a seventh slower; frozen, they are not looked through later either, nor when the process ends.
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
