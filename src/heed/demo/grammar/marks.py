"""Mark each word with the part of the tree that it renders, so that both renderings of a tree can be aligned.

The nodes of a tree that is to be aligned are numbered. `english.py` and `german.py` pass every word through `say`,
`say_first` or `fill`, which append one character per role to the words of a numbered node, and nothing to others.
"""

import re
from enum import IntEnum


class Role(IntEnum):
    """What a word renders of its node."""

    # of a clause
    VERB = 0
    TENSE = 1  # auxiliaries and modals; without one, the verb itself
    PARTICLE = 2  # "up" in "wakes up", "auf" in "wacht ... auf"; without one, the verb itself
    GOVERNED = 3  # "for" in "waits for", "auf" in "wartet auf"; without one, the verb itself
    NOT = 4
    SUBJECT = 5
    OBJECT = 6
    RECIPIENT = 7
    TO = 8  # English "to", and the German dative
    FREQUENCY = 9
    MANNER = 10
    TIME = 11
    PLACE = 12
    # of a noun phrase
    NOUN = 13
    DETERMINER = 14  # without one, the noun itself
    ADJECTIVE = 15
    OWNED = 16  # English "of", and the German genitive
    RELATIVE = 17
    # of the others
    FIRST = 18
    AND = 19
    SECOND = 20
    PREPOSITION = 21
    NOMINAL = 22
    DEGREE = 23
    QUALITY = 24
    THAN = 25
    STANDARD = 26
    CONJUNCTION = 27
    ASKS = 28
    PLEASE = 29


_ROLES = 32
_FIRST_MARK = 0xE000  # private use: no text has these characters
_MARKS = re.compile("[\ue000-\uf8ff]")
# A mark stands before a comma that follows its word.
_WORD_END = re.compile("(?<=[^ ,])(?=,*(?: |$))")
_UNMARKED_WORD = re.compile("(?:(?<= )|^)[^ ,\ue000-\uf8ff]+(?=,*(?: |$))")


class Node:
    """A part of a tree. Its number is 0 unless the tree is being aligned."""

    __slots__ = ("number",)
    number: int

    def say(self, text: str, *roles: Role) -> str:
        """Mark every word of a text with the roles."""
        return _WORD_END.sub(self._mark(roles), text) if self.number else text

    def say_first(self, text: str, role: Role) -> str:
        """Mark the first word of a text."""
        return _WORD_END.sub(self._mark((role,)), text, count=1) if self.number else text

    def fill(self, text: str, role: Role) -> str:
        """Mark those words of a text that have no mark, such as pronouns and names, which are not nodes."""
        return _UNMARKED_WORD.sub(lambda word: word[0] + self._mark((role,)), text) if self.number else text

    def _mark(self, roles: tuple[Role, ...]) -> str:
        return "".join([chr(_FIRST_MARK + _ROLES * self.number + role) for role in roles])


def unmarked(text: str) -> str:
    return _MARKS.sub("", text)


def marks(word: str) -> str:
    """Return the marks of one word."""
    return "".join(_MARKS.findall(word))


def units(word: str) -> set[tuple[int, Role]]:
    """Return the marks of one word as pairs of a node's number and a role."""
    codes = [divmod(ord(mark) - _FIRST_MARK, _ROLES) for mark in marks(word)]
    return {(number, Role(role)) for number, role in codes}
