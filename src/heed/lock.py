"""One process at a time in a run folder.

The file `lock` in the folder is locked with `flock` for as long as the holder lives: the system lets go of it
however the process ends, kill -9 and power cuts included, so there are no stale locks to remove by hand. What
stands in the file (process, host, since when) is for people and means nothing once the lock is free.

Windows has no `flock`: there, nothing is locked and nothing is ever held.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType

from heed.errors import CheckpointError

if sys.platform != "win32":
    import fcntl

NAME = "lock"
_PATIENCE = 0.5  # seconds; somebody asking `is_held` holds the lock for an instant


class FolderLock:
    """A held lock: made by `acquire`, given back by `release` or at the end of a `with`."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor  # a number and not a file object: forgetting it must not unlock

    @classmethod
    def acquire(cls, folder: Path) -> "FolderLock":
        """Lock an existing folder.

        Raises:
            CheckpointError: another process holds the lock, or the file system knows no locks.
        """
        if sys.platform == "win32":
            return cls(None)
        # The file is never removed: two processes could then lock two files of the same name.
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor, folder)
            holder = {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "since": datetime.now().astimezone().isoformat(timespec="seconds"),
            }
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(holder).encode() + b"\n")
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Let others have the folder. A second call does nothing."""
        if sys.platform == "win32" or self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # for forked children, too, who share it
        os.close(self._descriptor)
        self._descriptor = None

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @staticmethod
    def is_held(folder: Path) -> bool:
        """Whether a process, this one included, holds the folder's lock right now."""
        if sys.platform == "win32":
            return False
        try:
            descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        try:
            # Shared: two who ask at the same time must not take each other for a holder.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks: `acquire` fails there, so nobody has one
            return False
        finally:
            os.close(descriptor)
        return False


@contextmanager
def exclusive_access(folder: Path) -> Iterator[None]:
    """For an instant: no two processes are in such a block of the same folder at once. Leaves no file in it.

    Where a folder cannot be locked, it does nothing.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    if sys.platform == "win32":
        return
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CheckpointError(
                    f"{folder}: in use by {_holder(folder)}; wait until it has ended, or stop it (it saves first)"
                ) from None
            time.sleep(0.02)
        except OSError as error:
            raise CheckpointError(
                f"{folder}: cannot be locked ({error.strerror}), so two trainings could write into it unnoticed; "
                "put the run on a file system with locks"
            ) from error


def _holder(folder: Path) -> str:
    """Who wrote the lock file, as far as can be read."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return f"process {found['pid']} on {found['host']} since {found['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"
