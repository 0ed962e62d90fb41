"""Render a tree in English."""

from heed.demo.grammar.lexicon import DUMMY_THERE
from heed.demo.grammar.marks import Role
from heed.demo.grammar.tree import (
    COMMAND,
    FUTURE,
    PAST,
    PERFECT,
    PLUPERFECT,
    QUESTION,
    Both,
    Clause,
    Gap,
    Nominal,
    NounPhrase,
    Prepositional,
    Quality,
    Sentence,
    Subordinate,
    is_asked,
)
from heed.demo.grammar.words import THIRD, Adverb, Name, Pronoun

_BE = {False: ("am", "are", "is", "are"), True: ("was", "were", "was", "were")}
_DO = {False: ("do", "do", "does", "do"), True: ("did", "did", "did", "did")}
_HAVE = ("have", "have", "has", "have")

_CONTRACTED = {
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "do": "don't",
    "does": "doesn't",
    "did": "didn't",
    "have": "haven't",
    "has": "hasn't",
    "will": "won't",
    "can": "can't",
    "could": "couldn't",
    "should": "shouldn't",
}
_ENCLITIC = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll"}


def sentence(tree: Sentence) -> str:
    main = tree.main
    if tree.mood == QUESTION:
        text = _question(main, tree.say(tree.asks.english, Role.ASKS) if tree.asks else "")
        if tree.subordinate:
            text += f" {_subordinate(tree.subordinate)}"
        return _close(text, "?")
    if tree.mood == COMMAND:
        please = tree.say("please", Role.PLEASE) if tree.please else ""
        order = f"{main.say('do', Role.TENSE)} {main.say('not', Role.NOT)}" if main.negated else ""
        text = _join((please, order, _rest(main, _verb(main, main.verb.english.base, is_finite=not main.negated))))
        return _close(text, "." if tree.please else "!")
    time_first, place_first = tree.time_first, tree.place_first
    text = _clause(main, skip_time=time_first, skip_place=place_first)
    if time_first and main.time:
        text = f"{main.say(main.time.english, Role.TIME)} {text}"
    elif place_first and main.place:
        text = f"{_adverbial(main, main.place)} {text}"
    if second := tree.second:
        assert tree.conjunction
        comma = "," if tree.conjunction.english == "but" else ""
        conjunction = tree.say(tree.conjunction.english, Role.CONJUNCTION)
        text += f"{comma} {conjunction} {_clause(second, skip_subject=second.subject is main.subject)}"
    if subordinate := tree.subordinate:
        if subordinate.first:
            text = f"{_subordinate(subordinate)}, {text}"
        else:
            text += f" {_subordinate(subordinate)}"
    return _close(text, ".")


def _close(text: str, mark: str) -> str:
    return text[0].upper() + text[1:] + mark


def _join(words: tuple[str, ...] | list[str]) -> str:
    return " ".join([word for word in words if word])


def _subordinate(tree: Subordinate) -> str:
    return f"{tree.say(tree.conjunction.english, Role.CONJUNCTION)} {_clause(tree.clause)}"


def _verb(clause: Clause, form: str, is_finite: bool = False) -> str:
    """Return a form of the verb. It renders the tense if it is finite, and what the other language may say apart."""
    verb = clause.verb.english
    roles = [Role.VERB]
    if is_finite:
        roles.append(Role.TENSE)
    if not verb.particle:
        roles.append(Role.PARTICLE)
    if not verb.preposition:
        roles.append(Role.GOVERNED)
    return clause.say(form, *roles)


