"""Derive paradigms from principal parts: the inflection rules of both languages."""

import re

from heed.demo.grammar.words import ACC, EnglishVerb, GermanVerb

_VOWEL_CONSONANT = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")
"""One syllable, short vowel, one consonant: stop, stopped, stopping."""
_INSEPARABLE = re.compile(r"be(?!ll)|ver|er|zer|ge|umarm|unter")
_NEEDS_E = re.compile(r".*([td]|ch[nm]|[^rlhnmaeiouäöü][nm])$")
"""Stems that need -et instead of -t: arbeitet, findet, öffnet; but lernt, filmt, wohnt."""

# Rows: masculine, feminine, neuter, plural; columns: nominative, accusative, dative, genitive.
DER = tuple("der den dem des  die die der der  das das dem des  die die den der".split())
DIESER = tuple("er en em es  e e er er  es es em es  e e en er".split())
EIN = tuple(e.strip("-") for e in "- en em es  e e er er  - - em es  e e en er".split())
WEAK = tuple("e en en en  e e en en  e e en en  en en en en".split())
MIXED = tuple("er en en en  e e en en  es es en en  en en en en".split())
STRONG = tuple("er en em en  e e er er  es es em en  e e en er".split())
RELATIVE = tuple("der den dem dessen  die die der deren  das das dem dessen  die die denen deren".split())


def english_plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeou":
        return noun[:-1] + "ies"
    return noun + "s"


def german_noun(nominative: str, genitive: str, plural: str) -> tuple[str, ...]:
    """Return the eight forms. A genitive in -n marks weak masculines, which have -n in all cases but the nominative."""
    weak = genitive != nominative and genitive.endswith("n")
    oblique = genitive if weak else nominative
    dative_plural = plural if plural.endswith(("n", "s")) else plural + "n"
    return (nominative, oblique, oblique, genitive, plural, plural, dative_plural, plural)


def english_verb(parts: list[str], particle: str = "", preposition: str = "") -> EnglishVerb:
    """Inflect an English verb; `parts` is the base of a regular verb, else base, past and participle."""
    base = parts[0]
    doubled = base + base[-1] if _VOWEL_CONSONANT.fullmatch(base) or base == "forget" else base
    if len(parts) == 1:
        if base.endswith("y") and base[-2] not in "aeou":
            past = base[:-1] + "ied"
        else:
            past = base + "d" if base.endswith("e") else doubled + "ed"
        parts = [base, past, past]
    if base.endswith("ie"):
        gerund = base[:-2] + "ying"
    elif base.endswith("e") and not base.endswith("ee"):
        gerund = base[:-1] + "ing"
    else:
        gerund = doubled + "ing"
    third = {"have": "has", "go": "goes"}.get(base) or english_plural(base)
    return EnglishVerb(base, third, parts[1], parts[2], gerund, particle, preposition)


def german_verb(
    parts: list[str], prefix: str = "", moves: bool = False, preposition: str = "", case: int = ACC
) -> GermanVerb:
    """Inflect a German verb; `parts` is a weak verb's infinitive, else infinitive, er-present, er-past, participle.

    All are given without the separable prefix, except the participle.
    """
    infinitive = parts[0]
    stem = infinitive.removesuffix("n").removesuffix("e")
    link = "e" if _NEEDS_E.match(stem) else ""
    if len(parts) == 1:
        ge = "" if _INSEPARABLE.match(infinitive) or infinitive.endswith("ieren") else "ge"
        parts = [infinitive, stem + link + "t", stem + link + "te", prefix + ge + stem + link + "t"]
    er, past, participle = parts[1:]
    changed = er.removesuffix("t")
    if stem.endswith("t") and not er.endswith("et"):
        du = er + "st"
    else:
        du = changed + ("t" if changed.endswith(("s", "ß", "z", "x")) else "st")
    if infinitive.endswith("eln"):
        ich = imperative = stem[:-2] + "le"
    else:
        ich = stem + "e"
        # essen/isst gives "Iss!", fahren/fährt gives "Fahr!": only the change from e to i is kept.
        imperative = stem + "e" if link or infinitive.endswith("ern") else stem
        if changed != stem and "ä" not in er and not er.endswith("et"):
            imperative = changed
    present = _IRREGULAR_PRESENT.get(infinitive) or (ich, du, er, infinitive)
    past_many = past + "n" if past.endswith("e") else past + "en"
    past_du = past + "st"  # used only for "war" and "hatte": see `german.py` on the second person
    return GermanVerb(
        prefix + infinitive,
        present,
        (past, past_du, past, past_many),
        participle,
        imperative,
        prefix,
        moves,
        preposition,
        case,
    )


_IRREGULAR_PRESENT = {
    "sein": ("bin", "bist", "ist", "sind"),
    "haben": ("habe", "hast", "hat", "haben"),
    "werden": ("werde", "wirst", "wird", "werden"),
    "wissen": ("weiß", "weißt", "weiß", "wissen"),
    "mögen": ("mag", "magst", "mag", "mögen"),
    "wollen": ("will", "willst", "will", "wollen"),
}


def with_contraction(preposition: str, article: str) -> str:
    """Contract "in dem" to "im" and the like; other pairs stay two words."""
    return _CONTRACTED.get((preposition, article)) or f"{preposition} {article}"


_CONTRACTED = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
    ("bei", "dem"): "beim",
}
