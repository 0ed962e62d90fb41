"""Write pairs of everyday words and phrases, which Tatoeba's sentences lack: `python configs/en-de/everyday.py > everyday.tsv`.

Single words, greetings, signs, numbers, dates, times, units, countries. Gender is given by the article; a plural follows
the singular where people use it. The sentences of phrases.tsv, beside this file, follow: one pair a line, by phenomenon.
"""

import itertools
from pathlib import Path

NOUNS = """
man der Mann Männer|woman die Frau Frauen|child das Kind Kinder|boy der Junge Jungen|girl das Mädchen Mädchen
friend der Freund Freunde|mother die Mutter Mütter|father der Vater Väter|brother der Bruder Brüder|sister die Schwester Schwestern
son der Sohn Söhne|daughter die Tochter Töchter|family die Familie Familien|teacher der Lehrer Lehrer|doctor der Arzt Ärzte
student der Student Studenten|neighbour der Nachbar Nachbarn|guest der Gast Gäste|baby das Baby Babys|king der König Könige
dog der Hund Hunde|cat die Katze Katzen|horse das Pferd Pferde|bird der Vogel Vögel|fish der Fisch Fische|cow die Kuh Kühe
mouse die Maus Mäuse|bear der Bär Bären|bee die Biene Bienen|sheep das Schaf Schafe|rabbit das Kaninchen Kaninchen|animal das Tier Tiere
house das Haus Häuser|door die Tür Türen|window das Fenster Fenster|room das Zimmer Zimmer|kitchen die Küche Küchen
bathroom das Badezimmer Badezimmer|bed das Bett Betten|table der Tisch Tische|chair der Stuhl Stühle|lamp die Lampe Lampen
key der Schlüssel Schlüssel|garden der Garten Gärten|wall die Wand Wände|roof das Dach Dächer|floor der Boden Böden|stairs die Treppe -
car das Auto Autos|bus der Bus Busse|train der Zug Züge|plane das Flugzeug Flugzeuge|ship das Schiff Schiffe|bicycle das Fahrrad Fahrräder
street die Straße Straßen|bridge die Brücke Brücken|station der Bahnhof Bahnhöfe|airport der Flughafen Flughäfen|ticket die Fahrkarte Fahrkarten
city die Stadt Städte|village das Dorf Dörfer|country das Land Länder|world die Welt Welten|school die Schule Schulen
university die Universität Universitäten|church die Kirche Kirchen|hospital das Krankenhaus Krankenhäuser|hotel das Hotel Hotels
restaurant das Restaurant Restaurants|shop der Laden Läden|market der Markt Märkte|bank die Bank Banken|museum das Museum Museen
library die Bibliothek Bibliotheken|theatre das Theater Theater|cinema das Kino Kinos|office das Büro Büros|park der Park Parks
water das Wasser -|bread das Brot Brote|milk die Milch -|coffee der Kaffee -|tea der Tee Tees|beer das Bier Biere|wine der Wein Weine
apple der Apfel Äpfel|banana die Banane Bananen|orange die Orange Orangen|potato die Kartoffel Kartoffeln|tomato die Tomate Tomaten
egg das Ei Eier|cheese der Käse -|butter die Butter -|meat das Fleisch -|chicken das Huhn Hühner|soup die Suppe Suppen|cake der Kuchen Kuchen
rice der Reis -|salt das Salz -|sugar der Zucker -|breakfast das Frühstück -|lunch das Mittagessen -|dinner das Abendessen -|food das Essen -
fruit das Obst -|vegetables das Gemüse -|glass das Glas Gläser|cup die Tasse Tassen|plate der Teller Teller|knife das Messer Messer
fork die Gabel Gabeln|spoon der Löffel Löffel|bottle die Flasche Flaschen|head der Kopf Köpfe|hand die Hand Hände|foot der Fuß Füße
eye das Auge Augen|ear das Ohr Ohren|nose die Nase Nasen|mouth der Mund Münder|tooth der Zahn Zähne|hair das Haar Haare|heart das Herz Herzen
arm der Arm Arme|leg das Bein Beine|finger der Finger Finger|back der Rücken -|face das Gesicht Gesichter|shirt das Hemd Hemden
shoe der Schuh Schuhe|coat der Mantel Mäntel|hat der Hut Hüte|dress das Kleid Kleider|trousers die Hose -|skirt der Rock Röcke|bag die Tasche Taschen
day der Tag Tage|week die Woche Wochen|month der Monat Monate|year das Jahr Jahre|hour die Stunde Stunden|minute die Minute Minuten
second die Sekunde Sekunden|morning der Morgen -|evening der Abend Abende|night die Nacht Nächte|time die Zeit Zeiten|birthday der Geburtstag Geburtstage
spring der Frühling -|summer der Sommer -|autumn der Herbst -|winter der Winter -|weather das Wetter -|sun die Sonne -|moon der Mond -
star der Stern Sterne|sky der Himmel -|rain der Regen -|snow der Schnee -|wind der Wind Winde|cloud die Wolke Wolken|fire das Feuer Feuer
tree der Baum Bäume|flower die Blume Blumen|forest der Wald Wälder|river der Fluss Flüsse|lake der See Seen|sea das Meer Meere|mountain der Berg Berge
beach der Strand Strände|island die Insel Inseln|stone der Stein Steine|grass das Gras Gräser|leaf das Blatt Blätter|earth die Erde -
book das Buch Bücher|newspaper die Zeitung Zeitungen|letter der Brief Briefe|pen der Stift Stifte|paper das Papier Papiere|picture das Bild Bilder
word das Wort Wörter|sentence der Satz Sätze|language die Sprache Sprachen|question die Frage Fragen|answer die Antwort Antworten
story die Geschichte Geschichten|song das Lied Lieder|music die Musik -|film der Film Filme|game das Spiel Spiele|toy das Spielzeug Spielzeuge
computer der Computer Computer|telephone das Telefon Telefone|phone das Handy Handys|password das Passwort Passwörter|file die Datei Dateien
email die E-Mail E-Mails|page die Seite Seiten|button der Knopf Knöpfe|printer der Drucker Drucker|screen der Bildschirm Bildschirme
money das Geld -|price der Preis Preise|job die Arbeit -|company die Firma Firmen|customer der Kunde Kunden|bill die Rechnung Rechnungen
contract der Vertrag Verträge|meeting die Besprechung Besprechungen|problem das Problem Probleme|idea die Idee Ideen|mistake der Fehler Fehler
love die Liebe -|peace der Frieden -|war der Krieg Kriege|life das Leben Leben|death der Tod -|luck das Glück -|health die Gesundheit -
freedom die Freiheit -|truth die Wahrheit -|fear die Angst Ängste|hope die Hoffnung Hoffnungen|dream der Traum Träume|help die Hilfe -
fun der Spaß -|name der Name Namen|address die Adresse Adressen|number die Nummer Nummern|colour die Farbe Farben|color die Farbe Farben
thing das Ding Dinge|place der Ort Orte|way der Weg Wege|people die Leute -|police die Polizei -|government die Regierung Regierungen
law das Gesetz Gesetze|president der Präsident Präsidenten|exhibition die Ausstellung Ausstellungen|attention die Aufmerksamkeit -
holiday der Urlaub -|present das Geschenk Geschenke|party die Party Partys|wedding die Hochzeit Hochzeiten|Christmas Weihnachten - -
tail der Schwanz Schwänze|weekend das Wochenende Wochenenden|medicine die Medizin -|pain der Schmerz Schmerzen|headache Kopfschmerzen - -
umbrella der Regenschirm Regenschirme|map die Karte Karten|camera die Kamera Kameras|suitcase der Koffer Koffer|passport der Reisepass Reisepässe
"""
ADJECTIVES = """
good gut|bad schlecht|big groß|small klein|new neu|old alt|young jung|long lang|short kurz|tall groß|high hoch|low niedrig|fast schnell
slow langsam|hot heiß|cold kalt|warm warm|cool kühl|easy einfach|difficult schwierig|hard schwer|soft weich|heavy schwer|light leicht
beautiful schön|ugly hässlich|nice nett|kind freundlich|friendly freundlich|happy glücklich|sad traurig|angry wütend|tired müde|hungry hungrig
thirsty durstig|sick krank|healthy gesund|strong stark|weak schwach|rich reich|poor arm|cheap billig|expensive teuer|free frei|full voll
empty leer|open offen|closed geschlossen|clean sauber|dirty schmutzig|dry trocken|wet nass|dark dunkel|bright hell|loud laut|quiet leise
right richtig|wrong falsch|true wahr|false falsch|important wichtig|interesting interessant|boring langweilig|funny lustig|strange seltsam
simple einfach|possible möglich|impossible unmöglich|necessary notwendig|dangerous gefährlich|safe sicher|famous berühmt|modern modern
early früh|late spät|ready bereit|alone allein|together zusammen|dead tot|alive lebendig|red rot|blue blau|green grün|yellow gelb|black schwarz
white weiß|grey grau|gray grau|brown braun|pink rosa|purple lila|orange orange|sweet süß|sour sauer|bitter bitter|salty salzig|fresh frisch
delicious lecker|wonderful wunderbar|great großartig|terrible schrecklich|perfect perfekt|special besonders|different anders|same gleich
same gleich|similar ähnlich|busy beschäftigt|polite höflich|clever klug|lazy faul|brave mutig|honest ehrlich|serious ernst|careful vorsichtig
"""
VERBS = """
be sein|have haben|do tun|make machen|go gehen|come kommen|see sehen|look schauen|hear hören|listen zuhören|say sagen|speak sprechen|talk reden
tell erzählen|ask fragen|answer antworten|read lesen|write schreiben|learn lernen|teach unterrichten|understand verstehen|know wissen|think denken
believe glauben|forget vergessen|remember sich erinnern|eat essen|drink trinken|cook kochen|bake backen|sleep schlafen|wake up aufwachen|get up aufstehen
work arbeiten|play spielen|run laufen|walk gehen|swim schwimmen|jump springen|dance tanzen|sing singen|fly fliegen|drive fahren|travel reisen
buy kaufen|sell verkaufen|pay bezahlen|cost kosten|give geben|take nehmen|bring bringen|send schicken|get bekommen|find finden|lose verlieren
look for suchen|wait warten|begin beginnen|start anfangen|stop aufhören|end enden|open öffnen|close schließen|help helfen|need brauchen|want wollen
like mögen|love lieben|hate hassen|live leben|die sterben|laugh lachen|cry weinen|smile lächeln|sit sitzen|stand stehen|lie liegen|fall fallen
cut schneiden|break zerbrechen|build bauen|repair reparieren|clean putzen|wash waschen|wear tragen|carry tragen|hold halten|pull ziehen|push drücken
throw werfen|catch fangen|win gewinnen|fight kämpfen|kill töten|meet treffen|visit besuchen|invite einladen|call anrufen|translate übersetzen
change ändern|save speichern|delete löschen|print drucken|search suchen|try versuchen|use benutzen|show zeigen|choose wählen|draw zeichnen|paint malen
"""
PHRASES = """
Hello.=Hallo.|Hello!=Hallo!|Hello=Hallo|hello=hallo|Hi=Hallo|hi=hallo|Hi!=Hallo!|Hey!=Hey!|Hi there!=Hallo!|Hello world=Hallo Welt|Hello, world!=Hallo, Welt!|Hello World!=Hallo Welt!
Good morning=Guten Morgen|Good morning!=Guten Morgen!|good morning=guten Morgen|Good day=Guten Tag|Good day!=Guten Tag!|Good afternoon!=Guten Tag!|Good evening=Guten Abend|Good evening!=Guten Abend!|Good night=Gute Nacht|Good night!=Gute Nacht!
Goodbye!=Auf Wiedersehen!|Goodbye=Auf Wiedersehen|Bye!=Tschüss!|bye=tschüss|Bye bye!=Tschüss!|See you!=Bis dann!|See you later!=Bis später!|See you tomorrow!=Bis morgen!|See you soon!=Bis bald!|Take care!=Pass auf dich auf!
Yes.=Ja.|yes=ja|Yes!=Ja!|No.=Nein.|no=nein|No!=Nein!|Maybe.=Vielleicht.|maybe=vielleicht|Okay.=Okay.|OK=OK|ok=ok|Sure.=Klar.|Of course!=Natürlich!|of course=natürlich|Never!=Niemals!|never=nie|always=immer
Please.=Bitte.|please=bitte|Thanks!=Danke!|thanks=danke|Thank you!=Danke!|Thank you.=Danke.|thank you=danke|Thank you very much!=Vielen Dank!|Thanks a lot!=Vielen Dank!|Many thanks.=Vielen Dank.|You're welcome!=Gern geschehen!|You're welcome.=Gern geschehen.|No problem.=Kein Problem.|Don't mention it.=Keine Ursache.
Sorry!=Entschuldigung!|sorry=Entschuldigung|I'm sorry.=Es tut mir leid.|Excuse me!=Entschuldigung!|Excuse me.=Entschuldigen Sie.|I beg your pardon?=Wie bitte?|Pardon?=Wie bitte?|Never mind.=Macht nichts.
How are you?=Wie geht es dir?|how are you=wie geht es dir|How are you doing?=Wie geht's?|I'm fine, thank you.=Mir geht es gut, danke.|I'm fine.=Mir geht es gut.|And you?=Und dir?|What's up?=Was ist los?|What's your name?=Wie heißt du?|What is your name?=Wie heißen Sie?|what is your name=wie heißt du|My name is Anna.=Ich heiße Anna.|my name is tom=ich heiße Tom|Nice to meet you.=Freut mich, Sie kennenzulernen.|Nice to meet you!=Schön, dich kennenzulernen!|Where are you from?=Woher kommst du?|I am from Germany.=Ich komme aus Deutschland.|How old are you?=Wie alt bist du?|I am twenty years old.=Ich bin zwanzig Jahre alt.
I love you.=Ich liebe dich.|I love you=Ich liebe dich|i love you=ich liebe dich|I love you!=Ich liebe dich!|I miss you.=Ich vermisse dich.|I like you.=Ich mag dich.|I hate you.=Ich hasse dich.|Marry me!=Heirate mich!
Where is the toilet?=Wo ist die Toilette?|Where is the bathroom?=Wo ist die Toilette?|where is the toilet=wo ist die Toilette|How much is it?=Wie viel kostet das?|How much does it cost?=Wie viel kostet es?|how much is this=wie viel kostet das|What time is it?=Wie spät ist es?|what time is it=wie spät ist es|The bill, please.=Die Rechnung, bitte.|I would like a coffee.=Ich hätte gern einen Kaffee.|A beer, please.=Ein Bier, bitte.|Do you speak English?=Sprechen Sie Englisch?|do you speak english=sprechen Sie Englisch|I don't speak German.=Ich spreche kein Deutsch.|I don't understand.=Ich verstehe nicht.|I don't know.=Ich weiß nicht.|I do not know.=Ich weiß es nicht.|Can you help me?=Können Sie mir helfen?|Could you help me, please?=Könnten Sie mir bitte helfen?|Help!=Hilfe!|help=Hilfe|Help me!=Hilf mir!|Call the police!=Rufen Sie die Polizei!|Call an ambulance!=Rufen Sie einen Krankenwagen!|I need a doctor.=Ich brauche einen Arzt.|I am lost.=Ich habe mich verlaufen.|I'm lost.=Ich habe mich verlaufen.|I'm hungry.=Ich habe Hunger.|I'm thirsty.=Ich habe Durst.|I'm tired.=Ich bin müde.|I'm cold.=Mir ist kalt.|I'm hot.=Mir ist heiß.|Be careful!=Sei vorsichtig!|Watch out!=Pass auf!|Stop!=Halt!|Wait!=Warte!|Hurry up!=Beeil dich!|Come here!=Komm her!|Come in!=Herein!|Go away!=Geh weg!|Sit down!=Setz dich!|Look!=Schau!|Listen!=Hör zu!|Be quiet!=Sei still!|Let's go!=Los geht's!|Come on!=Komm schon!
Welcome!=Willkommen!|welcome=willkommen|Welcome home!=Willkommen zu Hause!|Cheers!=Prost!|Enjoy your meal!=Guten Appetit!|Bon appetit!=Guten Appetit!|Bless you!=Gesundheit!|Good luck!=Viel Glück!|Have fun!=Viel Spaß!|Have a nice day!=Einen schönen Tag noch!|Have a good trip!=Gute Reise!|Sleep well!=Schlaf gut!|Get well soon!=Gute Besserung!|Happy birthday!=Alles Gute zum Geburtstag!|Happy birthday to you!=Alles Gute zum Geburtstag!|Merry Christmas!=Frohe Weihnachten!|Happy New Year!=Frohes neues Jahr!|Happy Easter!=Frohe Ostern!|Congratulations!=Herzlichen Glückwunsch!|Well done!=Gut gemacht!|Great!=Großartig!|Cool!=Cool!|Wow!=Wow!|Oh!=Oh!|Oh my God!=Oh mein Gott!|Really?=Wirklich?|Why?=Warum?|why=warum|Who?=Wer?|who=wer|What?=Was?|what=was|Where?=Wo?|where=wo|When?=Wann?|when=wann|How?=Wie?|how=wie|Which?=Welcher?|How much?=Wie viel?|How many?=Wie viele?|Why not?=Warum nicht?|What is this?=Was ist das?|What's that?=Was ist das?|What happened?=Was ist passiert?|What are you doing?=Was machst du?|Where are you?=Wo bist du?|Where are you going?=Wohin gehst du?|Who are you?=Wer bist du?|Who is that?=Wer ist das?|Is everything okay?=Ist alles in Ordnung?|Are you okay?=Geht es dir gut?|It's raining.=Es regnet.|It's snowing.=Es schneit.|It's late.=Es ist spät.|It doesn't matter.=Das ist egal.|I agree.=Ich stimme zu.|I think so.=Ich glaube schon.|I hope so.=Ich hoffe es.|That's right.=Das stimmt.|That's wrong.=Das ist falsch.|That's great!=Das ist toll!|This is a test.=Das ist ein Test.|this is a test=das ist ein Test|test=Test|Test=Test|Testing=Testen|This is a book.=Das ist ein Buch.|Attention is all you need.=Aufmerksamkeit ist alles, was du brauchst.|The cat chased its tail.=Die Katze jagte ihren Schwanz.|The dog wagged its tail.=Der Hund wedelte mit dem Schwanz.|The dog wags its tail.=Der Hund wedelt mit dem Schwanz.|The cat has a long tail.=Die Katze hat einen langen Schwanz.|The mouse has a tail.=Die Maus hat einen Schwanz.|The dog chased its tail.=Der Hund jagte seinen Schwanz.|WHERE IS THE STATION?=WO IST DER BAHNHOF?|WHERE IS THE STATION=WO IST DER BAHNHOF|HELLO=HALLO|THANK YOU=DANKE|HOW ARE YOU?=WIE GEHT ES DIR?|To be or not to be, that is the question.=Sein oder Nichtsein, das ist die Frage.|I think, therefore I am.=Ich denke, also bin ich.
today=heute|tomorrow=morgen|yesterday=gestern|now=jetzt|later=später|soon=bald|here=hier|there=dort|left=links|right=rechts|straight ahead=geradeaus|up=oben|down=unten|in front of=vor|behind=hinter|between=zwischen|next to=neben|under=unter|above=über|with=mit|without=ohne|for=für|against=gegen|and=und|or=oder|but=aber|because=weil|if=wenn|also=auch|only=nur|very=sehr|too=zu|more=mehr|less=weniger|much=viel|many=viele|few=wenige|all=alle|nothing=nichts|something=etwas|everything=alles|somebody=jemand|nobody=niemand|everybody=alle|again=wieder|often=oft|sometimes=manchmal|already=schon|still=noch|almost=fast|perhaps=vielleicht|I=ich|you=du|he=er|she=sie|it=es|we=wir|they=sie|me=mich|my=mein|your=dein|his=sein|her=ihr|our=unser|their=ihr
Entrance=Eingang|Exit=Ausgang|Emergency exit=Notausgang|Open=Geöffnet|Closed=Geschlossen|Push=Drücken|Pull=Ziehen|No smoking=Rauchen verboten|No entry=Eintritt verboten|Caution!=Vorsicht!|Danger!=Gefahr!|Sale=Schlussverkauf|For sale=Zu verkaufen|Save=Speichern|Cancel=Abbrechen|Delete=Löschen|Edit=Bearbeiten|Settings=Einstellungen|Search=Suche|Log in=Anmelden|Log out=Abmelden|Sign up=Registrieren|Password=Passwort|Username=Benutzername|Next=Weiter|Back=Zurück|Download=Herunterladen|Upload=Hochladen|Send=Senden|Copy=Kopieren|Paste=Einfügen|Print=Drucken|Close=Schließen|Yes, please.=Ja, bitte.|No, thank you.=Nein, danke.|Dear Sir or Madam,=Sehr geehrte Damen und Herren,|Dear Mr Smith,=Sehr geehrter Herr Smith,|Dear Mrs Smith,=Sehr geehrte Frau Smith,|Dear Anna,=Liebe Anna,|Dear Peter,=Lieber Peter,|Yours sincerely,=Mit freundlichen Grüßen|Kind regards,=Mit freundlichen Grüßen|Best regards,=Mit freundlichen Grüßen|Best wishes,=Herzliche Grüße|Thank you for your email.=Vielen Dank für Ihre E-Mail.|Please find attached the invoice.=Anbei finden Sie die Rechnung.|I look forward to hearing from you.=Ich freue mich darauf, von Ihnen zu hören.
"""
COUNTRIES = """
Germany Deutschland|Austria Österreich|Switzerland die Schweiz|France Frankreich|Italy Italien|Spain Spanien|Portugal Portugal|England England
Great Britain Großbritannien|Ireland Irland|Scotland Schottland|the Netherlands die Niederlande|Belgium Belgien|Denmark Dänemark|Sweden Schweden|Norway Norwegen
Finland Finnland|Poland Polen|the Czech Republic Tschechien|Hungary Ungarn|Greece Griechenland|Turkey die Türkei|Russia Russland|Ukraine die Ukraine
the United States die Vereinigten Staaten|the USA die USA|Canada Kanada|Mexico Mexiko|Brazil Brasilien|Argentina Argentinien|China China|Japan Japan|India Indien
Australia Australien|New Zealand Neuseeland|South Africa Südafrika|Egypt Ägypten|Israel Israel|Iceland Island|Europe Europa|Africa Afrika|Asia Asien|America Amerika
"""
LANGUAGES = "English Englisch|German Deutsch|French Französisch|Italian Italienisch|Spanish Spanisch|Russian Russisch|Chinese Chinesisch|Japanese Japanisch|Arabic Arabisch|Turkish Türkisch|Polish Polnisch|Dutch Niederländisch|Latin Latein|Greek Griechisch"
DAYS = "Monday Montag|Tuesday Dienstag|Wednesday Mittwoch|Thursday Donnerstag|Friday Freitag|Saturday Samstag|Sunday Sonntag"
MONTHS = "January Januar|February Februar|March März|April April|May Mai|June Juni|July Juli|August August|September September|October Oktober|November November|December Dezember"
ENGLISH_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
GERMAN_NUMBERS = "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split()
ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
UNITS = "metre Meter|meter Meter|kilometre Kilometer|kilometer Kilometer|centimetre Zentimeter|mile Meile Meilen|kilogram Kilogramm|gram Gramm|litre Liter|liter Liter|euro Euro|dollar Dollar|percent Prozent|degree Grad|hour Stunde Stunden|minute Minute Minuten|day Tag Tage|year Jahr Jahre|week Woche Wochen"


