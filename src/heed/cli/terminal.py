"""What the terminal, or whatever else standard output is, can show."""

import io
import os
import shutil
import sys
from typing import TextIO


def width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def can_show(characters: str) -> bool:
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def has_colours(stream: TextIO | None = None) -> bool:
    """Whether a stream, standard output unless another is given, shows colours and they are wanted."""
    return (stream or sys.stdout).isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def escape_what_it_cannot_show() -> None:
    """A folder's name may hold any character: print it as \\xfc rather than fail."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
