"""Lock a run folder, so that only one process at a time works in it.

The holder locks the file `lock` in the folder with `flock`. The system releases it however the process ends, kill -9
and power cuts included, so there are no stale locks to remove by hand. The content of the file (process, host, start
time) is for messages only.

Windows has no `flock`: there, nothing is ever locked.
"""

import json
import os
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
_ACQUIRE_SECONDS = 0.5  # how long to try: `is_held` in another process takes the lock for an instant


class FolderLock:
    """Hold a lock from `acquire` until `release` or the end of a `with` block."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor  # not a file object, whose garbage collection would unlock

    @classmethod
    def acquire(cls, folder: Path) -> "FolderLock":
        """Lock an existing folder.

        Raises:
            CheckpointError: another process holds the lock, or the file system does not support locks.
        """
        if sys.platform == "win32":
            return cls(None)
        descriptor = _opened(folder)
        try:
            holder = {
                "pid": os.getpid(),
                "host": os.uname().nodename,
                "since": datetime.now().astimezone().isoformat(timespec="seconds"),
            }
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(holder).encode() + b"\n")
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        if sys.platform == "win32" or self._descriptor is None:
            return
        os.ftruncate(self._descriptor, 0)
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # explicitly: forked children share the descriptor
        os.close(self._descriptor)
        self._descriptor = None

    def delete(self, folder: Path) -> None:
        """Delete the lock's file, for a folder that shall have none, and release the lock."""
        (folder / NAME).unlink(missing_ok=True)
        self.release()

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @staticmethod
    def is_held(folder: Path) -> bool:
        """Return whether a process, this one included, holds the folder's lock right now."""
        if sys.platform == "win32":
            return False
        try:
            descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        try:
            # A shared lock: two processes asking at the same time must not mistake each other for a holder.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks, where `acquire` always fails
            return False
        finally:
            os.close(descriptor)
        return False


@contextmanager
def exclusive_access(folder: Path) -> Iterator[None]:
    """Let only one process at a time into such a block for the same folder, without creating a file.

    Keep the block short: others wait. Where a folder cannot be locked, this does nothing.
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


def _opened(folder: Path) -> int:
    """Open and lock the file."""
    while True:
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor, folder)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has just deleted it: another process may lock a new file of the same name


def _lock(descriptor: int, folder: Path) -> None:
    if sys.platform == "win32":
        return
    deadline = time.monotonic() + _ACQUIRE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CheckpointError(
                    f"{folder}: in use by {_holder(folder)}; wait until it ends, or stop it (it saves first)"
                ) from None
            time.sleep(0.02)
        except OSError as error:
            raise CheckpointError(
                f"{folder}: cannot be locked ({error.strerror}), so two trainings could write to it at once; "
                "put the run on a file system that supports locks"
            ) from error


def _holder(folder: Path) -> str:
    """Describe the process that holds the lock, from the lock file."""
    try:
        found = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return f"process {found['pid']} on {found['host']} since {found['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"
