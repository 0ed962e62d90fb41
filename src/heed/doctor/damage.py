"""Damaged characters in one line: finding them, and repairing those whose repair is certain."""

import html
import re
from collections.abc import Collection

MARK = "\ufeff"
_UNUSABLE = re.compile("[\ufffd\ufeff\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
# A tab is white space as any other here; "\n" cannot occur.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ENTITY = re.compile(r"&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[A-Za-z]{2,8}\d{0,2});")
_DOUBLE_ENTITY = re.compile(r"&amp;(?:amp;)*(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[A-Za-z]{2,8}\d{0,2});")


def _in_windows(byte: int) -> str:
    """A byte as Windows-1252 shows it, and as Latin-1 does where that has nothing."""
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_BYTE_OF = {shown: byte for byte in range(0x80, 0x100) for shown in (chr(byte), _in_windows(byte))}


def _shown_as(first: int, last: int) -> str:
    return "".join(re.escape(char) for char, byte in _BYTE_OF.items() if first <= byte <= last)


# Characters of two to four bytes in UTF-8, each byte shown as a character of its own.
_FOLLOWS = f"[{_shown_as(0x80, 0xBF)}]"
_TORN = re.compile(
    f"(?:[{_shown_as(0xC2, 0xDF)}]{_FOLLOWS}|[{_shown_as(0xE0, 0xEF)}]{_FOLLOWS}{{2}}"
    f"|[{_shown_as(0xF0, 0xF4)}]{_FOLLOWS}{{3}})+"
)
# An accented letter before a quotation mark, a dash or a raised number ("CAFÉ”") is torn by chance only: what may
# stand after a letter in good text proves nothing.
_AFTER_LETTERS = "\u00a0\u00ab\u00bb‘’“”„‚‹›–—…™©®ªº²³¹°·´¨•œšžŒŠŽ"


def _joined(torn: re.Match[str]) -> str:
    try:
        return bytes(_BYTE_OF[char] for char in torn[0]).decode("utf-8")
    except UnicodeDecodeError:
        return torn[0]


def _torn_surely(text: str) -> bool:
    """Whether text is UTF-8 read as Latin-1 or Windows-1252, and not good text that happens to look like it."""
    runs = [run[0] for run in _TORN.finditer(text) if _joined(run) != run[0]]
    if any(_proves(char) for run in runs for char in run):
        return True
    # All of the line's other characters fit, too: two such runs (Polish, Czech) are no accident, nor is a capital
    # Ã or Â (a torn "à" or no-break space).
    whole = all(char.isascii() for char in _TORN.sub("", text))
    return whole and (sum(map(len, runs)) >= 4 or any(run.startswith(("Ã", "Â")) for run in runs))


def _proves(char: str) -> bool:
    """Whether this character, which continues a torn one, would be strange after a letter."""
    byte = _BYTE_OF[char]
    return byte < 0xC0 and _in_windows(byte) not in _AFTER_LETTERS


def mend_torn(text: str) -> str:
    """Text with its torn characters joined again, also if that happened to it twice."""
    for _ in range(3):
        if not _torn_surely(text):
            break
        text = _TORN.sub(_joined, text)
    return text


def damages(text: str) -> list[str]:
    """The names of the kinds of damage in a line."""
    found = []
    if "\ufffd" in text:
        found.append("replacement")
    if _PRIVATE.search(text):
        found.append("private-use")
    torn = _torn_surely(text)
    if torn:
        found.append("mojibake")
    if "&" in text:
        if _DOUBLE_ENTITY.search(text):
            found.append("double-entity")
        elif _ENTITY.search(text):
            found.append("entity")
    # Latin-1 shows some bytes of a torn character as control characters; they go when it is mended.
    if _CONTROL.search(mend_torn(text) if torn else text):
        found.append("control")
    if MARK in text:
        found.append("byte-order-mark")
    return found


def first_damage(text: str) -> int:
    """Where to look: the place of the first character that may be damaged, 0 if there is none."""
    found = [pattern.search(text) for pattern in (_UNUSABLE, _CONTROL, _DOUBLE_ENTITY, _TORN)]
    return min((match.start() for match in found if match), default=0)


def repair(text: str, kinds: Collection[str]) -> str:
    """Text without these kinds of damage, of those that can be repaired.

    Torn characters are joined; HTML escaped twice is unescaped; byte-order marks are taken out. A control character
    in the range Windows-1252 uses for characters becomes that character (\\x92 an apostrophe), any other a space.
    """
    if "mojibake" in kinds:
        text = mend_torn(text)
    if "double-entity" in kinds:
        text = _DOUBLE_ENTITY.sub(lambda entity: _unescaped(entity[0]), text)
    if "control" in kinds:
        text = _CONTROL.sub(lambda char: shown if (shown := _in_windows(ord(char[0]))) != char[0] else " ", text)
    if "byte-order-mark" in kinds:
        text = text.replace(MARK, "")
    return text


def _unescaped(entity: str) -> str:
    while (plain := html.unescape(entity)) != entity:
        entity = plain
    return entity.replace("\n", " ").replace("\t", " ")  # a line must stay one line, a column one column
