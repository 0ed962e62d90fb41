"""Find damaged characters in a line, and repair those whose repair is certain.

Mojibake here is UTF-8 that was decoded as Latin-1 or Windows-1252: each byte became a character of its own.
"""

import html
import re
from collections.abc import Collection

MARK = "\ufeff"
_UNUSABLE = re.compile("[\ufffd\ufeff\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
# A tab is ordinary white space here; "\n" cannot occur.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ENTITY = re.compile(r"&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[A-Za-z]{2,8}\d{0,2});")
_DOUBLE_ENTITY = re.compile(r"&amp;(?:amp;)*(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[A-Za-z]{2,8}\d{0,2});")


def _in_windows_1252(byte: int) -> str:
    """Decode a byte as Windows-1252, or as Latin-1 where Windows-1252 has no character."""
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_BYTE_OF = {char: byte for byte in range(0x80, 0x100) for char in (chr(byte), _in_windows_1252(byte))}


def _characters_for_bytes(first: int, last: int) -> str:
    return "".join(re.escape(char) for char, byte in _BYTE_OF.items() if first <= byte <= last)


# UTF-8 sequences of two to four bytes, each byte as a character.
_CONTINUATION = f"[{_characters_for_bytes(0x80, 0xBF)}]"
_MOJIBAKE = re.compile(
    f"(?:[{_characters_for_bytes(0xC2, 0xDF)}]{_CONTINUATION}|[{_characters_for_bytes(0xE0, 0xEF)}]{_CONTINUATION}{{2}}"
    f"|[{_characters_for_bytes(0xF0, 0xF4)}]{_CONTINUATION}{{3}})+"
)
# An accented letter before a quotation mark, a dash or a superscript ("CAFÉ”") looks like mojibake by chance:
# characters that follow letters in normal text prove nothing.
_USUAL_AFTER_LETTERS = "\u00a0\u00ab\u00bb‘’“”„‚‹›–—…™©®ªº²³¹°·´¨•œšžŒŠŽ"


def _decoded(mojibake: re.Match[str]) -> str:
    try:
        return bytes(_BYTE_OF[char] for char in mojibake[0]).decode("utf-8")
    except UnicodeDecodeError:
        return mojibake[0]


def _is_mojibake(text: str) -> bool:
    """Return whether a text is certainly mojibake, and not normal text that happens to look like it."""
    runs = [run[0] for run in _MOJIBAKE.finditer(text) if _decoded(run) != run[0]]
    if any(_is_proof(char) for run in runs for char in run):
        return True
    # If the rest of the line is ASCII, two such runs (Polish, Czech) are no accident, nor is a capital Ã or Â (from
    # "à" or a no-break space).
    rest_is_ascii = all(char.isascii() for char in _MOJIBAKE.sub("", text))
    return rest_is_ascii and (sum(map(len, runs)) >= 4 or any(run.startswith(("Ã", "Â")) for run in runs))


def _is_proof(char: str) -> bool:
    """Return whether this character, read as a continuation byte, would be unusual after a letter in normal text."""
    byte = _BYTE_OF[char]
    return byte < 0xC0 and _in_windows_1252(byte) not in _USUAL_AFTER_LETTERS


def repair_mojibake(text: str) -> str:
    """Decode mojibake again, up to three times, because text may have been decoded wrongly more than once."""
    for _ in range(3):
        if not _is_mojibake(text):
            break
        text = _MOJIBAKE.sub(_decoded, text)
    return text


def damages(text: str) -> list[str]:
    """Return the names of the kinds of damage in a line."""
    found = []
    if "\ufffd" in text:
        found.append("replacement")
    if _PRIVATE.search(text):
        found.append("private-use")
    mojibake = _is_mojibake(text)
    if mojibake:
        found.append("mojibake")
    if "&" in text:
        if _DOUBLE_ENTITY.search(text):
            found.append("double-entity")
        elif _ENTITY.search(text):
            found.append("entity")
    # Latin-1 turns some bytes into control characters; the repair of mojibake removes them.
    if _CONTROL.search(repair_mojibake(text) if mojibake else text):
        found.append("control")
    if MARK in text:
        found.append("byte-order-mark")
    return found


def first_damage(text: str) -> int:
    """Return the position of the first character that may be damaged, or 0."""
    found = [pattern.search(text) for pattern in (_UNUSABLE, _CONTROL, _DOUBLE_ENTITY, _MOJIBAKE)]
    return min((match.start() for match in found if match), default=0)


def repair(text: str, kinds: Collection[str]) -> str:
    """Repair these kinds of damage in a text, as far as they can be repaired.

    Mojibake is decoded again, HTML escaped twice is unescaped, byte-order marks are removed. A control character in
    the range that Windows-1252 uses for characters becomes that character (\\x92 an apostrophe), any other a space.
    """
    if "mojibake" in kinds:
        text = repair_mojibake(text)
    if "double-entity" in kinds:
        text = _DOUBLE_ENTITY.sub(lambda entity: _unescaped(entity[0]), text)
    if "control" in kinds:
        text = _CONTROL.sub(lambda old: new if (new := _in_windows_1252(ord(old[0]))) != old[0] else " ", text)
    if "byte-order-mark" in kinds:
        text = text.replace(MARK, "")
    return text


def _unescaped(entity: str) -> str:
    while (plain := html.unescape(entity)) != entity:
        entity = plain
    return entity.replace("\n", " ").replace("\t", " ")  # a line must stay one line, a column one column
