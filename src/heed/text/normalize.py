"""Normalise text to the one form that the model reads and writes."""

import re
import unicodedata

# A character class for regular expressions: all white space (U+2028 too) and control characters (NUL, tab, escape),
# without the space itself. A run of them becomes one space, so one line in is always one line out.
ODD_BLANKS = "\x00-\t\n\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANKS = re.compile(f"[ {ODD_BLANKS}]+")

# Sentencepiece writes a space as this character. In a text it looks like an underscore, and becomes one.
SPACE_MARK = "\u2581"

# Without any of these (a lone surrogate has no UTF-8 form), only NFC and stripping can change a text.
_UNUSUAL = re.compile(f"[{ODD_BLANKS}{SPACE_MARK}\ud800-\udfff]")


def normalize(text: str) -> str:
    """Return a text in Unicode NFC, with single spaces and none at the ends; applying it twice changes nothing.

    It deliberately does little: no case folding and no compatibility forms, so "½", "ﬁ" and "Ａ" stay as they are.
    """
    if _UNUSUAL.search(text) is None and "  " not in text:  # nearly every line
        return unicodedata.normalize("NFC", text).strip(" ")
    text = unicodedata.normalize("NFC", text.replace(SPACE_MARK, "_"))
    # A lone surrogate (half of a pair, which JSON may hold) becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return _BLANKS.sub(" ", text).strip(" ")
