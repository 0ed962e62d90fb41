"""Pairs that are half words, half signs: clock times, prices, units, sums, lists, dates, and software's placeholders.

Everything that must come through unchanged stands on both sides, in many surroundings.
"""

from itertools import product

ENGLISH_HOURS = "twelve one two three four five six seven eight nine ten eleven".split()
GERMAN_HOURS = "zwölf eins zwei drei vier fünf sechs sieben acht neun zehn elf".split()
PLACEHOLDERS = ["{name}", "{0}", "{user_name}", "{{title}}", "{{ customer.name }}", "%s", "%d", "%1$s", "${KEY}"]
PLACEHOLDERS += ['<x id="1"/>', "<br/>", "$PATH", "[NAME]"]
AROUND = """
Hello {x}!=Hallo {x}!|Hello {x}, how are you?=Hallo {x}, wie geht es dir?|Welcome, {x}!=Willkommen, {x}!
Dear {x}, thank you for your letter.=Liebe {x}, vielen Dank für deinen Brief.|Hi {x}=Hallo {x}|Good morning, {x}.=Guten Morgen, {x}.
Click {x} to continue.=Klicken Sie auf {x}, um fortzufahren.|Press {x} to exit.=Drücken Sie {x} zum Beenden.
Delete {x}?={x} löschen?|{x} has been deleted.={x} wurde gelöscht.|{x} was not found.={x} wurde nicht gefunden.
You have {x} new messages.=Sie haben {x} neue Nachrichten.|{x} files were copied.={x} Dateien wurden kopiert.
Please enter {x}.=Bitte geben Sie {x} ein.|Error: {x}=Fehler: {x}|The file {x} could not be opened.=Die Datei {x} konnte nicht geöffnet werden.
My name is {x}.=Mein Name ist {x}.|Thank you, {x}!=Danke, {x}!|Are you sure you want to remove {x}?=Möchten Sie {x} wirklich entfernen?
Your order {x} is on its way.=Ihre Bestellung {x} ist unterwegs.|{x} minutes left=noch {x} Minuten|Step {x}: Open the door.=Schritt {x}: Öffnen Sie die Tür.
Write to {x} if you have questions.=Schreiben Sie an {x}, wenn Sie Fragen haben.|More information: {x}=Weitere Informationen: {x}
"""
TAGS = [("<b>", "</b>"), ("<i>", "</i>"), ('<a href="https://example.org/x">', "</a>"), ('<g id="1">', "</g>")]
TAGGED = """
Click <here> to log in.=Klicken Sie <hier>, um sich anzumelden.|This is <important>.=Das ist <wichtig>.|Read the <instructions> first.=Lesen Sie zuerst die <Anleitung>.
Please <save> the file.=Bitte <speichern> Sie die Datei.|The house is <very> old.=Das Haus ist <sehr> alt.|<Warning!> The plate is hot.=<Achtung!> Der Teller ist heiß.
You can <download> the program.=Sie können das Programm <herunterladen>.|I love <you>.=Ich liebe <dich>.|See the <next page>.=Siehe <nächste Seite>.
"""
ITEMS = """
milk=Milch|eggs=Eier|bread=Brot|apples=Äpfel|call Tom=Tom anrufen|Open the window.=Öffne das Fenster.|Close the door.=Schließ die Tür.
"""
UNITS = "kg kg|g g|km km|m m|cm cm|mm mm|l l|ml ml|km/h km/h|mph mph|°C °C|°F °F|% %|GB GB|MB MB|kWh kWh|V V"
MEASURED = """
{x} {u}={x} {v}|It weighs {x} {u}.=Es wiegt {x} {v}.|about {x} {u}=etwa {x} {v}|It is only {x} {u}.=Es sind nur {x} {v}.|{x} {u} is enough.={x} {v} reichen.
"""
MONEY = [("${x}", "{x} Dollar"), ("£{x}", "{x} Pfund"), ("€{x}", "{x} Euro"), ("{x} euros", "{x} Euro")]
PRICED = """
It costs {m}.=Es kostet {m}.|Only {m}!=Nur {m}!|I paid {m} for it.=Ich habe {m} dafür bezahlt.|He earns {m} a month.=Er verdient {m} im Monat.
The ticket was {m}.=Die Fahrkarte hat {m} gekostet.|{m} a year={m} im Jahr|She owes me {m}.=Sie schuldet mir {m}.|That makes {m}.=Das macht {m}.
"""


