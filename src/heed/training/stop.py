"""Turn signals into a request to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_HANG_UP = getattr(signal, "SIGHUP", None)  # not on Windows
_USER = getattr(signal, "SIGUSR1", None)  # Slurm jobs often ask for it before their time limit
_SIGNALS = [number for number in (signal.SIGINT, signal.SIGTERM, _HANG_UP, _USER) if number is not None]


class Interrupted(Exception):  # noqa: N818 (not an error)
    """Raised to leave the training after a stop request: save and exit."""


class StopRequest:
    """Turn Ctrl-C, SIGTERM, SIGUSR1 and a closed terminal into a flag, which is checked between two steps.

    A second Ctrl-C stops at once. The other signals may be repeated: several senders may send one each.
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals within the block."""
        if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
            yield
            return
        # Respect `nohup`, which ignores SIGHUP.
        numbers = [n for n in _SIGNALS if not (n == _HANG_UP and signal.getsignal(n) == signal.SIG_IGN)]
        before = {number: signal.signal(number, self._ask) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: object) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
