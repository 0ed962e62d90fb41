"""The adjectives: `english [comparative] | german [comparative] | classes of nouns they fit`.

`dunkel/dunkl` is the predicate form and the stem that takes endings. An adjective with comparatives is compared.
A "state" may pass: one is hungry now, or because of something; but nobody is old today. Nothing is very "absolute".
"""

ADJECTIVES = """
big bigger | groß größer | animal thing bone stone nest building town garden room vehicle tree load part island
small smaller | klein kleiner | animal thing building town garden room vehicle tree load part island young
old older | alt älter | person animal thing bone clothes building town vehicle tree part bridge
young younger | jung jünger | adult animal
new | neu | thing clothes vehicle text building part plan song film bridge
beautiful | schön | adult thing clothes building town animal text song outdoors room water tree dream
ugly | hässlich | animal clothes furniture building witch picture
strong stronger | stark stärker | adult animal coffee
weak weaker | schwach schwächer | person animal
fast faster | schnell schneller | vehicle animal
slow slower | langsam langsamer | vehicle waiter computer cow student
expensive | teuer/teur | thing clothes vehicle wine house restaurant hotel
cheap cheaper | billig billiger | thing clothes vehicle food drink restaurant hotel
heavy heavier | schwer schwerer | load furniture stone coat animal
long longer | lang länger | text film song street bridge tail river dream coat
short shorter | kurz kürzer | text film song answer street tail dress dream
red | rot | clothes vehicle dish device fruit flower furniture load opens | absolute
blue | blau | clothes vehicle dish furniture load part ball umbrella flower | absolute
green | grün | clothes vehicle apple furniture load frog door bottle | absolute
yellow | gelb | clothes vehicle dish flower ball banana umbrella house | absolute
black | schwarz | clothes vehicle cat dog horse device load bird furniture | absolute
white | weiß | clothes vehicle pet dish flower house wall duck | absolute
brown | braun | clothes animal furniture load | absolute
gray | grau | clothes animal vehicle wall house stone | absolute
round | rund | table clock plate coin mirror box basket stone window cake | absolute
empty | leer | load bottle cup plate building room street | state absolute
full | voll | load bottle cup basket | state absolute
clean | sauber | clothes dish room part restaurant hotel | state
dirty | schmutzig | clothes dish room part vehicle young paw money | state
broken | kaputt | device furniture fragile part vehicle umbrella toy guitar | state absolute
hot | heiß | soup coffee tea potato milk sausage pizza | state
cold | kalt | drink soup water room | state
warm | warm | clothes bread milk room soup rice nest | state
fresh | frisch | fruit bread egg milk meat salad juice cheese
delicious | köstlich | food drink
sweet | süß | fruit dessert tea wine juice
ripe | reif | fruit | absolute
hungry | hungrig | person animal | state
thirsty | durstig | person pet | state
tired | müde/müd | person pet | state
sick | krank | person animal | state
healthy | gesund | young pet cattle | state
happy happier | glücklich glücklicher | person pet | state
sad | traurig | person tale dog | state
angry | wütend | person | state
nervous | nervös | person horse | state
lazy | faul | person pet | state
diligent | fleißig | job student boy girl
clever cleverer | klug klüger | person dog fox plan monkey
stupid | dumm | question plan thief answer film
brave | mutig | person | state
friendly friendlier | freundlich freundlicher | person | state
polite | höflich | person | state
famous | berühmt | job king actress text sight film song
rich richer | reich reicher | adult
poor | arm | person
lonely | einsam | person house island | state
funny funnier | lustig lustiger | tale person monkey book poem | state
strict | streng | teacher father mother judge grandmother aunt
curious | neugierig | person pet | state
dangerous | gefährlich | predator street thief wilds plan
wild | wild | horse predator bird rabbit
loyal | treu | dog friend soldier horse customer colleague
quiet | ruhig | young town street hotel library beach | state
loud louder | laut lauter | young music city radio restaurant | state
nice nicer | nett netter | person | state
shy | schüchtern | person
proud | stolz | king kin soldier hunter | state
modern | modern | building device furniture kitchen office city
comfortable | bequem | seat shoe bus car apartment
soft | weich | seat sweater scarf paw
interesting | interessant | text tale task sight city
boring | langweilig | text film guest village museum
important | wichtig | text task guest
difficult | schwierig | task poem
easy | einfach | task song poem
strange | seltsam | tale task guest neighbor
good | gut | job text film wine plan friend restaurant answer neighbor
bad | schlecht | text film plan answer restaurant hotel thief
secret | geheim | plan message letter room | absolute
wrong | falsch | answer word key street train bus door ticket | absolute
dark | dunkel/dunkl | room forest street church
bright | hell | room lamp
deep | tief | water cellar forest
high higher | hoch/hoh höher | mountain tower wall bridge tree house castle church gate
"""
