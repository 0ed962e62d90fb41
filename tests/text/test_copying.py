"""Find what must be copied, and what a translation has lost of it."""

import pytest

from heed.text.copying import Span, in_the_other_way, lost, machine_spans, names_and_numbers
from heed.text.glossary import Glossary
from heed.text.required import required_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See https://example.org/a?b=1&c=%20#d.", ["https://example.org/a?b=1&c=%20#d"]),
        ("(http://x.y/z), ftp://h/", ["http://x.y/z", "ftp://h/"]),
        ("https://en.wikipedia.org/wiki/It_(film).", ["https://en.wikipedia.org/wiki/It_(film)"]),
        ("(https://en.wikipedia.org/wiki/It_(film))", ["https://en.wikipedia.org/wiki/It_(film)"]),
        ("www.example.org, or wwwwww.", ["www.example.org"]),
        ("https://x.y/{id}/edit!", ["https://x.y/{id}/edit"]),
        ('<a href="https://x.y/z">here</a>', ['<a href="https://x.y/z">', "</a>"]),
        ("Mail jane.doe+x@mail.example.org, or me@home", ["jane.doe+x@mail.example.org"]),
        (
            "{name} {} {0} {user.name} {x:.2f} {{x}} {{ y }} ${z}",
            "{name} {} {0} {user.name} {x:.2f} {{x}}".split() + ["{{ y }}", "${z}"],
        ),
        ("%s, %d, %1$s %2$d %.2f %-5d %05d %(name)s %@", "%s %d %1$s %2$d %.2f %-5d %05d %(name)s %@".split()),
        ("%s: %d%%, %%d 5%%", ["%s", "%d", "%%", "%%", "%%"]),
        ("50% discount, 100% sure, 20%ig, 5%", []),
        ('<x id="1"/> <br/> <br /> </b> a < b, 1<2 > 0, <3', ['<x id="1"/>', "<br/>", "<br />", "</b>"]),
        ("{ not one } { neither", []),
        ("%{count} #{name} &nbsp; &amp; &#39; R&D; a & b;", ["%{count}", "#{name}", "&nbsp;", "&amp;", "&#39;"]),
        ("@jane_doe and @ home, me@home", ["@jane_doe"]),
        ("Call +49 89 1234567 or +1 (555) 123-4567.", ["+49 89 1234567", "+1 (555) 123-4567"]),
        ("+5 degrees, 1+1, C++, +12 345", []),
        ("no machine text: a, b; c!", []),
        ("So funny 😂😂! I ❤️ it 👋🏽.", ["😂😂", "❤️", "👋🏽"]),
        ("👨‍👩‍👧 and 🇩🇪", ["👨‍👩‍👧", "🇩🇪"]),
        ("10 € – ✓ ★ © 5 °C →", []),
        ("", []),
    ],
)
def test_machine_text_is_found(text: str, expected: list[str]) -> None:
    assert [span.text for span in machine_spans(text)] == expected
    for span in machine_spans(text):
        assert text[span.begin : span.end] == span.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In 1984, 1,000.50 dollars", ["1984", "1,000.50"]),
        ("2 men, 12 dogs, 13 cats, 007, 0.5", ["13", "007", "0.5"]),
        ("19th, 500GB, pre-1945", ["19", "500", "1945"]),
        ("the 1990s, the '90s, mid-1990s", []),  # die Neunziger
        ("3.14.", ["3.14"]),
        ("12/25/2024, 2024-12-05, 1/2/24, 1.12.1999", ["12/25/2024", "2024-12-05", "1/2/24", "1.12.1999"]),
        ("10% of 8, $5, 5 %, 2/3 cup, -4 °C, #1, 2)", ["10", "5", "5", "2/3", "-4", "1", "2"]),
        ("2 + 2 = 4", ["2", "2", "4"]),
        ("1, 2, 3 or 4; 5", ["1", "2", "3", "4", "5"]),
        ("2 - 3 days, 3-1, a 3-year-old", ["2", "3", "3", "1"]),
        ("version 1.2.3, 10-12-14", ["1.2.3", "10", "12", "14"]),
        ("at 15:30, 3:45 or 10:15:20", ["15:30", "3:45", "10:15:20"]),
        ("3:30 pm, 3:45pm, 10:30 a.m., 5 PM, 12am.", ["3:30 pm", "3:45pm", "10:30 a.m.", "5 PM", "12am"]),
        ("15 pm, 3 pmol, 0 am", ["15"]),
        ("In 1990 am Abend, 25 am Tag", ["1990", "25"]),
        ("scores of 2:1 and 1:2:3", ["2:1", "1:2:3"]),
        ("iPhone, YouTube-Video, McDonald's, LaTeX", ["iPhone", "YouTube", "McDonald", "LaTeX"]),
        ("GPT-4, COVID-19, GPT-4o", ["GPT-4", "COVID-19", "GPT-4o"]),
        ("B2B, mp34, H264, v2.35.", ["B2B", "mp34", "H264", "v2.35"]),
        ("Tom, Germany, NATO, DVDs, LehrerInnen, hELLO, McX", []),
    ],
)
def test_names_and_numbers_are_found_without_those_that_change(text: str, expected: list[str]) -> None:
    found = [span.text for span in names_and_numbers(text) if span.kind not in ("small", "decade")]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000.5", "1.000,5"),
        ("1,000", "1.000"),
        ("3.14", "3,14"),
        ("1.000.000,25", "1,000,000.25"),
        ("25.12.2024", "25.12.2024"),
        ("1984", "1984"),
        ("15:30", "15:30"),
        ("3:30 pm", "15:30"),
        ("5 p.m.", "17"),
        ("12:05 am", "0:05"),
        ("12 pm", "12"),
        ("v2.35", "v2.35"),
    ],
)
def test_the_other_way_to_write_a_number(text: str, expected: str) -> None:
    (span,) = names_and_numbers(text)
    assert in_the_other_way(span) == expected


