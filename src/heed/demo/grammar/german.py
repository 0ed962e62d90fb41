"""Render a tree in German.

A German clause is a frame: the finite verb opens it in second place (or first, in a question), and the rest of the
verb closes it; a subordinate clause closes with the finite verb as well. In between come, in this order: subject,
pronouns, time, dative, accusative, "nicht", manner, companion, place, and other complements. A relative clause of an
object follows the frame, so that it does not delay the verb.
"""

from heed.demo.grammar.lexicon import BE, NO, THE
from heed.demo.grammar.marks import Node, Role, marks, unmarked
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
        text = _question(main, tree.say(tree.asks.german, Role.ASKS) if tree.asks else "")
        if tree.subordinate:
            text = f"{text.rstrip(',')}, {_subordinate(tree.subordinate)}"
        return _close(text, "?")
    if tree.mood == COMMAND:
        field, after = _field(main)
        please = tree.say("bitte", Role.PLEASE) if tree.please else ""
        words = [please, _finite(main, main.verb.german.imperative), *field, _prefix(main)]
        return _close(_join(words) + after, "." if tree.please else "!")
    subordinate = tree.subordinate
    if subordinate and subordinate.first:
        text = _clause(main, _SECOND, lead=_subordinate(subordinate).rstrip(",") + ",")
    elif tree.time_first and main.time:
        text = _clause(main, _SECOND, lead=main.say(main.time.german, Role.TIME), skip_time=True)
    elif tree.place_first and main.place:
        text = _clause(main, _SECOND, lead=_adverbial(main, main.place), skip_place=True)
    else:
        text = _clause(main, _SECOND)
    if second := tree.second:
        assert tree.conjunction
        comma = "," if tree.conjunction.german == "aber" else ""
        same = second.subject is main.subject
        conjunction = tree.say(tree.conjunction.german, Role.CONJUNCTION)
        text = f"{text}{comma} {conjunction} {_clause(second, _SECOND, skip_subject=same)}"
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
    return f"{tree.say(tree.conjunction.german, Role.CONJUNCTION)} {_clause(tree.clause, _LAST)}"


def _prefix(clause: Clause) -> str:
    return clause.say(clause.verb.german.prefix, Role.PARTICLE)


def _finite(clause: Clause, form: str) -> str:
    """Return a finite form of the verb without its prefix."""
    text = clause.say(_governing(clause, form), Role.TENSE)
    return text if clause.verb.german.prefix else clause.say(text, Role.PARTICLE)


def _closing(clause: Clause, form: str) -> str:
    """Return an infinitive or a participle, which includes the prefix."""
    return clause.say(_governing(clause, form), Role.PARTICLE)


def _governing(clause: Clause, form: str) -> str:
    text = clause.say(form, Role.VERB)
    return text if clause.verb.german.preposition else clause.say(text, Role.GOVERNED)


def _verbs(clause: Clause) -> tuple[str, str]:
    """Return the finite verb, and the words that close the frame."""
    verb = clause.verb.german
    person = clause.subject.person
    tense = clause.tense
    if clause.modal:
        return clause.say(clause.modal.german[person], Role.TENSE), _closing(clause, verb.infinitive)
    if tense == FUTURE:
        return clause.say(_WERDEN.present[person], Role.TENSE), _closing(clause, verb.infinitive)
    auxiliary = _SEIN if verb.moves else _HABEN
    if tense == PLUPERFECT:
        return clause.say(auxiliary.past[person], Role.TENSE), _closing(clause, verb.participle)
    if tense == PERFECT or (tense == PAST and person == SECOND and verb.infinitive not in _KEEPS_PAST):
        return clause.say(auxiliary.present[person], Role.TENSE), _closing(clause, verb.participle)
    return _finite(clause, (verb.past if tense == PAST else verb.present)[person]), _prefix(clause)


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
    subject = "" if skip_subject else clause.fill(nominal(clause.subject, NOM), Role.SUBJECT)
    field, after = _field(clause, skip_time, skip_place)
    if order == _LAST:
        if closing and closing == _prefix(clause):
            words = [subject, *field, closing + finite]
        else:
            words = [subject, *field, closing, finite]
    elif lead is None:
        words = [subject, finite, *field, closing]
    else:
        words = [lead, finite, subject, *field, closing]
    return _join(words) + after


