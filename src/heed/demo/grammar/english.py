"""Render a tree in English."""

from heed.demo.grammar.lexicon import DUMMY_THERE
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
        text = _question(main, tree.asks)
        if tree.subordinate:
            text += f" {_subordinate(tree.subordinate)}"
        return _close(text, "?")
    if tree.mood == COMMAND:
        order = "do not" if main.negated else ""
        text = _join(("please" if tree.please else "", order, _rest(main, main.verb.english.base)))
        return _close(text, "." if tree.please else "!")
    time_first, place_first = tree.time_first, tree.place_first
    text = _clause(main, skip_time=time_first, skip_place=place_first)
    if time_first and main.time:
        text = f"{main.time.english} {text}"
    elif place_first and main.place:
        text = f"{_adverbial(main.place)} {text}"
    if second := tree.second:
        assert tree.conjunction
        comma = "," if tree.conjunction.english == "but" else ""
        text += f"{comma} {tree.conjunction.english} {_clause(second, skip_subject=second.subject is main.subject)}"
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
    return f"{tree.conjunction.english} {_clause(tree.clause)}"


def _verbs(clause: Clause, supported: bool) -> tuple[str, str]:
    """Return the auxiliary, which is negated and inverted, and the rest; `supported` adds a "do" if there is none."""
    verb = clause.verb.english
    subject = clause.subject
    if subject is DUMMY_THERE and clause.object:
        person = clause.object.person
    else:
        person = subject.person
    if modal := clause.modal:
        link = f"{modal.link} {verb.base}" if modal.link else verb.base
        if not modal.base:
            return modal.english[person], link
        if supported:
            return _DO[modal.tense == PAST][person], f"{modal.base} {link}"
        return "", f"{modal.english[person]} {link}"
    tense = clause.tense
    if tense == FUTURE:
        return "will", verb.base
    if tense == PERFECT:
        return _HAVE[person], verb.participle
    if tense == PLUPERFECT:
        return "had", verb.participle
    if verb.base == "be":
        return _BE[tense == PAST][person], ""
    if clause.progressive:
        return _BE[tense == PAST][person], verb.gerund
    if supported:
        return _DO[tense == PAST][person], verb.base
    if tense == PAST:
        return "", verb.past
    return "", verb.third if person == THIRD else verb.base


def _clause(clause: Clause, skip_time: bool = False, skip_place: bool = False, skip_subject: bool = False) -> str:
    negated = clause.negated
    auxiliary, main = _verbs(clause, negated)
    subject = "" if skip_subject else nominal(clause.subject, 0)
    if negated:
        if clause.contracted and auxiliary in _CONTRACTED:
            auxiliary = _CONTRACTED[auxiliary]
        else:
            auxiliary = "cannot" if auxiliary == "can" else auxiliary + " not"
    elif clause.contracted and auxiliary in _ENCLITIC and type(clause.subject) is Pronoun and subject:
        subject += _ENCLITIC[auxiliary]
        auxiliary = ""
    if clause.frequency:
        auxiliary = f"{auxiliary} {clause.frequency.english}" if auxiliary else clause.frequency.english
    return _join((subject, auxiliary, _rest(clause, main, skip_time, skip_place)))


def _question(clause: Clause, asks: Adverb | None) -> str:
    subject, asked = clause.subject, clause.object
    if is_asked(subject):
        return _clause(clause)
    word = ""
    if asks:
        word = asks.english
    elif asked and is_asked(asked):
        word = ("who" if asked.human else "what") if type(asked) is Gap else nominal(asked, 1)
    elif clause.recipient and is_asked(clause.recipient):
        word = "who"
    auxiliary, main = _verbs(clause, True)
    between = clause.frequency.english if clause.frequency else ""
    if clause.negated:
        if clause.contracted and auxiliary in _CONTRACTED:
            auxiliary = _CONTRACTED[auxiliary]
        else:
            between = "not"
    return _join((word, auxiliary, nominal(subject, 0), between, _rest(clause, main)))


def _rest(clause: Clause, main: str, skip_time: bool = False, skip_place: bool = False) -> str:
    """Return everything after the auxiliary. An object that was moved to the front leaves only its preposition."""
    verb = clause.verb.english
    words = [main]
    tree = clause.object
    if tree is not None:
        text = "" if type(tree) is Gap or is_asked(tree) else nominal(tree, 1)
        if verb.preposition:
            text = f"{verb.preposition} {text}"
            if clause.manner:
                text = f"{clause.manner.english} {text}"
        if verb.particle:
            text = f"{text} {verb.particle}" if type(tree) is Pronoun else f"{verb.particle} {text}"
        if clause.recipient:
            gone = type(clause.recipient) is Gap
            recipient = "" if gone else nominal(clause.recipient, 1)
            if clause.to_recipient or gone:
                words += (text, "to", recipient)
            else:
                words += (recipient, text)
        else:
            words.append(text.strip())
    elif verb.particle:
        words.append(verb.particle)
    if clause.predicate:
        words.append(_quality(clause.predicate))
    if clause.manner and not verb.preposition:
        words.append(clause.manner.english)
    if clause.place and not skip_place:
        words.append(_adverbial(clause.place))
    if clause.companion:
        words.append(_adverbial(clause.companion))
    if clause.time and not skip_time:
        words.append(clause.time.english)
    if clause.content:
        words.append(_subordinate(clause.content))
    return _join(words)


def _quality(tree: Quality | NounPhrase) -> str:
    if type(tree) is NounPhrase:
        return nominal(tree, 1)
    assert type(tree) is Quality
    adjective = tree.adjective
    if tree.than is None:
        return f"{tree.degree.english} {adjective.english}" if tree.degree else adjective.english
    than = nominal(tree.than, 1)
    if tree.equal:
        return f"as {adjective.english} as {than}"
    assert adjective.comparative
    return f"{adjective.comparative[0]} than {than}"


def _adverbial(tree: Prepositional | Adverb) -> str:
    if type(tree) is Adverb:
        return tree.english
    assert type(tree) is Prepositional
    return f"{tree.preposition.english} {nominal(tree.nominal, 1)}"


def nominal(tree: Nominal, case: int) -> str:
    """Render a nominal; `case` is 0 for a subject, 1 for anything else."""
    if type(tree) is NounPhrase:
        return noun_phrase(tree)
    if type(tree) is Pronoun:
        return tree.english[case]
    if type(tree) is Both:
        return f"{nominal(tree.first, case)} and {nominal(tree.second, case)}"
    if type(tree) is Gap:
        if tree.slot is None:
            return "who" if tree.human else "what"
        return ""
    assert type(tree) is Name
    return tree.english


def noun_phrase(tree: NounPhrase) -> str:
    noun = tree.noun.english[tree.plural]
    if tree.adjectives:
        noun = " ".join([adjective.english for adjective in tree.adjectives]) + " " + noun
    owner = tree.owner
    if owner is None:
        determiner = tree.determiner.english[tree.plural]
        if determiner == "a":
            determiner = "an" if noun[0] in "aeiou" else "a"
        text = f"{determiner} {noun}" if determiner else noun
    elif owner.noun.tags.isdisjoint(("person", "animal")):
        text = f"the {noun} of {noun_phrase(owner)}"
    else:
        possessor = noun_phrase(owner)
        text = possessor + ("' " if possessor.endswith("s") and owner.plural else "'s ") + noun
    if relative := tree.relative:
        # "Who" is for a person as subject; "that" is right everywhere else.
        who = type(relative.subject) is Gap and "person" in tree.noun.tags
        text = f"{text} {'who' if who else 'that'} {_clause(relative)}"
    return text