def spans(text: str) -> list[Span]:
    return list(required_of(text, None, copy=True).spans)


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("See http://x.y/z.", "Siehe http://x.y/z.", []),
        ("See http://x.y/z.", "Siehe http://x.y/.", ["http://x.y/z"]),
        ("See http://x.y", "Siehe http://x.y/z", ["http://x.y"]),
        ("{a} and {a}", "{a} und", ["{a}"]),
        ("{a} and {a}", "{a} und {a}", []),
        ("{a}", "{ a }", ["{a}"]),
        ("<b>big</b>", "<b>groß<b>", ["</b>"]),
        ("1,000.50", "1.000,50", []),
        ("1,000.50", "1 000,50", []),
        ("1,000.50", "1000,50", []),
        ("1,000.50", "1.000,55", ["1,000.50"]),
        ("1000", "10000", ["1000"]),
        ("1000", "1.000", []),
        ("in 1984 and 1985", "1985 und 1984", []),
        ("in 1984 and 1984", "1984", ["1984"]),
        ("12/25/2024", "25.12.2024", []),
        ("12/25/2024", "am 25. Dezember 2024", []),
        ("12/25/2024", "am 26. Dezember 2024", ["12/25/2024"]),
        ("25.12.2024", "on December 25, 2024", []),
        ("25.12.2024", "25, 2024", ["25.12.2024"]),
        ("12/05/2024", "5.12.2024", []),
        ("12/05/2024", "am 5. 2024", ["12/05/2024"]),  # whose month is which can only be seen in a date
        ("1990-05-17", "1990.17 17.", ["1990-05-17"]),
        ("10,5", "105", ["10,5"]),
        ("10,5", "10.5", []),
        ("1.2.3", "1.23", ["1.2.3"]),
        ("2/3 cup", "2/33 Tasse", ["2/3"]),
        ("2/3", "2:3", []),
        ("10% of 250 is 25.", "100 % der 250 ist 25 %.", ["10"]),
        ("1, 2, 3", "1, 3, 3", ["2"]),
        ("Only $1!", "Nur $!", ["1"]),
        ("-40 °C", "40 °C", ["-40"]),
        ("-40 °C", "−40 °C", []),
        ("15 and 16", "15, 16", []),
        ("1516", "15, 16", ["1516"]),
        ("1516", "15 16", ["1516"]),
        ("the 1990s", "die Neunziger", []),
        ("15:30", "15.30 Uhr", []),
        ("15:30", "15h30", []),
        ("15:30", "3:30", ["15:30"]),
        ("3:30 pm", "15:30 Uhr", []),
        ("3:30 pm", "3:30 Uhr", ["3:30 pm"]),
        ("3:30 pm", "3:30 p.m.", []),
        ("3:30 am", "3:30 Uhr", []),
        ("at 5 pm", "um 17 Uhr", []),
        ("at 5 pm", "um 5 Uhr", ["5 pm"]),
        ("19 COVID-19 cases", "neunzehn COVID-19-Fälle", ["19"]),  # nor are those of a name
        ("iPhone", "iPhones", []),
        ("iPhone", "Iphone", ["iPhone"]),
        ("two mp3, mp3", "zwei mp3-Dateien", ["mp3"]),
        ("GPT-4", "GPT-45", ["GPT-4"]),
        ("Call +49 89 1234567", "Rufen Sie +49 89 1234567 an", []),
        ("Call +49 89 1234567", "Rufen Sie +49 89 1234567 18 Mal an", []),
        ("Call +49 89 1234567", "Rufen Sie 1234567 49 89 an", ["+49 89 1234567"]),
        ("2 men", "zwei Männer", []),
        ("Chapter 7, page 128", "Kapitel sieben, Seite 128", []),
        ("Chapter 7, page 128", "Zeug 78, Seite 128", ["7"]),
        ("Apollo 11 landed in 1969.", "Apollo 119 landete 1969.", ["11"]),
        ("3 men and 2 dogs", "3 Männer und 22 Hunde", ["2"]),
        ("2 men at 5 pm", "zwei Männer um 17:00 Uhr", []),
        ("2 men in the 1990s", "zwei Männer in den 90er Jahren", []),
        ("2 men and 12/25/2024", "zwei Männer und der 25. Dezember 2024", []),
        ("2 at http://x.y/7", "zwei, http://x.y/7", []),
        ("<b>big</b>", "</b>groß<b>", ["</b>"]),
        ("<b>big</b> <i>cat</i>", "<i>Katze</i> <b>groß</b>", []),
        ("</b> big <b>", "</b> groß <b>", []),  # as in the source
        ("25 men", "http://x.y/25 Männer", ["25"]),  # the digits of an address are no number
    ],
)
def test_what_is_lost(source: str, translation: str, expected: list[str]) -> None:
    assert [span.text for span in lost(spans(source), translation)] == expected


