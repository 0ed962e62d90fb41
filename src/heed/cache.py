"""The user's cache folder, for derived files that can be made again, such as compiled kernels."""

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """Return ~/.cache/heed or $XDG_CACHE_HOME/heed, creating it if needed; None: there is none and cannot be one."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not caches.is_absolute():  # to be ignored, says the XDG Base Directory Specification
            caches = Path.home() / ".cache"
        folder = caches / "heed"
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError):  # Path.home raises RuntimeError without HOME and a known user
        return None
    return folder


def is_private(state: os.stat_result) -> bool:
    """Return whether only this user and root can have written it."""
    return not hasattr(os, "geteuid") or (state.st_uid == os.geteuid() and not state.st_mode & 0o022)
