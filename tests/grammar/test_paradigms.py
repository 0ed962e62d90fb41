"""Inflection, against tables written from a school grammar."""

import pytest

from heed.demo.grammar import german
from heed.demo.grammar import lexicon as lex
from heed.demo.grammar.lexicon import NOUN
from heed.demo.grammar.paradigms import english_verb, german_verb
from heed.demo.grammar.tree import NounPhrase
from heed.demo.grammar.words import ACC, DAT, GEN, NOM, Determiner, Verb
from tests.grammar.builders import MY, adjective

CASES = (NOM, ACC, DAT, GEN)


@pytest.mark.parametrize(
    ("noun", "singular", "plural"),
    [
        ("man", "Mann Mann Mann Mannes", "Männer Männer Männern Männer"),
        ("boy", "Junge Jungen Jungen Jungen", "Jungen Jungen Jungen Jungen"),
        ("neighbor", "Nachbar Nachbarn Nachbarn Nachbarn", "Nachbarn Nachbarn Nachbarn Nachbarn"),
        ("student", "Student Studenten Studenten Studenten", "Studenten Studenten Studenten Studenten"),
        ("girl", "Mädchen Mädchen Mädchen Mädchens", "Mädchen Mädchen Mädchen Mädchen"),
        ("woman", "Frau Frau Frau Frau", "Frauen Frauen Frauen Frauen"),
        ("queen", "Königin Königin Königin Königin", "Königinnen Königinnen Königinnen Königinnen"),
        ("car", "Auto Auto Auto Autos", "Autos Autos Autos Autos"),
        ("museum", "Museum Museum Museum Museums", "Museen Museen Museen Museen"),
        ("apple", "Apfel Apfel Apfel Apfels", "Äpfel Äpfel Äpfeln Äpfel"),
        ("lake", "See See See Sees", "Seen Seen Seen Seen"),
    ],
)
def test_noun(noun: str, singular: str, plural: str) -> None:
    assert " ".join(NOUN[noun].german) == f"{singular} {plural}"


@pytest.mark.parametrize(
    ("determiner", "noun", "plural", "forms"),
    [
        (lex.THE, "man", False, ["der alte Mann", "den alten Mann", "dem alten Mann", "des alten Mannes"]),
        (lex.THE, "woman", False, ["die alte Frau", "die alte Frau", "der alten Frau", "der alten Frau"]),
        (lex.THE, "house", False, ["das alte Haus", "das alte Haus", "dem alten Haus", "des alten Hauses"]),
        (lex.THE, "house", True, ["die alten Häuser", "die alten Häuser", "den alten Häusern", "der alten Häuser"]),
        (lex.A, "man", False, ["ein alter Mann", "einen alten Mann", "einem alten Mann", "eines alten Mannes"]),
        (lex.A, "woman", False, ["eine alte Frau", "eine alte Frau", "einer alten Frau", "einer alten Frau"]),
        (lex.A, "house", False, ["ein altes Haus", "ein altes Haus", "einem alten Haus", "eines alten Hauses"]),
        (lex.A, "house", True, ["alte Häuser", "alte Häuser", "alten Häusern", "alter Häuser"]),
        (
            lex.NO,
            "house",
            True,
            ["keine alten Häuser", "keine alten Häuser", "keinen alten Häusern", "keiner alten Häuser"],
        ),
        (MY, "dog", False, ["mein alter Hund", "meinen alten Hund", "meinem alten Hund", "meines alten Hundes"]),
        (
            lex.THIS,
            "girl",
            False,
            ["dieses alte Mädchen", "dieses alte Mädchen", "diesem alten Mädchen", "dieses alten Mädchens"],
        ),
        (lex.NUMBERS[0], "dog", True, ["zwei alte Hunde", "zwei alte Hunde", "zwei alten Hunden", "zwei alter Hunde"]),
        (
            lex.MANY_OF,
            "dog",
            True,
            ["viele alte Hunde", "viele alte Hunde", "vielen alten Hunden", "vieler alter Hunde"],
        ),
        (lex.ALL, "dog", True, ["alle alten Hunde", "alle alten Hunde", "allen alten Hunden", "aller alten Hunde"]),
        (
            lex.WHICH,
            "cat",
            False,
            ["welche alte Katze", "welche alte Katze", "welcher alten Katze", "welcher alten Katze"],
        ),
        (
            lex.NAMES[0].possessive,
            "dog",
            False,
            ["Annas alter Hund", "Annas alten Hund", "Annas altem Hund", "Annas alten Hundes"],
        ),
    ],
)
def test_declension(determiner: Determiner, noun: str, plural: bool, forms: list[str]) -> None:
    phrase = NounPhrase(determiner, NOUN[noun], plural, (adjective("old"),))
    assert [german.noun_phrase(phrase, case) for case in CASES] == forms


