"""Adverbs, names, prepositions, conjunctions, modals: the small words.

Letters say what an adverb goes with: p simple present, g present progressive, a simple past, b past progressive,
e perfect, f future, m modal, n modal in the past, c "is".
"""

# Fixed expressions of time, which may open a sentence: `english | german | tenses`.
TIMES = """
yesterday | gestern | abn
last week | letzte Woche | an
last year | letztes Jahr | an
last night | letzte Nacht | abn
today | heute | gamnc
tomorrow | morgen | fm
next week | nächste Woche | fm
next year | nächstes Jahr | f
soon | bald | f
now | jetzt | gc
every day | jeden Tag | pa
every morning | jeden Morgen | pa
in the morning | am Morgen | pafm
in the evening | am Abend | pafm
on Monday | am Montag | afmn
on Friday | am Freitag | afmn
on Sunday | am Sonntag | afmn
in summer | im Sommer | pa
in winter | im Winter | pa
"""

# Stand before the English verb. `*`: the German one follows a definite object.
FREQUENCIES = """
often | oft | pa
always | immer | pa
never | nie* | pae
sometimes | manchmal | pa
rarely | selten | pa
already | schon* | e
"""

# `english | german | trait of the verbs they suit`.
MANNERS = """
slowly | langsam | pace
quickly | schnell | pace
carefully | vorsichtig | care
loudly | laut | sound
quietly | leise | peace
well | gut | skill
early | früh | hour
late | spät | hour
alone | allein | joint
secretly | heimlich | secret
gladly | gern | joy
"""

HERE = """
here | hier
at home | zu Hause
outside | draußen
"""

HOME = "home | nach Hause"

NAMES = """
Anna she
Maria she
Emma she
Lisa she
Julia she
Peter he
Paul he
Martin he
David he
Daniel he
"""

TOWNS = """
Berlin
London
Paris
Munich | München
Vienna | Wien
Cologne | Köln
Germany | Deutschland
Italy | Italien
"""

# `english (he) | what links it to the infinitive | german by person | tense | base form, if it needs "do"`.
# `!`: not negated, because "must not" is "darf nicht" and "would not like" is no order of words to teach.
MODALS = """
can | | kann kannst kann können | p
could | | konnte konntest konnte konnten | a
must | | muss musst muss müssen | p!
have has | to | muss musst muss müssen | p | have
had | to | musste musstest musste mussten | a | have
may | | darf darfst darf dürfen | p
should | | sollte solltest sollte sollten | p
want wants | to | will willst will wollen | p | want
wanted | to | wollte wolltest wollte wollten | a | want
would | like to | möchte möchtest möchte möchten | p!
"""
