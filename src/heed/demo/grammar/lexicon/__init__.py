"""Read the words of the grammar from their tables: about 500 lemmas in two languages."""

from heed.demo.grammar.lexicon import adjectives, adverbs, nouns, verbs
from heed.demo.grammar.paradigms import (
    DER,
    DIESER,
    EIN,
    MIXED,
    STRONG,
    WEAK,
    english_plural,
    english_verb,
    german_noun,
    german_verb,
)
from heed.demo.grammar.words import (
    ACC,
    DAT,
    FEMININE,
    FIRST,
    MANY,
    MASCULINE,
    NEUTER,
    SECOND,
    THIRD,
    Adjective,
    Adverb,
    Conjunction,
    Determiner,
    Modal,
    Name,
    Noun,
    Preposition,
    Pronoun,
    Verb,
)


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(" |")] for line in table.strip().splitlines()]


# Determiners and pronouns.


def _possessive(english: str, german: str) -> Determiner:
    return Determiner((english, english), tuple(german + ending for ending in EIN), MIXED)


def _like_dieser(singular: str, plural: str, stem: str, definite: bool = True, asks: bool = False) -> Determiner:
    forms = tuple(stem + ending for ending in DIESER)
    return Determiner((singular, plural), forms, WEAK, definite, asks=asks)


def _quantity(english: str, german: str, inflected: bool, asks: bool = False) -> Determiner:
    forms = tuple(german + ending for ending in STRONG) if inflected else (german,) * 16
    return Determiner((english, english), forms, STRONG, definite=False, asks=asks)


THE = Determiner(("the", "the"), DER, WEAK)
# The indefinite plural has no article in either language, so its adjectives carry the case: alte Bücher.
A = Determiner(
    ("a", ""), tuple("ein" + ending for ending in EIN[:12]) + ("",) * 4, MIXED[:12] + STRONG[12:], False, True
)
BARE = Determiner(("", ""), ("",) * 16, STRONG, False, True)
NO = Determiner(("no", "no"), tuple("kein" + ending for ending in EIN), MIXED, definite=False)
THIS = _like_dieser("this", "these", "dies")
WHICH = _like_dieser("which", "which", "welch", asks=True)
EVERY = _like_dieser("every", "every", "jed", definite=False)
ALL = _like_dieser("all", "all", "all", definite=False)
MANY_OF = _quantity("many", "viel", inflected=True)
SOME = _quantity("some", "einig", inflected=True)
HOW_MANY = _quantity("how many", "wie viel", inflected=True, asks=True)
NUMBERS = [
    _quantity(english, german, inflected=False)
    for english, german in zip(
        "two three four five six seven eight nine ten".split(),
        "zwei drei vier fünf sechs sieben acht neun zehn".split(),
        strict=True,
    )
]

_MY, _YOUR, _OUR = _possessive("my", "mein"), _possessive("your", "dein"), _possessive("our", "unser")
_HIS, _HER, _THEIR = _possessive("his", "sein"), _possessive("her", "ihr"), _possessive("their", "ihr")
PRONOUN_I = Pronoun(("I", "me"), ("ich", "mich", "mir"), FIRST, _MY)
PRONOUN_YOU = Pronoun(("you", "you"), ("du", "dich", "dir"), SECOND, _YOUR)
PRONOUN_HE = Pronoun(("he", "him"), ("er", "ihn", "ihm"), THIRD, _HIS)
PRONOUN_SHE = Pronoun(("she", "her"), ("sie", "sie", "ihr"), THIRD, _HER)
PRONOUN_WE = Pronoun(("we", "us"), ("wir", "uns", "uns"), MANY, _OUR)
PRONOUN_THEY = Pronoun(("they", "them"), ("sie", "sie", "ihnen"), MANY, _THEIR)
_SHE_OF_GIRL = Pronoun(("she", "her"), ("es", "es", "ihm"), THIRD, _possessive("her", "sein"))
_IT = {
    MASCULINE: Pronoun(("it", "it"), ("er", "ihn", "ihm"), THIRD, _possessive("its", "sein")),
    FEMININE: Pronoun(("it", "it"), ("sie", "sie", "ihr"), THIRD, _possessive("its", "ihr")),
    NEUTER: Pronoun(("it", "it"), ("es", "es", "ihm"), THIRD, _possessive("its", "sein")),
}
# The subject of "it is raining", which stands for nothing; and of "there is", which German also calls "es".
DUMMY_IT = Pronoun(("it", "it"), ("es", "es", "es"), THIRD, _HIS)
DUMMY_THERE = Pronoun(("there", "there"), ("es", "es", "es"), THIRD, _HIS)