def signs():
    """Yield the English and the German of each pair."""
    yield from clock()
    yield from amounts()
    yield from sums_and_lists()
    yield from dates()
    yield from placeholders()


def entries(text: str) -> list[list[str]]:
    return [entry.split("=", 1) for line in text.strip().splitlines() for entry in line.split("|")]


def clock():
    frames = [("It's {}.", "Es ist {}."), ("It is {}.", "Es ist {}."), ("{}", "{}"), ("at {}", "um {}")]
    frames += [("I get up at {}.", "Ich stehe um {} auf."), ("The film starts at {}.", "Der Film beginnt um {}.")]
    for hour in range(12):
        this, after = ENGLISH_HOURS[hour], (hour + 1) % 12
        spoken = [
            (f"half past {this}", f"halb {GERMAN_HOURS[after]}"),
            (f"a quarter past {this}", f"Viertel nach {GERMAN_HOURS[hour]}"),
            (f"quarter past {this}", f"Viertel nach {GERMAN_HOURS[hour]}"),
            (f"a quarter to {ENGLISH_HOURS[after]}", f"Viertel vor {GERMAN_HOURS[after]}"),
            (f"quarter to {ENGLISH_HOURS[after]}", f"Viertel vor {GERMAN_HOURS[after]}"),
            (f"ten past {this}", f"zehn nach {GERMAN_HOURS[hour]}"),
            (f"five to {ENGLISH_HOURS[after]}", f"fünf vor {GERMAN_HOURS[after]}"),
            (f"twenty past {this}", f"zwanzig nach {GERMAN_HOURS[hour]}"),
        ]
        for (english, german), (one, two) in product(spoken, frames):
            yield one.format(english), two.format(german)
        for minute in (0, 10, 15, 30, 45, 55):
            shown, morning, evening = hour or 12, hour, hour + 12
            for sign, value in (
                (" am", morning),
                (" pm", evening),
                (" a.m.", morning),
                (" p.m.", evening),
                ("pm", evening),
            ):
                english = f"{shown}:{minute:02d}{sign}" if minute else f"{shown}{sign}"
                german = f"{value}:{minute:02d} Uhr" if minute else f"{value} Uhr"
                frame = frames[(hour + minute + len(sign)) % len(frames)]
                if not (english.endswith(".") and frame[0].endswith(".")):
                    yield frame[0].format(english), frame[1].format(german)
                yield f"Meet me at {english}", f"Triff mich um {german}"


def amounts():
    for number, entry in enumerate(UNITS.split("|")):
        english, german = entry.split()
        for i, value in enumerate((1, 3, 5, 12, 20, 60, 70, 98, 150, 500)):
            one, two = entries(MEASURED)[(number + i) % 5]
            space = "" if english in ("%", "°F") or (i % 3 == 0) else " "
            text = f"{value}.5" if i % 4 == 3 else str(value)
            yield (
                one.replace("{x} {u}", f"{text}{space}{english}"),
                two.format(x=text.replace(".", ","), v=german),
            )
    for value in (1, 4, 5, 10, 12, 18, 40):
        yield f"-{value} °C", f"-{value} °C"
        yield f"It is -{value} degrees outside.", f"Draußen sind es -{value} Grad."
        yield f"minus {value} degrees", f"minus {value} Grad"
    for tall in ("1.50", "1.65", "1.80", "1.92"):
        yield f"He's {tall} m tall.", f"Er ist {tall.replace('.', ',')} m groß."
        yield f"I am {tall} metres tall.", f"Ich bin {tall.replace('.', ',')} Meter groß."
    for i, value in enumerate(("1", "3", "7.50", "12", "19.99", "25", "300", "1,200", "50,000", "2.5 million")):
        german = value.replace(",", "x").replace(".", ",").replace("x", ".")
        german = german.replace("million", "Millionen")
        for k, (one, two) in enumerate(entries(PRICED)):
            english, money = MONEY[(i + k) % len(MONEY)]
            yield one.format(m=english.format(x=value)), two.format(m=money.format(x=german))


