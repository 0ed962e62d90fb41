"""The nouns: `english [plural] | article nominative genitive plural | tags`, as a dictionary prints them.

The English plural is written only where it is irregular; "-" for a plural means a mass noun. A genitive in -n
makes a masculine weak (den Jungen, dem Jungen). The first tag is the English pronoun (he, she, it; "-" where
English hesitates). The others are semantic classes, which verbs and adjectives select; a noun is also a class of
its own under its English name. Places add where one is (`in/in`: English/German) and where one goes (`to/zu`).
"""

PEOPLE = """
man men | der Mann Mannes Männer | he adult
boy | der Junge Jungen Jungen | he young
father | der Vater Vaters Väter | he adult kin
brother | der Bruder Bruders Brüder | he adult kin
son | der Sohn Sohnes Söhne | he young kin
uncle | der Onkel Onkels Onkel | he adult kin
grandfather | der Großvater Großvaters Großväter | he adult kin
king | der König Königs Könige | he adult
prince | der Prinz Prinzen Prinzen | he adult
friend | der Freund Freundes Freunde | he adult kin
neighbor | der Nachbar Nachbarn Nachbarn | he adult kin
colleague | der Kollege Kollegen Kollegen | he adult kin
guest | der Gast Gastes Gäste | he adult
customer | der Kunde Kunden Kunden | he adult
tourist | der Tourist Touristen Touristen | he adult
thief thieves | der Dieb Diebes Diebe | he adult bad
teacher | der Lehrer Lehrers Lehrer | he adult job kin
doctor | der Arzt Arztes Ärzte | he adult job kin
student | der Student Studenten Studenten | he adult job
farmer | der Bauer Bauern Bauern | he adult job
baker | der Bäcker Bäckers Bäcker | he adult job
chef | der Koch Kochs Köche | he adult job
policeman policemen | der Polizist Polizisten Polizisten | he adult job
soldier | der Soldat Soldaten Soldaten | he adult job
painter | der Maler Malers Maler | he adult job
lawyer | der Anwalt Anwalts Anwälte | he adult job kin
waiter | der Kellner Kellners Kellner | he adult job
gardener | der Gärtner Gärtners Gärtner | he adult job
hunter | der Jäger Jägers Jäger | he adult job
judge | der Richter Richters Richter | he adult job
woman women | die Frau Frau Frauen | she adult
girl | das Mädchen Mädchens Mädchen | she young
mother | die Mutter Mutter Mütter | she adult kin
sister | die Schwester Schwester Schwestern | she adult kin
daughter | die Tochter Tochter Töchter | she young kin
aunt | die Tante Tante Tanten | she adult kin
grandmother | die Großmutter Großmutter Großmütter | she adult kin
queen | die Königin Königin Königinnen | she adult
princess | die Prinzessin Prinzessin Prinzessinnen | she adult
nurse | die Krankenschwester Krankenschwester Krankenschwestern | she adult job
actress | die Schauspielerin Schauspielerin Schauspielerinnen | she adult job
waitress | die Kellnerin Kellnerin Kellnerinnen | she adult job
witch | die Hexe Hexe Hexen | she adult bad
child children | das Kind Kindes Kinder | - young kin
"""

ANIMALS = """
dog | der Hund Hundes Hunde | it pet tailed
cat | die Katze Katze Katzen | it pet tailed
horse | das Pferd Pferdes Pferde | it pet tailed
rabbit | das Kaninchen Kaninchens Kaninchen | it pet tailed
cow | die Kuh Kuh Kühe | it cattle tailed
pig | das Schwein Schweins Schweine | it cattle tailed
goat | die Ziege Ziege Ziegen | it cattle tailed
duck | die Ente Ente Enten | it cattle flies
bird | der Vogel Vogels Vögel | it flies
mouse mice | die Maus Maus Mäuse | it tailed
fox | der Fuchs Fuchses Füchse | it tailed predator
wolf wolves | der Wolf Wolfes Wölfe | it tailed predator
bear | der Bär Bären Bären | it predator
lion | der Löwe Löwen Löwen | it tailed predator
monkey | der Affe Affen Affen | it tailed
elephant | der Elefant Elefanten Elefanten | it tailed
snake | die Schlange Schlange Schlangen | it predator
frog | der Frosch Frosches Frösche | it
"""

