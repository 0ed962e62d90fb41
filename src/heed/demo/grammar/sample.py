"""Sample sentences: the constructions, their frequencies, and the rules that leave each one translation only.

Where German distinguishes what English does not, the grammar avoids the ambiguity:

* a pronoun in a second clause refers to the first subject, or to the first object if English distinguishes the two
  ("the woman ... the table ... she ... it");
* an adverb is never placed where it could belong to either of two clauses;
* "they read" is always the past tense; the present is "they are reading".
"""

from heed.demo.grammar import frames
from heed.demo.grammar import lexicon as lex
from heed.demo.grammar.clauses import Clauses
from heed.demo.grammar.frames import DOES, QUALITIES, UNDERGOES
from heed.demo.grammar.phrases import pronoun_of
from heed.demo.grammar.tree import (
    COMMAND,
    PAST,
    PRESENT,
    QUESTION,
    Clause,
    Gap,
    Nominal,
    NounPhrase,
    Sentence,
    Subordinate,
)
from heed.demo.grammar.words import Noun, Pronoun

_PLAIN = (
    frames.INTRANSITIVE * 3 + frames.TRANSITIVE * 3 + frames.PREPOSITIONAL * 5 + frames.GIVING * 7
    + frames.MOTION * 14 + frames.JOURNEY * 5 + frames.ORIGIN * 5 + frames.LOCATED * 9
)  # fmt: skip
_SUBORDINATE = frames.INTRANSITIVE * 2 + frames.TRANSITIVE + frames.PREPOSITIONAL + frames.MOTION * 2
_OBJECT_QUESTIONS = frames.TRANSITIVE + frames.PREPOSITIONAL
_WHERE = [
    frame
    for frame in frames.INTRANSITIVE + (frames.MOTION + frames.LOCATED + frames.ORIGIN) * 2 + frames.TRANSITIVE
    if frame.kind or not (frame.verb.german.moves or frame.verb.stative)
]
_WHERE_WORDS = {"go": lex.WHERE_TO, "from": lex.WHERE_FROM}
_TIMES = {key: [time for time in lex.TIMES if key in time.tenses] for key in "pgabefmncq"}


