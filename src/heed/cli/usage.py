"""Parse a command line, and suggest a correction for a wrong one."""

import argparse
import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NoReturn

from heed.errors import ConfigError

_NEGATIVE_NUMBER = re.compile(r"^-\d+$|^-\d*\.\d+$")  # argparse takes these for values


class Parser(argparse.ArgumentParser):
    """An argument parser that raises a ConfigError with a suggestion, instead of exiting."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False, **options)

    def add_other_options(self) -> argparse._ArgumentGroup:
        """Add the options that every command has, below its own."""
        other = self.add_argument_group("other options")
        other.add_argument("-h", "--help", action="help", help="show this page")
        other.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
        )
        return other

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        words = list(args)
        self._check_words(words)
        found, left = super().parse_known_args(words, namespace)
        if left:
            self.error(self._not_expected(left[0], words))
        return found, left

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{self.prog}: {message}\nsee {self.prog} --help")

    # --- diagnosis of wrong usage ---------------------------------------------------------------------------

    def _check_words(self, words: Sequence[str]) -> None:
        """Refuse an unknown option before its value is taken for something else; refuse an unknown command."""
        commands = next((a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction)), None)
        for i, word in enumerate(words):
            if word == "--":
                return
            if _is_option(word):
                name, _, value = word.partition("=")
                if not any(known.startswith(name) for known in self._option_string_actions):
                    self.error(self._unknown_option(name, value or _value(words[i + 1 :])))
            elif commands is not None:
                if word not in commands:
                    near = difflib.get_close_matches(word, commands, n=1)
                    guess = f"did you mean {near[0]}?" if near else f"choose from {', '.join(commands)}"
                    self.error(f'unknown command "{word}"; {guess}')
                return  # the rest is for that command

    def _unknown_option(self, name: str, value: str) -> str:
        known = {option[2:]: option for option in self._option_string_actions if option.startswith("--")}
        if "set" in known:
            from heed.config import all_settings

            takes = str(self._option_string_actions["--set"].metavar)  # SECTION.KEY=VALUE, or one section's
            for setting in all_settings():
                if not takes.startswith(("SECTION.", f"{setting.section}.")):
                    continue
                known.setdefault(setting.key.replace("_", "-"), f"--set {setting.section}.{setting.key}=")
        word = name.lstrip("-").replace("_", "-")
        (near,) = difflib.get_close_matches(word, known, n=1) or [""]
        meant = known.get(near, "")
        if meant.endswith("=") and near == word:
            return f"unknown option {name}; it is a setting: {meant}{value or '...'}"
        return f"unknown option {name}" + (f"; did you mean {meant.replace('=', '=...')}?" if near else "")

    def _not_expected(self, word: str, words: Sequence[str]) -> str:
        """Return a message for a word that belongs to no option."""
        if named := [action.dest for action in self._get_positional_actions()]:
            return f"{word}: unexpected argument; only {' '.join(named)} is given without an option"
        given = {one.partition("=")[0] for one in words}
        first_group = next(group._group_actions for group in self._action_groups if group._group_actions)
        free = {
            str(action.metavar): option
            for action in reversed(first_group)
            if (option := action.option_strings[0]) not in given and not option.startswith("--out")
        }
        meant = free.get("FOLDER" if Path(word).is_dir() else "FILE")
        if meant == "--input" and _looks_like_text(word):
            return f"{word}: unexpected argument; text is read from standard input: echo {quote(word)} | {self.prog}"
        return f"{word}: unexpected argument; " + (f"use {meant} {word}" if meant else "it belongs to no option")


def _looks_like_text(word: str) -> bool:
    """Return whether a word is rather something to translate than the name of a file."""
    path = Path(word)
    return not path.exists() and (" " in word or not (path.suffix or path.name != word))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and " " not in word and not _NEGATIVE_NUMBER.match(word)


def _value(words: Sequence[str]) -> str:
    """Return the word that follows an option, if it is a value."""
    return words[0] if words and not _is_option(words[0]) else ""
