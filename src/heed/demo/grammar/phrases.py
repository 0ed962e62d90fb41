"""Sample noun phrases: determiners, adjectives, owners, names and pronouns, in natural proportions."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from heed.demo.grammar import lexicon as lex
from heed.demo.grammar.frames import QUALITIES, Frame, tagged
from heed.demo.grammar.tree import Both, Nominal, NounPhrase, Prepositional
from heed.demo.grammar.words import Adjective, Adverb, Determiner, Name, Noun, Pronoun

T = TypeVar("T")

_SPEAKERS = (lex.PRONOUN_I, lex.PRONOUN_YOU, lex.PRONOUN_HE, lex.PRONOUN_SHE, lex.PRONOUN_WE, lex.PRONOUN_THEY)
_FIRST_PERSON = (lex.PRONOUN_I, lex.PRONOUN_WE)
_SUBJECTS = (*_SPEAKERS, lex.PRONOUN_I, lex.PRONOUN_YOU)
_ALL_POSSESSIVES = tuple(pronoun.possessive for pronoun in _SPEAKERS)
_SPEAKER_POSSESSIVES = (lex.PRONOUN_I.possessive, lex.PRONOUN_YOU.possessive, lex.PRONOUN_WE.possessive)
_HER = lex.PRONOUN_SHE.possessive
_BUILDINGS = tagged("building")
_KIN = tagged("kin")
_GENERAL_PLACES = [
    noun
    for noun in lex.PLACES
    if noun.english[0] not in ("bathroom", "cellar", "tower", "river", "church", "airport", "hospital")
]
_OUTDOORS = tagged("outdoors")
OWNED = frozenset(
    noun
    for noun in lex.NOUNS
    if ("kin" in noun.tags or "person" not in noun.tags)
    and ("place" not in noun.tags or not noun.tags.isdisjoint(("home", "room", "garden", "store", "bakery", "hotel")))
    and noun.tags.isdisjoint(("town", "island", "castle", "predator", "tree"))
)
_OWNED_BY_ANIMALS = frozenset(tagged("body", "bone", "nest"))
_LANDMARKS = tagged("building", "tree", "gate", "wall", "bridge")


class Phrases:
    """Samples phrases. All randomness comes from one source of floats in [0, 1), so every Python samples the same."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.random = random
        self.mentioned: list[object] = []

    def choose(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def another(self, options: Sequence[T]) -> T:
        """Choose an option that this sentence has not mentioned, if one is found in a few attempts."""
        chosen = self.choose(options)
        for _ in range(3):
            if chosen not in self.mentioned:
                break
            chosen = self.choose(options)
        self.mentioned.append(chosen)
        return chosen

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def determiner(
        self, noun: Noun, plural: bool, negated: bool, owner: Pronoun | None, near: bool, plain: bool
    ) -> Determiner:
        """Choose a determiner; `owner` is the subject, to which a possessive refers (others: see `Clauses.action`)."""
        r = self.random()
        if noun in _OWNED_BY_ANIMALS and owner:
            return owner.possessive
        owned = noun in OWNED
        if owned and r > 0.5 and "kin" in noun.tags:
            return self.possessive(owner, near)
        if not noun.countable:
            if r < 0.42:
                return lex.THE
            if r < 0.82:
                return lex.BARE
            if r < 0.92:
                return self.possessive(owner, near)
            return lex.THIS if negated or plain or r < 0.96 else lex.NO
        if plural:
            if r < 0.40 or (negated and r > 0.75):
                return lex.THE
            if r < 0.53:
                return lex.THE if "person" in noun.tags else lex.A
            if r < 0.65:
                return self.possessive(owner, near) if owned else lex.THE
            if r < 0.72:
                return lex.THIS
            if r < 0.86:
                return self.choose(lex.NUMBERS)
            if r < 0.91:
                return lex.MANY_OF
            if r < 0.95:
                return lex.SOME
            return lex.NO if r > 0.98 and not plain else lex.ALL
        if r < 0.46 or (negated and r > 0.92):
            return lex.THE
        if r < 0.66:
            return lex.A
        if r < 0.80:
            return self.possessive(owner, near) if owned else lex.THE
        if r < 0.87:
            return lex.THIS
        if r < 0.93 and owned:
            return self.another(lex.NAMES).possessive or lex.THE
        return lex.NO if r > 0.97 and not plain else lex.EVERY if r > 0.93 else lex.THE

    def possessive(self, owner: Pronoun | None, near: bool) -> Determiner:
        """Choose a possessive with only one German reading: "her" is the subject's if the subject is "she"."""
        if owner and self.chance(0.65):
            return owner.possessive
        chosen = self.choose(_SPEAKER_POSSESSIVES if near else _ALL_POSSESSIVES)
        if chosen is _HER and owner and owner.possessive.english == _HER.english:
            return owner.possessive
        return chosen

    def noun_phrase(
        self,
        noun: Noun,
        negated: bool = False,
        owner: Pronoun | None = None,
        near: bool = False,
        plain: bool = False,
        several: bool = False,
    ) -> NounPhrase:
        plural = noun.countable and (several or self.chance(0.24))
        if noun in _OWNED_BY_ANIMALS and owner:
            plural = owner is lex.PRONOUN_THEY
        if self.chance(0.04) and not plain and noun.countable:
            if "part" in noun.tags:
                building = NounPhrase(lex.THE, self.another(_BUILDINGS))
                return NounPhrase(lex.THE, noun, plural, self.adjectives(noun, 0.2), building)
            if not noun.tags.isdisjoint(("thing", "clothes", "vehicle", "animal", "kin")):
                relative = self.another(_KIN)
                possessor = NounPhrase(
                    self.choose((lex.THE, self.possessive(owner, near), self.possessive(owner, near))),
                    relative,
                    self.chance(0.2),
                )
                return NounPhrase(lex.THE, noun, plural, self.adjectives(noun, 0.2), possessor)
        determiner = self.determiner(noun, plural, negated, owner, near, plain)
        adjectives = self.adjectives(noun, 0.24 if plain else 0.38)
        return NounPhrase(determiner, noun, plural, adjectives)

    def adjectives(self, noun: Noun, probability: float) -> tuple[Adjective, ...]:
        fitting = QUALITIES[noun]
        if fitting and self.random() < probability:
            return (self.choose(fitting),)
        return ()

    def subject(self, frame: Frame, negated: bool = False, near: bool = False, plain: bool = False) -> Nominal:
        if frame.human:
            r = self.random()
            if r < 0.24:
                return self.speaker()
            if r < 0.36:
                return self.another(lex.NAMES)
            if r < 0.39 and not plain:
                return self.both(frame)
        determined = self.noun_phrase(self.another(frame.subjects), negated, None, near, plain)
        if negated and determined.determiner.indefinite:
            determined.determiner = lex.THE
        return determined

    def both(self, frame: Frame) -> Both:
        if self.chance(0.4):
            first, second = self.another(lex.NAMES), self.another(lex.NAMES)
            return Both(first, second) if first is not second else Both(first, lex.PRONOUN_I)
        first_noun, second_noun = self.another(frame.subjects), self.another(frame.subjects)
        kin = "kin" in first_noun.tags and "kin" in second_noun.tags
        determiner = lex.PRONOUN_I.possessive if kin and self.chance(0.6) else lex.THE
        if first_noun is second_noun:
            return Both(NounPhrase(determiner, first_noun), lex.PRONOUN_I)
        return Both(NounPhrase(determiner, first_noun), NounPhrase(determiner, second_noun))

    def speaker(self) -> Pronoun:
        return self.choose(_SUBJECTS)

    def object_pronoun(self, owner: Pronoun | None) -> Pronoun:
        """Choose a pronoun for an object, but never one that would have to be reflexive ("myself")."""
        pronoun = self.choose(_SPEAKERS)
        if pronoun is owner or (owner in _FIRST_PERSON and pronoun in _FIRST_PERSON):
            return lex.PRONOUN_THEY if owner is not lex.PRONOUN_THEY else lex.PRONOUN_HE
        return pronoun

    def person(self, owner: Pronoun | None, near: bool) -> Nominal:
        """Choose a recipient or a companion."""
        r = self.random()
        if r < 0.3:
            return self.object_pronoun(owner)
        if r < 0.42:
            return self.another(lex.NAMES)
        return self.noun_phrase(self.another(lex.PEOPLE), True, owner, near, plain=True)

    def place(self, human: bool, owner: Pronoun | None, near: bool) -> Prepositional | Adverb:
        r = self.random()
        if human and r < 0.14:
            return self.choose(lex.HERE)
        if human and r < 0.24:
            return Prepositional(lex.IN, self.choose(lex.TOWNS))
        if r < 0.36:
            return Prepositional(self.choose(lex.BESIDE), self.location(self.another(_LANDMARKS), owner, near))
        if r < 0.40:
            return Prepositional(lex.UNDER, self.location(lex.NOUN["tree"], owner, near))
        if not human:
            return self.outdoors()
        noun = self.another(_GENERAL_PLACES)
        assert noun.at
        return Prepositional(noun.at, self.location(noun, owner, near))

    def outdoors(self) -> Prepositional:
        noun = self.another(_OUTDOORS)
        assert noun.at
        return Prepositional(noun.at, self.location(noun, None, True))

    def location(self, noun: Noun, owner: Pronoun | None, near: bool) -> NounPhrase:
        r = self.random()
        determiner = lex.THE
        if r > 0.7:
            determiner = lex.A if r < 0.8 else lex.THIS
            if r > 0.87 and noun in OWNED:
                determiner = self.possessive(owner, near)
        return NounPhrase(determiner, noun, False, self.adjectives(noun, 0.18))


def pronoun_of(tree: Nominal) -> Pronoun | None:
    """Return the pronoun that refers back to this phrase in the same sentence, if there is one."""
    if type(tree) is NounPhrase:
        return lex.PRONOUN_THEY if tree.plural else tree.noun.pronoun
    if type(tree) is Pronoun:
        return tree
    if type(tree) is Both:
        return lex.PRONOUN_WE if tree.second is lex.PRONOUN_I else lex.PRONOUN_THEY
    return tree.pronoun if type(tree) is Name else None