def _question(clause: Clause, lead: str) -> str:
    """Render a question; `lead` is the question word for an adverbial, if it asks for one."""
    if is_asked(clause.subject):
        return _clause(clause, _SECOND)
    if lead:
        pass
    elif clause.object and is_asked(clause.object):
        lead = _asked_object(clause, clause.object)
    elif clause.recipient and is_asked(clause.recipient):
        lead = clause.say(_WHO[DAT], Role.RECIPIENT, Role.TO)
    return _clause(clause, _SECOND, lead)


def _asked_object(clause: Clause, tree: Nominal) -> str:
    verb = clause.verb.german
    if type(tree) is Gap and not tree.human:
        if verb.preposition:
            about = f"wo{'r' if verb.preposition[0] in 'aeiouü' else ''}{verb.preposition}"
            return clause.say(about, Role.OBJECT, Role.GOVERNED)
        return clause.say("was", Role.OBJECT)
    text = clause.fill(nominal(tree, verb.case), Role.OBJECT)
    return f"{clause.say(verb.preposition, Role.GOVERNED)} {text}" if verb.preposition else text


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
            pronoun = clause.say(tree.german[verb.case], Role.OBJECT)
            if verb.preposition:
                demanded = f"{clause.say(verb.preposition, Role.GOVERNED)} {pronoun}"
            else:
                words.append(pronoun)
        else:
            is_kein = False
            if type(tree) is NounPhrase:
                definite = tree.determiner.definite
                if tree.relative:
                    after = f", {_relative(tree, tree.relative)}"
                if negated and tree.determiner.indefinite and not verb.preposition:
                    is_kein, negated = True, False
            if verb.preposition:
                demanded = _prepositional(clause, Role.GOVERNED, verb.preposition, tree, verb.case, with_relative=False)
            elif type(tree) is NounPhrase:
                text = noun_phrase(tree, verb.case, NO if is_kein else None, with_relative=False)
                text = clause.say_first(text, Role.NOT) if is_kein else text
            else:
                text = nominal(tree, verb.case)
            text, demanded = clause.fill(text, Role.OBJECT), clause.fill(demanded, Role.OBJECT)
    if recipient and type(recipient) is Pronoun:
        words.append(clause.say(recipient.german[DAT], Role.RECIPIENT, Role.TO))
        recipient = None
    if clause.time and not skip_time:
        words.append(clause.say(clause.time.german, Role.TIME))
    frequency = clause.frequency
    often = clause.say(frequency.german, Role.FREQUENCY) if frequency else ""
    if frequency and not (frequency.late and definite):
        words.append(often)
    if recipient and type(recipient) is not Gap:
        words.append(clause.say_first(clause.fill(nominal(recipient, DAT), Role.RECIPIENT), Role.TO))
    manner = clause.say(clause.manner.german, Role.MANNER) if clause.manner else ""
    if text:
        if not definite and not clause.negated:  # "Schreibt schnell einen Brief", but "schreibt den Brief schnell".
            words.append(manner)
            manner = ""
        words.append(text)
    if frequency and frequency.late and definite:
        words.append(often)
    predicate = clause.predicate
    if predicate is not None:
        if type(predicate) is Quality:
            demanded = _quality(predicate)
        elif type(predicate) is NounPhrase:
            demanded = _predicate_noun(clause, predicate, negated)
            negated = negated and not predicate.determiner.indefinite
    if negated:
        words.append(clause.say("nicht", Role.NOT))
    words.append(manner)
    if clause.companion:
        words.append(_adverbial(clause, clause.companion))
    if clause.place and not skip_place:
        words.append(_adverbial(clause, clause.place))
    if demanded:
        words.append(demanded)
    if clause.content:
        after += f", {_subordinate(clause.content)}"
    return words, after