class Sampler(Clauses):
    def sentence(self) -> Sentence:
        self.mentioned.clear()
        r = self.random()
        if r < 0.44:
            return self.statement()
        if r < 0.62:
            return self.with_subordinate()
        if r < 0.69:
            return self.with_report()
        if r < 0.76:
            return self.coordination()
        if r < 0.86:
            return self.yes_no()
        if r < 0.96:
            return self.wh_question()
        return self.command()

    # --- whole sentences ----------------------------------------------------------------------------------------

    def statement(self) -> Sentence:
        r = self.random()
        if r < 0.77:
            clause, key = self.action(self.choose(_PLAIN), relatives=True)
            return self.timed(clause, key)
        if r < 0.85:
            clause, key = self.quality()
            return self.timed(clause, key)
        if r < 0.94:
            return Sentence(self.comparison())
        if r < 0.965:
            return Sentence(self.trade())
        if r < 0.995:
            clause = self.existence()
            return Sentence(clause, place_first=self.chance(0.3))
        clause, key = self.weather("")
        return self.timed(clause, key)

    def timed(self, clause: Clause, key: str) -> Sentence:
        """Add an expression of time at either end, where English permits one."""
        full = self.ends_in_relative(clause)
        times = _TIMES[key]
        if times and not clause.frequency and self.chance(0.4):
            clause.time = self.choose(times)
            if clause.negated and clause.time.english.startswith("every"):
                clause.time = None
            return Sentence(clause, time_first=full or self.chance(0.45))
        return Sentence(clause)

    def with_subordinate(self) -> Sentence:
        r = self.random()
        if r < 0.40:
            conjunction, group, inner = lex.BECAUSE, "", ""
        elif r < 0.52:
            conjunction, group, inner = lex.ALTHOUGH, "", ""
        elif r < 0.62:
            conjunction, group, inner = lex.IF, "if", "simple present"
        elif r < 0.70:
            conjunction, group, inner = lex.WHEN_NOW, "simple present", "simple present"
        elif r < 0.80:
            conjunction, group, inner = lex.WHEN_THEN, "past", "simple past"
        elif r < 0.86:
            conjunction, group, inner = lex.WHILE, "past", "while"
        elif r < 0.93:
            conjunction, group, inner = lex.BEFORE, "simple past", "simple past"
        else:
            conjunction, group, inner = lex.AFTER, "past", "after"
        if not group:
            group = "past" if self.chance(0.55) else "present"
            inner = group
            if group == "present" and self.chance(0.2):
                group = "future"
        reason = conjunction is lex.BECAUSE or conjunction is lex.ALTHOUGH
        if self.chance(0.3):
            # The first clause has the names, the second one the pronouns.
            opening, _ = self.action(self.choose(_SUBORDINATE), group=inner, near=True, plain=True)
            if not reason:
                opening.frequency = None
            second = self.echo(opening, group, reason)
            return Sentence(second, subordinate=Subordinate(conjunction, opening, first=True))
        if self.chance(0.2):
            clause, _ = self.quality(group if group != "if" else "future", passing=True)
        else:
            clause, _ = self.action(self.choose(_PLAIN), group=group, plain=True)
        dependent = self.echo(clause, inner, reason)
        if not reason:
            dependent.frequency = None
        return Sentence(clause, subordinate=Subordinate(conjunction, dependent))

    def echo(self, clause: Clause, group: str, reason: bool = False) -> Clause:
        """Return a clause about the same people and things as the one before it."""
        subject, thing = clause.subject, clause.object
        pronoun = pronoun_of(subject)
        other = None
        if type(thing) is NounPhrase:
            other = pronoun_of(thing)
            if other and pronoun and other.english == pronoun.english:
                other = None
        if subject in (lex.DUMMY_IT, lex.DUMMY_THERE):
            pronoun = None
        r = self.random()
        if r < 0.70 and pronoun:
            noun = subject.noun if type(subject) is NounPhrase else None
            return self.continuation(pronoun, noun, group, reason, thing, other)
        if r < 0.80 and other and type(thing) is NounPhrase and QUALITIES[thing.noun]:
            return self.continuation(other, thing.noun, group, reason, None, None)
        if r < 0.83 and not reason:
            return self.weather(group)[0]
        if r < 0.86 and reason:
            return self.quality(group, near=True, subject=self.another(lex.NAMES), passing=True)[0]
        return self.action(self.choose(_SUBORDINATE), group=group, near=True, plain=True)[0]

    def continuation(
        self,
        pronoun: Pronoun,
        noun: Noun | None,
        group: str,
        reason: bool,
        thing: Nominal | None,
        other: Pronoun | None,
    ) -> Clause:
        """Return a clause about what `pronoun` is or does, perhaps to `other`, the pronoun of `thing`."""
        human = noun is None or "person" in noun.tags
        if human and other and type(thing) is NounPhrase and self.chance(0.55):
            frame = self.choose(UNDERGOES[thing.noun]) if UNDERGOES[thing.noun] else None
            if frame and not (frame.verb.german.preposition and "person" not in thing.noun.tags):
                if noun is None or noun in frame.subjects:
                    clause, _ = self.action(frame, group=group, subject=pronoun, near=True, plain=True, thing=other)
                    return clause
        options = DOES[noun] if noun else _SUBORDINATE
        if not options or self.chance(0.6 if reason else 0.2):
            return self.quality(group, near=True, subject=pronoun, noun=noun, passing=human or not reason)[0]
        frame = self.choose(options)
        while noun is None and not frame.human:
            frame = self.choose(options)
        return self.action(frame, group=group, subject=pronoun, near=True, plain=True)[0]

    def with_report(self) -> Sentence:
        group = "past" if self.chance(0.5) else "present"
        frame = self.choose(frames.REPORTING)
        whether = self.chance(0.15)
        if whether:
            frame = self.choose(frames.ASKING)
        subject = self.subject(frame, plain=True)
        clause = Clause(subject, frame.verb, PAST if group == "past" else PRESENT)
        if frame.verb.english.base == "know" and group == "present" and self.chance(0.4):
            clause.negated, whether, clause.contracted = True, True, self.chance(0.4)
        pronoun = pronoun_of(subject)
        noun = subject.noun if type(subject) is NounPhrase else None
        r = self.random()
        inner_group = group if self.chance(0.75) else ("future" if group == "present" else "past")
        if r < 0.3 and pronoun:
            content = self.continuation(pronoun, noun, inner_group, True, None, None)
        elif r < 0.5:
            content, _ = self.quality(inner_group, near=True)
        else:
            content, _ = self.action(self.choose(_PLAIN), group=inner_group, near=True, plain=True)
        clause.content = Subordinate(lex.WHETHER if whether else lex.THAT, content)
        if self.chance(0.1):
            return Sentence(clause, QUESTION)
        return Sentence(clause)

    def coordination(self) -> Sentence:
        group = "simple past" if self.chance(0.65) else "simple present"
        first, key = self.action(self.choose(_PLAIN), group=group, plain=True, negatable=False)
        subject = first.subject
        noun = subject.noun if type(subject) is NounPhrase else None
        time_first = False
        if _TIMES[key] and not first.frequency and self.chance(0.2):
            first.time, time_first = self.choose(_TIMES[key]), True
        if self.chance(0.65):
            other = pronoun_of(first.object) if first.object else None
            mine = pronoun_of(subject)
            if other and mine and other.english == mine.english:
                other = None
            second = self.continuation(mine or lex.PRONOUN_THEY, noun, group, False, first.object, other)
            second.subject = subject
            second.frequency = None
            return Sentence(first, time_first=time_first, conjunction=lex.AND, second=second)
        second, _ = self.action(self.choose(_SUBORDINATE), group=group, near=True, plain=True)
        conjunction = lex.BUT if self.chance(0.6) else lex.AND
        return Sentence(first, time_first=time_first, conjunction=conjunction, second=second)

    def yes_no(self) -> Sentence:
        r = self.random()
        if r < 0.72:
            clause, key = self.action(self.choose(_PLAIN), plain=True, negatable=False)
        elif r < 0.82:
            clause, key = self.quality(negatable=False)
        elif r < 0.92:
            clause, key = self.comparison(), ""
            clause.negated = False
        else:
            clause, key = self.existence(), ""
            clause.negated = False
        if key and _TIMES[key] and not clause.frequency and self.chance(0.2):
            clause.time = self.choose(_TIMES[key])
        return Sentence(clause, QUESTION)

    def wh_question(self) -> Sentence:
        r = self.random()
        if r < 0.2:
            return self.who_does()
        if r < 0.5:
            return self.what_is_done()
        if r < 0.55:
            frame = self.choose(frames.GIVING)
            clause, _ = self.action(frame, plain=True, negatable=False)
            clause.recipient = Gap()
            return Sentence(clause, QUESTION)
        if r < 0.72:
            frame = self.choose(_WHERE)
            clause, _ = self.action(frame, plain=True, negatable=False)
            clause.place = clause.companion = None
            if frame.kind == "from":
                clause.object = Gap(human=False)
            return Sentence(clause, QUESTION, asks=_WHERE_WORDS.get(frame.kind, lex.WHERE))
        if r < 0.76:
            clause, _ = self.quality(negatable=False, passing=True)
            return Sentence(clause, QUESTION, asks=lex.WHY)
        clause, _ = self.action(self.choose(_PLAIN), plain=True)
        if clause.negated or self.chance(0.5):
            return Sentence(clause, QUESTION, asks=lex.WHY)
        clause.frequency = None
        return Sentence(clause, QUESTION, asks=lex.WHEN)

    def who_does(self) -> Sentence:
        frame = self.choose(_PLAIN)
        while not frame.human:
            frame = self.choose(_PLAIN)
        subject: Nominal = Gap()
        if self.chance(0.3):
            noun = self.another(frame.subjects)
            determiner, plural = (lex.WHICH, self.chance(0.2)) if self.chance(0.7) else (lex.HOW_MANY, True)
            subject = NounPhrase(determiner, noun, plural)
        clause, key = self.action(frame, subject=subject, near=True, plain=True, negatable=False)
        if _TIMES[key] and not clause.frequency and self.chance(0.2):
            clause.time = self.choose(_TIMES[key])
        return Sentence(clause, QUESTION)

    def what_is_done(self) -> Sentence:
        frame = self.choose(_OBJECT_QUESTIONS)
        clause, key = self.action(frame, plain=True, negatable=False)
        noun = self.another(frame.objects)
        r = self.random()
        # Without its object, "ride" could be "reiten" or "fahren".
        if r < 0.6 and frame.verb.english.base != "ride":
            clause.object = Gap(human="person" in noun.tags)
        elif noun.countable and r < 0.75:
            clause.object = NounPhrase(lex.HOW_MANY, noun, True, self.adjectives(noun, 0.15))
        else:
            plural = noun.countable and self.chance(0.25)
            clause.object = NounPhrase(lex.WHICH, noun, plural, self.adjectives(noun, 0.15))
        clause.companion = clause.manner = None
        if _TIMES[key] and not clause.frequency and self.chance(0.15):
            clause.time = self.choose(_TIMES[key])
        return Sentence(clause, QUESTION)

    def command(self) -> Sentence:
        frame = self.choose(frames.COMMANDS)
        clause = Clause(lex.PRONOUN_YOU, frame.verb, negated=self.chance(0.15))
        self.complete(clause, frame, lex.PRONOUN_YOU, near=True, plain=True)
        if type(clause.object) is Pronoun and clause.object.person == 1:
            clause.object = lex.PRONOUN_I
        return Sentence(clause, COMMAND, please=self.chance(0.3))