FOOD = """
bread - | das Brot Brotes - | it food baked
cheese - | der Käse Käses - | it food
meat - | das Fleisch Fleisches - | it food
rice - | der Reis Reises - | it food
soup | die Suppe Suppe Suppen | it food
cake | der Kuchen Kuchens Kuchen | it food baked dessert
apple | der Apfel Apfels Äpfel | it food fruit
pear | die Birne Birne Birnen | it food fruit
banana | die Banane Banane Bananen | it food fruit
strawberry | die Erdbeere Erdbeere Erdbeeren | it food fruit
tomato tomatoes | die Tomate Tomate Tomaten | it food fruit
potato potatoes | die Kartoffel Kartoffel Kartoffeln | it food
egg | das Ei Eies Eier | it food
salad | der Salat Salats Salate | it food
sausage | die Wurst Wurst Würste | it food
pizza | die Pizza Pizza Pizzas | it food baked
cookie | der Keks Kekses Kekse | it food baked dessert
water - | das Wasser Wassers - | it drink
milk - | die Milch Milch - | it drink
coffee - | der Kaffee Kaffees - | it drink
tea - | der Tee Tees - | it drink
juice - | der Saft Saftes - | it drink
beer - | das Bier Bieres - | it drink
wine - | der Wein Weines - | it drink
"""

THINGS = """
book | das Buch Buches Bücher | it text thing
letter | der Brief Briefes Briefe | it text
newspaper | die Zeitung Zeitung Zeitungen | it text thing
novel | der Roman Romans Romane | it text
poem | das Gedicht Gedichts Gedichte | it text
report | der Bericht Berichts Berichte | it text
message | die Nachricht Nachricht Nachrichten | it text
story | die Geschichte Geschichte Geschichten | it text tale
song | das Lied Liedes Lieder | it tale
film | der Film Films Filme | it tale
question | die Frage Frage Fragen | it task
answer | die Antwort Antwort Antworten | it task
problem | das Problem Problems Probleme | it task
word | das Wort Wortes Wörter | it task
plan | der Plan Plans Pläne | it task
secret | das Geheimnis Geheimnisses Geheimnisse | it tale
dream | der Traum Traumes Träume | it tale
music - | die Musik Musik - | it sound
money - | das Geld Geldes - | it
ball | der Ball Balles Bälle | it thing toy
doll | die Puppe Puppe Puppen | it thing toy
lamp | die Lampe Lampe Lampen | it thing device
clock | die Uhr Uhr Uhren | it thing device
camera | die Kamera Kamera Kameras | it thing device
phone | das Telefon Telefons Telefone | it thing device
computer | der Computer Computers Computer | it thing device
radio | das Radio Radios Radios | it thing device
key | der Schlüssel Schlüssels Schlüssel | it thing small
knife knives | das Messer Messers Messer | it thing dish
fork | die Gabel Gabel Gabeln | it thing dish
spoon | der Löffel Löffels Löffel | it thing dish
cup | die Tasse Tasse Tassen | it thing dish fragile
plate | der Teller Tellers Teller | it thing dish fragile
bottle | die Flasche Flasche Flaschen | it thing fragile opens
box | die Kiste Kiste Kisten | it thing opens load
bag | die Tasche Tasche Taschen | it thing opens load
suitcase | der Koffer Koffers Koffer | it thing opens load
backpack | der Rucksack Rucksacks Rucksäcke | it thing opens load
basket | der Korb Korbes Körbe | it thing load
umbrella | der Regenschirm Regenschirms Regenschirme | it thing opens
picture | das Bild Bildes Bilder | it thing art
mirror | der Spiegel Spiegels Spiegel | it thing fragile
candle | die Kerze Kerze Kerzen | it thing small
flower | die Blume Blume Blumen | it thing small plant
ring | der Ring Rings Ringe | it thing small
coin | die Münze Münze Münzen | it thing small
ticket | die Fahrkarte Fahrkarte Fahrkarten | it thing small
gift | das Geschenk Geschenks Geschenke | it thing
guitar | die Gitarre Gitarre Gitarren | it thing
pencil | der Bleistift Bleistifts Bleistifte | it thing small
stone | der Stein Steines Steine | it load
tail | der Schwanz Schwanzes Schwänze | it body
paw | die Pfote Pfote Pfoten | it body
bone | der Knochen Knochens Knochen | it
nest | das Nest Nestes Nester | it
hat | der Hut Hutes Hüte | it clothes
coat | der Mantel Mantels Mäntel | it clothes
shirt | das Hemd Hemdes Hemden | it clothes
dress | das Kleid Kleides Kleider | it clothes
jacket | die Jacke Jacke Jacken | it clothes
shoe | der Schuh Schuhs Schuhe | it clothes
scarf scarves | der Schal Schals Schals | it clothes
sweater | der Pullover Pullovers Pullover | it clothes
car | das Auto Autos Autos | it vehicle drives
truck | der Lastwagen Lastwagens Lastwagen | it vehicle drives
taxi | das Taxi Taxis Taxis | it vehicle drives public
bus | der Bus Busses Busse | it vehicle drives public
train | der Zug Zuges Züge | it vehicle public
ship | das Schiff Schiffes Schiffe | it vehicle public
bicycle | das Fahrrad Fahrrads Fahrräder | it vehicle rides
motorcycle | das Motorrad Motorrads Motorräder | it vehicle rides
airplane | das Flugzeug Flugzeugs Flugzeuge | it vehicle public
table | der Tisch Tisches Tische | it thing furniture
chair | der Stuhl Stuhls Stühle | it thing furniture seat
bed | das Bett Bettes Betten | it thing furniture seat
sofa | das Sofa Sofas Sofas | it thing furniture seat
door | die Tür Tür Türen | it opens part
window | das Fenster Fensters Fenster | it opens part
gate | das Tor Tores Tore | it opens part
roof | das Dach Daches Dächer | it part
wall | die Mauer Mauer Mauern | it part
tree | der Baum Baumes Bäume | it plant
"""

