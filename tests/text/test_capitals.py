"""Sentences in capitals are translated in small letters."""

import pytest

from heed.text.capitals import calmed, in_capitals, raised


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PLEASE CLOSE THE DOOR", "Please close the door"),
        ('"STOP IT!"', '"Stop it!"'),
        ("HELLO", "Hello"),
        ("I AM", "I am"),
        ("ÄRGER ÜBERALL", "Ärger überall"),
        ("CALL {name} AT www.a.org NOW", "Call {name} at www.a.org now"),
        ("GPT-4 IS BIG", "GPT-4 is big"),
        ("{name}, COME HERE", "{name}, come here"),
        ("AT 3:30 PM, 25 MEN", "At 3:30 PM, 25 men"),
        ("AM I LATE? I'M OK", "Am I late? I'm ok"),
        ("DIE STRAßE IST NASS", "Die straße ist nass"),
    ],
)
def test_what_the_model_gets(text: str, expected: str) -> None:
    assert in_capitals(text)
    assert calmed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "NATO", "- NATO!", "I", "42", "GPT-4", "Hello", "THE END.x", "{NAME} {OTHER}"),
        *("こんにちは", "NHKは日本の放送局です", "مرحبا NASA من هنا"),  # letters that are neither capital nor small
        *("SEE WWW.EXAMPLE.ORG/AB NOW", "PRESS %S NOW"),  # an address or a placeholder, in small letters
    ],
)
def test_what_stays_as_it_is(text: str) -> None:
    assert not in_capitals(text)


def test_what_people_get() -> None:
    assert raised("Schließ die Tür, {name}! www.a.org") == "SCHLIESS DIE TÜR, {name}! www.a.org"