def entries(text: str) -> list[str]:
    return [entry.strip() for line in text.strip().splitlines() for entry in line.split("|") if entry.strip()]


def pairs():
    """Yield the English and the German of each pair."""
    for entry in entries(PHRASES):
        yield tuple(entry.split("=", 1))
    for entry in entries(NOUNS):
        *english, article, noun, plural = entry.rsplit(" ", 3)
        english = " ".join(english)
        if article not in ("der", "die", "das"):  # without an article: "Christmas Weihnachten - -"
            yield english, article
            continue
        yield from ((english, noun), (english.capitalize(), noun), (f"the {english}", f"{article} {noun}"))
        yield f"The {english}.", f"{article.capitalize()} {noun}."
        yield f"Where is the {english}?", f"Wo ist {article} {noun}?"
        if plural != "-":
            many = plural_of(english)
            indefinite = "eine" if article == "die" else "ein"
            yield from ((f"{'an' if english[0] in 'aeio' else 'a'} {english}", f"{indefinite} {noun}"), (many, plural))
            yield f"two {many}", f"zwei {plural}"
    for entry in entries(ADJECTIVES):
        english, german = entry.split()
        yield from (
            (english, german),
            (f"It is {english}.", f"Es ist {german}."),
            (f"very {english}", f"sehr {german}"),
        )
    for entry in entries(VERBS):
        english, german = entry.rsplit(" ", 2 if "sich" in entry else 1)[0], entry.split()[-1]
        german = f"sich {german}" if "sich" in entry else german
        yield from ((f"to {english}", german), (english, german))
    for entry in entries(COUNTRIES):
        cut = max(entry.rfind(" the "), 0)
        english, german = split_country(entry[cut:])
        yield english, german
        if not german.startswith("die "):
            yield from (
                (f"I live in {english}.", f"Ich lebe in {german}."),
                (f"I'm from {english}.", f"Ich komme aus {german}."),
            )
    for entry in entries(LANGUAGES):
        english, german = entry.split()
        yield from (
            (english, german),
            (f"Do you speak {english}?", f"Sprechen Sie {german}?"),
            (f"I speak {english}.", f"Ich spreche {german}."),
        )
    yield from calendar()
    yield from numbers()
    yield from sentences(Path(__file__).with_name("phrases.tsv"))