PLACES = """
house | das Haus Hauses Häuser | it building home | in/in to/zu
garden | der Garten Gartens Gärten | it outdoors | in/in to/in
kitchen | die Küche Küche Küchen | it room | in/in to/in
room | das Zimmer Zimmers Zimmer | it room | in/in to/in
bathroom | das Badezimmer Badezimmers Badezimmer | it room | in/in to/in
cellar | der Keller Kellers Keller | it room | in/in to/in
office | das Büro Büros Büros | it room | in/in to/in
apartment | die Wohnung Wohnung Wohnungen | it room home | in/in to/in
school | die Schule Schule Schulen | it building | in/in to/in
church | die Kirche Kirche Kirchen | it building | in/in to/in
hospital | das Krankenhaus Krankenhauses Krankenhäuser | it building | in/in to/in
hotel | das Hotel Hotels Hotels | it building | in/in to/in
restaurant | das Restaurant Restaurants Restaurants | it building | in/in to/in
museum | das Museum Museums Museen | it building sight | in/in to/in
theater | das Theater Theaters Theater | it building | in/in to/in
library | die Bibliothek Bibliothek Bibliotheken | it building | in/in to/in
bakery | die Bäckerei Bäckerei Bäckereien | it building | in/in to/in
store | der Laden Ladens Läden | it building | in/in to/in
castle | das Schloss Schlosses Schlösser | it building sight home | in/in to/zu
station | der Bahnhof Bahnhofs Bahnhöfe | it building | at/an to/zu
airport | der Flughafen Flughafens Flughäfen | it building | at/an to/zu
market | der Markt Marktes Märkte | it outdoors | at/auf to/zu
farm | der Bauernhof Bauernhofs Bauernhöfe | it outdoors home | on/auf to/zu
park | der Park Parks Parks | it outdoors | in/in to/in
forest | der Wald Waldes Wälder | it outdoors wilds | in/in to/in
city | die Stadt Stadt Städte | it town home | in/in to/in
village | das Dorf Dorfes Dörfer | it town home | in/in to/in
street | die Straße Straße Straßen | it outdoors | on/auf to/zu
bridge | die Brücke Brücke Brücken | it outdoors sight | on/auf to/zu
tower | der Turm Turmes Türme | it building sight | in/in to/zu
river | der Fluss Flusses Flüsse | it water wilds | at/an to/zu
lake | der See Sees Seen | it water wilds | at/an to/zu
beach | der Strand Strandes Strände | it outdoors | at/an to/zu
mountain | der Berg Berges Berge | it outdoors wilds | on/auf to/zu
island | die Insel Insel Inseln | it outdoors home | on/auf to/auf
"""
