"""Make sentences in all tenses: verbs with their forms written out, times subjects, times tenses.

A verb is its English forms and object, "=", its German forms (ich, du, er, infinitive, preterite, participle,
auxiliary, separable prefix) and object. {self} and {refl} stand for the reflexive pronouns, {refd} for the dative.
A verb without an -ing form has no progressive here.
"""

VERBS = """
bake bakes baked baked baking, a cake = backe backst backt backen backte gebacken haben -, einen Kuchen
write writes wrote written writing, a letter = schreibe schreibst schreibt schreiben schrieb geschrieben haben -, einen Brief
repair repairs repaired repaired repairing, the roof = repariere reparierst repariert reparieren reparierte repariert haben -, das Dach
lose loses lost lost losing, the game = verliere verlierst verliert verlieren verlor verloren haben -, das Spiel
drink drinks drank drunk drinking, a cup of tea = trinke trinkst trinkt trinken trank getrunken haben -, eine Tasse Tee
sing sings sang sung singing, an old song = singe singst singt singen sang gesungen haben -, ein altes Lied
cancel cancels cancelled cancelled cancelling, the trip = sage sagst sagt absagen sagte abgesagt haben ab, die Reise
open opens opened opened opening, the door = mache machst macht aufmachen machte aufgemacht haben auf, die Tür
carry carries carried carried carrying, a heavy suitcase = trage trägst trägt tragen trug getragen haben -, einen schweren Koffer
find finds found found -, the key = finde findest findet finden fand gefunden haben -, den Schlüssel
watch watches watched watched watching, a film = sehe siehst sieht ansehen sah angesehen haben an, {refd} einen Film
read reads read read reading, the newspaper = lese liest liest lesen las gelesen haben -, die Zeitung
visit visits visited visited visiting, the museum = besuche besuchst besucht besuchen besuchte besucht haben -, das Museum
sleep sleeps slept slept -, until noon = schlafe schläfst schläft schlafen schlief geschlafen haben -, bis mittags
laugh laughs laughed laughed laughing, loudly = lache lachst lacht lachen lachte gelacht haben -, laut
go goes went gone going, to the market = gehe gehst geht gehen ging gegangen sein -, zum Markt
swim swims swam swum swimming, across the lake = schwimme schwimmst schwimmt schwimmen schwamm geschwommen sein -, über den See
arrive arrives arrived arrived -, too late = komme kommst kommt ankommen kam angekommen sein an, zu spät
fly flies flew flown flying, to Vienna = fliege fliegst fliegt fliegen flog geflogen sein -, nach Wien
stay stays stayed stayed -, at home = bleibe bleibst bleibt bleiben blieb geblieben sein -, zu Hause
get gets got got -, up early = stehe stehst steht aufstehen stand aufgestanden sein auf, früh
work works worked worked working, in the garden = arbeite arbeitest arbeitet arbeiten arbeitete gearbeitet haben -, im Garten
send sends sent sent sending, the boss a postcard = schicke schickst schickt schicken schickte geschickt haben -, dem Chef eine Postkarte
give gives gave given giving, the child an apple = gebe gibst gibt geben gab gegeben haben -, dem Kind einen Apfel
show shows showed shown showing, the guests the house = zeige zeigst zeigt zeigen zeigte gezeigt haben -, den Gästen das Haus
tell tells told told telling, the girl a story = erzähle erzählst erzählt erzählen erzählte erzählt haben -, dem Mädchen eine Geschichte
lend lends lent lent lending, the neighbour a ladder = leihe leihst leiht leihen lieh geliehen haben -, dem Nachbarn eine Leiter
introduce introduces introduced introduced introducing, {self} = stelle stellst stellt vorstellen stellte vorgestellt haben vor, {refl}
hurt hurts hurt hurt -, {self} = verletze verletzt verletzt verletzen verletzte verletzt haben -, {refl}
buy buys bought bought buying, {self} a coat = kaufe kaufst kauft kaufen kaufte gekauft haben -, {refd} einen Mantel
defend defends defended defended defending, {self} = wehre wehrst wehrt wehren wehrte gewehrt haben -, {refl}
hide hides hid hidden hiding, behind the tree = verstecke versteckst versteckt verstecken versteckte versteckt haben -, {refl} hinter dem Baum
"""
# English subject, its reflexive, is it third person singular; German subject, person, reflexive accusative and dative
SUBJECTS = [
    ("I", "myself", False, "ich", "ich", "mich", "mir"),
    ("She", "herself", True, "sie", "er", "sich", "sich"),
    ("We", "ourselves", False, "wir", "wir", "uns", "uns"),
    ("You", "yourself", False, "du", "du", "dich", "dir"),
    ("The teacher", "himself", True, "der Lehrer", "er", "sich", "sich"),
    ("They", "themselves", False, "sie", "wir", "sich", "sich"),
    ("My aunt", "herself", True, "meine Tante", "er", "sich", "sich"),
]
AUXILIARIES = {  # ich, du, er, wir
    "haben": ("habe hast hat haben", "hatte hattest hatte hatten", "hätte hättest hätte hätten"),
    "sein": ("bin bist ist sind", "war warst war waren", "wäre wärst wäre wären"),
    "werden": ("werde wirst wird werden", "", "würde würdest würde würden"),
}
PROGRESSIVE = (1, 3)


def tenses():
    """Yield each verb in each tense, with a subject that changes from tense to tense."""
    for number, line in enumerate(VERBS.strip().splitlines()):
        english, german = line.split(" = ")
        for tense in range(10):
            if tense in PROGRESSIVE and " -, " in english:
                continue
            yield sentence(english, german, tense, SUBJECTS[(3 * number + tense) % len(SUBJECTS)])


def sentence(english: str, german: str, tense: int, subject: tuple) -> tuple[str, str]:
    who, itself, third, wer, person, refl, refd = subject
    forms, rest = english.split(", ")
    base, thirds, past, participle, ing = forms.split()
    verb, objects = german.split(", ")
    ich, du, er, infinitive, preterite, partizip, perfect, prefix = verb.split()
    column = ["ich", "du", "er", "wir"].index(person)

    def auxiliary(name: str, mood: int) -> str:
        return AUXILIARIES[name][mood].split()[column]

    have, be = ("has", "is") if third else ("have", "am" if who == "I" else "are")
    was = "was" if third or who == "I" else "were"
    prefix = "" if prefix == "-" else prefix
    present = [ich, du, er, infinitive.removeprefix(prefix)][column]
    plural = preterite + ("n" if preterite.endswith("e") else "en")
    if person == "du":  # nobody says "du schriebst": the perfect is the spoken past
        past_german = (auxiliary(perfect, 0), partizip)
    else:
        past_german = (plural if person == "wir" else preterite, prefix)
    english_verb, (finite, final) = [
        (thirds if third else base, (present, prefix)),
        (f"{be} {ing}", (present, prefix)),
        (past, past_german),
        (f"{was} {ing}", past_german),
        (f"{have} {participle}", (auxiliary(perfect, 0), partizip)),
        (f"had {participle}", (auxiliary(perfect, 1), partizip)),
        (f"will {base}", (auxiliary("werden", 0), infinitive)),
        (f"will have {participle}", (auxiliary("werden", 0), f"{partizip} {perfect}")),
        (f"would {base}", (auxiliary("werden", 2), infinitive)),
        (f"would have {participle}", (auxiliary(perfect, 2), partizip)),
    ][tense]
    translated = [wer[0].upper() + wer[1:], finite, objects.format(refl=refl, refd=refd), final]
    return f"{who} {english_verb} {rest.format(self=itself)}.", " ".join(word for word in translated if word) + "."