def _verbs(clause: Clause, supported: bool) -> tuple[str, str]:
    """Return the auxiliary, which is negated and inverted, and the rest; `supported` adds a "do" if there is none."""
    verb = clause.verb.english
    subject = clause.subject
    if subject is DUMMY_THERE and clause.object:
        person = clause.object.person
    else:
        person = subject.person
    if modal := clause.modal:
        link = _verb(clause, verb.base)
        if modal.link:
            link = f"{clause.say(modal.link, Role.TENSE)} {link}"
        if not modal.base:
            return modal.english[person], link
        if supported:
            return _DO[modal.tense == PAST][person], f"{clause.say(modal.base, Role.TENSE)} {link}"
        return "", f"{clause.say(modal.english[person], Role.TENSE)} {link}"
    tense = clause.tense
    if tense == FUTURE:
        return "will", _verb(clause, verb.base)
    if tense == PERFECT:
        return _HAVE[person], _verb(clause, verb.participle)
    if tense == PLUPERFECT:
        return "had", _verb(clause, verb.participle)
    if verb.base == "be":
        return _BE[tense == PAST][person], ""
    if clause.progressive:
        return _BE[tense == PAST][person], _verb(clause, verb.gerund)
    if supported:
        return _DO[tense == PAST][person], _verb(clause, verb.base)
    form = verb.past if tense == PAST else verb.third if person == THIRD else verb.base
    return "", _verb(clause, form, is_finite=True)


def _auxiliary(clause: Clause, text: str, main: str, *also: Role) -> str:
    """Mark an auxiliary; "is" without another verb is the verb itself."""
    return clause.say(text, Role.TENSE, *also) if main else clause.say(_verb(clause, text, True), *also)


def _negated(clause: Clause, auxiliary: str, main: str) -> str:
    if clause.contracted and auxiliary in _CONTRACTED:
        return _auxiliary(clause, _CONTRACTED[auxiliary], main, Role.NOT)
    if auxiliary == "can":
        return _auxiliary(clause, "cannot", main, Role.NOT)
    return f"{_auxiliary(clause, auxiliary, main)} {clause.say('not', Role.NOT)}"


def _clause(clause: Clause, skip_time: bool = False, skip_place: bool = False, skip_subject: bool = False) -> str:
    auxiliary, main = _verbs(clause, clause.negated)
    subject = "" if skip_subject else clause.fill(nominal(clause.subject, 0), Role.SUBJECT)
    if clause.negated:
        auxiliary = _negated(clause, auxiliary, main)
    elif clause.contracted and auxiliary in _ENCLITIC and type(clause.subject) is Pronoun and subject:
        subject += _auxiliary(clause, _ENCLITIC[auxiliary], main)
        auxiliary = ""
    elif auxiliary:
        auxiliary = _auxiliary(clause, auxiliary, main)
    return _join((subject, auxiliary, _frequency(clause), _rest(clause, main, skip_time, skip_place)))


def _frequency(clause: Clause) -> str:
    return clause.say(clause.frequency.english, Role.FREQUENCY) if clause.frequency else ""


def _question(clause: Clause, word: str) -> str:
    """Render a question; `word` is the question word for an adverbial, if it asks for one."""
    subject, asked = clause.subject, clause.object
    if is_asked(subject):
        return _clause(clause)
    if word:
        pass
    elif asked and is_asked(asked):
        word = clause.fill(nominal(asked, 1), Role.OBJECT)
    elif clause.recipient and is_asked(clause.recipient):
        word = clause.say("who", Role.RECIPIENT)
    auxiliary, main = _verbs(clause, True)
    between = _frequency(clause)
    if clause.negated and clause.contracted and auxiliary in _CONTRACTED:
        auxiliary = _negated(clause, auxiliary, main)
    else:
        auxiliary = _auxiliary(clause, auxiliary, main)
        if clause.negated:
            between = clause.say("not", Role.NOT)
    return _join((word, auxiliary, clause.fill(nominal(subject, 0), Role.SUBJECT), between, _rest(clause, main)))