# Nouns.

_GENDERS = {"der": MASCULINE, "die": FEMININE, "das": NEUTER}
_PREPOSITIONS = {
    ("in", "in"): Preposition("in", "in", DAT),
    ("at", "an"): Preposition("at", "an", DAT),
    ("at", "auf"): Preposition("at", "auf", DAT),
    ("on", "auf"): Preposition("on", "auf", DAT),
    ("to", "in"): Preposition("to", "in", ACC),
    ("to", "auf"): Preposition("to", "auf", ACC),
    ("to", "zu"): Preposition("to", "zu", DAT),
}


def _noun(row: list[str], kind: str) -> Noun:
    english, german, tags, *place = row
    singular, plural = (*english.split(), english_plural(english))[:2]
    article, nominative, genitive, german_plural = german.split()
    word, *classes = tags.split()
    gender = _GENDERS[article]
    pronoun = {
        "he": PRONOUN_HE,
        "she": _SHE_OF_GIRL if gender == NEUTER else PRONOUN_SHE,
        "it": _IT[gender],
        "-": None,
    }[word]
    at = to = None
    if place:
        here, there = place[0].split()
        at = _PREPOSITIONS[here.split("/")[0], here.split("/")[1]]
        to = _PREPOSITIONS[there.split("/")[0], there.split("/")[1]]
    forms = german_noun(nominative, genitive, german_plural)
    names = frozenset([singular, kind, *classes])
    return Noun((singular, plural), forms, gender, pronoun, names, german_plural != "-", at, to)


PEOPLE = [_noun(row, "person") for row in _rows(nouns.PEOPLE)]
ANIMALS = [_noun(row, "animal") for row in _rows(nouns.ANIMALS)]
FOOD = [_noun(row, "edible") for row in _rows(nouns.FOOD)]
THINGS = [_noun(row, "object") for row in _rows(nouns.THINGS)]
PLACES = [_noun(row, "place") for row in _rows(nouns.PLACES)]
NOUNS = PEOPLE + ANIMALS + FOOD + THINGS + PLACES
NOUN = {noun.english[0]: noun for noun in NOUNS}


# Verbs.

_MANNERS = [(trait, Adverb(english, german)) for english, german, trait in _rows(adverbs.MANNERS)]
_CASES = {"acc": ACC, "dat": DAT}


def _verb(row: list[str]) -> Verb:
    english, german, arguments, traits = row
    parts, particle, preposition = [], "", ""
    for word in english.split():
        if word.startswith("+"):
            particle = word[1:]
        elif word.startswith("@"):
            preposition = word[1:]
        else:
            parts.append(word)
    moves = "*" in german
    stems, german_preposition, case = [], "", ACC
    for word in german.replace("*", "").split():
        if "+" in word:
            german_preposition, _, governed = word.partition("+")
            case = _CASES[governed]
        else:
            stems.append(word)
    prefix, _, infinitive = stems[0].rpartition("|")
    subjects, _, objects = arguments.partition(">")
    tags = frozenset(traits.split())
    return Verb(
        english_verb(parts, particle, preposition),
        german_verb([infinitive, *stems[1:]], prefix, moves, german_preposition, case),
        frozenset(subjects.split()),
        frozenset(objects.split()),
        tuple(adverb for trait, adverb in _MANNERS if trait in tags),
        tags,
        "stative" in tags,
    )


