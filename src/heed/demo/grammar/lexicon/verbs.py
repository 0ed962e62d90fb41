"""The verbs: `english | german | subjects > objects | traits`.

English: the base alone if regular, else base, past, participle; `+off` is a particle, `@for` a preposition.
German: the infinitive alone if weak, else infinitive, er-present, er-past, participle; `*gegangen` takes "sein" in the
perfect, `auf|machen` has a separable prefix, `+dat` or `auf+acc` is what the verb governs.
Subjects and objects are classes of nouns, or nouns. Traits: "stative" verbs have no progressive, and no perfect
either unless they are an "event" too; what is done "once" is not done often, and to "several" things is done to many;
"order" verbs make commands; "for" verbs are done for somebody; "water", "street", "shop" and "nowhere" say where it
is done, if not anywhere; the others are the adverbs of manner that suit.
"""

INTRANSITIVE = """
sleep slept slept | schlafen schläft schlief geschlafen | person animal | peace order
laugh | lachen | person | sound
cry cried cried | weinen | person | sound
sing sang sung | singen singt sang gesungen | person bird | sound skill joint order
dance | tanzen | person | skill joint
smile | lächeln | person | joy
work | arbeiten | adult | pace skill joint order
play | spielen | young pet | peace joint joy order
swim swam swum | schwimmen schwimmt schwamm *geschwommen | person dog duck frog | pace skill water
cook | kochen | adult | skill joint order
fly flew flown | fliegen fliegt flog *geflogen | flies airplane | pace nowhere
run ran run | rennen rennt rannte *gerannt | person animal | pace order
jump | springen springt sprang *gesprungen | person frog cat horse monkey |
hike | *wandern | adult | joint
travel | *reisen | adult | joint nowhere
smoke | rauchen | adult | secret
wake woke woken +up | *auf|wachen | person animal | hour order
get got gotten +up | auf|stehen steht stand *aufgestanden | person | hour order
fall fell fallen +asleep | ein|schlafen schläft schlief *eingeschlafen | person animal | hour
arrive | an|kommen kommt kam *angekommen | person public | hour
depart | ab|fahren fährt fuhr *abgefahren | bus train ship | hour nowhere
come came come +back | zurück|kommen kommt kam *zurückgekommen | person pet | hour order nowhere
go went gone +away | weg|gehen geht ging *weggegangen | person | peace hour order nowhere
go went gone +shopping | ein|kaufen | adult | joint order nowhere
stop | an|halten hält hielt angehalten | vehicle | street
disappear | verschwinden verschwindet verschwand *verschwunden | person animal money ring key | nowhere
grow grew grown | wachsen wächst wuchs *gewachsen | tree flower city | pace
bloom | blühen | flower tree |
bark | bellen | dog | sound
burn burned burned | brennen brennt brannte gebrannt | candle house tree lamp | nowhere
ring rang rung | klingeln | phone clock | sound nowhere
"""

