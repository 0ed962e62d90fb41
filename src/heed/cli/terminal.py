"""What the terminal, or whatever else standard output is, can show."""

import io
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
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


def wrapped_command(words: Sequence[str]) -> str:
    """Return a command to copy into a shell, indented, with a line break before each option that passes 80 columns."""
    options: list[str] = []  # each with its value; before the first, the verb
    for word in words:
        if word.startswith("--") or not options:
            options.append(shlex.quote(word))
        else:
            options[-1] += f" {shlex.quote(word)}"
    lines = [f"  {options[0]}"]
    for option in options[1:]:
        if len(f"{lines[-1]} {option} \\") > 80:
            lines.append("     ")
        lines[-1] += f" {option}"
    return " \\\n".join(lines)