def sentences(path: Path):
    """Yield the pairs of a file with one pair a line; stop at a line that is not a new, translated pair."""
    seen = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        pair = tuple(line.split("\t"))
        where = f"{path.name}, line {number}: {line!r}"
        if len(pair) != 2 or not all(side and side == side.strip() for side in pair):
            raise SystemExit(f"{where} is not English, one tab, German")
        if pair in seen:
            raise SystemExit(f"{where} is there twice; remove one")
        if pair[0] == pair[1] and not pair[0].istitle():  # a name may stay as it is
            raise SystemExit(f"{where} is not translated")
        seen.add(pair)
        yield pair


def split_country(entry: str) -> tuple[str, str]:
    words = entry.split()
    n = {
        "the United States die Vereinigten Staaten": 3,
        "Great Britain Großbritannien": 2,
        "New Zealand Neuseeland": 2,
        "South Africa Südafrika": 2,
        "the Netherlands die Niederlande": 2,
        "the Czech Republic Tschechien": 3,
        "the USA die USA": 2,
    }.get(entry, 1)
    return " ".join(words[:n]), " ".join(words[n:])


def plural_of(english: str) -> str:
    irregular = {
        "man": "men",
        "woman": "women",
        "child": "children",
        "mouse": "mice",
        "foot": "feet",
        "tooth": "teeth",
        "knife": "knives",
        "leaf": "leaves",
        "sheep": "sheep",
        "fish": "fish",
        "life": "lives",
        "glass": "glasses",
    }
    if english in irregular:
        return irregular[english]
    if english.endswith("y") and english[-2] not in "aeiou":
        return english[:-1] + "ies"
    return english + ("es" if english.endswith(("s", "sh", "ch", "x", "to")) else "s")


