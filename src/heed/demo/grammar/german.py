"""Render a tree in German.

A German clause is a frame: the finite verb opens it in second place (or first, in a question), and the rest of the
verb closes it; a subordinate clause closes with the finite verb as well. In between come, in this order: subject,
pronouns, time, dative, accusative, "nicht", manner, companion, place, and other complements. A relative clause of an
object follows the frame, so that it does not delay the verb.
"""

from heed.demo.grammar.lexicon import BE, NO, THE
from heed.demo.grammar.paradigms import RELATIVE, german_verb, with_contraction
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
from heed.demo.grammar.words import DAT, GEN, NOM, SECOND, Adverb, Determiner, Name, Pronoun

_HABEN = german_verb(["haben", "hat", "hatte", "gehabt"])
_WERDEN = german_verb(["werden", "wird", "wurde", "geworden"])
_SEIN = BE.german
_WHO = ("wer", "wen", "wem")

_KEEPS_PAST = frozenset(["sein", "haben", "wollen", "mögen", "wissen"])
"""Verbs with a past tense in the second person: for others, "du sahst" is archaic, and German uses the perfect."""

_SECOND, _LAST = range(2)


def sentence(tree: Sentence) -> str:
    main = tree.main
    if tree.mood == QUESTION:
        text = _question(main, tree.asks)
        if tree.subordinate:
            text = f"{text.rstrip(',')}, {_subordinate(tree.subordinate)}"
        return _close(text, "?")
    if tree.mood == COMMAND:
        verb = main.verb.german
        field, after = _field(main)
        words = ["bitte" if tree.please else "", verb.imperative, *field, verb.prefix]
        return _close(_join(words) + after, "." if tree.please else "!")
    subordinate = tree.subordinate
    if subordinate and subordinate.first:
        text = _clause(main, _SECOND, lead=_subordinate(subordinate).rstrip(",") + ",")
    elif tree.time_first and main.time:
        text = _clause(main, _SECOND, lead=main.time.german, skip_time=True)
    elif tree.place_first and main.place:
        text = _clause(main, _SECOND, lead=_adverbial(main.place), skip_place=True)
    else:
        text = _clause(main, _SECOND)
    if second := tree.second:
        assert tree.conjunction
        comma = "," if tree.conjunction.german == "aber" else ""
        same = second.subject is main.subject
        text = f"{text}{comma} {tree.conjunction.german} {_clause(second, _SECOND, skip_subject=same)}"
    if subordinate and not subordinate.first:
        text = f"{text.rstrip(',')}, {_subordinate(subordinate)}"
    return _close(text, ".")


def _close(text: str, mark: str) -> str:
    if text[-1] == ",":
        text = text[:-1]
    return text[0].upper() + text[1:].replace(",,", ",") + mark


def _join(words: list[str]) -> str:
    return " ".join([word for word in words if word])


def _subordinate(tree: Subordinate) -> str:
    return f"{tree.conjunction.german} {_clause(tree.clause, _LAST)}"


def _verbs(clause: Clause) -> tuple[str, str]:
    """Return the finite verb, and the words that close the frame."""
    verb = clause.verb.german
    person = clause.subject.person
    tense = clause.tense
    if clause.modal:
        return clause.modal.german[person], verb.infinitive
    if tense == FUTURE:
        return _WERDEN.present[person], verb.infinitive
    auxiliary = _SEIN if verb.moves else _HABEN
    if tense == PLUPERFECT:
        return auxiliary.past[person], verb.participle
    if tense == PERFECT or (tense == PAST and person == SECOND and verb.infinitive not in _KEEPS_PAST):
        return auxiliary.present[person], verb.participle
    return (verb.past if tense == PAST else verb.present)[person], verb.prefix


def _clause(
    clause: Clause,
    order: int,
    lead: str | None = None,
    skip_time: bool = False,
    skip_place: bool = False,
    skip_subject: bool = False,
) -> str:
    """Render a clause; `lead` precedes the finite verb in place of the subject, and is empty in yes-no questions."""
    finite, closing = _verbs(clause)
    subject = "" if skip_subject else nominal(clause.subject, NOM)
    field, after = _field(clause, skip_time, skip_place)
    if order == _LAST:
        if closing and closing == clause.verb.german.prefix:
            words = [subject, *field, closing + finite]
        else:
            words = [subject, *field, closing, finite]
    elif lead is None:
        words = [subject, finite, *field, closing]
    else:
        words = [lead, finite, subject, *field, closing]
    return _join(words) + after


def _question(clause: Clause, asks: Adverb | None) -> str:
    if is_asked(clause.subject):
        return _clause(clause, _SECOND)
    lead = ""
    if asks:
        lead = asks.german
    elif clause.object and is_asked(clause.object):
        lead = _asked_object(clause, clause.object)
    elif clause.recipient and is_asked(clause.recipient):
        lead = _WHO[DAT]
    return _clause(clause, _SECOND, lead)


def _asked_object(clause: Clause, tree: Nominal) -> str:
    verb = clause.verb.german
    if type(tree) is Gap and not tree.human:
        if verb.preposition:
            return f"wo{'r' if verb.preposition[0] in 'aeiouü' else ''}{verb.preposition}"
        return "was"
    text = nominal(tree, verb.case)
    return f"{verb.preposition} {text}" if verb.preposition else text


