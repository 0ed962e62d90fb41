"""Find out what the terminal, or whatever standard output goes to, can show."""

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
    """Return whether a stream (default: standard output) shows colours and the user wants them."""
    return (stream or sys.stdout).isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def escape_what_it_cannot_show() -> None:
    """Print characters the terminal lacks as \\xfc, rather than fail: a folder's name may hold any character."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def wrapped_command(words: Sequence[str]) -> str:
    """Return a command to copy into a shell, indented, and broken before options that would pass 80 columns."""
    options: list[str] = []  # first the command, then each option with its values
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