INTRANSITIVE = [_verb(row) for row in _rows(verbs.INTRANSITIVE)]
TRANSITIVE = [_verb(row) for row in _rows(verbs.TRANSITIVE)]
PREPOSITIONAL = [_verb(row) for row in _rows(verbs.PREPOSITIONAL)]
DITRANSITIVE = [_verb(row) for row in _rows(verbs.DITRANSITIVE)]
TO_RECIPIENT = [_verb(row) for row in _rows(verbs.TO_RECIPIENT)]
MOTION = [_verb(row) for row in _rows(verbs.MOTION)]
JOURNEY = [_verb(row) for row in _rows(verbs.JOURNEY)]
ORIGIN = [_verb(row) for row in _rows(verbs.ORIGIN)]
LOCATED = [_verb(row) for row in _rows(verbs.LOCATED)]
REPORTING = [_verb(row) for row in _rows(verbs.REPORTING)]
ASKING = [_verb(row) for row in _rows(verbs.ASKING)]
WEATHER = [_verb(row) for row in _rows(verbs.WEATHER)]
BE = _verb(_rows(verbs.BE)[0])
EXIST = _verb(_rows(verbs.EXIST)[0])


# Adjectives.


def _adjective(row: list[str]) -> Adjective:
    english, german, fits, *traits = row
    word, *comparative = english.split()
    forms, *german_comparative = german.split()
    predicate, _, stem = forms.partition("/")
    kind = "".join(traits)
    compared = (comparative[0], german_comparative[0]) if comparative else None
    return Adjective(
        word, predicate, stem or predicate, compared, frozenset(fits.split()), "state" in kind, "absolute" not in kind
    )


ADJECTIVES = [_adjective(row) for row in _rows(adjectives.ADJECTIVES)]


# Adverbs, names and the other small words.


def _adverbs(table: str) -> list[Adverb]:
    return [
        Adverb(english, german.rstrip("*"), frozenset("".join(suits)), late=german.endswith("*"))
        for english, german, *suits in _rows(table)
    ]


TIMES = _adverbs(adverbs.TIMES)
FREQUENCIES = _adverbs(adverbs.FREQUENCIES)
HERE = _adverbs(adverbs.HERE)
HOME = _adverbs(adverbs.HOME)[0]
VERY, TOO, QUITE = Adverb("very", "sehr"), Adverb("too", "zu"), Adverb("quite", "ziemlich")


def _name(row: list[str]) -> Name:
    text, pronoun = row[0].split()
    # Strong endings after a name, as after nothing: Annas alter Hund.
    possessive = Determiner((text + "'s", text + "'s"), (text + "s",) * 16, STRONG)
    return Name(text, text, PRONOUN_SHE if pronoun == "she" else PRONOUN_HE, possessive)


NAMES = [_name(row) for row in _rows(adverbs.NAMES)]
TOWNS = [Name(row[0], row[-1]) for row in _rows(adverbs.TOWNS)]

IN, TO_TOWN = Preposition("in", "in", DAT), Preposition("to", "nach", DAT)
ON, UNDER = Preposition("on", "auf", DAT), Preposition("under", "unter", DAT)
BESIDE = [
    Preposition("in front of", "vor", DAT),
    Preposition("behind", "hinter", DAT),
    Preposition("next to", "neben", DAT),
]
WITH, WITHOUT, FOR = (
    Preposition("with", "mit", DAT),
    Preposition("without", "ohne", ACC),
    Preposition("for", "für", ACC),
)

WHERE, WHERE_TO, WHERE_FROM = Adverb("where", "wo"), Adverb("where", "wohin"), Adverb("where", "woher")
WHEN, WHY = Adverb("when", "wann"), Adverb("why", "warum")

BECAUSE, ALTHOUGH = Conjunction("because", "weil"), Conjunction("although", "obwohl")
IF, WHEN_NOW, WHEN_THEN = Conjunction("if", "wenn"), Conjunction("when", "wenn"), Conjunction("when", "als")
WHILE, BEFORE, AFTER = Conjunction("while", "während"), Conjunction("before", "bevor"), Conjunction("after", "nachdem")
THAT, WHETHER = Conjunction("that", "dass"), Conjunction("whether", "ob")
AND, BUT = Conjunction("and", "und"), Conjunction("but", "aber")


def _modal(row: list[str]) -> Modal:
    english, link, german, tense, *base = row
    forms = english.split()
    i, you, he, many = german.split()
    return Modal(
        (forms[0], forms[0], forms[-1], forms[0]), link, (i, you, he, many), tense[0], "!" not in tense, "".join(base)
    )


MODALS = [_modal(row) for row in _rows(adverbs.MODALS)]