TRANSITIVE = """
see saw seen | sehen sieht sah gesehen | person animal > person animal vehicle building wilds thing part | stative event
hear heard heard | hören | person animal > person animal sound song vehicle story | stative event
love | lieben | person > person pet music song book flower city food | stative
like | mögen mag mochte gemocht | person > person pet food drink text tale clothes building vehicle furniture | stative
hate | hassen | person > person snake mouse school soup coffee word | stative
know knew known | kennen kennt kannte gekannt | person > person city village story song film book museum | stative
need | brauchen | person > thing clothes vehicle money adult plan answer | stative
own | besitzen besitzt besaß besessen | adult > building home vehicle pet farm clothes guitar | stative
have had had | haben hat hatte gehabt | person > thing pet clothes vehicle kin task dream secret money home | stative
want | wollen will wollte gewollt | person > thing food drink clothes pet money | stative
miss | vermissen | person > kin pet city village | stative
understand understood understood | verstehen versteht verstand verstanden | person > person task text | stative event
find found found | finden findet fand gefunden | person > thing animal money text answer clothes child | stative event
look @for | suchen | person > thing animal money text clothes person building | order
lose lost lost | verlieren verliert verlor verloren | person > small thing money clothes text | stative event
forget forgot forgotten | vergessen vergisst vergaß vergessen | person > small text word dream umbrella | stative event
visit | besuchen | person > person city village sight school farm | order nowhere
meet met met | treffen trifft traf getroffen | person > person |
greet | begrüßen | person > person | joy peace
invite | ein|laden lädt lud eingeladen | adult > person | nowhere
call | an|rufen ruft rief angerufen | person > person | hour secret order
kiss | küssen | person > kin prince princess king woman man | secret
hug | umarmen | person > kin child dog | joy
marry | heiraten | prince king > princess nurse actress waitress | secret once nowhere
marry | heiraten | princess queen > prince doctor farmer lawyer | secret once nowhere
praise | loben | adult > person book cake | joy
ask | fragen | person > person | peace order
protect | beschützen | adult dog > person pet house | nowhere
save | retten | adult > person animal | nowhere
teach taught taught | unterrichten | teacher mother father aunt sister > young student prince | skill joy
watch | beobachten | person cat > person animal | peace secret
follow | *folgen +dat | person animal > person animal | peace secret nowhere
help | helfen hilft half geholfen +dat | person > person animal | joy order
thank | danken +dat | person > person | joy
trust | vertrauen +dat | person > person | stative
answer | antworten +dat | person > person | pace peace
forgive forgave forgiven | verzeihen verzeiht verzieh verziehen +dat | person > person |
listen @to | zu|hören +dat | person > person | peace order
belong @to | gehören +dat | thing clothes vehicle home pet > person | stative
eat ate eaten | essen isst aß gegessen | person > food | pace peace joint order
drink drank drunk | trinken trinkt trank getrunken | person > drink | pace order
order | bestellen | adult > food drink | order
try | probieren | person > food beer wine juice | order
bake | backen backt backte gebacken | person > baked | skill order for
cook | kochen | person > soup potato rice meat egg | skill order for
read read read | lesen liest las gelesen | person > text | pace peace order
write wrote written | schreiben schreibt schrieb geschrieben | person > text song | pace order for
sign | unterschreiben unterschreibt unterschrieb unterschrieben | adult > letter report | pace order
translate | übersetzen übersetzt übersetzte übersetzt | adult student > text word | pace skill order nowhere
describe | beschreiben beschreibt beschrieb beschrieben | person > picture person building dream plan | skill nowhere
learn | lernen | person > poem song word | pace order
sing sang sung | singen singt sang gesungen | person > song | sound joint order
buy bought bought | kaufen | person > food thing clothes vehicle house apartment pet | order for shop
sell sold sold | verkaufen | adult > food thing clothes vehicle house pet | shop
pay paid paid @for | bezahlen | adult > food drink thing clothes | shop
collect | sammeln | person > coin stone doll clock picture strawberry | several
count | zählen | person > coin egg money cattle bottle | pace order several
open | auf|machen | person > opens gift letter | pace peace care order nowhere
close | zu|machen | person > opens | pace peace care order nowhere
turn +on | an|machen | person > lamp radio computer music | peace order nowhere
turn +off | aus|machen | person > lamp radio computer music candle | peace order nowhere
clean | putzen | person > part window shoe room mirror bathroom | pace care order nowhere
clean +up | auf|räumen | person > room apartment | pace joint order nowhere
unpack | aus|packen | person > load gift | pace care order
bring brought brought +along | mit|bringen bringt brachte mitgebracht | person > food gift pet camera friend | order
pick +up | ab|holen | adult > young guest letter suitcase gift friend | order
paint | malen | person > picture flower tree house horse | skill for nowhere
draw drew drawn | zeichnen | person > picture animal castle bridge | skill pace for nowhere
repair | reparieren | adult > vehicle device part chair | pace skill order
wash | waschen wäscht wusch gewaschen | person > clothes dish car fruit dog | pace care order
wear wore worn | tragen trägt trug getragen | person > clothes ring |
carry | tragen trägt trug getragen | adult > load furniture basket | pace care
put put put +on | an|ziehen zieht zog angezogen | person > clothes | pace order
take took taken +off | aus|ziehen zieht zog ausgezogen | person > clothes | pace order nowhere
take took taken | nehmen nimmt nahm genommen | person > small dish bus train taxi | order nowhere
steal stole stolen | stehlen stiehlt stahl gestohlen | bad monkey fox > money small food device picture | secret
hide hid hidden | verstecken | person > money small toy bone key letter | secret care order
throw threw thrown | werfen wirft warf geworfen | person > ball stone bone | order
catch caught caught | fangen fängt fing gefangen | person > ball thief horse rabbit bird mouse | order
catch caught caught | fangen fängt fing gefangen | cat predator > mouse rabbit duck bird frog |
chase | jagen | dog cat predator > mouse rabbit duck bird frog monkey goat pig |
chase | jagen | tailed > tail |
bite bit bitten | beißen beißt biss gebissen | dog predator > person animal |
lick | lecken | dog cat > paw | pace
bury | vergraben vergräbt vergrub vergraben | dog > bone | secret
feed fed fed | füttern | person > animal | care order
ride rode ridden | reiten reitet ritt geritten | person > horse elephant | skill street
ride rode ridden | fahren fährt fuhr gefahren | person > rides | pace skill street
drive drove driven | fahren fährt fuhr gefahren | adult > drives | pace skill care order street
push | schieben schiebt schob geschoben | person > rides car load bed | pace care order street
pull | ziehen zieht zog gezogen | person horse > load car | order street
build built built | bauen | adult > building bridge ship wall furniture | pace joint nowhere
build built built | bauen | bird mouse duck > nest | pace nowhere
destroy | zerstören | adult bear elephant > house garden part bridge nest | nowhere
break broke broken | zerbrechen zerbricht zerbrach zerbrochen | person cat > fragile guitar | nowhere
use | benutzen | person > device dish bathroom umbrella pencil | care order
admire | bewundern | person > person sight art dress flower part |
photograph | fotografieren | person > person animal sight flower | secret
look looked looked @at | an|sehen sieht sah angesehen | person animal > person animal art sight film | peace order
rent | mieten | adult > house apartment car bicycle | nowhere
"""

