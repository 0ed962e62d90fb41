"""Define which words go together: the nouns that each verb accepts, and the verbs and adjectives of each noun."""

from collections.abc import Iterable

from heed.demo.grammar import lexicon
from heed.demo.grammar.words import Adjective, Noun, Verb


class Frame:
    """A verb with the nouns that may be its subject and its object; `kind` names its other complements."""

    __slots__ = ("human", "kind", "objects", "subjects", "verb")

    def __init__(self, verb: Verb, kind: str) -> None:
        self.verb = verb
        self.kind = kind
        self.subjects = tagged(*verb.subjects)
        self.objects = tagged(*verb.objects)
        self.human = bool(verb.subjects & {"person", "adult"})
        """Whether a pronoun or a first name may be the subject."""


def tagged(*tags: str) -> list[Noun]:
    return [noun for noun in lexicon.NOUNS if not noun.tags.isdisjoint(tags)]


def _frames(verbs: Iterable[Verb], kind: str = "") -> list[Frame]:
    return [Frame(verb, kind) for verb in verbs]


INTRANSITIVE = _frames(lexicon.INTRANSITIVE)
TRANSITIVE = _frames(lexicon.TRANSITIVE)
PREPOSITIONAL = _frames(lexicon.PREPOSITIONAL)
GIVING = _frames(lexicon.DITRANSITIVE, "give") + _frames(lexicon.TO_RECIPIENT, "give to")
MOTION = _frames(lexicon.MOTION, "go")
JOURNEY = _frames(lexicon.JOURNEY, "travel")
ORIGIN = _frames(lexicon.ORIGIN, "from")
LOCATED = _frames(lexicon.LOCATED, "be at")
REPORTING = _frames(lexicon.REPORTING, "that")
ASKING = _frames(lexicon.ASKING, "whether")
COMMANDS = [frame for frame in INTRANSITIVE + TRANSITIVE + PREPOSITIONAL if "order" in frame.verb.traits]

_ACTIVE = INTRANSITIVE + TRANSITIVE + PREPOSITIONAL + GIVING + MOTION
DOES: dict[Noun, list[Frame]] = {noun: [frame for frame in _ACTIVE if noun in frame.subjects] for noun in lexicon.NOUNS}
UNDERGOES: dict[Noun, list[Frame]] = {
    noun: [frame for frame in TRANSITIVE + PREPOSITIONAL if frame.human and noun in frame.objects]
    for noun in lexicon.NOUNS
}


def _share(adjective: Adjective) -> int:
    """Return the weight of an adjective: higher if few nouns can have it, so that it is not too rare."""
    return 1 + min(15, 60 // len(tagged(*adjective.fits)))


QUALITIES: dict[Noun, list[Adjective]] = {noun: [] for noun in lexicon.NOUNS}
for _adjective in lexicon.ADJECTIVES:
    for _noun in tagged(*_adjective.fits):
        QUALITIES[_noun] += [_adjective] * _share(_adjective)
STATES: dict[Noun, list[Adjective]] = {
    noun: [adjective for adjective in adjectives if adjective.passing] for noun, adjectives in QUALITIES.items()
}


def _alike(noun: Noun, peer: Noun) -> bool:
    return bool((noun.tags & peer.tags) - {"object", "thing"})


COMPARED: list[tuple[Adjective, list[tuple[Noun, list[Noun]]]]] = []
"""Adjectives with the nouns they compare: apples with apples, and not with houses."""
for _adjective in lexicon.ADJECTIVES:
    if _adjective.comparative:
        _nouns = [noun for noun in tagged(*_adjective.fits) if noun.countable]
        _pairs = [(noun, [peer for peer in _nouns if _alike(noun, peer)]) for noun in _nouns]
        COMPARED.append((_adjective, [(noun, peers) for noun, peers in _pairs if len(peers) > 1]))
