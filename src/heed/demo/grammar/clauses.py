"""Sample clauses: a verb with its complements, a tense, and sometimes a negation, a manner, a place."""

from heed.demo.grammar import lexicon as lex
from heed.demo.grammar.frames import COMPARED, DOES, QUALITIES, STATES, UNDERGOES, Frame, tagged
from heed.demo.grammar.phrases import OWNED, Phrases, pronoun_of
from heed.demo.grammar.tree import (
    FUTURE,
    PAST,
    PERFECT,
    PLUPERFECT,
    PRESENT,
    Clause,
    Gap,
    Nominal,
    NounPhrase,
    Prepositional,
    Quality,
)
from heed.demo.grammar.words import THIRD, Adverb, Noun, Pronoun

_HOMES = tagged("home")
_SEATS = tagged("seat")
_EXISTING = tagged("building", "animal", "sight")
_GOODS = tagged("thing", "food", "drink")
_SHOPS = tagged("store", "market")
_GOALS = [noun for noun in lex.PLACES if noun.english[0] != "street"]
_TOWNS = tagged("town")
_WATERS = tagged("lake", "river")
_ROADS = tagged("street", "city", "village", "bridge", "park")
_REACHED_BY_CAR = [noun for noun in _GOALS if noun.tags.isdisjoint(("room", "garden", "bridge"))]
_TRADES = {
    pronoun: [noun for noun in tagged("job") if noun.pronoun is pronoun]
    for pronoun in (lex.PRONOUN_HE, lex.PRONOUN_SHE)
}
_TRADESMEN = [noun for noun in lex.PEOPLE if noun.pronoun in _TRADES and "job" not in noun.tags and "kin" in noun.tags]
_DESCRIBED = [noun for noun in lex.NOUNS if QUALITIES[noun]]
_STATEFUL = [noun for noun in lex.NOUNS if STATES[noun]]
_OF_PEOPLE = QUALITIES[lex.NOUN["man"]]
_STATES_OF_PEOPLE = STATES[lex.NOUN["man"]]
_MODALS = {tense: [modal for modal in lex.MODALS if modal.tense == tense] for tense in (PRESENT, PAST)}
_NEGATABLE = {tense: [modal for modal in modals if modal.negatable] for tense, modals in _MODALS.items()}
_OF_THINGS = {
    tense: [modal for modal in modals if modal.english[0] in ("can", "could")] for tense, modals in _MODALS.items()
}
_FREQUENCIES = {key: [adverb for adverb in lex.FREQUENCIES if key in adverb.tenses] for key in "pgabefmnc"}
_AUXILIARY_TENSES = ("future", "if")


def _looks_past(clause: Clause) -> bool:
    """Return whether present and past look the same, as in "they read"; the grammar uses such a form for the past."""
    verb = clause.verb.english
    bare = not (clause.modal or clause.negated or clause.progressive)
    return bare and verb.base == verb.past and clause.tense == PRESENT and clause.subject.person != THIRD