PREPOSITIONAL = """
wait @for | warten auf+acc | person > person public letter answer | peace joint order
think thought thought @of | denken denkt dachte gedacht an+acc | person > person money task pet |
talk @about | sprechen spricht sprach gesprochen über+acc | person > person tale text task | sound joint order
talk @to | sprechen spricht sprach gesprochen mit+dat | person > person | sound order
dream @of | träumen von+dat | person > kin animal sight money island pizza |
laugh @about | lachen über+acc | person > tale person animal | sound
play @with | spielen mit+dat | young pet > toy young pet | peace order
dance @with | tanzen mit+dat | adult > adult | skill
fight fought fought @against | kämpfen gegen+acc | soldier king prince hunter > predator king soldier |
work @for | arbeiten für+acc | adult > lawyer king farmer uncle baker doctor judge queen | joy order
speak spoke spoken @with | reden mit+dat | person > person | sound
believe @in | glauben an+acc | person > dream witch friend child | stative
"""

DITRANSITIVE = """
give gave given | geben gibt gab gegeben | person > small thing food clothes money letter answer book | order
show showed shown | zeigen | person > thing text animal city clothes sight room art | order
send sent sent | schicken | adult > text gift money flower picture | order
bring brought brought | bringen bringt brachte gebracht | person > food drink text dish clothes key | order
lend lent lent | leihen leiht lieh geliehen | person > money book vehicle umbrella device guitar clothes | order
tell told told | erzählen | person > story secret dream | order
promise | versprechen verspricht versprach versprochen | adult > gift toy horse ring money |
offer | an|bieten bietet bot angeboten | adult > food drink money bed |
"""

TO_RECIPIENT = """
explain | erklären | adult > task plan poem word | care order
return | zurück|geben gibt gab zurückgegeben | person > book money key umbrella device | order
recommend | empfehlen empfiehlt empfahl empfohlen | adult > book novel newspaper film sight restaurant hotel |
"""

MOTION = """
go went gone | gehen geht ging *gegangen | person | joint pace
drive drove driven | fahren fährt fuhr *gefahren | adult | joint pace
run ran run | rennen rennt rannte *gerannt | person pet | pace
walk | laufen läuft lief *gelaufen | person pet | pace joint
"""

JOURNEY = """
travel | *reisen | adult | joint
fly flew flown | fliegen fliegt flog *geflogen | adult | joint
drive drove driven | fahren fährt fuhr *gefahren | adult | joint pace
"""

ORIGIN = """
come came come @from | kommen kommt kam *gekommen aus+dat | adult | stative
"""

LOCATED = """
live | wohnen | person | joint
stay | bleiben bleibt blieb *geblieben | person pet | joint
sit sat sat | sitzen sitzt saß gesessen | person pet | peace joint
stand stood stood | stehen steht stand gestanden | person |
lie lay lain | liegen liegt lag gelegen | thing clothes pet |
"""

REPORTING = """
say said said | sagen | person |
think thought thought | glauben | person | stative
believe | glauben | person | stative
know knew known | wissen weiß wusste gewusst | person | stative
hope | hoffen | person | stative
hear heard heard | hören | person | stative event
notice | bemerken | person | stative event
claim | behaupten | person | stative
"""

ASKING = """
ask | fragen | person |
wonder | überlegen überlegt überlegte überlegt | person |
"""

WEATHER = """
rain | regnen | |
snow | schneien | |
"""

BE = "be was been | sein ist war *gewesen | | stative"
EXIST = "be was been | geben gibt gab gegeben | | stative"