def _rest(clause: Clause, main: str, skip_time: bool = False, skip_place: bool = False) -> str:
    """Return everything after the auxiliary. An object that was moved to the front leaves only its preposition."""
    verb = clause.verb.english
    words = [main]
    tree = clause.object
    if tree is not None:
        text = "" if type(tree) is Gap or is_asked(tree) else clause.fill(nominal(tree, 1), Role.OBJECT)
        if verb.preposition:
            text = f"{clause.say(verb.preposition, Role.GOVERNED)} {text}"
            if clause.manner:
                text = f"{clause.say(clause.manner.english, Role.MANNER)} {text}"
        if verb.particle:
            particle = clause.say(verb.particle, Role.PARTICLE)
            text = f"{text} {particle}" if type(tree) is Pronoun else f"{particle} {text}"
        if clause.recipient:
            gone = type(clause.recipient) is Gap
            recipient = "" if gone else clause.fill(nominal(clause.recipient, 1), Role.RECIPIENT)
            if clause.to_recipient or gone:
                words += (text, clause.say("to", Role.TO), recipient)
            else:
                words += (recipient, text)
        else:
            words.append(text.strip())
    elif verb.particle:
        words.append(clause.say(verb.particle, Role.PARTICLE))
    if clause.predicate:
        words.append(_quality(clause.predicate))
    if clause.manner and not verb.preposition:
        words.append(clause.say(clause.manner.english, Role.MANNER))
    if clause.place and not skip_place:
        words.append(_adverbial(clause, clause.place))
    if clause.companion:
        words.append(_adverbial(clause, clause.companion))
    if clause.time and not skip_time:
        words.append(clause.say(clause.time.english, Role.TIME))
    if clause.content:
        words.append(_subordinate(clause.content))
    return _join(words)


def _quality(tree: Quality | NounPhrase) -> str:
    if type(tree) is NounPhrase:
        return nominal(tree, 1)
    assert type(tree) is Quality
    adjective = tree.say(tree.adjective.english, Role.QUALITY)
    if tree.than is None:
        return f"{tree.say(tree.degree.english, Role.DEGREE)} {adjective}" if tree.degree else adjective
    than = tree.fill(nominal(tree.than, 1), Role.STANDARD)
    if tree.equal:
        as_ = tree.say("as", Role.THAN)
        return f"{as_} {adjective} {as_} {than}"
    assert tree.adjective.comparative
    return f"{tree.say(tree.adjective.comparative[0], Role.QUALITY)} {tree.say('than', Role.THAN)} {than}"


def _adverbial(clause: Clause, tree: Prepositional | Adverb) -> str:
    if type(tree) is Adverb:
        return clause.say(tree.english, Role.PLACE)
    assert type(tree) is Prepositional
    preposition = tree.say(tree.preposition.english, Role.PREPOSITION)
    return f"{preposition} {tree.fill(nominal(tree.nominal, 1), Role.NOMINAL)}"


def nominal(tree: Nominal, case: int) -> str:
    """Render a nominal; `case` is 0 for a subject, 1 for anything else."""
    if type(tree) is NounPhrase:
        return noun_phrase(tree)
    if type(tree) is Pronoun:
        return tree.english[case]
    if type(tree) is Both:
        first, second = (
            tree.fill(nominal(tree.first, case), Role.FIRST),
            tree.fill(nominal(tree.second, case), Role.SECOND),
        )
        return f"{first} {tree.say('and', Role.AND)} {second}"
    if type(tree) is Gap:
        if tree.slot is None:
            return "who" if tree.human else "what"
        return ""
    assert type(tree) is Name
    return tree.english


def noun_phrase(tree: NounPhrase) -> str:
    owner = tree.owner
    of = owner is not None and owner.noun.tags.isdisjoint(("person", "animal"))
    determiner = "the" if of else "" if owner else tree.determiner.english[tree.plural]
    roles = (Role.NOUN,) if determiner else (Role.NOUN, Role.DETERMINER)
    text = tree.say(tree.noun.english[tree.plural], *roles)
    if tree.adjectives:
        adjectives = [tree.say(adjective.english, Role.ADJECTIVE) for adjective in tree.adjectives]
        text = f"{' '.join(adjectives)} {text}"
    if determiner == "a":
        determiner = "an" if text[0] in "aeiou" else "a"
    if determiner:
        text = f"{tree.say(determiner, Role.DETERMINER)} {text}"
    if owner and of:
        text = f"{text} {tree.say('of', Role.OWNED)} {noun_phrase(owner)}"
    elif owner:
        is_plural_in_s = owner.plural and owner.noun.english[1].endswith("s")
        text = noun_phrase(owner) + ("' " if is_plural_in_s else "'s ") + text
    if relative := tree.relative:
        # "Who" is for a person as subject; "that" is right everywhere else.
        who = type(relative.subject) is Gap and "person" in tree.noun.tags
        text = f"{text} {tree.say('who' if who else 'that', Role.RELATIVE)} {_clause(relative)}"
    return text
