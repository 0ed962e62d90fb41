"""Find the user's cache folder, for files that can be created again, such as compiled kernels."""

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """Return ~/.cache/heed, created if needed; None if there is no home folder, or it is not writable."""
    try:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(caches) / "heed"
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError):  # Path.home raises RuntimeError without HOME and a known user
        return None
    return folder


def is_private(state: os.stat_result) -> bool:
    """Return whether only this user (and root) can have written the file or folder."""
    return not hasattr(os, "geteuid") or (state.st_uid == os.geteuid() and not state.st_mode & 0o022)