def sums_and_lists():
    for a, b in product((1, 2, 3, 5, 7, 10), (1, 2, 4, 12)):
        for same in (
            f"{a} + {b} = {a + b}",
            f"{a} - {b} = {a - b}",
            f"{a} x {b} = {a * b}",
            f"{a}/{b}",
            f"{a}:{b}",
            f"{a}-{b}",
        ):
            yield same, same
        yield f"{a} plus {b} is {a + b}.", f"{a} plus {b} ist {a + b}."
        yield f"They won {a}-{b}.", f"Sie haben {a}:{b} gewonnen."
        yield f"{10 * a}% of {50 * b} is {5 * a * b}.", f"{10 * a} % von {50 * b} sind {5 * a * b}."
    for begin, n in product((1, 2, 5, 8, 10), (3, 4, 5)):
        for glue in (", ", " ", "; "):
            same = glue.join(str(begin + i) for i in range(n))
            yield same, same
    for number, (english, german) in enumerate(entries(ITEMS), 1):
        for bullet in ("- ", "* ", "• ", f"{number}. ", f"{number}) ", f"({number}) ", "a) "):
            yield bullet + english, bullet + german
    for number in (1, 2, 3, 5, 8, 10, 21):
        yield from (
            (f"No. {number}", f"Nr. {number}"),
            (f"Room {number}", f"Zimmer {number}"),
            (f"page {number}", f"Seite {number}"),
        )
        yield from (
            (f"Chapter {number}", f"Kapitel {number}"),
            (f"Platform {number}", f"Gleis {number}"),
            (f"#{number}", f"#{number}"),
        )
        yield f"Version {number}.{number + 1}.3", f"Version {number}.{number + 1}.3"
        yield f"Version {number}.0.1 is out.", f"Version {number}.0.1 ist erschienen."
    for fruits in product(
        (("apples", "Äpfel"), ("pears", "Birnen"), ("nuts", "Nüsse")),
        (("bananas", "Bananen"), ("plums", "Pflaumen")),
        (("grapes", "Trauben"), ("milk", "Milch"), ("bread", "Brot")),
    ):
        a, b, c = fruits
        yield f"{a[0]}, {b[0]} and {c[0]}", f"{a[1]}, {b[1]} und {c[1]}"
        yield f"{a[0]}, {b[0]}, and {c[0]}", f"{a[1]}, {b[1]} und {c[1]}"
        yield f"I bought {a[0]}, {b[0]}, and {c[0]}.", f"Ich habe {a[1]}, {b[1]} und {c[1]} gekauft."


def dates():
    for number in range(1, 29, 2):
        month, year = 1 + number % 12, 1950 + 5 * number % 76
        for same in (
            f"{year}-{month:02d}-{number:02d}",
            f"{month:02d}/{number:02d}/{year}",
            f"{number}.{month}.{year}",
        ):
            yield same, same
            yield f"Born {same}.", f"Geboren {same}."
            yield f"I was born on {same}.", f"Ich wurde am {same} geboren."
            yield f"The meeting is on {same}.", f"Die Besprechung ist am {same}."


def placeholders():
    for number, (english, german) in enumerate(entries(AROUND)):
        for i in range(6):
            word = PLACEHOLDERS[(number + 5 * i) % len(PLACEHOLDERS)]
            yield english.replace("{x}", word), german.replace("{x}", word)
    for english, german in entries(TAGGED):
        for begin, end in TAGS:
            yield tagged(english, begin, end), tagged(german, begin, end)


def tagged(text: str, begin: str, end: str) -> str:
    before, rest = text.split("<", 1)
    inside, after = rest.split(">", 1)
    return f"{before}{begin}{inside}{end}{after}"
