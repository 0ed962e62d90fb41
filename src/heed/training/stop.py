"""Being asked to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_HANG_UP = getattr(signal, "SIGHUP", None)  # not on Windows
_USER = getattr(signal, "SIGUSR1", None)  # what many have Slurm send before the time is up
_SIGNALS = [number for number in (signal.SIGINT, signal.SIGTERM, _HANG_UP, _USER) if number is not None]


class Interrupted(Exception):  # noqa: N818 (not an error)
    """Somebody asked to stop: save and go."""


class StopRequest:
    """Ctrl-C, SIGTERM, SIGUSR1 and a closed terminal as a flag, looked at between two steps.

    A second Ctrl-C stops at once. The other signals may come several times, once from each of several senders.
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # only it may handle signals
            yield
            return
        # `nohup` asks to ignore the end of the terminal.
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