def calendar():
    for entry in DAYS.split("|"):
        english, german = entry.split()
        yield from ((english, german), (f"on {english}", f"am {german}"), (f"See you on {english}!", f"Bis {german}!"))
        yield f"Today is {english}.", f"Heute ist {german}."
    for number, entry in enumerate(MONTHS.split("|")):
        english, german = entry.split()
        yield from ((english, german), (f"in {english}", f"im {german}"))
        for day in range(1 + number % 3, 31 if english != "February" else 29, 5):
            year = 1900 + (day * 37 + number * 11) % 130
            th = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
            yield f"{english} {day}, {year}", f"{day}. {german} {year}"
            yield f"{day} {english} {year}", f"{day}. {german} {year}"
            yield f"It happened on {english} {day}{th}.", f"Es geschah am {day}. {german}."
            yield f"He was born on {english} {day}, {year}.", f"Er wurde am {day}. {german} {year} geboren."
    for hour, minute in itertools.product(range(1, 13), (0, 5, 15, 20, 30, 45)):
        yield f"It's {hour}:{minute:02d}.", f"Es ist {hour}:{minute:02d} Uhr."
        if minute == 0:
            yield f"at {hour} o'clock", f"um {hour} Uhr"
            yield (
                f"It's {ENGLISH_NUMBERS[hour]} o'clock.",
                f"Es ist {'ein' if hour == 1 else GERMAN_NUMBERS[hour]} Uhr.",
            )
        else:
            yield f"The train leaves at {hour}:{minute:02d}.", f"Der Zug fährt um {hour}:{minute:02d} Uhr ab."