def _field(clause: Clause, skip_time: bool = False, skip_place: bool = False) -> tuple[list[str], str]:
    """Return the words inside the frame without the subject, and the clauses that follow the frame."""
    words: list[str] = []
    after = ""
    verb = clause.verb.german
    tree, recipient = clause.object, clause.recipient
    negated = clause.negated
    demanded = ""
    definite = True
    text = ""
    if tree is not None and not is_asked(tree) and type(tree) is not Gap:
        if type(tree) is Pronoun:
            if verb.preposition:
                demanded = f"{verb.preposition} {tree.german[verb.case]}"
            else:
                words.append(tree.german[verb.case])
        else:
            determiner = None
            if type(tree) is NounPhrase:
                definite = tree.determiner.definite
                if tree.relative:
                    after = f", {_relative(tree, tree.relative)}"
                if negated and tree.determiner.indefinite and not verb.preposition:
                    determiner, negated = NO, False
            if verb.preposition:
                demanded = _prepositional(verb.preposition, tree, verb.case, with_relative=False)
            elif type(tree) is NounPhrase:
                text = noun_phrase(tree, verb.case, determiner, with_relative=False)
            else:
                text = nominal(tree, verb.case)
    if recipient and type(recipient) is Pronoun:
        words.append(recipient.german[DAT])
        recipient = None
    if clause.time and not skip_time:
        words.append(clause.time.german)
    frequency = clause.frequency
    if frequency and not (frequency.late and definite):
        words.append(frequency.german)
    if recipient and type(recipient) is not Gap:
        words.append(nominal(recipient, DAT))
    manner = clause.manner.german if clause.manner else ""
    if text:
        if not definite and not clause.negated:  # "Schreibt schnell einen Brief", but "schreibt den Brief schnell".
            words.append(manner)
            manner = ""
        words.append(text)
    if frequency and frequency.late and definite:
        words.append(frequency.german)
    predicate = clause.predicate
    if predicate is not None:
        if type(predicate) is Quality:
            demanded = _quality(predicate)
        elif type(predicate) is NounPhrase:
            demanded = _predicate_noun(predicate, negated)
            negated = negated and not predicate.determiner.indefinite
    if negated:
        words.append("nicht")
    words.append(manner)
    if clause.companion:
        words.append(_adverbial(clause.companion))
    if clause.place and not skip_place:
        words.append(_adverbial(clause.place))
    if demanded:
        words.append(demanded)
    if clause.content:
        after += f", {_subordinate(clause.content)}"
    return words, after


def _predicate_noun(tree: NounPhrase, negated: bool) -> str:
    """Render a predicate noun: a profession has no article ("er ist Arzt"), unless it has a modifier."""
    if negated and tree.determiner.indefinite:
        return noun_phrase(tree, NOM, NO)
    if tree.determiner.indefinite and not tree.adjectives and "job" in tree.noun.tags:
        return tree.noun.german[4 * tree.plural]
    return noun_phrase(tree, NOM)


def _quality(tree: Quality) -> str:
    adjective = tree.adjective
    if tree.than is None:
        return f"{tree.degree.german} {adjective.german}" if tree.degree else adjective.german
    than = nominal(tree.than, NOM)
    if tree.equal:
        return f"so {adjective.german} wie {than}"
    assert adjective.comparative
    return f"{adjective.comparative[1]} als {than}"


def _adverbial(tree: Prepositional | Adverb) -> str:
    if type(tree) is Adverb:
        return tree.german
    assert type(tree) is Prepositional
    return _prepositional(tree.preposition.german, tree.nominal, tree.preposition.case)


def _prepositional(preposition: str, tree: Nominal, case: int, with_relative: bool = True) -> str:
    if type(tree) is NounPhrase:
        text = noun_phrase(tree, case, None, with_relative)
        # "In dem Haus, das ...": before a relative clause, preposition and article are not contracted.
        if tree.relative is None and tree.determiner is THE:
            article, _, rest = text.partition(" ")
            return f"{with_contraction(preposition, article)} {rest}"
        return f"{preposition} {text}"
    return f"{preposition} {nominal(tree, case)}"


def nominal(tree: Nominal, case: int) -> str:
    if type(tree) is NounPhrase:
        return noun_phrase(tree, case)
    if type(tree) is Pronoun:
        return tree.german[case]
    if type(tree) is Both:
        return f"{nominal(tree.first, case)} und {nominal(tree.second, case)}"
    if type(tree) is Gap:
        if tree.slot is None:
            return _WHO[case] if tree.human else "was"
        return ""
    assert type(tree) is Name
    return tree.german


def noun_phrase(tree: NounPhrase, case: int, determiner: Determiner | None = None, with_relative: bool = True) -> str:
    """Render a noun phrase; `determiner` replaces that of the tree, as negation turns "ein" into "kein"."""
    determiner = determiner or tree.determiner
    index = 4 * tree.slot + case
    text = tree.noun.german[4 + case if tree.plural else case]
    if tree.adjectives:
        ending = determiner.endings[index]
        text = " ".join([adjective.stem + ending for adjective in tree.adjectives]) + " " + text
    article = determiner.german[index]
    if article:
        text = f"{article} {text}"
    if tree.owner:
        text = f"{text} {noun_phrase(tree.owner, GEN)}"
    if tree.relative and with_relative:
        text = f"{text}, {_relative(tree, tree.relative)},"
    return text


def _relative(head: NounPhrase, clause: Clause) -> str:
    """Render a relative clause; its pronoun has the gender and number of its head, and the case of its own role."""
    verb = clause.verb.german
    if type(clause.subject) is Gap:
        pronoun = RELATIVE[4 * head.slot + NOM]
    elif type(clause.object) is Gap:
        pronoun = RELATIVE[4 * head.slot + verb.case]
        if verb.preposition:
            pronoun = f"{verb.preposition} {pronoun}"
    else:
        pronoun = RELATIVE[4 * head.slot + DAT]
    return f"{pronoun} {_clause(clause, _LAST)}"
