"""Define the lemmas of the grammar, with all their English and German forms computed once.

Grammatical features are numbers, so that a form is found by an index:

* case: `NOM`, `ACC`, `DAT`, `GEN`;
* slot: the German gender of a singular (`MASCULINE`, `FEMININE`, `NEUTER`), or `PLURAL`, where gender is lost;
* person: `FIRST`, `SECOND`, `THIRD` of the singular, and `MANY` (we and they, whose German verb forms agree).
  There is no second person plural: English "you" is always German "du".
"""

from dataclasses import dataclass, field

NOM, ACC, DAT, GEN = range(4)
MASCULINE, FEMININE, NEUTER, PLURAL = range(4)
FIRST, SECOND, THIRD, MANY = range(4)


@dataclass(eq=False, slots=True)
class Pronoun:
    """A personal pronoun together with the German gender of its antecedent.

    "It" is three pronouns here (er, sie, es), and "she" is two, because a girl is "das Mädchen".
    """

    english: tuple[str, str]
    """Subject and object form."""
    german: tuple[str, str, str]
    """Nominative, accusative, dative."""
    person: int
    possessive: "Determiner"


@dataclass(eq=False, slots=True)
class Determiner:
    """An article or another determiner: this, my, no, three, Anna's."""

    english: tuple[str, str]
    """Before a singular and before a plural."""
    german: tuple[str, ...]
    """Indexed by `4 * slot + case`."""
    endings: tuple[str, ...]
    """The endings of a German adjective after this determiner, indexed likewise."""
    definite: bool = True
    """"Nie" and "schon" follow definite objects and precede all others."""
    indefinite: bool = False
    """Negation turns it into "kein"."""
    asks: bool = False


@dataclass(eq=False, slots=True)
class Noun:
    english: tuple[str, str]
    german: tuple[str, ...]
    """Four cases of the singular, then four of the plural."""
    gender: int
    pronoun: Pronoun | None
    """The pronoun that refers back to a singular; None where English has a choice (the child: he, she, it?)."""
    tags: frozenset[str]
    countable: bool = True
    at: "Preposition | None" = None
    """Where one is, for places: in the garden, at the station."""
    to: "Preposition | None" = None
    """Where one goes, for places: in den Garten, zum Bahnhof."""


@dataclass(eq=False, slots=True)
class Adjective:
    english: str
    german: str
    stem: str
    """The stem that takes the German endings: dunkel, but "ein dunkler Wald"."""
    comparative: tuple[str, str] | None
    fits: frozenset[str]
    passing: bool
    gradable: bool
    """Whether it may be combined with "very"."""


@dataclass(eq=False, slots=True)
class Verb:
    english: "EnglishVerb"
    german: "GermanVerb"
    subjects: frozenset[str]
    objects: frozenset[str]
    manner: tuple["Adverb", ...]
    """The adverbs that suit it."""
    traits: frozenset[str]
    stative: bool
    """Whether it has no progressive: "is knowing" is not English."""


@dataclass(eq=False, slots=True)
class EnglishVerb:
    base: str
    third: str
    past: str
    participle: str
    gerund: str
    particle: str = ""
    """"off" in "turn off the lamp" and "turn it off"."""
    preposition: str = ""
    """"for" in "wait for the bus"."""


@dataclass(eq=False, slots=True)
class GermanVerb:
    infinitive: str
    """With its prefix: "aufmachen"."""
    present: tuple[str, ...]
    """By person, without the prefix."""
    past: tuple[str, ...]
    participle: str
    imperative: str
    prefix: str = ""
    moves: bool = False
    """Whether it takes "sein" in the perfect."""
    preposition: str = ""
    case: int = ACC
    """The case that the preposition, or else the verb itself, governs."""


@dataclass(eq=False, slots=True)
class Modal:
    """One tense of a modal verb: can and could are two."""

    english: tuple[str, str, str, str]
    link: str
    """Before the infinitive: "to" in "wants to sleep"."""
    german: tuple[str, str, str, str]
    tense: str
    negatable: bool
    base: str
    """The base form of English ones that need "do" in negations and questions ("does not have to"); else empty."""


@dataclass(eq=False, slots=True)
class Preposition:
    english: str
    german: str
    case: int


@dataclass(eq=False, slots=True)
class Adverb:
    """A word or a fixed phrase: often, on Monday, at home."""

    english: str
    german: str
    tenses: frozenset[str] = field(default_factory=frozenset)
    """The tenses it goes with; empty for adverbs of place and manner."""
    late: bool = False
    """Whether it follows a definite object in German: "liest das Buch nie", but "liest nie ein Buch"."""


@dataclass(eq=False, slots=True)
class Name:
    """A first name, or a town or country; persons have a pronoun."""

    english: str
    german: str
    pronoun: Pronoun | None = None
    possessive: Determiner | None = None
    person: int = THIRD


@dataclass(eq=False, slots=True)
class Conjunction:
    english: str
    german: str
