"""The one form of text the model sees and writes."""

import re
import unicodedata

# White space of every kind (U+2028 too) and control characters (NUL, tab, escape): each run is one space,
# so no text can break the rule that one line in is one line out.
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")

# Sentencepiece spells the space with this character; in a text it is drawn as, and becomes, an underscore.
_SPACE_MARK = "\u2581"


def normalize(text: str) -> str:
    """Unicode NFC, single spaces, none at the ends. `normalize(normalize(x)) == normalize(x)`.

    Deliberately little: no case folding and no compatibility forms, so "½", "ﬁ" and "Ａ" stay what they are.
    """
    text = unicodedata.normalize("NFC", text.replace(_SPACE_MARK, "_"))
    # A lone surrogate (half of a broken pair, as JSON may carry) has no UTF-8 form.
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return _BLANKS.sub(" ", text).strip(" ")
