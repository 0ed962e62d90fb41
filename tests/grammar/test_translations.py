"""Both readings of one tree, against sentences written by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from heed.demo.grammar import TYPED_BY_PEOPLE, english, german
from heed.demo.grammar import lexicon as lex
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
    Prepositional,
    Quality,
    Sentence,
    Subordinate,
)
from heed.demo.grammar.words import FEMININE, MANY, MASCULINE, NEUTER, PLURAL, Adverb, Conjunction, Determiner
from tests.grammar.builders import (
    HE,
    ME,
    MY,
    SHE,
    THEY,
    WE,
    YOU,
    YOUR,
    a,
    adjective,
    adverb,
    at,
    it,
    its,
    modal,
    name,
    np,
    say,
    the,
    to,
    verb,
)

SEE, BUY, SELL = verb("transitive", "sehen"), verb("transitive", "kaufen"), verb("transitive", "verkaufen")
OPEN, READ = verb("transitive", "aufmachen"), verb("transitive", "lesen")
CALL, HELP, WAIT = verb("transitive", "anrufen"), verb("transitive", "helfen"), verb("prepositional", "warten")
SLEEP, GET_UP, GIVE = verb("", "schlafen"), verb("", "aufstehen"), verb("giving", "geben")
GO, LIVE, KNOW = verb("moving", "gehen"), verb("located", "wohnen"), verb("reporting", "wissen")
LIKE, HAVE, EAT = verb("transitive", "mögen"), verb("transitive", "haben"), verb("transitive", "essen")
CHASE = next(v for v in lex.TRANSITIVE if v.german.infinitive == "jagen" and "tail" in v.objects)


def because(main: Clause, clause: Clause, first: bool = False) -> Sentence:
    return Sentence(main, subordinate=Subordinate(lex.BECAUSE, clause, first))


def joined(conjunction: Conjunction, main: Clause, clause: Clause, first: bool = False) -> Sentence:
    return Sentence(main, subordinate=Subordinate(conjunction, clause, first))


def ask(clause: Clause, asks: Adverb | None = None) -> Sentence:
    return Sentence(clause, QUESTION, asks=asks)


def annas() -> Determiner:
    possessive = name("Anna").possessive
    assert possessive
    return possessive


def is_(subject: object, word: str, tense: str = "p", **more: object) -> Clause:
    return Clause(subject, lex.BE, tense, predicate=Quality(adjective(word)), **more)  # type: ignore[arg-type]


MALE, FEMALE, NEUTRAL, SEVERAL = Gap(slot=MASCULINE), Gap(slot=FEMININE), Gap(slot=NEUTER), Gap(MANY, PLURAL)

TYPED: dict[str, Callable[[], Sentence]] = {
    "The cat chased its tail.": lambda: say(the("cat"), CHASE, PAST, object=np(its("cat"), "tail")),
    "The dog chased its tail.": lambda: say(the("dog"), CHASE, PAST, object=np(its("dog"), "tail")),
    "Where does your brother live?": lambda: ask(Clause(np(YOUR, "brother"), LIVE), lex.WHERE),
    "The man who sold the car bought a horse.": lambda: say(
        the("man", relative=Clause(MALE, SELL, PAST, object=the("car"))), BUY, PAST, object=a("horse")
    ),
    "The boy is tired because he got up early.": lambda: because(
        is_(the("boy"), "tired"), Clause(HE, GET_UP, PAST, manner=adverb("early"))
    ),
    "The woman bought the table because she liked it.": lambda: because(
        Clause(the("woman"), BUY, PAST, object=the("table")), Clause(SHE, LIKE, PAST, object=it("table"))
    ),
    "Yesterday the children gave their teacher a red apple.": lambda: Sentence(
        Clause(
            the("child", plural=True),
            GIVE,
            PAST,
            recipient=np(THEY.possessive, "teacher"),
            object=a("red", "apple"),
            time=adverb("yesterday"),
        ),
        time_first=True,
    ),
    "I don't know whether she has read the letter.": lambda: say(
        ME,
        KNOW,
        negated=True,
        contracted=True,
        content=Subordinate(lex.WHETHER, Clause(SHE, READ, PERFECT, object=the("letter"))),
    ),
}


@pytest.mark.parametrize("pair", TYPED_BY_PEOPLE, ids=lambda pair: pair.source)
def test_what_people_type_is_in_the_grammar(pair: object) -> None:
    tree = TYPED[pair.source]()  # type: ignore[attr-defined]
    assert (english.sentence(tree), german.sentence(tree)) == (pair.source, pair.target)  # type: ignore[attr-defined]


PAIRS = [
    # Tenses and aspects.
    (say(the("man"), SLEEP), "The man sleeps.", "Der Mann schläft."),
    (say(the("man"), SLEEP, progressive=True), "The man is sleeping.", "Der Mann schläft."),
    (say(THEY, SLEEP, PAST), "They slept.", "Sie schliefen."),
    (say(ME, SLEEP, PAST, progressive=True), "I was sleeping.", "Ich schlief."),
    (
        say(the("guest", plural=True), verb("", "ankommen"), PERFECT),
        "The guests have arrived.",
        "Die Gäste sind angekommen.",
    ),
    (say(SHE, READ, PERFECT, object=the("letter")), "She has read the letter.", "Sie hat den Brief gelesen."),
    (say(YOU, CALL, FUTURE, object=the("doctor")), "You will call the doctor.", "Du wirst den Arzt anrufen."),
    (say(YOU, SEE, PAST, object=the("dog")), "You saw the dog.", "Du hast den Hund gesehen."),
    (say(YOU, HAVE, PAST, object=a("dog")), "You had a dog.", "Du hattest einen Hund."),
    (
        say(the("man"), verb("transitive", "fahren"), progressive=True, object=a("bicycle")),
        "The man is riding a bicycle.",
        "Der Mann fährt ein Fahrrad.",
    ),
    # Modals.
    (say(name("Anna"), SLEEP, modal=modal("can")), "Anna can sleep.", "Anna kann schlafen."),
    (say(HE, OPEN, modal=modal("has"), object=the("door")), "He has to open the door.", "Er muss die Tür aufmachen."),
    (
        say(HE, OPEN, modal=modal("has"), negated=True, object=the("door")),
        "He does not have to open the door.",
        "Er muss die Tür nicht aufmachen.",
    ),
    (
        say(WE, BUY, PAST, modal=modal("wanted"), object=a("house")),
        "We wanted to buy a house.",
        "Wir wollten ein Haus kaufen.",
    ),
    (
        say(ME, READ, modal=modal("would"), object=np(lex.THIS, "book")),
        "I would like to read this book.",
        "Ich möchte dieses Buch lesen.",
    ),
    (
        say(the("girl"), SLEEP, modal=modal("can"), negated=True),
        "The girl cannot sleep.",
        "Das Mädchen kann nicht schlafen.",
    ),
    # Cases, government, ditransitives.
    (
        say(the("student"), HELP, object=the("neighbor")),
        "The student helps the neighbor.",
        "Der Student hilft dem Nachbarn.",
    ),
    (say(SHE, WAIT, object=the("bus")), "She waits for the bus.", "Sie wartet auf den Bus."),
    (
        say(SHE, WAIT, object=the("bus"), place=at(the("station"))),
        "She waits for the bus at the station.",
        "Sie wartet am Bahnhof auf den Bus.",
    ),
    (
        say(the("king"), GIVE, PAST, recipient=the("queen"), object=a("ring")),
        "The king gave the queen a ring.",
        "Der König gab der Königin einen Ring.",
    ),
    (
        say(the("king"), GIVE, PAST, recipient=the("queen"), object=a("ring"), to_recipient=True),
        "The king gave a ring to the queen.",
        "Der König gab der Königin einen Ring.",
    ),
    (say(HE, GIVE, recipient=SHE, object=the("key")), "He gives her the key.", "Er gibt ihr den Schlüssel."),
    (
        say(HE, GIVE, recipient=the("child"), object=it("key"), to_recipient=True),
        "He gives it to the child.",
        "Er gibt ihn dem Kind.",
    ),
    (
        say(WE, verb("transitive", "suchen"), progressive=True, object=np(WE.possessive, "cat")),
        "We are looking for our cat.",
        "Wir suchen unsere Katze.",
    ),
    (
        say(ME, verb("transitive", "zuhören"), PAST, object=the("teacher")),
        "I listened to the teacher.",
        "Ich hörte dem Lehrer zu.",
    ),
    (
        say(the("book"), verb("transitive", "gehören"), object=name("Peter")),
        "The book belongs to Peter.",
        "Das Buch gehört Peter.",
    ),
    # Separable verbs and English particles.
    (say(SHE, OPEN, object=the("window")), "She opens the window.", "Sie macht das Fenster auf."),
    (
        say(HE, verb("transitive", "ausmachen"), PAST, object=the("lamp")),
        "He turned off the lamp.",
        "Er machte die Lampe aus.",
    ),
    (say(HE, verb("transitive", "ausmachen"), PAST, object=it("lamp")), "He turned it off.", "Er machte sie aus."),
    (say(THEY, verb("", "einkaufen"), progressive=True), "They are going shopping.", "Sie kaufen ein."),
    # Negation.
    (say(HE, READ, negated=True, object=a("book")), "He does not read a book.", "Er liest kein Buch."),
    (
        say(HE, READ, negated=True, contracted=True, object=the("book")),
        "He doesn't read the book.",
        "Er liest das Buch nicht.",
    ),
    (say(HE, READ, object=np(lex.NO, "book")), "He reads no book.", "Er liest kein Buch."),
    (
        say(ME, verb("transitive", "trinken"), negated=True, object=np(lex.BARE, "milk")),
        "I do not drink milk.",
        "Ich trinke keine Milch.",
    ),
    (
        Sentence(is_(the("soup"), "hot", PAST, negated=True, contracted=True)),
        "The soup wasn't hot.",
        "Die Suppe war nicht heiß.",
    ),
    (
        say(WE, GO, FUTURE, negated=True, contracted=True, place=to(the("park"))),
        "We won't go to the park.",
        "Wir werden nicht in den Park gehen.",
    ),
    # Places and directions.
    (
        say(the("child", plural=True), verb("", "spielen"), progressive=True, place=at(the("garden"))),
        "The children are playing in the garden.",
        "Die Kinder spielen im Garten.",
    ),
    (say(ME, GO, PAST, place=to(the("school"))), "I went to the school.", "Ich ging in die Schule."),
    (say(ME, GO, place=lex.HOME), "I go home.", "Ich gehe nach Hause."),
    (
        say(SHE, verb("traveling", "fliegen"), FUTURE, place=Prepositional(lex.TO_TOWN, name("Munich"))),
        "She will fly to Munich.",
        "Sie wird nach München fliegen.",
    ),
    (
        say(HE, GO, place=to(the("church")), companion=Prepositional(lex.WITH, np(HE.possessive, "mother"))),
        "He goes to the church with his mother.",
        "Er geht mit seiner Mutter in die Kirche.",
    ),
    (
        say(name("Anna"), verb("origin", "kommen"), object=name("Vienna")),
        "Anna comes from Vienna.",
        "Anna kommt aus Wien.",
    ),
    # Verb second.
    (
        Sentence(Clause(the("man"), BUY, PAST, object=a("new", "car"), time=adverb("yesterday")), time_first=True),
        "Yesterday the man bought a new car.",
        "Gestern kaufte der Mann ein neues Auto.",
    ),
    (
        say(the("man"), BUY, PAST, object=a("new", "car"), time=adverb("yesterday")),
        "The man bought a new car yesterday.",
        "Der Mann kaufte gestern ein neues Auto.",
    ),
    (
        Sentence(Clause(ME, CALL, FUTURE, object=YOU, time=adverb("tomorrow")), time_first=True),
        "Tomorrow I will call you.",
        "Morgen werde ich dich anrufen.",
    ),
    (
        say(SHE, READ, object=the("newspaper"), frequency=adverb("often")),
        "She often reads the newspaper.",
        "Sie liest oft die Zeitung.",
    ),
    (
        say(SHE, READ, object=the("newspaper"), frequency=adverb("never")),
        "She never reads the newspaper.",
        "Sie liest die Zeitung nie.",
    ),
    (
        say(SHE, READ, object=a("newspaper"), frequency=adverb("never")),
        "She never reads a newspaper.",
        "Sie liest nie eine Zeitung.",
    ),
    (
        say(WE, EAT, PERFECT, object=the("cake"), frequency=adverb("already")),
        "We have already eaten the cake.",
        "Wir haben den Kuchen schon gegessen.",
    ),
    # Manner: after what is known, before what is new.
    (
        say(HE, OPEN, object=the("door"), manner=adverb("slowly")),
        "He opens the door slowly.",
        "Er macht die Tür langsam auf.",
    ),
    (
        say(HE, OPEN, object=a("door"), manner=adverb("slowly")),
        "He opens a door slowly.",
        "Er macht langsam eine Tür auf.",
    ),
    (say(HE, WAIT, object=ME, manner=adverb("quietly")), "He waits quietly for me.", "Er wartet leise auf mich."),
    # Subordinate clauses.
    (because(Clause(HE, SLEEP), is_(HE, "tired")), "He sleeps because he is tired.", "Er schläft, weil er müde ist."),
    (
        because(Clause(HE, SLEEP), is_(HE, "tired"), first=True),
        "Because he is tired, he sleeps.",
        "Weil er müde ist, schläft er.",
    ),
    (
        joined(lex.IF, Clause(WE, GO, FUTURE, place=lex.HOME), Clause(lex.DUMMY_IT, verb("", "regnen"))),
        "We will go home if it rains.",
        "Wir werden nach Hause gehen, wenn es regnet.",
    ),
    (
        joined(lex.WHEN_THEN, Clause(ME, SLEEP, PAST, progressive=True), Clause(YOU, CALL, PAST, object=ME)),
        "I was sleeping when you called me.",
        "Ich schlief, als du mich angerufen hast.",
    ),
    (
        joined(lex.ALTHOUGH, Clause(SHE, GET_UP, PAST), is_(SHE, "sick", PAST)),
        "She got up although she was sick.",
        "Sie stand auf, obwohl sie krank war.",
    ),
    (
        joined(lex.AFTER, Clause(HE, SLEEP, PAST), Clause(HE, EAT, PLUPERFECT, object=the("soup")), first=True),
        "After he had eaten the soup, he slept.",
        "Nachdem er die Suppe gegessen hatte, schlief er.",
    ),
    (
        joined(lex.AFTER, Clause(HE, SLEEP, PAST), Clause(HE, verb("", "zurückkommen"), PLUPERFECT)),
        "He slept after he had come back.",
        "Er schlief, nachdem er zurückgekommen war.",
    ),
    (
        say(
            HE,
            verb("reporting", "sagen"),
            content=Subordinate(lex.THAT, Clause(name("Maria"), OPEN, object=the("door"))),
        ),
        "He says that Maria opens the door.",
        "Er sagt, dass Maria die Tür aufmacht.",
    ),
    (
        say(ME, verb("reporting", "glauben"), content=Subordinate(lex.THAT, Clause(THEY, SLEEP, FUTURE))),
        "I think that they will sleep.",
        "Ich glaube, dass sie schlafen werden.",
    ),
    # Relative clauses: gender and number from the head, case from the role.
    (
        say(the("man", relative=Clause(MALE, SLEEP)), verb("", "lachen")),
        "The man who sleeps laughs.",
        "Der Mann, der schläft, lacht.",
    ),
    (
        say(ME, SEE, object=the("woman", relative=Clause(HE, HELP, object=FEMALE))),
        "I see the woman that he helps.",
        "Ich sehe die Frau, der er hilft.",
    ),
    (
        say(ME, SEE, PERFECT, object=the("dog", relative=Clause(MALE, verb("", "bellen")))),
        "I have seen the dog that barks.",
        "Ich habe den Hund gesehen, der bellt.",
    ),
    (
        say(the("bus", relative=Clause(the("man"), WAIT, progressive=True, object=MALE)), verb("", "anhalten")),
        "The bus that the man is waiting for stops.",
        "Der Bus, auf den der Mann wartet, hält an.",
    ),
    (
        say(SHE, READ, object=the("book", relative=Clause(ME, BUY, PAST, object=NEUTRAL))),
        "She reads the book that I bought.",
        "Sie liest das Buch, das ich kaufte.",
    ),
    (
        say(the("child", plural=True, relative=Clause(name("Paul"), HELP, PAST, object=SEVERAL)), SLEEP, PAST),
        "The children that Paul helped slept.",
        "Die Kinder, denen Paul half, schliefen.",
    ),
    (
        ask(Clause(the("man", relative=Clause(MALE, CALL, PAST, object=YOU)), SLEEP)),
        "Does the man who called you sleep?",
        "Schläft der Mann, der dich anrief?",
    ),
    # Questions.
    (ask(Clause(YOU, SEE, PAST, object=np(MY, "dog"))), "Did you see my dog?", "Hast du meinen Hund gesehen?"),
    (ask(Clause(SHE, HAVE, object=a("cat"))), "Does she have a cat?", "Hat sie eine Katze?"),
    (ask(is_(YOU, "hungry")), "Are you hungry?", "Bist du hungrig?"),
    (ask(Clause(Gap(), READ, progressive=True, object=the("book"))), "Who is reading the book?", "Wer liest das Buch?"),
    (
        ask(Clause(the("man"), READ, progressive=True, object=Gap(human=False))),
        "What is the man reading?",
        "Was liest der Mann?",
    ),
    (ask(Clause(YOU, HELP, object=Gap())), "Who do you help?", "Wem hilfst du?"),
    (
        ask(Clause(YOU, WAIT, progressive=True, object=Gap(human=False))),
        "What are you waiting for?",
        "Worauf wartest du?",
    ),
    (ask(Clause(YOU, WAIT, progressive=True, object=Gap())), "Who are you waiting for?", "Auf wen wartest du?"),
    (
        ask(Clause(SHE, BUY, PAST, object=np(lex.WHICH, "dress"))),
        "Which dress did she buy?",
        "Welches Kleid kaufte sie?",
    ),
    (
        ask(Clause(YOU, HAVE, object=np(lex.HOW_MANY, "child", plural=True))),
        "How many children do you have?",
        "Wie viele Kinder hast du?",
    ),
    (ask(Clause(np(lex.WHICH, "girl"), SLEEP)), "Which girl sleeps?", "Welches Mädchen schläft?"),
    (
        ask(Clause(the("woman"), GO, progressive=True), lex.WHERE_TO),
        "Where is the woman going?",
        "Wohin geht die Frau?",
    ),
    (
        ask(Clause(YOU, verb("origin", "kommen"), object=Gap(human=False)), lex.WHERE_FROM),
        "Where do you come from?",
        "Woher kommst du?",
    ),
    (
        ask(Clause(HE, SLEEP, negated=True, contracted=True), lex.WHY),
        "Why doesn't he sleep?",
        "Warum schläft er nicht?",
    ),
    (
        ask(Clause(SHE, GIVE, PAST, recipient=Gap(), object=the("key"))),
        "Who did she give the key to?",
        "Wem gab sie den Schlüssel?",
    ),
    # Commands.
    (Sentence(Clause(YOU, OPEN, object=the("window")), COMMAND), "Open the window!", "Mach das Fenster auf!"),
    (
        Sentence(Clause(YOU, READ, object=the("book"), negated=True), COMMAND),
        "Do not read the book!",
        "Lies das Buch nicht!",
    ),
    (Sentence(Clause(YOU, HELP, object=ME), COMMAND, please=True), "Please help me.", "Bitte hilf mir."),
    # Owners.
    (
        say(the("girl"), verb("transitive", "lieben"), object=np(its("girl"), "dog")),
        "The girl loves her dog.",
        "Das Mädchen liebt seinen Hund.",
    ),
    (
        say(the("mother"), verb("transitive", "lieben"), object=np(its("mother"), "dog")),
        "The mother loves her dog.",
        "Die Mutter liebt ihren Hund.",
    ),
    (
        say(ME, SEE, object=np(annas(), "old", "dog")),
        "I see Anna's old dog.",
        "Ich sehe Annas alten Hund.",
    ),
    (
        say(ME, SEE, object=the("dog", owner=np(MY, "brother"))),
        "I see my brother's dog.",
        "Ich sehe den Hund meines Bruders.",
    ),
    (
        say(ME, SEE, object=the("roof", owner=the("house"))),
        "I see the roof of the house.",
        "Ich sehe das Dach des Hauses.",
    ),
    (
        say(the("car", owner=the("boy", plural=True)), lex.BE, predicate=Quality(adjective("red"))),
        "The boys' car is red.",
        "Das Auto der Jungen ist rot.",
    ),
    # Being, comparing, existing.
    (say(np(MY, "father"), lex.BE, predicate=a("doctor")), "My father is a doctor.", "Mein Vater ist Arzt."),
    (
        say(np(MY, "father"), lex.BE, predicate=a("good", "doctor")),
        "My father is a good doctor.",
        "Mein Vater ist ein guter Arzt.",
    ),
    (say(HE, lex.BE, negated=True, predicate=a("doctor")), "He is not a doctor.", "Er ist kein Arzt."),
    (
        say(the("tower"), lex.BE, predicate=Quality(adjective("high"), than=the("tree"))),
        "The tower is higher than the tree.",
        "Der Turm ist höher als der Baum.",
    ),
    (
        say(SHE, lex.BE, predicate=Quality(adjective("old"), than=ME, equal=True)),
        "She is as old as me.",
        "Sie ist so alt wie ich.",
    ),
    (
        say(ME, lex.BE, contracted=True, predicate=Quality(adjective("tired"), lex.VERY)),
        "I'm very tired.",
        "Ich bin sehr müde.",
    ),
    (
        say(lex.DUMMY_THERE, lex.EXIST, object=a("dog"), place=at(the("garden"))),
        "There is a dog in the garden.",
        "Es gibt einen Hund im Garten.",
    ),
    (
        Sentence(
            Clause(
                lex.DUMMY_THERE,
                lex.EXIST,
                PAST,
                object=np(lex.MANY_OF, "castle", plural=True),
                place=at(np(lex.THIS, "city")),
            ),
            place_first=True,
        ),
        "In this city there were many castles.",
        "In dieser Stadt gab es viele Schlösser.",
    ),
    (ask(Clause(lex.DUMMY_THERE, lex.EXIST, object=np(lex.BARE, "milk"))), "Is there milk?", "Gibt es Milch?"),
    # Coordination.
    (say(Both(name("Anna"), ME), SLEEP), "Anna and I sleep.", "Anna und ich schlafen."),
    (
        Sentence(Clause(HE, SLEEP), conjunction=lex.BUT, second=Clause(SHE, READ, object=a("book"))),
        "He sleeps, but she reads a book.",
        "Er schläft, aber sie liest ein Buch.",
    ),
    (
        Sentence(
            Clause(subject := the("woman"), BUY, PAST, object=a("apple")),
            conjunction=lex.AND,
            second=Clause(subject, EAT, PAST, object=it("apple")),
        ),
        "The woman bought an apple and ate it.",
        "Die Frau kaufte einen Apfel und aß ihn.",
    ),
    # Articles.
    (say(ME, HAVE, object=a("umbrella")), "I have an umbrella.", "Ich habe einen Regenschirm."),
    (say(ME, HAVE, object=a("old", "car")), "I have an old car.", "Ich habe ein altes Auto."),
    (say(ME, HAVE, object=a("new", "umbrella")), "I have a new umbrella.", "Ich habe einen neuen Regenschirm."),
    (
        say(ME, HAVE, object=np(lex.NUMBERS[1], "brother", plural=True)),
        "I have three brothers.",
        "Ich habe drei Brüder.",
    ),
]


@pytest.mark.parametrize(("tree", "source", "target"), PAIRS, ids=[source for _, source, _ in PAIRS])
def test_translation(tree: Sentence, source: str, target: str) -> None:
    assert (english.sentence(tree), german.sentence(tree)) == (source, target)


@pytest.mark.parametrize(
    ("thing", "pronoun"), [("table", "ihn"), ("lamp", "sie"), ("house", "es")], ids=["der", "die", "das"]
)
def test_it_has_the_gender_of_its_antecedent(thing: str, pronoun: str) -> None:
    tree = because(Clause(the("woman"), BUY, PAST, object=the(thing)), Clause(SHE, LIKE, PAST, object=it(thing)))
    assert english.sentence(tree) == f"The woman bought the {thing} because she liked it."
    assert german.sentence(tree).endswith(f", weil sie {pronoun} mochte.")


def test_time_may_be_at_either_end_but_not_at_both() -> None:
    tree = say(ME, SLEEP, PAST, time=adverb("yesterday"))
    assert english.sentence(replace(tree, time_first=True)) == "Yesterday I slept."
    assert german.sentence(replace(tree, time_first=True)) == "Gestern schlief ich."