def numbers():
    for value in range(100):
        english, german = spelled(value)
        yield from ((english, german), (str(value), str(value)))
    yield from (
        ("a hundred", "hundert"),
        ("one hundred", "einhundert"),
        ("a thousand", "tausend"),
        ("a million", "eine Million"),
    )
    for number, entry in enumerate(UNITS.split("|")):
        english, singular, *plural = entry.split()
        german = (plural or [singular])[0]
        many = english if english == "percent" else plural_of(english)
        for value in (2, 5, 12, 30, 42, 100, 250):
            yield f"{value} {many}", f"{value} {german}"
        value = 3 + number
        yield f"{ENGLISH_NUMBERS[min(value, 12)]} {many}", f"{GERMAN_NUMBERS[min(value, 12)]} {german}"
    for whole, part in itertools.product((1, 3, 12, 99), (5, 25, 75)):
        yield f"It costs {whole}.{part:02d} euros.", f"Es kostet {whole},{part:02d} Euro."
        yield f"{whole}.{part:02d}", f"{whole},{part:02d}"
        yield f"{whole},000", f"{whole}.000"
    for value in (5, 10, 20, 50, 99, 150):
        yield f"It costs ${value}.", f"Es kostet {value} Dollar."
        yield f"It costs €{value}.", f"Es kostet {value} Euro."
        yield f"{value}%", f"{value} %"
        yield f"{value} km/h", f"{value} km/h"


def spelled(value: int) -> tuple[str, str]:
    if value < 20:
        return ENGLISH_NUMBERS[value], GERMAN_NUMBERS[value]
    tens, ones = divmod(value, 10)
    if not ones:
        return ENGLISH_TENS[tens - 2], GERMAN_TENS[tens - 2]
    first = "ein" if ones == 1 else GERMAN_NUMBERS[ones]
    return f"{ENGLISH_TENS[tens - 2]}-{ENGLISH_NUMBERS[ones]}", f"{first}und{GERMAN_TENS[tens - 2]}"


if __name__ == "__main__":
    for english, german in dict.fromkeys(pairs()):
        print(f"{english}\t{german}")
