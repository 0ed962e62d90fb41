"""The one form of text the model sees and writes."""

import re
import unicodedata

# White space of every kind (U+2028 too) and control characters (NUL, tab, escape), the space itself apart; to be put
# into a regular expression's brackets. Each run is one space, so no text can break the rule that one line in is one
# line out.
ODD_BLANKS = "\x00-\t\n\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANKS = re.compile(f"[ {ODD_BLANKS}]+")

# Sentencepiece spells the space with this character; in a text it is drawn as, and becomes, an underscore.
SPACE_MARK = "\u2581"

# A text without any of these (a lone surrogate has no UTF-8 form) is changed by NFC and outer blanks at most.
_UNUSUAL = re.compile(f"[{ODD_BLANKS}{SPACE_MARK}\ud800-\udfff]")


def normalize(text: str) -> str:
    """Unicode NFC, single spaces, none at the ends. `normalize(normalize(x)) == normalize(x)`.

    Deliberately little: no case folding and no compatibility forms, so "½", "ﬁ" and "Ａ" stay what they are.
    """
    if _UNUSUAL.search(text) is None and "  " not in text:  # nearly every line
        return unicodedata.normalize("NFC", text).strip(" ")
    text = unicodedata.normalize("NFC", text.replace(SPACE_MARK, "_"))
    # A lone surrogate (half of a broken pair, as JSON may carry) becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return _BLANKS.sub(" ", text).strip(" ")
