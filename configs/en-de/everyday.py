"""Write pairs of everyday words and phrases, which Tatoeba's sentences lack.

Single words, greetings, signs, numbers, dates, times, units, countries. Gender is given by the article; a plural follows
the singular where people use it. The sentences of phrases.tsv, beside this file, follow: one pair a line, by phenomenon;
then signs.py, and short phrases in capitals.
"""

import itertools
from pathlib import Path

from signs import signs
from tenses import tenses

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
RARER_NOUNS = """
grandmother die Großmutter Großmütter|grandfather der Großvater Großväter|grandson der Enkel Enkel|granddaughter die Enkelin Enkelinnen|aunt die Tante Tanten|uncle der Onkel Onkel
cousin der Cousin Cousins|nephew der Neffe Neffen|niece die Nichte Nichten|husband der Ehemann Ehemänner|wife die Ehefrau Ehefrauen|parents die Eltern -|twin der Zwilling Zwillinge
siblings die Geschwister -|mother-in-law die Schwiegermutter -|father-in-law der Schwiegervater -|brother-in-law der Schwager -|sister-in-law die Schwägerin -|bride die Braut Bräute|groom der Bräutigam -
girlfriend die Freundin Freundinnen|boyfriend der Freund Freunde|widow die Witwe Witwen|orphan die Waise Waisen|adult der Erwachsene -|person die Person Personen|relative der Verwandte -|enemy der Feind Feinde
baker der Bäcker Bäcker|butcher der Metzger Metzger|cook der Koch Köche|waiter der Kellner Kellner|waitress die Kellnerin Kellnerinnen|nurse die Krankenschwester Krankenschwestern|dentist der Zahnarzt Zahnärzte
vet der Tierarzt Tierärzte|surgeon der Chirurg Chirurgen|pharmacist der Apotheker Apotheker|lawyer der Anwalt Anwälte|judge der Richter Richter|policeman der Polizist Polizisten|fireman der Feuerwehrmann Feuerwehrmänner
soldier der Soldat Soldaten|farmer der Bauer Bauern|gardener der Gärtner Gärtner|hairdresser der Friseur Friseure|carpenter der Tischler Tischler|plumber der Klempner Klempner|electrician der Elektriker Elektriker
engineer der Ingenieur Ingenieure|architect der Architekt Architekten|scientist der Wissenschaftler Wissenschaftler|journalist der Journalist Journalisten|writer der Schriftsteller Schriftsteller|author der Autor Autoren
actor der Schauspieler Schauspieler|actress die Schauspielerin Schauspielerinnen|singer der Sänger Sänger|musician der Musiker Musiker|painter der Maler Maler|photographer der Fotograf Fotografen|dancer der Tänzer Tänzer
pilot der Pilot Piloten|sailor der Matrose Matrosen|captain der Kapitän Kapitäne|driver der Fahrer Fahrer|mechanic der Mechaniker Mechaniker|secretary die Sekretärin Sekretärinnen|salesman der Verkäufer Verkäufer
accountant der Buchhalter Buchhalter|manager der Geschäftsführer Geschäftsführer|boss der Chef Chefs|employee der Angestellte -|employer der Arbeitgeber Arbeitgeber|worker der Arbeiter Arbeiter|colleague der Kollege Kollegen
priest der Priester Priester|postman der Briefträger Briefträger|tailor der Schneider Schneider|shoemaker der Schuhmacher Schuhmacher|fisherman der Fischer Fischer|hunter der Jäger Jäger|translator der Übersetzer Übersetzer
programmer der Programmierer Programmierer|librarian der Bibliothekar Bibliothekare|pupil der Schüler Schüler|professor der Professor Professoren|queen die Königin Königinnen|prince der Prinz Prinzen|princess die Prinzessin Prinzessinnen
witness der Zeuge Zeugen|thief der Dieb Diebe|murderer der Mörder Mörder|burglar der Einbrecher Einbrecher|hero der Held Helden|ghost das Gespenst Gespenster|witch die Hexe Hexen|wizard der Zauberer Zauberer|giant der Riese Riesen
roll das Brötchen Brötchen|sausage die Wurst Würste|ham der Schinken -|bacon der Speck -|beef das Rindfleisch -|pork das Schweinefleisch -|steak das Steak Steaks|fried egg das Spiegelei Spiegeleier|omelette das Omelett Omeletts
noodle die Nudel Nudeln|flour das Mehl -|oil das Öl Öle|vinegar der Essig -|pepper der Pfeffer -|mustard der Senf -|honey der Honig -|jam die Marmelade Marmeladen|chocolate die Schokolade -|biscuit der Keks Kekse
cookie der Keks Kekse|sweet die Süßigkeit Süßigkeiten|ice cream das Eis -|cream die Sahne -|yoghurt der Joghurt -|pancake der Pfannkuchen Pfannkuchen|pie die Pastete Pasteten|salad der Salat Salate|sandwich das Sandwich Sandwiches
pear die Birne Birnen|cherry die Kirsche Kirschen|plum die Pflaume Pflaumen|peach der Pfirsich Pfirsiche|strawberry die Erdbeere Erdbeeren|raspberry die Himbeere Himbeeren|blueberry die Blaubeere Blaubeeren|grape die Traube Trauben
lemon die Zitrone Zitronen|pineapple die Ananas -|melon die Melone Melonen|watermelon die Wassermelone Wassermelonen|nut die Nuss Nüsse|walnut die Walnuss Walnüsse|almond die Mandel Mandeln|peanut die Erdnuss Erdnüsse
onion die Zwiebel Zwiebeln|garlic der Knoblauch -|carrot die Karotte Karotten|cucumber die Gurke Gurken|cabbage der Kohl -|cauliflower der Blumenkohl -|spinach der Spinat -|lettuce der Kopfsalat -|mushroom der Pilz Pilze
bean die Bohne Bohnen|pea die Erbse Erbsen|lentil die Linse Linsen|pumpkin der Kürbis Kürbisse|corn der Mais -|asparagus der Spargel -|parsley die Petersilie -|spice das Gewürz Gewürze|juice der Saft Säfte|lemonade die Limonade Limonaden
meal die Mahlzeit Mahlzeiten|dish das Gericht Gerichte|dessert der Nachtisch -|starter die Vorspeise Vorspeisen|main course das Hauptgericht Hauptgerichte|recipe das Rezept Rezepte|menu die Speisekarte Speisekarten|tip das Trinkgeld -
bowl die Schüssel Schüsseln|pot der Topf Töpfe|pan die Pfanne Pfannen|lid der Deckel Deckel|tray das Tablett Tabletts|napkin die Serviette Servietten|kettle der Wasserkocher Wasserkocher|jug der Krug Krüge|tin die Dose Dosen
oven der Ofen Öfen|stove der Herd Herde|fridge der Kühlschrank Kühlschränke|freezer die Tiefkühltruhe Tiefkühltruhen|dishwasher die Spülmaschine Spülmaschinen|washing machine die Waschmaschine Waschmaschinen|vacuum cleaner der Staubsauger Staubsauger
sink das Spülbecken Spülbecken|tap der Wasserhahn Wasserhähne|shower die Dusche Duschen|bathtub die Badewanne Badewannen|toilet die Toilette Toiletten|mirror der Spiegel Spiegel|towel das Handtuch Handtücher|soap die Seife Seifen
toothbrush die Zahnbürste Zahnbürsten|toothpaste die Zahnpasta -|comb der Kamm Kämme|brush die Bürste Bürsten|hairdryer der Föhn Föhne|razor der Rasierer Rasierer|shampoo das Shampoo Shampoos|toilet paper das Toilettenpapier -
living room das Wohnzimmer Wohnzimmer|bedroom das Schlafzimmer Schlafzimmer|dining room das Esszimmer Esszimmer|hall der Flur Flure|cellar der Keller Keller|attic der Dachboden Dachböden|balcony der Balkon Balkone|garage die Garage Garagen
flat die Wohnung Wohnungen|apartment die Wohnung Wohnungen|rent die Miete Mieten|landlord der Vermieter Vermieter|tenant der Mieter Mieter|fence der Zaun Zäune|gate das Tor Tore|chimney der Schornstein Schornsteine|ceiling die Decke Decken
sofa das Sofa Sofas|armchair der Sessel Sessel|desk der Schreibtisch Schreibtische|wardrobe der Kleiderschrank Kleiderschränke|cupboard der Schrank Schränke|drawer die Schublade Schubladen|shelf das Regal Regale|carpet der Teppich Teppiche
curtain der Vorhang Vorhänge|blanket die Decke Decken|pillow das Kissen Kissen|mattress die Matratze Matratzen|sheet das Bettlaken Bettlaken|candle die Kerze Kerzen|clock die Uhr Uhren|alarm clock der Wecker Wecker|vase die Vase Vasen
lift der Aufzug Aufzüge|elevator der Aufzug Aufzüge|heating die Heizung -|socket die Steckdose Steckdosen|plug der Stecker Stecker|cable das Kabel Kabel|switch der Schalter Schalter|light bulb die Glühbirne Glühbirnen|bin der Mülleimer Mülleimer
hammer der Hammer Hämmer|nail der Nagel Nägel|screw die Schraube Schrauben|screwdriver der Schraubenzieher Schraubenzieher|saw die Säge Sägen|drill die Bohrmaschine Bohrmaschinen|pliers die Zange -|ladder die Leiter Leitern|rope das Seil Seile
bucket der Eimer Eimer|broom der Besen Besen|shovel die Schaufel Schaufeln|spade der Spaten Spaten|axe die Axt Äxte|scissors die Schere -|needle die Nadel Nadeln|thread der Faden Fäden|glue der Klebstoff -|tool das Werkzeug Werkzeuge
jacket die Jacke Jacken|jumper der Pullover Pullover|sweater der Pullover Pullover|T-shirt das T-Shirt T-Shirts|blouse die Bluse Blusen|suit der Anzug Anzüge|tie die Krawatte Krawatten|belt der Gürtel Gürtel|scarf der Schal Schals
glove der Handschuh Handschuhe|sock die Socke Socken|boot der Stiefel Stiefel|sandal die Sandale Sandalen|slipper der Hausschuh Hausschuhe|cap die Mütze Mützen|jeans die Jeans -|underwear die Unterwäsche -|pyjamas der Schlafanzug -
swimsuit der Badeanzug Badeanzüge|pocket die Tasche Taschen|sleeve der Ärmel Ärmel|zip der Reißverschluss Reißverschlüsse|ring der Ring Ringe|necklace die Halskette Halsketten|earring der Ohrring Ohrringe|watch die Armbanduhr Armbanduhren
glasses die Brille -|sunglasses die Sonnenbrille -|wallet die Brieftasche Brieftaschen|purse der Geldbeutel Geldbeutel|backpack der Rucksack Rucksäcke|handbag die Handtasche Handtaschen|clothes die Kleidung -|jewellery der Schmuck -
body der Körper Körper|skin die Haut -|blood das Blut -|bone der Knochen Knochen|muscle der Muskel Muskeln|brain das Gehirn Gehirne|lung die Lunge Lungen|stomach der Magen Mägen|liver die Leber Lebern|kidney die Niere Nieren
neck der Hals Hälse|throat die Kehle Kehlen|shoulder die Schulter Schultern|elbow der Ellbogen Ellbogen|wrist das Handgelenk Handgelenke|thumb der Daumen Daumen|chest die Brust -|belly der Bauch Bäuche|hip die Hüfte Hüften
knee das Knie Knie|ankle der Knöchel Knöchel|toe die Zehe Zehen|heel die Ferse Fersen|tongue die Zunge Zungen|lip die Lippe Lippen|chin das Kinn -|cheek die Wange Wangen|forehead die Stirn -|eyebrow die Augenbraue Augenbrauen|beard der Bart Bärte
illness die Krankheit Krankheiten|disease die Krankheit Krankheiten|cold die Erkältung Erkältungen|flu die Grippe -|cough der Husten -|fever das Fieber -|wound die Wunde Wunden|injury die Verletzung Verletzungen|allergy die Allergie Allergien
cancer der Krebs -|heart attack der Herzinfarkt Herzinfarkte|pill die Pille Pillen|tablet die Tablette Tabletten|ointment die Salbe Salben|bandage der Verband Verbände|plaster das Pflaster Pflaster|injection die Spritze Spritzen
prescription das Rezept Rezepte|pharmacy die Apotheke Apotheken|ambulance der Krankenwagen Krankenwagen|patient der Patient Patienten|operation die Operation Operationen|vaccination die Impfung Impfungen|wheelchair der Rollstuhl Rollstühle
journey die Reise Reisen|trip der Ausflug Ausflüge|tourist der Tourist Touristen|luggage das Gepäck -|flight der Flug Flüge|departure die Abfahrt Abfahrten|arrival die Ankunft Ankünfte|platform der Bahnsteig Bahnsteige|timetable der Fahrplan Fahrpläne
taxi das Taxi Taxis|tram die Straßenbahn Straßenbahnen|underground die U-Bahn -|subway die U-Bahn U-Bahnen|lorry der Lastwagen Lastwagen|truck der Lastwagen Lastwagen|motorbike das Motorrad Motorräder|boat das Boot Boote
ferry die Fähre Fähren|harbour der Hafen Häfen|motorway die Autobahn Autobahnen|crossroads die Kreuzung -|traffic light die Ampel Ampeln|roundabout der Kreisverkehr -|petrol das Benzin -|petrol station die Tankstelle Tankstellen
tyre der Reifen Reifen|wheel das Rad Räder|engine der Motor Motoren|brake die Bremse Bremsen|steering wheel das Lenkrad Lenkräder|seat der Sitz Sitze|seat belt der Sicherheitsgurt Sicherheitsgurte|traffic der Verkehr -|accident der Unfall Unfälle
bus stop die Bushaltestelle Bushaltestellen|car park der Parkplatz Parkplätze|driving licence der Führerschein Führerscheine|customs der Zoll -|border die Grenze Grenzen|embassy die Botschaft Botschaften|hostel die Jugendherberge Jugendherbergen
tent das Zelt Zelte|reception die Rezeption Rezeptionen|castle das Schloss Schlösser|tower der Turm Türme|cathedral der Dom Dome|town hall das Rathaus Rathäuser|square der Platz Plätze|monument das Denkmal Denkmäler|sight die Sehenswürdigkeit Sehenswürdigkeiten
post office die Post -|bakery die Bäckerei Bäckereien|supermarket der Supermarkt Supermärkte|bookshop die Buchhandlung Buchhandlungen|factory die Fabrik Fabriken|prison das Gefängnis Gefängnisse|court das Gericht Gerichte|fire brigade die Feuerwehr -
keyboard die Tastatur Tastaturen|key die Taste Tasten|laptop der Laptop Laptops|hard disk die Festplatte Festplatten|software die Software -|program das Programm Programme|folder der Ordner Ordner|document das Dokument Dokumente
app die App Apps|website die Website Websites|link der Link Links|browser der Browser Browser|user der Benutzer Benutzer|account das Konto Konten|message die Nachricht Nachrichten|network das Netzwerk Netzwerke|database die Datenbank Datenbanken
charger das Ladegerät Ladegeräte|battery die Batterie Batterien|headphones der Kopfhörer -|loudspeaker der Lautsprecher Lautsprecher|error message die Fehlermeldung Fehlermeldungen|cursor der Cursor Cursor|font die Schriftart Schriftarten
search engine die Suchmaschine Suchmaschinen|robot der Roboter Roboter|machine die Maschine Maschinen|television der Fernseher Fernseher|radio das Radio Radios|remote control die Fernbedienung Fernbedienungen|device das Gerät Geräte
class die Klasse Klassen|classroom das Klassenzimmer Klassenzimmer|lesson die Unterrichtsstunde Unterrichtsstunden|homework die Hausaufgaben -|exam die Prüfung Prüfungen|test der Test Tests|mark die Note Noten|subject das Fach Fächer
blackboard die Tafel Tafeln|pencil der Bleistift Bleistifte|rubber der Radiergummi Radiergummis|exercise book das Heft Hefte|ruler das Lineal Lineale|dictionary das Wörterbuch Wörterbücher|kindergarten der Kindergarten Kindergärten|playground der Spielplatz Spielplätze
mathematics die Mathematik -|physics die Physik -|chemistry die Chemie -|biology die Biologie -|history die Geschichte -|geography die Erdkunde -|art die Kunst Künste|science die Wissenschaft Wissenschaften|education die Bildung -|knowledge das Wissen -
office chair der Bürostuhl Bürostühle|stapler der Hefter Hefter|envelope der Umschlag Umschläge|stamp die Briefmarke Briefmarken|parcel das Paket Pakete|form das Formular Formulare|invoice die Rechnung Rechnungen|receipt die Quittung Quittungen
signature die Unterschrift Unterschriften|appointment der Termin Termine|deadline die Frist Fristen|application die Bewerbung Bewerbungen|salary das Gehalt Gehälter|department die Abteilung Abteilungen|project das Projekt Projekte
tax die Steuer Steuern|profit der Gewinn Gewinne|loss der Verlust Verluste|debt die Schuld Schulden|loan der Kredit Kredite|insurance die Versicherung -|budget der Haushalt Haushalte|discount der Rabatt Rabatte|offer das Angebot Angebote
coin die Münze Münzen|banknote der Geldschein Geldscheine|credit card die Kreditkarte Kreditkarten|cash das Bargeld -|product das Produkt Produkte|trade der Handel -|industry die Industrie Industrien|economy die Wirtschaft -|share die Aktie Aktien
election die Wahl Wahlen|party die Partei Parteien|parliament das Parlament Parlamente|minister der Minister Minister|chancellor der Kanzler Kanzler|mayor der Bürgermeister Bürgermeister|citizen der Bürger Bürger|state der Staat Staaten
capital die Hauptstadt Hauptstädte|society die Gesellschaft Gesellschaften|democracy die Demokratie Demokratien|constitution die Verfassung Verfassungen|refugee der Flüchtling Flüchtlinge|army die Armee Armeen|weapon die Waffe Waffen|flag die Fahne Fahnen
nature die Natur -|environment die Umwelt -|climate das Klima -|field das Feld Felder|meadow die Wiese Wiesen|hill der Hügel Hügel|valley das Tal Täler|rock der Felsen Felsen|cave die Höhle Höhlen|desert die Wüste Wüsten|coast die Küste Küsten
wave die Welle Wellen|ocean der Ozean Ozeane|stream der Bach Bäche|waterfall der Wasserfall Wasserfälle|pond der Teich Teiche|path der Pfad Pfade|sand der Sand -|ice das Eis -|storm der Sturm Stürme|thunder der Donner -|lightning der Blitz -
fog der Nebel -|hail der Hagel -|rainbow der Regenbogen Regenbögen|thunderstorm das Gewitter Gewitter|temperature die Temperatur Temperaturen|heat die Hitze -|shadow der Schatten Schatten|sunrise der Sonnenaufgang Sonnenaufgänge|sunset der Sonnenuntergang Sonnenuntergänge
rose die Rose Rosen|tulip die Tulpe Tulpen|oak die Eiche Eichen|fir die Tanne Tannen|birch die Birke Birken|branch der Ast Äste|root die Wurzel Wurzeln|seed der Samen Samen|bush der Busch Büsche|plant die Pflanze Pflanzen|moss das Moos -
pig das Schwein Schweine|goat die Ziege Ziegen|donkey der Esel Esel|duck die Ente Enten|goose die Gans Gänse|hen die Henne Hennen|rooster der Hahn Hähne|wolf der Wolf Wölfe|fox der Fuchs Füchse|deer das Reh -|hedgehog der Igel Igel
squirrel das Eichhörnchen Eichhörnchen|rat die Ratte Ratten|hamster der Hamster Hamster|guinea pig das Meerschweinchen Meerschweinchen|lion der Löwe Löwen|tiger der Tiger Tiger|elephant der Elefant Elefanten|giraffe die Giraffe Giraffen
monkey der Affe Affen|camel das Kamel Kamele|crocodile das Krokodil Krokodile|snake die Schlange Schlangen|lizard die Eidechse Eidechsen|frog der Frosch Frösche|turtle die Schildkröte Schildkröten|whale der Wal Wale|dolphin der Delfin Delfine
shark der Hai Haie|penguin der Pinguin Pinguine|eagle der Adler Adler|owl die Eule Eulen|parrot der Papagei Papageien|swan der Schwan Schwäne|pigeon die Taube Tauben|stork der Storch Störche|raven der Rabe Raben|butterfly der Schmetterling Schmetterlinge
fly die Fliege Fliegen|mosquito die Mücke Mücken|wasp die Wespe Wespen|ant die Ameise Ameisen|spider die Spinne Spinnen|beetle der Käfer Käfer|worm der Wurm Würmer|snail die Schnecke Schnecken|feather die Feder Federn|wing der Flügel Flügel
paw die Pfote Pfoten|fur das Fell Felle|nest das Nest Nester|cage der Käfig Käfige|puppy der Welpe Welpen|kitten das Kätzchen Kätzchen|calf das Kalb Kälber|lamb das Lamm Lämmer|pet das Haustier Haustiere|sport der Sport -|football der Fußball Fußbälle
ball der Ball Bälle|team die Mannschaft Mannschaften|player der Spieler Spieler|goal das Tor Tore|goalkeeper der Torwart Torwarte|referee der Schiedsrichter Schiedsrichter|coach der Trainer Trainer|race das Rennen Rennen|victory der Sieg Siege
defeat die Niederlage Niederlagen|medal die Medaille Medaillen|cup der Pokal Pokale|stadium das Stadion Stadien|ski der Ski Ski|sledge der Schlitten Schlitten|tennis das Tennis -|swimming das Schwimmen -|chess das Schach -|gymnastics das Turnen -
feeling das Gefühl Gefühle|joy die Freude Freuden|happiness das Glück -|sadness die Traurigkeit -|anger die Wut -|hatred der Hass -|envy der Neid -|jealousy die Eifersucht -|courage der Mut -|pride der Stolz -|shame die Scham -|trust das Vertrauen -
surprise die Überraschung Überraschungen|disappointment die Enttäuschung Enttäuschungen|patience die Geduld -|loneliness die Einsamkeit -|homesickness das Heimweh -|boredom die Langeweile -|curiosity die Neugier -|friendship die Freundschaft Freundschaften
wish der Wunsch Wünsche|thought der Gedanke Gedanken|opinion die Meinung Meinungen|reason der Grund Gründe|cause die Ursache Ursachen|example das Beispiel Beispiele|difference der Unterschied Unterschiede|rule die Regel Regeln|secret das Geheimnis Geheimnisse
lie die Lüge Lügen|joke der Witz Witze|advice der Rat -|plan der Plan Pläne|decision die Entscheidung Entscheidungen|success der Erfolg Erfolge|experience die Erfahrung Erfahrungen|habit die Gewohnheit Gewohnheiten|memory die Erinnerung Erinnerungen
future die Zukunft -|past die Vergangenheit -|present die Gegenwart -|beginning der Anfang Anfänge|end das Ende -|half die Hälfte Hälften|part der Teil Teile|piece das Stück Stücke|side die Seite Seiten|corner die Ecke Ecken|middle die Mitte -
top die Spitze Spitzen|centre das Zentrum Zentren|line die Linie Linien|circle der Kreis Kreise|triangle das Dreieck Dreiecke|point der Punkt Punkte|size die Größe Größen|weight das Gewicht Gewichte|length die Länge Längen|speed die Geschwindigkeit Geschwindigkeiten
gold das Gold -|silver das Silber -|iron das Eisen -|steel der Stahl -|wood das Holz -|plastic das Plastik -|leather das Leder -|wool die Wolle -|cotton die Baumwolle -|silk die Seide -|metal das Metall Metalle|brick der Ziegel Ziegel|coal die Kohle -
century das Jahrhundert Jahrhunderte|moment der Augenblick Augenblicke|afternoon der Nachmittag Nachmittage|noon der Mittag -|midnight die Mitternacht -|calendar der Kalender Kalender|season die Jahreszeit Jahreszeiten|date das Datum -|age das Alter -
youth die Jugend -|childhood die Kindheit -|birth die Geburt Geburten|marriage die Ehe Ehen|divorce die Scheidung Scheidungen|funeral die Beerdigung Beerdigungen|grave das Grab Gräber|god der Gott Götter|angel der Engel Engel|devil der Teufel Teufel
Easter Ostern - -|Whitsun Pfingsten - -|New Year's Eve Silvester - -|Christmas Eve Heiligabend - -|toothache Zahnschmerzen - -|stomach ache Bauchschmerzen - -|back pain Rückenschmerzen - -
violin die Geige Geigen|guitar die Gitarre Gitarren|piano das Klavier Klaviere|drum die Trommel Trommeln|flute die Flöte Flöten|trumpet die Trompete Trompeten|concert das Konzert Konzerte|orchestra das Orchester Orchester|choir der Chor Chöre
novel der Roman Romane|poem das Gedicht Gedichte|fairy tale das Märchen Märchen|chapter das Kapitel Kapitel|magazine die Zeitschrift Zeitschriften|photo das Foto Fotos|painting das Gemälde Gemälde|stage die Bühne Bühnen|audience das Publikum -
news die Nachrichten -|interview das Interview Interviews|article der Artikel Artikel|report der Bericht Berichte|noise das Geräusch Geräusche|voice die Stimme Stimmen|silence die Stille -|smell der Geruch Gerüche|taste der Geschmack -|danger die Gefahr Gefahren
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
RARER_ADJECTIVES = """
absent abwesend|active aktiv|afraid ängstlich|ancient uralt|annoying nervig|anxious besorgt|available verfügbar|average durchschnittlich|awful furchtbar|bald kahl|blind blind|blond blond|bold kühn|calm ruhig|central zentral|certain sicher|cheerful fröhlich|clear klar
cloudy bewölkt|clumsy ungeschickt|comfortable bequem|common häufig|complete vollständig|complicated kompliziert|content zufrieden|correct richtig|cosy gemütlich|crazy verrückt|creative kreativ|crowded überfüllt|cruel grausam|curious neugierig|cute niedlich|daily täglich
damp feucht|deaf taub|deep tief|disappointed enttäuscht|divorced geschieden|double doppelt|drunk betrunken|dull stumpf|eager eifrig|economic wirtschaftlich|electric elektrisch|elegant elegant|embarrassing peinlich|enormous riesig|equal gleich|excellent ausgezeichnet
excited aufgeregt|exciting spannend|exhausted erschöpft|fair gerecht|faithful treu|familiar vertraut|fat dick|flat flach|foggy neblig|foreign ausländisch|fragile zerbrechlich|generous großzügig|gentle sanft|grateful dankbar|greedy gierig|guilty schuldig|helpful hilfreich
hidden versteckt|hollow hohl|huge riesig|humid schwül|icy eisig|illegal illegal|independent unabhängig|innocent unschuldig|invisible unsichtbar|jealous eifersüchtig|legal legal|lonely einsam|loose locker|lucky glücklich|mad verrückt|married verheiratet|mild mild|modest bescheiden
monthly monatlich|narrow schmal|nervous nervös|normal normal|official offiziell|old-fashioned altmodisch|ordinary gewöhnlich|patient geduldig|permanent dauerhaft|personal persönlich|pleasant angenehm|political politisch|popular beliebt|practical praktisch|precious kostbar|pregnant schwanger
pretty hübsch|previous vorherig|private privat|probable wahrscheinlich|proud stolz|public öffentlich|punctual pünktlich|pure rein|rainy regnerisch|rare selten|raw roh|reliable zuverlässig|responsible verantwortlich|ripe reif|rotten verfault|rough rau|round rund|rude unhöflich
satisfied zufrieden|secret geheim|secure sicher|selfish egoistisch|sensible vernünftig|sensitive empfindlich|sharp scharf|shy schüchtern|silent still|silly albern|single ledig|slim schlank|slippery rutschig|smooth glatt|social sozial|solid fest|spicy scharf|square quadratisch|steep steil|sticky klebrig
stormy stürmisch|straight gerade|strict streng|stubborn stur|stupid dumm|successful erfolgreich|sudden plötzlich|sunny sonnig|surprised überrascht|surprising überraschend|suspicious verdächtig|tender zart|thick dick|thin dünn|tight eng|tiny winzig|typical typisch|unhappy unglücklich
unknown unbekannt|unusual ungewöhnlich|urgent dringend|useful nützlich|useless nutzlos|usual üblich|valid gültig|valuable wertvoll|visible sichtbar|weekly wöchentlich|wide breit|wild wild|windy windig|wise weise|wooden hölzern|worried besorgt|wounded verwundet
beige beige|turquoise türkis|golden golden|silver silbern|colourful bunt|violet violett|dark blue dunkelblau|light green hellgrün|striped gestreift|transparent durchsichtig
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
accept annehmen|admit zugeben|agree zustimmen|allow erlauben|apologise sich entschuldigen|appear erscheinen|arrest verhaften|arrive ankommen|attack angreifen|avoid vermeiden|be called heißen|beat schlagen|become werden
belong gehören|bite beißen|blow blasen|boil kochen|book buchen|borrow ausleihen|breathe atmen|burn brennen|calculate berechnen|cancel absagen|celebrate feiern|chase jagen|check überprüfen|climb klettern|collect sammeln|comb kämmen
compare vergleichen|complain sich beschweren|confirm bestätigen|connect verbinden|continue fortsetzen|copy kopieren|correct korrigieren|count zählen|cover bedecken|create erschaffen|cross überqueren|damage beschädigen|decide entscheiden
decrease abnehmen|defend verteidigen|deliver liefern|deny leugnen|describe beschreiben|destroy zerstören|develop entwickeln|dig graben|disappear verschwinden|discover entdecken|discuss diskutieren|divide teilen|download herunterladen
dream träumen|dress sich anziehen|drown ertrinken|earn verdienen|employ beschäftigen|enjoy genießen|enter eintreten|escape fliehen|exchange austauschen|exercise trainieren|expect erwarten|explain erklären|export exportieren|fail scheitern
feed füttern|feel fühlen|fetch holen|fill füllen|finish beenden|fish angeln|follow folgen|forbid verbieten|forgive verzeihen|freeze frieren|fry braten|get dressed sich anziehen|get married heiraten|get off aussteigen|get on einsteigen
give back zurückgeben|give up aufgeben|go out ausgehen|greet grüßen|grow wachsen|guess raten|hang hängen|happen geschehen|hide verstecken|hire einstellen|hit schlagen|hope hoffen|hug umarmen|hunt jagen|hurry sich beeilen|hurt wehtun
import importieren|improve verbessern|increase zunehmen|inform informieren|install installieren|introduce vorstellen|invent erfinden|iron bügeln|join beitreten|kiss küssen|knit stricken|knock klopfen|last dauern|lead führen|lean lehnen
leave verlassen|lend leihen|lift heben|light anzünden|load laden|lock abschließen|log in sich anmelden|look after sich kümmern|look forward sich freuen|manage schaffen|measure messen|mix mischen|move bewegen
move house umziehen|name nennen|note notieren|notice bemerken|obey gehorchen|observe beobachten|offer anbieten|order bestellen|organise organisieren|own besitzen|pack packen|park parken|peel schälen|plan planen|plant pflanzen|point zeigen
pour gießen|practise üben|praise loben|pray beten|prefer bevorzugen|prepare vorbereiten|press drücken|pretend vorgeben|prevent verhindern|promise versprechen|protect schützen|prove beweisen|punish bestrafen|put on anziehen|quarrel streiten
reach erreichen|receive erhalten|recognise erkennen|recommend empfehlen|reduce verringern|refuse ablehnen|regret bedauern|relax sich entspannen|rely sich verlassen|remove entfernen|rent mieten|repeat wiederholen|replace ersetzen
reply antworten|report berichten|rescue retten|reserve reservieren|rest sich ausruhen|return zurückkehren|ride reiten|ring klingeln|roast rösten|rob ausrauben|sail segeln|scream schreien|see again wiedersehen|separate trennen|serve servieren
sew nähen|shake schütteln|share teilen|shave sich rasieren|shine scheinen|shoot schießen|shop einkaufen|shout rufen|shut zumachen|sign unterschreiben|sink sinken|sit down sich setzen|smell riechen|smoke rauchen|sneeze niesen|snore schnarchen
solve lösen|spell buchstabieren|spend ausgeben|stay bleiben|steal stehlen|stroke streicheln|study studieren|suffer leiden|suggest vorschlagen|support unterstützen|suppose vermuten|surprise überraschen|survive überleben|swallow schlucken
swear schwören|sweat schwitzen|switch off ausschalten|switch on einschalten|take off ausziehen|take part teilnehmen|taste schmecken|tear zerreißen|thank danken|tidy up aufräumen|tie binden|touch berühren|train trainieren|trust vertrauen
turn drehen|turn off ausschalten|turn on einschalten|type tippen|unpack auspacken|upload hochladen|vote wählen|wake wecken|warn warnen|waste verschwenden|water gießen|weigh wiegen|whisper flüstern|whistle pfeifen|wish wünschen|wonder sich fragen|worry sich sorgen
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
WORDS = """
about=über|according to=laut|across=über|after=nach|afterwards=danach|ago=vor|almost never=fast nie|along=entlang|although=obwohl|among=unter|any=irgendein|anyway=jedenfalls|anywhere=irgendwo|around=um|as=als|as if=als ob|as soon as=sobald|as well=auch|at=an|at home=zu Hause|at last=endlich|at least=mindestens|at once=sofort|at the moment=im Moment|at work=bei der Arbeit|away=weg|because of=wegen|before=vor|besides=außerdem|both=beide|by=von|by accident=aus Versehen|by car=mit dem Auto|by heart=auswendig|by the way=übrigens|by train=mit dem Zug
certainly=sicherlich|completely=völlig|constantly=ständig|daily=täglich|despite=trotz|during=während|each=jeder|each other=einander|early in the morning=früh am Morgen|either ... or=entweder ... oder|else=sonst|enough=genug|especially=besonders|even=sogar|eventually=schließlich|ever=jemals|every=jeder|every day=jeden Tag|everywhere=überall|exactly=genau|except=außer|far=weit|finally=endlich|at first=zuerst|for example=zum Beispiel|for free=kostenlos|fortunately=glücklicherweise|from=von|from now on=von jetzt an|generally=im Allgemeinen|gradually=allmählich|hardly=kaum|hardly ever=fast nie|hence=daher|how long=wie lange|how often=wie oft|however=jedoch
immediately=sofort|in=in|in any case=auf jeden Fall|in general=im Allgemeinen|in the afternoon=am Nachmittag|in the evening=am Abend|in the morning=am Morgen|in time=rechtzeitig|in vain=vergeblich|indeed=tatsächlich|inside=drinnen|instead=stattdessen|instead of=statt|into=in|just=nur|at the end=am Ende|last night=gestern Abend|last week=letzte Woche|last year=letztes Jahr|lately=in letzter Zeit|maybe not=vielleicht nicht|meanwhile=inzwischen|mostly=meistens|nearly=fast|neither ... nor=weder ... noch|nevertheless=trotzdem|next week=nächste Woche|next year=nächstes Jahr|no longer=nicht mehr|no one=niemand|normally=normalerweise|not=nicht|not at all=gar nicht|not yet=noch nicht|nowadays=heutzutage|nowhere=nirgendwo
of=von|off=weg|on=auf|on foot=zu Fuß|on holiday=im Urlaub|on purpose=absichtlich|on the left=links|on the right=rechts|on time=pünktlich|once=einmal|once again=noch einmal|once more=noch einmal|one another=einander|opposite=gegenüber|otherwise=sonst|ourselves=uns|out=aus|outside=draußen|over=über|over there=dort drüben|my own=mein eigener|partly=teilweise|possibly=möglicherweise|probably=wahrscheinlich|quickly=schnell|quite=ziemlich|rarely=selten|rather=lieber|recently=neulich|right now=gerade jetzt|round the corner=um die Ecke|seldom=selten|several=mehrere|since=seit|slowly=langsam|so=so|so far=bisher|so that=damit|some=einige|somehow=irgendwie|someone=jemand|somewhere=irgendwo|sooner or later=früher oder später|such=solch|suddenly=plötzlich
than=als|that=dass|the day after tomorrow=übermorgen|the day before yesterday=vorgestern|then=dann|therefore=deshalb|this=dieser|this evening=heute Abend|this morning=heute Morgen|this week=diese Woche|this year=dieses Jahr|through=durch|three times=dreimal|till=bis|to=zu|to the left=nach links|to the right=nach rechts|tonight=heute Abend|towards=auf ... zu|twice=zweimal|under no circumstances=unter keinen Umständen|unfortunately=leider|unless=es sei denn|until=bis|upstairs=oben|downstairs=unten|usually=gewöhnlich|well=gut|whatever=was auch immer|whenever=wann immer|where from=woher|where to=wohin|whereas=während|wherever=wo auch immer|whether=ob|which=welcher|while=während|whoever=wer auch immer|whom=wen|whose=wessen|within=innerhalb|worldwide=weltweit|yet=noch
a bit=ein bisschen|a few=ein paar|a little=ein wenig|a lot=viel|a lot of=viel|a pair of shoes=ein Paar Schuhe|a cup of tea=eine Tasse Tee|a glass of water=ein Glas Wasser|a piece of cake=ein Stück Kuchen|a slice of bread=eine Scheibe Brot|a bottle of wine=eine Flasche Wein|a long time ago=vor langer Zeit|all day=den ganzen Tag|all night=die ganze Nacht|all over the world=auf der ganzen Welt|all the time=die ganze Zeit|an hour ago=vor einer Stunde|better=besser|best=am besten|worse=schlechter|worst=am schlechtesten|bigger=größer|smaller=kleiner|faster=schneller|older=älter|younger=jünger|most=die meisten|the best=das Beste|first name=Vorname|last name=Nachname|date of birth=Geburtsdatum|place of birth=Geburtsort|phone number=Telefonnummer|postcode=Postleitzahl|street and number=Straße und Hausnummer|nationality=Staatsangehörigkeit|marital status=Familienstand|gender=Geschlecht
myself=mich|yourself=dich|himself=sich|herself=sich|itself=sich|themselves=sich|mine=meiner|yours=deiner|ours=unserer|him=ihn|us=uns|them=sie|first=erste|third=dritte|fourth=vierte|fifth=fünfte|tenth=zehnte|hundredth=hundertste|half an hour=eine halbe Stunde|a quarter of an hour=eine Viertelstunde|three quarters=drei Viertel|one third=ein Drittel|a dozen=ein Dutzend|one and a half=eineinhalb|thousand=tausend|ten thousand=zehntausend|two million=zwei Millionen|a billion=eine Milliarde|a trillion=eine Billion|plus=plus|minus=minus
Cologne=Köln|Munich=München|Nuremberg=Nürnberg|Hanover=Hannover|Brunswick=Braunschweig|Vienna=Wien|Zurich=Zürich|Geneva=Genf|Basle=Basel|Lucerne=Luzern|Rome=Rom|Venice=Venedig|Florence=Florenz|Milan=Mailand|Naples=Neapel|Turin=Turin|Genoa=Genua|Padua=Padua|Prague=Prag|Warsaw=Warschau|Cracow=Krakau|Gdansk=Danzig|Moscow=Moskau|Saint Petersburg=Sankt Petersburg|Kyiv=Kiew|Brussels=Brüssel|Antwerp=Antwerpen|Bruges=Brügge|The Hague=Den Haag|Copenhagen=Kopenhagen|Athens=Athen|Lisbon=Lissabon|Seville=Sevilla|Strasbourg=Straßburg|Nice=Nizza|Dunkirk=Dünkirchen|Belgrade=Belgrad|Bucharest=Bukarest|Ljubljana=Ljubljana|Budapest=Budapest|Cairo=Kairo|Jerusalem=Jerusalem|Damascus=Damaskus|Beirut=Beirut|Baghdad=Bagdad|Tehran=Teheran|Beijing=Peking|Shanghai=Schanghai|Tokyo=Tokio|Singapore=Singapur|New Delhi=Neu-Delhi|Havana=Havanna|Mexico City=Mexiko-Stadt|Cape Town=Kapstadt|New York=New York|London=London|Paris=Paris|Berlin=Berlin|Hamburg=Hamburg|Madrid=Madrid|Barcelona=Barcelona|Dublin=Dublin|Edinburgh=Edinburgh|Stockholm=Stockholm|Oslo=Oslo|Helsinki=Helsinki|Istanbul=Istanbul|Sofia=Sofia|Vilnius=Vilnius|Riga=Riga
Bavaria=Bayern|Saxony=Sachsen|Lower Saxony=Niedersachsen|Thuringia=Thüringen|Hesse=Hessen|North Rhine-Westphalia=Nordrhein-Westfalen|Rhineland-Palatinate=Rheinland-Pfalz|Saarland=das Saarland|Brandenburg=Brandenburg|Swabia=Schwaben|Tyrol=Tirol|Styria=die Steiermark|Carinthia=Kärnten|Lower Austria=Niederösterreich|the Rhine=der Rhein|the Danube=die Donau|the Elbe=die Elbe|the Moselle=die Mosel|the Thames=die Themse|the Nile=der Nil|the Alps=die Alpen|the Black Forest=der Schwarzwald|Lake Constance=der Bodensee|the Baltic Sea=die Ostsee|the North Sea=die Nordsee|the Mediterranean=das Mittelmeer|the Black Sea=das Schwarze Meer|the Atlantic=der Atlantik|the Pacific=der Pazifik|the English Channel=der Ärmelkanal|the Arctic=die Arktis|Antarctica=die Antarktis|Sicily=Sizilien|Sardinia=Sardinien|Corsica=Korsika|Crete=Kreta|Malta=Malta|Cyprus=Zypern|Jamaica=Jamaika|I live in Malta.=Ich lebe auf Malta.|I live in Cyprus.=Ich lebe auf Zypern.|I live on Majorca.=Ich lebe auf Mallorca.|Majorca=Mallorca|Tuscany=die Toskana|Brittany=die Bretagne|Normandy=die Normandie|Alsace=das Elsass|Burgundy=Burgund|Catalonia=Katalonien|Andalusia=Andalusien|Siberia=Sibirien|Scandinavia=Skandinavien|the Balkans=der Balkan|the Middle East=der Nahe Osten|the Far East=der Ferne Osten|Eastern Europe=Osteuropa|Western Europe=Westeuropa|the European Union=die Europäische Union|the United Nations=die Vereinten Nationen|the United Kingdom=das Vereinigte Königreich
German bread=deutsches Brot|Austrian=österreichisch|Swiss=schweizerisch|French wine=französischer Wein|English food=englisches Essen|British=britisch|an Irish town=eine irische Stadt|Scottish=schottisch|the Italian flag=die italienische Fahne|Spanish bread=spanisches Brot|Portuguese wine=portugiesischer Wein|Dutch food=niederländisches Essen|Belgian=belgisch|a Danish town=eine dänische Stadt|the Swedish flag=die schwedische Fahne|Norwegian bread=norwegisches Brot|Finnish wine=finnischer Wein|Polish food=polnisches Essen|a Czech town=eine tschechische Stadt|the Hungarian flag=die ungarische Fahne|Greek bread=griechisches Brot|Turkish wine=türkischer Wein|Russian food=russisches Essen|an Ukrainian town=eine ukrainische Stadt|American=amerikanisch|Canadian=kanadisch|Mexican=mexikanisch|Brazilian=brasilianisch|the Chinese flag=die chinesische Fahne|Japanese bread=japanisches Brot|Korean wine=koreanischer Wein|Indian=indisch|Australian=australisch|African=afrikanisch|European=europäisch|Asian=asiatisch|Jewish=jüdisch|Christian=christlich|Muslim=muslimisch|Roman=römisch|Bavarian=bayerisch|Egyptian=ägyptisch
a German=ein Deutscher|an Austrian=ein Österreicher|an American=ein Amerikaner|an Englishman=ein Engländer|a Frenchman=ein Franzose|an Italian=ein Italiener|a Spaniard=ein Spanier|a Pole=ein Pole|a Russian=ein Russe|a Turk=ein Türke|a Dane=ein Däne|a Swede=ein Schwede|a Dutchman=ein Niederländer|a Greek=ein Grieche|I am German.=Ich bin Deutscher.|I am American.=Ich bin Amerikaner.|I'm English.=Ich bin Engländer.|She is French.=Sie ist Französin.|She is German.=Sie ist Deutsche.|He is Italian.=Er ist Italiener.|They are Swiss.=Sie sind Schweizer.|He is Polish.=Er ist Pole.|She is Russian.=Sie ist Russin.|I live in Switzerland.=Ich lebe in der Schweiz.|I'm from Turkey.=Ich komme aus der Türkei.|I live in the United States.=Ich lebe in den Vereinigten Staaten.|I'm from the Netherlands.=Ich komme aus den Niederlanden.|I live in Ukraine.=Ich lebe in der Ukraine.|I'm from the USA.=Ich komme aus den USA.
"""
COUNTRIES = """
Germany Deutschland|Austria Österreich|Switzerland die Schweiz|France Frankreich|Italy Italien|Spain Spanien|Portugal Portugal|England England
Great Britain Großbritannien|Ireland Irland|Scotland Schottland|the Netherlands die Niederlande|Belgium Belgien|Denmark Dänemark|Sweden Schweden|Norway Norwegen
Finland Finnland|Poland Polen|the Czech Republic Tschechien|Hungary Ungarn|Greece Griechenland|Turkey die Türkei|Russia Russland|Ukraine die Ukraine
the United States die Vereinigten Staaten|the USA die USA|Canada Kanada|Mexico Mexiko|Brazil Brasilien|Argentina Argentinien|China China|Japan Japan|India Indien
Australia Australien|New Zealand Neuseeland|South Africa Südafrika|Egypt Ägypten|Israel Israel|Iceland Island|Europe Europa|Africa Afrika|Asia Asien|America Amerika
Croatia Kroatien|Serbia Serbien|Slovenia Slowenien|Slovakia die Slowakei|Romania Rumänien|Bulgaria Bulgarien|Albania Albanien|Bosnia Bosnien|Estonia Estland|Latvia Lettland|Lithuania Litauen|Belarus Belarus|Luxembourg Luxemburg|Georgia Georgien|Armenia Armenien
Morocco Marokko|Tunisia Tunesien|Algeria Algerien|Libya Libyen|Ethiopia Äthiopien|Kenya Kenia|Nigeria Nigeria|Ghana Ghana|Cameroon Kamerun|Tanzania Tansania|Syria Syrien|Lebanon der Libanon|Jordan Jordanien|Afghanistan Afghanistan|Pakistan Pakistan|Bangladesh Bangladesch
Vietnam Vietnam|Thailand Thailand|Indonesia Indonesien|Malaysia Malaysia|Cambodia Kambodscha|Nepal Nepal|Chile Chile|Peru Peru|Colombia Kolumbien|Venezuela Venezuela|Bolivia Bolivien|Cuba Kuba|Greenland Grönland|Wales Wales
"""
LANGUAGES = "English Englisch|German Deutsch|French Französisch|Italian Italienisch|Spanish Spanisch|Russian Russisch|Chinese Chinesisch|Japanese Japanisch|Arabic Arabisch|Turkish Türkisch|Polish Polnisch|Dutch Niederländisch|Latin Latein|Greek Griechisch|Portuguese Portugiesisch|Danish Dänisch|Swedish Schwedisch|Norwegian Norwegisch|Finnish Finnisch|Czech Tschechisch|Hungarian Ungarisch|Romanian Rumänisch|Bulgarian Bulgarisch|Croatian Kroatisch|Ukrainian Ukrainisch|Hebrew Hebräisch|Persian Persisch|Hindi Hindi|Korean Koreanisch|Vietnamese Vietnamesisch|Irish Irisch|Icelandic Isländisch"
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
    yield from phrases()
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
    for entry in entries(RARER_NOUNS):
        *english, article, noun, plural = entry.rsplit(" ", 3)
        english = " ".join(english)
        if article not in ("der", "die", "das"):
            yield english, article
            continue
        yield from ((english, noun), (f"the {english}", f"{article} {noun}"))
        if plural != "-":
            yield plural_of(english), plural
    for entry in entries(RARER_ADJECTIVES):
        yield tuple(entry.rsplit(" ", 1))
    for entry in entries(COUNTRIES):
        cut = max(entry.rfind(" the "), 0)
        english, german = split_country(entry[cut:])
        yield english, german
        if not german.startswith(("die ", "der ")):
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
    yield from tenses()


def phrases():
    for entry in entries(PHRASES) + entries(WORDS):
        yield tuple(entry.split("=", 1))


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
        "wife": "wives",
        "half": "halves",
        "shelf": "shelves",
        "scarf": "scarves",
        "wolf": "wolves",
        "calf": "calves",
        "thief": "thieves",
        "goose": "geese",
        "person": "people",
        "hero": "heroes",
        "stomach": "stomachs",
    }
    if english in irregular:
        return irregular[english]
    if english.endswith("y") and english[-2] not in "aeiou":
        return english[:-1] + "ies"
    if english.endswith("man"):
        return english.removesuffix("man") + "men"
    return english + ("es" if english.endswith(("s", "sh", "ch", "x", "ato")) else "s")


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


def all_pairs() -> list[tuple[str, str]]:
    """Return the pairs of words and of sentences, none twice."""
    words = {}
    for english, german in pairs():
        words.setdefault(english, german)  # the first translation of a word is its most frequent
    capitals = ((english.upper(), words[english].upper()) for english, _ in phrases() if len(english.split()) < 4)
    found = [*words.items(), *sentences(Path(__file__).with_name("phrases.tsv")), *signs(), *capitals]
    return list(dict.fromkeys(found))