def test_strong_endings_of_mass_nouns() -> None:
    water = NounPhrase(lex.BARE, NOUN["water"], False, (adjective("cold"),))
    assert [german.noun_phrase(water, case) for case in CASES[:3]] == [
        "kaltes Wasser",
        "kaltes Wasser",
        "kaltem Wasser",
    ]
    milk = NounPhrase(lex.BARE, NOUN["milk"], False, (adjective("warm"),))
    assert [german.noun_phrase(milk, case) for case in CASES[:3]] == ["warme Milch", "warme Milch", "warmer Milch"]


@pytest.mark.parametrize(
    ("word", "attributive"),
    [("expensive", "teures"), ("dark", "dunkles"), ("tired", "müdes"), ("high", "hohes"), ("good", "gutes")],
)
def test_stems_that_change_before_an_ending(word: str, attributive: str) -> None:
    assert adjective(word).stem + "es" == attributive


def _all_verbs() -> dict[str, Verb]:
    tables = (
        lex.INTRANSITIVE,
        lex.TRANSITIVE,
        lex.PREPOSITIONAL,
        lex.DITRANSITIVE,
        lex.TO_RECIPIENT,
        lex.MOTION,
        lex.LOCATED,
        lex.REPORTING,
        lex.WEATHER,
        [lex.BE],
    )
    return {verb.german.infinitive: verb for table in tables for verb in table}