def test_terms_are_not_looked_for_in_addresses_nor_numbers_in_terms() -> None:
    glossary = Glossary({"bike": "Rad", "route 66": "Route 66", "1984": "Roman"})
    found = required_of("a bike at http://bike.org/1984 on Route 66, 1984, 77", glossary, copy=True)
    assert found.texts == ["Rad", "Route 66", "Roman", "http://bike.org/1984", "77"]
    assert required_of("a bike at http://bike.org", glossary, copy=False).texts == ["Rad"]


def test_the_tag_of_a_language_is_not_copied_but_other_symbols_are() -> None:
    is_symbol = {"<de>", "<x1>"}.__contains__
    assert required_of("<de> press <x1> now <de>", None, True, is_symbol).texts == ["<x1>", "<de>"]
    assert required_of("<b> press </b>", None, True, is_symbol).texts == ["<b>", "</b>"]


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("ein Rad und ein Fahrrad", []),
        ("ein Fahrrad und ein Rad", []),
        ("ein Fahrrad", ["Rad"]),
        ("Räder", ["Fahrrad", "Rad"]),
        ("Fahrrad, Radweg", ["Rad"]),
    ],
)
def test_terms_are_missing_if_they_are_not_whole_words(translation: str, expected: list[str]) -> None:
    glossary = Glossary({"bike": "Rad", "bicycle": "Fahrrad"})
    assert required_of("a bike and a bicycle", glossary, False).missing(translation) == expected


def test_a_term_inside_another_needs_its_own_place() -> None:
    glossary = Glossary({"york": "York", "new york": "New York"})
    required = required_of("york and new york", glossary, False)
    assert required.missing("New York") == ["York"]
    assert required.missing("New York und York") == []


@pytest.mark.parametrize(
    "text",
    [part * 20_000 for part in ("+1 a", "<a ", "aa", "aA", "x@", "{{", "%%", "1,", "1:", "+1 ", "A-1", "&a")],
)
def test_hostile_texts_are_handled(text: str) -> None:
    """With a pattern that goes back over what it has read, these take minutes."""
    assert lost(spans(text), text) == []


def test_a_text_of_marks_alone_is_copied() -> None:
    assert [(span.kind, span.text, span.begin) for span in machine_spans(" ?! ")] == [("marks", "?!", 1)]
    assert lost(machine_spans("?"), "") and not lost(machine_spans("?"), "?")
    assert machine_spans("") == machine_spans("  ") == machine_spans("Hm?") == machine_spans("-" * 21) == []


def test_forced_texts_come_in_the_order_of_the_source_and_together_if_they_touch() -> None:
    required = required_of("a bike: <b>13</b> %s: %d%%", Glossary({"bike": "Rad"}), copy=True)
    assert required.texts == ["Rad", "<b>", "13", "</b>", "%s", "%d", "%%"]
    assert required.chains(required.texts) == [["Rad"], ["<b>13</b>", "%s", "%d%%"]]


@pytest.mark.parametrize(
    ("text", "forced", "expected"),
    [
        ("<b> 13 15 </b>", ["13", "15"], True),
        ("<b> 15 13 </b>", ["13", "15"], False),
        ("<b> 15 13 </b>", ["13"], True),  # the model wrote 15
        ("</b> 13 15 <b>", [], False),
    ],
)
def test_the_order_of_what_was_put_in(text: str, forced: list[str], expected: bool) -> None:
    required = required_of("<b> 13 and 15 </b>", None, copy=True)
    assert required.has_order_of_source(text, required.texts, forced) is expected
