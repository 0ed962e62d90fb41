"""Being asked to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(Exception):  # noqa: N818 (not an error)
    """Somebody asked to stop: save and go."""


class StopRequest:
    """Ctrl-C and SIGTERM as a flag, looked at between two steps; a second Ctrl-C stops at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # only it may handle signals
            yield
            return
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: object) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