@pytest.mark.parametrize(
    ("infinitive", "present", "past", "perfect", "imperative"),
    [
        ("sein", "bin bist ist sind", "war waren", "ist gewesen", None),
        ("haben", "habe hast hat haben", "hatte hatten", "hat gehabt", None),
        ("mögen", "mag magst mag mögen", "mochte mochten", "hat gemocht", None),
        ("wissen", "weiß weißt weiß wissen", "wusste wussten", "hat gewusst", None),
        ("lesen", "lese liest liest lesen", "las lasen", "hat gelesen", "lies"),
        ("geben", "gebe gibst gibt geben", "gab gaben", "hat gegeben", "gib"),
        ("nehmen", "nehme nimmst nimmt nehmen", "nahm nahmen", "hat genommen", "nimm"),
        ("helfen", "helfe hilfst hilft helfen", "half halfen", "hat geholfen", "hilf"),
        ("essen", "esse isst isst essen", "aß aßen", "hat gegessen", "iss"),
        ("laufen", "laufe läufst läuft laufen", "lief liefen", "ist gelaufen", "lauf"),
        ("waschen", "wasche wäschst wäscht waschen", "wusch wuschen", "hat gewaschen", "wasch"),
        ("gehen", "gehe gehst geht gehen", "ging gingen", "ist gegangen", "geh"),
        ("bleiben", "bleibe bleibst bleibt bleiben", "blieb blieben", "ist geblieben", "bleib"),
        ("schwimmen", "schwimme schwimmst schwimmt schwimmen", "schwamm schwammen", "ist geschwommen", "schwimm"),
        ("arbeiten", "arbeite arbeitest arbeitet arbeiten", "arbeitete arbeiteten", "hat gearbeitet", "arbeite"),
        ("zeichnen", "zeichne zeichnest zeichnet zeichnen", "zeichnete zeichneten", "hat gezeichnet", "zeichne"),
        ("spielen", "spiele spielst spielt spielen", "spielte spielten", "hat gespielt", "spiel"),
        ("sammeln", "sammle sammelst sammelt sammeln", "sammelte sammelten", "hat gesammelt", "sammle"),
        ("wandern", "wandere wanderst wandert wandern", "wanderte wanderten", "ist gewandert", "wandere"),
        ("tanzen", "tanze tanzt tanzt tanzen", "tanzte tanzten", "hat getanzt", "tanz"),
        ("bellen", "belle bellst bellt bellen", "bellte bellten", "hat gebellt", "bell"),
        ("verkaufen", "verkaufe verkaufst verkauft verkaufen", "verkaufte verkauften", "hat verkauft", "verkauf"),
        ("reparieren", "repariere reparierst repariert reparieren", "reparierte reparierten", "hat repariert", None),
        ("aufmachen", "mache machst macht machen", "machte machten", "hat aufgemacht", "mach"),
        ("anrufen", "rufe rufst ruft rufen", "rief riefen", "hat angerufen", "ruf"),
        ("einladen", "lade lädst lädt laden", "lud luden", "hat eingeladen", "lade"),
        ("anhalten", "halte hältst hält halten", "hielt hielten", "hat angehalten", None),
        ("einkaufen", "kaufe kaufst kauft kaufen", "kaufte kauften", "hat eingekauft", "kauf"),
        ("aufwachen", "wache wachst wacht wachen", "wachte wachten", "ist aufgewacht", "wach"),
        ("mitbringen", "bringe bringst bringt bringen", "brachte brachten", "hat mitgebracht", "bring"),
        ("denken", "denke denkst denkt denken", "dachte dachten", "hat gedacht", "denk"),
        ("regnen", "regne regnest regnet regnen", "regnete regneten", "hat geregnet", None),
        ("gehören", "gehöre gehörst gehört gehören", "gehörte gehörten", "hat gehört", None),
        ("umarmen", "umarme umarmst umarmt umarmen", "umarmte umarmten", "hat umarmt", None),
    ],
)
def test_german_verb(infinitive: str, present: str, past: str, perfect: str, imperative: str | None) -> None:
    verb = _all_verbs()[infinitive].german
    assert " ".join(verb.present) == present
    assert f"{verb.past[2]} {verb.past[3]}" == past
    assert ("ist " if verb.moves else "hat ") + verb.participle == perfect
    if imperative:
        assert verb.imperative == imperative


def test_second_person_of_the_past_that_is_said() -> None:
    assert lex.BE.german.past[1] == "warst"
    assert german_verb(["haben", "hat", "hatte", "gehabt"]).past[1] == "hattest"


@pytest.mark.parametrize(
    ("parts", "forms"),
    [
        ("stop", "stop stops stopped stopped stopping"),
        ("hug", "hug hugs hugged hugged hugging"),
        ("visit", "visit visits visited visited visiting"),
        ("open", "open opens opened opened opening"),
        ("carry", "carry carries carried carried carrying"),
        ("play", "play plays played played playing"),
        ("dance", "dance dances danced danced dancing"),
        ("watch", "watch watches watched watched watching"),
        ("kiss", "kiss kisses kissed kissed kissing"),
        ("repair", "repair repairs repaired repaired repairing"),
        ("lie lay lain", "lie lies lay lain lying"),
        ("go went gone", "go goes went gone going"),
        ("have had had", "have has had had having"),
        ("see saw seen", "see sees saw seen seeing"),
        ("run ran run", "run runs ran run running"),
        ("forget forgot forgotten", "forget forgets forgot forgotten forgetting"),
        ("fly flew flown", "fly flies flew flown flying"),
        ("write wrote written", "write writes wrote written writing"),
    ],
)
def test_english_verb(parts: str, forms: str) -> None:
    verb = english_verb(parts.split())
    assert f"{verb.base} {verb.third} {verb.past} {verb.participle} {verb.gerund}" == forms


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("fox", "foxes"),
        ("witch", "witches"),
        ("story", "stories"),
        ("key", "keys"),
        ("knife", "knives"),
        ("child", "children"),
    ],
)
def test_english_plural(noun: str, plural: str) -> None:
    assert NOUN[noun].english[1] == plural