def _predicate_noun(clause: Clause, tree: NounPhrase, negated: bool) -> str:
    """Render a predicate noun: a profession has no article ("er ist Arzt"), unless it has a modifier."""
    if negated and tree.determiner.indefinite:
        return clause.say_first(noun_phrase(tree, NOM, NO), Role.NOT)
    if tree.determiner.indefinite and not tree.adjectives and "job" in tree.noun.tags:
        return tree.say(tree.noun.german[4 * tree.plural], Role.NOUN, Role.DETERMINER)
    return noun_phrase(tree, NOM)


def _quality(tree: Quality) -> str:
    adjective = tree.say(tree.adjective.german, Role.QUALITY)
    if tree.than is None:
        return f"{tree.say(tree.degree.german, Role.DEGREE)} {adjective}" if tree.degree else adjective
    than = tree.fill(nominal(tree.than, NOM), Role.STANDARD)
    if tree.equal:
        return f"{tree.say('so', Role.THAN)} {adjective} {tree.say('wie', Role.THAN)} {than}"
    assert tree.adjective.comparative
    return f"{tree.say(tree.adjective.comparative[1], Role.QUALITY)} {tree.say('als', Role.THAN)} {than}"


def _adverbial(clause: Clause, tree: Prepositional | Adverb) -> str:
    if type(tree) is Adverb:
        return clause.say(tree.german, Role.PLACE)
    assert type(tree) is Prepositional
    preposition = tree.preposition
    text = _prepositional(tree, Role.PREPOSITION, preposition.german, tree.nominal, preposition.case)
    return tree.fill(text, Role.NOMINAL)


def _prepositional(
    node: Node, role: Role, preposition: str, tree: Nominal, case: int, with_relative: bool = True
) -> str:
    """Render a preposition, which has a role in a node, and a nominal."""
    if type(tree) is NounPhrase:
        text = noun_phrase(tree, case, None, with_relative)
        # "In dem Haus, das ...": before a relative clause, preposition and article are not contracted.
        if tree.relative is None and tree.determiner is THE:
            article, _, rest = text.partition(" ")
            both = with_contraction(preposition, unmarked(article)) + marks(article)
            return f"{node.say_first(both, role)} {rest}"
        return f"{node.say(preposition, role)} {text}"
    return f"{node.say(preposition, role)} {nominal(tree, case)}"


def nominal(tree: Nominal, case: int) -> str:
    if type(tree) is NounPhrase:
        return noun_phrase(tree, case)
    if type(tree) is Pronoun:
        return tree.german[case]
    if type(tree) is Both:
        first, second = (
            tree.fill(nominal(tree.first, case), Role.FIRST),
            tree.fill(nominal(tree.second, case), Role.SECOND),
        )
        return f"{first} {tree.say('und', Role.AND)} {second}"
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
    article = tree.say(determiner.german[index], Role.DETERMINER)
    roles = (Role.NOUN,) if article else (Role.NOUN, Role.DETERMINER)
    text = tree.say(tree.noun.german[4 + case if tree.plural else case], *roles)
    if tree.adjectives:
        ending = determiner.endings[index]
        adjectives = [tree.say(adjective.stem + ending, Role.ADJECTIVE) for adjective in tree.adjectives]
        text = f"{' '.join(adjectives)} {text}"
    if article:
        text = f"{article} {text}"
    if tree.owner:
        text = f"{text} {tree.say_first(noun_phrase(tree.owner, GEN), Role.OWNED)}"
    if tree.relative and with_relative:
        text = f"{text}, {_relative(tree, tree.relative)},"
    return text


def _relative(head: NounPhrase, clause: Clause) -> str:
    """Render a relative clause; its pronoun has the gender and number of its head, and the case of its own role."""
    verb = clause.verb.german
    case = NOM if type(clause.subject) is Gap else verb.case if type(clause.object) is Gap else DAT
    pronoun = head.say(RELATIVE[4 * head.slot + case], Role.RELATIVE)
    if type(clause.object) is Gap and type(clause.subject) is not Gap:
        if verb.preposition:
            pronoun = f"{clause.say(verb.preposition, Role.GOVERNED)} {pronoun}"
    elif case == DAT:
        pronoun = clause.say(pronoun, Role.TO)
    return f"{pronoun} {_clause(clause, _LAST)}"
