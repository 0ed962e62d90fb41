"""Short ways to write trees by hand."""

from heed.demo.grammar import lexicon as lex
from heed.demo.grammar.tree import Clause, NounPhrase, Prepositional, Sentence
from heed.demo.grammar.words import Adjective, Adverb, Determiner, Modal, Name, Pronoun, Verb

ME, YOU, HE, SHE = lex.PRONOUN_I, lex.PRONOUN_YOU, lex.PRONOUN_HE, lex.PRONOUN_SHE
WE, THEY = lex.PRONOUN_WE, lex.PRONOUN_THEY
MY, YOUR = ME.possessive, YOU.possessive

_TABLES = {
    "": lex.INTRANSITIVE + lex.WEATHER,
    "transitive": lex.TRANSITIVE,
    "prepositional": lex.PREPOSITIONAL,
    "giving": lex.DITRANSITIVE + lex.TO_RECIPIENT,
    "moving": lex.MOTION,
    "traveling": lex.JOURNEY,
    "located": lex.LOCATED,
    "origin": lex.ORIGIN,
    "reporting": lex.REPORTING + lex.ASKING,
}


def verb(table: str, german: str) -> Verb:
    """By its German infinitive, which tells more apart than the English one."""
    return next(verb for verb in _TABLES[table] if verb.german.infinitive == german)


def adjective(english: str) -> Adjective:
    return next(word for word in lex.ADJECTIVES if word.english == english)


def name(text: str) -> Name:
    return next(name for name in lex.NAMES + lex.TOWNS if name.english == text)


def adverb(english: str) -> Adverb:
    manners = [manner for _, manner in lex._MANNERS]
    return next(word for word in lex.TIMES + lex.FREQUENCIES + lex.HERE + manners if word.english == english)


def modal(english: str) -> Modal:
    return next(modal for modal in lex.MODALS if modal.english[2] == english)


def np(determiner: Determiner, *words: str, plural: bool = False, **more: object) -> NounPhrase:
    """Adjectives, then the noun in the singular."""
    *adjectives, noun = words
    return NounPhrase(determiner, lex.NOUN[noun], plural, tuple(map(adjective, adjectives)), **more)  # type: ignore[arg-type]


def the(*words: str, **more: object) -> NounPhrase:
    return np(lex.THE, *words, **more)  # type: ignore[arg-type]


def a(*words: str, **more: object) -> NounPhrase:
    return np(lex.A, *words, **more)  # type: ignore[arg-type]


def its(owner: str) -> Determiner:
    """The possessive that goes back to a noun."""
    pronoun = it(owner)
    return pronoun.possessive


def it(noun: str) -> Pronoun:
    pronoun = lex.NOUN[noun].pronoun
    assert pronoun
    return pronoun


def at(noun: NounPhrase) -> Prepositional:
    assert noun.noun.at
    return Prepositional(noun.noun.at, noun)


def to(noun: NounPhrase) -> Prepositional:
    assert noun.noun.to
    return Prepositional(noun.noun.to, noun)


def say(*args: object, **more: object) -> Sentence:
    """A plain statement."""
    return Sentence(Clause(*args, **more))  # type: ignore[arg-type]
