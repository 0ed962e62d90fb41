"""Define the abstract syntax: one tree, which `english.py` and `german.py` both render.

A tree holds who does what to whom, when, where and how, but no word order. Tenses are letters: `PRESENT`, `PAST`,
`PERFECT`, `PLUPERFECT`, `FUTURE`.
"""

from dataclasses import dataclass

from heed.demo.grammar.marks import Node
from heed.demo.grammar.words import (
    MANY,
    PLURAL,
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

PRESENT, PAST, PERFECT, PLUPERFECT, FUTURE = "paeqf"
STATEMENT, QUESTION, COMMAND = range(3)


class NounPhrase(Node):
    """A noun with its modifiers; `owner` is a genitive ("the man's dog"), which replaces the determiner."""

    __slots__ = ("adjectives", "determiner", "noun", "owner", "person", "plural", "relative", "slot")

    def __init__(
        self,
        determiner: Determiner,
        noun: Noun,
        plural: bool = False,
        adjectives: tuple[Adjective, ...] = (),
        owner: "NounPhrase | None" = None,
        relative: "Clause | None" = None,
    ) -> None:
        self.determiner = determiner
        self.noun = noun
        self.plural = plural
        self.adjectives = adjectives
        self.owner = owner
        self.relative = relative
        self.person = MANY if plural else THIRD
        self.slot = PLURAL if plural else noun.gender
        self.number = 0


@dataclass(slots=True)
class Both(Node):
    """The coordination "X and Y"."""

    first: "Nominal"
    second: "Nominal"
    person: int = MANY
    number: int = 0


@dataclass(slots=True)
class Gap:
    """The place that a relative or interrogative pronoun was moved from, in one role of its clause.

    `slot` is that of a relative pronoun's antecedent; None in a question, which asks for a person ("who") or else for
    a thing ("what").
    """

    person: int = THIRD
    slot: int | None = None
    human: bool = True


Nominal = NounPhrase | Pronoun | Name | Both | Gap


def is_asked(tree: Nominal) -> bool:
    """Return whether a question opens with this: who, what, which man, how many books."""
    if type(tree) is Gap:
        return tree.slot is None
    return type(tree) is NounPhrase and tree.determiner.asks


@dataclass(slots=True)
class Prepositional(Node):
    preposition: Preposition
    nominal: Nominal
    number: int = 0


@dataclass(slots=True)
class Quality(Node):
    """A predicate: (very) old; older than X; as old as X."""

    adjective: Adjective
    degree: Adverb | None = None
    than: Nominal | None = None
    equal: bool = False
    number: int = 0


@dataclass(slots=True)
class Clause(Node):
    subject: Nominal
    verb: Verb
    tense: str = PRESENT
    progressive: bool = False
    modal: Modal | None = None
    negated: bool = False
    contracted: bool = False
    """English "isn't", "I'm"; no difference in German."""
    object: Nominal | None = None
    recipient: Nominal | None = None
    to_recipient: bool = False
    """English "gives the book to the man"; no difference in German."""
    predicate: Quality | NounPhrase | None = None
    frequency: Adverb | None = None
    manner: Adverb | None = None
    companion: Prepositional | None = None
    place: Prepositional | Adverb | None = None
    time: Adverb | None = None
    content: "Subordinate | None" = None
    """The clause that is said or known."""
    number: int = 0


@dataclass(slots=True)
class Subordinate(Node):
    conjunction: Conjunction
    clause: Clause
    first: bool = False
    """Whether it precedes the main clause."""
    number: int = 0


@dataclass(slots=True)
class Sentence(Node):
    main: Clause
    mood: int = STATEMENT
    time_first: bool = False
    place_first: bool = False
    asks: Adverb | None = None
    """The question word for an adverbial: where, when, why. Who and what are gaps of the clause."""
    please: bool = False
    subordinate: Subordinate | None = None
    conjunction: Conjunction | None = None
    second: Clause | None = None
    """A second main clause after `conjunction`; its subject is left out if it is the same object as the first one's."""
    number: int = 0