class Clauses(Phrases):
    def action(
        self,
        frame: Frame,
        group: str = "",
        subject: Nominal | None = None,
        near: bool = False,
        plain: bool = False,
        negatable: bool = True,
        relatives: bool = False,
        thing: Nominal | None = None,
    ) -> tuple[Clause, str]:
        """Return a clause, and the letter of its tense (see `lexicon/adverbs.py`).

        `group` limits the tense to those that suit a neighbouring clause; `near` limits possessives to those that
        cannot refer to that clause; `plain` keeps the phrases short; `thing` is the object.
        """
        negated = negatable and self.chance(0.12)
        if subject is None:
            subject = self.subject(frame, negated, near, plain)
        clause = Clause(subject, frame.verb, negated=negated, contracted=self.chance(0.4))
        key = self.tense(clause, frame, group)
        owner = pronoun_of(subject)
        if not frame.human and type(subject) is NounPhrase and "animal" not in subject.noun.tags:
            owner = None
        if relatives and type(subject) is NounPhrase and not negated and self.chance(0.13):
            self.attach_relative(subject, key)
        self.complete(clause, frame, owner, near, plain, thing)
        if relatives and self.chance(0.2):
            self.relative_at_end(clause, key)
        if not negated and not self.ends_in_relative(clause):
            self.adorn(clause, frame, key, owner, near)
        if _looks_past(clause):
            clause.progressive, clause.frequency, key = True, None, "g"
        return clause, key

    def tense(self, clause: Clause, frame: Frame, group: str) -> str:
        verb = frame.verb
        lasting = (verb.stative and "event" not in verb.traits) or (frame.kind == "be at" and not frame.human)
        r = self.random()
        if group == "after":
            clause.tense = PLUPERFECT
            return "q"
        if group == "while":
            clause.tense, clause.progressive = PAST, not verb.stative
            return "b"
        if group == "":
            if r < 0.34:
                group = "present"
            elif r < 0.68:
                group = "past"
            elif r < 0.77 and not lasting and frame.kind != "be at":
                clause.tense = PERFECT
                return "e"
            elif r < 0.89 and not lasting:
                group = "future"
            else:
                group = "modal" if not lasting else "present"
            r = self.random()
        if group == "if":
            group = "future" if r < 0.5 and not lasting else "modal" if r < 0.8 and not lasting else "present"
            r = 0.5
        if group == "future":
            clause.tense = FUTURE
            return "f"
        if group == "modal" or (group in ("present", "past") and r < 0.12 and not lasting):
            tense = PAST if group == "past" or (group == "modal" and r > 0.7) else PRESENT
            human = frame.human and frame.kind != "be at"
            options = (_NEGATABLE if clause.negated else _MODALS) if human else _OF_THINGS
            clause.modal, clause.tense = self.choose(options[tense]), tense
            return "n" if tense == PAST else "m"
        if lasting or verb.english.base == "live":
            clause.tense = PAST if group.endswith("past") else PRESENT
            return "q"
        if group.endswith("past"):
            clause.tense = PAST
            clause.progressive = group == "past" and not verb.stative and r > 0.88
            return "b" if clause.progressive else "a"
        clause.tense = PRESENT
        clause.progressive = group == "present" and not verb.stative and r > 0.5
        return "g" if clause.progressive else "p"

    def complete(
        self,
        clause: Clause,
        frame: Frame,
        owner: Pronoun | None,
        near: bool,
        plain: bool,
        thing: Nominal | None = None,
    ) -> None:
        """Add the complements that the verb needs."""
        kind = frame.kind
        if frame.objects:
            clause.object = thing or self.object(frame, owner, clause.negated, near, plain)
        if kind.startswith("give"):
            clause.recipient = self.person(owner, near)
            clause.to_recipient = kind == "give to" or self.chance(0.25)
        elif kind == "go":
            clause.place = lex.HOME if self.chance(0.1) else self.goal(clause, owner, near)
            if self.chance(0.22):
                clause.companion = self.company(owner, near)
        elif kind == "travel":
            clause.place = Prepositional(lex.TO_TOWN, self.choose(lex.TOWNS))
            if self.chance(0.22):
                clause.companion = self.company(owner, near)
        elif kind == "from":
            clause.object = self.another(lex.TOWNS)
        elif kind == "be at":
            clause.place = self.whereabouts(clause, frame, owner, near)

    def object(self, frame: Frame, owner: Pronoun | None, negated: bool, near: bool, plain: bool) -> Nominal:
        noun = self.another(frame.objects)
        if "person" in noun.tags:
            r = self.random()
            if r < 0.18:
                return self.object_pronoun(owner)
            if r < 0.28:
                return self.another(lex.NAMES)
        if not frame.human and not (frame.verb.objects & {"tail", "paw", "bone", "nest"}):
            owner, near = None, True
        phrase = self.noun_phrase(noun, negated, owner, near, plain, "several" in frame.verb.traits)
        if negated and frame.verb.german.preposition and phrase.determiner.indefinite:
            phrase.determiner = lex.THE
        return phrase

    def goal(self, clause: Clause, owner: Pronoun | None, near: bool) -> Prepositional:
        noun = self.another(_REACHED_BY_CAR if clause.verb.english.base == "drive" else _GOALS)
        assert noun.to
        return Prepositional(noun.to, self.location(noun, owner, near))

    def company(self, owner: Pronoun | None, near: bool) -> Prepositional:
        return Prepositional(lex.WITHOUT if self.chance(0.25) else lex.WITH, self.person(owner, near))

    def whereabouts(self, clause: Clause, frame: Frame, owner: Pronoun | None, near: bool) -> Prepositional | Adverb:
        verb = frame.verb.english.base
        r = self.random()
        if verb == "live":
            if r < 0.4:
                return Prepositional(lex.IN, self.choose(lex.TOWNS))
            home = self.another(_HOMES)
            assert home.at
            return Prepositional(home.at, self.location(home, owner, near))
        if verb == "lie":
            if r < 0.5:
                return Prepositional(lex.ON, self.location(lex.NOUN["table"], owner, near))
            return Prepositional(self.choose((lex.ON, lex.UNDER)), self.location(self.another(_SEATS), owner, near))
        if verb == "sit" and r < 0.5:
            return Prepositional(lex.ON, self.location(self.another(_SEATS), owner, near))
        return self.place(True, owner, near)

    def adorn(self, clause: Clause, frame: Frame, key: str, owner: Pronoun | None, near: bool) -> None:
        """Add optional adverbials."""
        verb = frame.verb
        subject = clause.subject
        counted = type(subject) is NounPhrase and subject.determiner in (lex.EVERY, lex.NO, lex.ALL)
        counted = counted or "once" in verb.traits
        if key in _FREQUENCIES and _FREQUENCIES[key] and not counted and frame.kind != "be at" and self.chance(0.12):
            clause.frequency = self.choose(_FREQUENCIES[key])
        elif verb.manner and not clause.companion and frame.kind != "be at" and self.chance(0.18):
            clause.manner = self.choose(verb.manner)
        if "for" in verb.traits and self.chance(0.2):
            clause.companion = Prepositional(lex.FOR, self.person(owner, near))
        elif (
            not frame.kind
            and (not verb.stative or "event" in verb.traits)
            and "nowhere" not in verb.traits
            and self.chance(0.26)
        ):
            clause.place = self.scene(frame, owner, near)

    def scene(self, frame: Frame, owner: Pronoun | None, near: bool) -> Prepositional | Adverb:
        traits = frame.verb.traits
        if "water" in traits:
            return Prepositional(lex.IN, self.location(self.another(_WATERS), owner, near))
        if "street" in traits or "shop" in traits:
            noun = self.choose(_ROADS if "street" in traits else _SHOPS)
            assert noun.at
            return Prepositional(noun.at, self.location(noun, owner, near))
        return self.place(frame.human, owner, near)

    # --- relative clauses ---------------------------------------------------------------------------------------

    def attach_relative(self, phrase: NounPhrase, key: str) -> None:
        """Add a relative clause to the phrase, if its determiner permits one."""
        noun = phrase.noun
        if phrase.owner or phrase.determiner not in (lex.THE, lex.A, lex.THIS, lex.EVERY, lex.ALL, lex.MANY_OF):
            return
        group = "past" if key in "abn" else "present" if key in "pgmf" and self.chance(0.6) else "past"
        gap = Gap(phrase.person, phrase.slot)
        r = self.random()
        if r < 0.12 and QUALITIES[noun]:
            tense = PAST if group == "past" else PRESENT
            adjective = self.choose(QUALITIES[noun])
            quality = Quality(adjective, lex.VERY if adjective.gradable and self.chance(0.3) else None)
            phrase.relative = Clause(gap, lex.BE, tense, predicate=quality)
        elif r < 0.55 and DOES[noun]:
            phrase.relative = self.role(self.choose(DOES[noun]), group, gap, phrase, None)
        elif UNDERGOES[noun]:
            phrase.relative = self.role(self.choose(UNDERGOES[noun]), group, None, phrase, gap)

    def role(self, frame: Frame, group: str, subject: Gap | None, head: NounPhrase, thing: Gap | None) -> Clause:
        acts: Nominal = subject or self.subject(frame, near=True, plain=True)
        clause = Clause(acts, frame.verb)
        self.tense(clause, frame, group)
        owner = pronoun_of(head) if subject else pronoun_of(acts)
        self.complete(clause, frame, owner, True, True, thing)
        clause.progressive = clause.progressive or _looks_past(clause)
        return clause

    def relative_at_end(self, clause: Clause, key: str) -> None:
        thing = clause.object
        if type(thing) is NounPhrase and not clause.to_recipient and not clause.verb.english.particle:
            self.attach_relative(thing, key)

    def ends_in_relative(self, clause: Clause) -> bool:
        return type(clause.object) is NounPhrase and clause.object.relative is not None

    # --- clauses with "to be" -----------------------------------------------------------------------------------

    def quality(
        self,
        group: str = "",
        near: bool = False,
        subject: Nominal | None = None,
        noun: Noun | None = None,
        negatable: bool = True,
        passing: bool = False,
    ) -> tuple[Clause, str]:
        """Return a clause about a quality (hungry, very old); `passing` permits only temporary ones (hungry)."""
        negated = negatable and self.chance(0.12)
        if subject is None:
            r = self.random()
            if r < 0.25:
                subject = self.speaker()
            elif r < 0.35:
                subject = self.another(lex.NAMES)
            else:
                noun = self.another(_STATEFUL if passing else _DESCRIBED)
                subject = self.noun_phrase(noun, negated, None, near, plain=True)
                subject.adjectives = ()
                if subject.determiner.indefinite or subject.determiner is lex.NO:
                    subject.determiner = lex.THE
        if passing:
            options = (STATES[noun] or QUALITIES[noun]) if noun else _STATES_OF_PEOPLE
        else:
            options = QUALITIES[noun] if noun else _OF_PEOPLE
        adjective = self.choose(options)
        degree = None
        r = self.random()
        if r < 0.3 and not negated and adjective.gradable:
            degree = lex.VERY if r < 0.18 else lex.TOO if r < 0.24 else lex.QUITE
        clause = Clause(subject, lex.BE, negated=negated, contracted=self.chance(0.4))
        clause.predicate = Quality(adjective, degree)
        key = self.being_tense(clause, group, adjective.passing)
        return clause, key if adjective.passing else "q"

    def being_tense(self, clause: Clause, group: str, passing: bool) -> str:
        r = self.random()
        if group == "after":
            clause.tense = PLUPERFECT
            return "q"
        if group in _AUXILIARY_TENSES or (group == "" and r > 0.92 and passing):
            clause.tense = FUTURE
            return "f"
        if group.endswith("past") or group == "while" or (group == "" and r > 0.55):
            clause.tense = PAST
            return "a"
        return "c"

    def comparison(self) -> Clause:
        adjective, pairs = self.choose(COMPARED)
        noun, peers = self.choose(pairs)
        human = "person" in noun.tags
        first: Nominal = self.one_of(noun, human)
        other = self.choose(peers)
        second: Nominal = self.one_of(other, human and other is not noun)
        if (type(first) is type(second) is NounPhrase and first.noun is other) or first is second:
            second = NounPhrase(self.possessive(None, False), other)
        if type(second) is Pronoun and type(first) is Pronoun:
            second = self.another(lex.NAMES)
        tense = PRESENT if self.chance(0.7) else PAST
        clause = Clause(first, lex.BE, tense, negated=self.chance(0.12), contracted=self.chance(0.4))
        clause.predicate = Quality(adjective, None, second, equal=self.chance(0.25))
        return clause

    def one_of(self, noun: Noun, human: bool) -> Nominal:
        r = self.random()
        if human and r < 0.3:
            return self.speaker() if r < 0.2 else self.another(lex.NAMES)
        determiner = lex.THE if r < 0.6 else lex.THIS
        if r > 0.75 and noun in OWNED:
            determiner = self.possessive(None, False)
        return NounPhrase(determiner, noun, self.chance(0.15))

    def trade(self) -> Clause:
        """Return a clause about a profession; a woman has only those for which English has a feminine word."""
        pronoun = lex.PRONOUN_HE if self.chance(0.7) else lex.PRONOUN_SHE
        r = self.random()
        subject: Nominal = pronoun
        if r < 0.4:
            subject = self.choose([name for name in lex.NAMES if name.pronoun is pronoun])
        elif r < 0.8:
            noun = self.choose([noun for noun in _TRADESMEN if noun.pronoun is pronoun])
            subject = NounPhrase(self.possessive(None, False), noun)
        noun = self.choose(_TRADES[pronoun])
        clause = Clause(subject, lex.BE, PRESENT if self.chance(0.7) else PAST)
        clause.negated, clause.contracted = self.chance(0.15), self.chance(0.4)
        clause.predicate = NounPhrase(lex.A, noun, False, self.adjectives(noun, 0.35))
        return clause

    def existence(self) -> Clause:
        """Return a clause such as "there is a castle in this village"."""
        r = self.random()
        if r < 0.35:
            noun, shop = self.another(_GOODS), self.another(_SHOPS)
            assert shop.at
            place = Prepositional(shop.at, self.location(shop, None, False))
        else:
            noun = self.another(_EXISTING)
            if "animal" in noun.tags:
                place = self.outdoors()
            else:
                town = self.another(_TOWNS)
                place = Prepositional(lex.IN, self.location(town, None, False))
        plural = noun.countable and self.chance(0.4)
        determiner = lex.A if noun.countable else lex.BARE
        r = self.random()
        if r < 0.15:
            determiner = lex.NO
        elif plural and r < 0.6:
            determiner = self.choose((lex.MANY_OF, lex.SOME, self.choose(lex.NUMBERS), self.choose(lex.NUMBERS)))
        thing = NounPhrase(determiner, noun, plural, self.adjectives(noun, 0.3))
        tense = PRESENT if self.chance(0.7) else PAST
        return Clause(lex.DUMMY_THERE, lex.EXIST, tense, object=thing, place=place)

    def weather(self, group: str) -> tuple[Clause, str]:
        clause = Clause(lex.DUMMY_IT, self.choose(lex.WEATHER), contracted=self.chance(0.4))
        if group in _AUXILIARY_TENSES:
            clause.tense = FUTURE
            return clause, "f"
        if group == "after":
            clause.tense = PLUPERFECT
            return clause, "q"
        if group.endswith("past") or group == "while" or (not group and self.chance(0.4)):
            clause.tense, clause.progressive = PAST, group == "while" or self.chance(0.5)
            return clause, "b" if clause.progressive else "a"
        clause.progressive = True
        return clause, "g"
