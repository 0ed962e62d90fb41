"""The true alignment of a tree's two renderings, against links written by hand."""

from itertools import islice

import pytest

from heed.demo.grammar import corpus, english, german, trees
from heed.demo.grammar import lexicon as lex
from heed.demo.grammar.alignment import alignment, true_alignments
from heed.demo.grammar.tree import PAST, PERFECT, QUESTION, Both, Clause, Gap, Prepositional, Quality, Sentence
from tests.grammar.builders import HE, ME, YOU, a, adjective, adverb, at, its, modal, name, np, say, the, verb

SEE, OPEN, SLEEP = verb("transitive", "sehen"), verb("transitive", "aufmachen"), verb("", "schlafen")
WAIT, GIVE, HAVE = verb("prepositional", "warten"), verb("giving", "geben"), verb("transitive", "haben")
CHASE = next(v for v in lex.TRANSITIVE if v.german.infinitive == "jagen" and "tail" in v.objects)

# A tree; its sure links; those that are possible as well. By hand, as word-word.
CASES = {
    "one for one": (
        say(the("cat"), CHASE, PAST, object=np(its("cat"), "tail")),
        "The-Die cat-Katze chased-jagte its-ihren tail.-Schwanz.",
        "",
    ),
    "an auxiliary that German lacks": (
        say(HE, SLEEP, progressive=True, negated=True),
        "He-Er not-nicht. sleeping.-schläft",
        "is-schläft",
    ),
    "the verb at the end, in both its parts": (
        say(ME, SEE, PERFECT, object=name("Anna")),
        "I-Ich have-habe seen-gesehen. Anna.-Anna",
        "",
    ),
    "a prefix": (say(YOU, OPEN, object=the("door")), "You-Du open-machst the-die door.-Tür", "open-auf."),
    "a preposition that melts into the article": (
        say(HE, SLEEP, place=at(the("garden"))),
        "He-Er sleeps-schläft in-im the-im garden.-Garten.",
        "",
    ),
    "a preposition that the verb governs": (
        say(HE, WAIT, object=ME, modal=modal("must")),
        "He-Er must-muss wait-warten. for-auf me.-mich",
        "",
    ),
    "kein": (
        say(HE, HAVE, object=a("car"), negated=True, contracted=True),
        "He-Er doesn't-kein have-hat a-kein car.-Auto.",
        "doesn't-hat",
    ),
    "what one word says as several": (
        say(HE, SLEEP, place=Prepositional(lex.BESIDE[0], the("house")), time=adverb("every day")),
        "He-Er sleeps-schläft the-dem house-Haus.",
        "in-vor front-vor of-vor every-jeden every-Tag day.-jeden day.-Tag",
    ),
    "owners": (
        say(the("dog", owner=the("man")), SLEEP),
        "The-des man's-Mannes dog-Hund sleeps.-schläft.",
        "dog-Der",
    ),
    "the same word twice": (
        say(the("dog"), SEE, object=Both(the("dog"), HE)),
        "The-Der dog-Hund sees-sieht the-den dog-Hund and-und him.-ihn.",
        "",
    ),
    "a recipient": (
        say(HE, GIVE, object=the("book"), recipient=the("man"), to_recipient=True),
        "He-Er gives-gibt the-das book-Buch. the-dem man.-Mann",
        "to-dem",
    ),
    "a relative clause": (
        say(the("man", relative=Clause(Gap(slot=0), SLEEP)), SEE, object=YOU),
        "The-Der man-Mann, who-der sleeps-schläft, sees-sieht you.-dich.",
        "",
    ),
    "a question": (
        Sentence(Clause(HE, WAIT, object=Gap(human=False)), QUESTION),
        "What-Worauf he-er? wait-wartet for?-Worauf",
        "does-wartet",
    ),
    "a comparison": (
        say(HE, lex.BE, predicate=Quality(adjective("old"), than=name("Anna"))),
        "He-Er is-ist older-älter than-als Anna.-Anna.",
        "",
    ),
    "a profession has no article": (
        say(HE, lex.BE, predicate=a("teacher")),
        "He-Er is-ist teacher.-Lehrer.",
        "a-Lehrer.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_links(case: str) -> None:
    tree, sure, possible = CASES[case]
    source, target = english.sentence(tree).split(), german.sentence(tree).split()
    found = alignment(tree)

    def shown(links: frozenset[tuple[int, int]]) -> list[str]:
        return sorted(f"{source[s]}-{target[t]}" for s, t in links)

    assert shown(found.sure) == sorted(sure.split())
    assert shown(found.possible) == sorted([*sure.split(), *possible.split()])


def test_the_same_word_twice_is_linked_by_what_it_renders() -> None:
    found = alignment(CASES["the same word twice"][0])
    assert {(1, 1), (4, 4)} <= found.sure
    assert not {(1, 4), (4, 1)} & found.possible


def test_nearly_every_word_has_a_link_and_reading_leaves_no_marks() -> None:
    n_words = n_linked = 0
    for tree in islice(trees(7), 2000):
        links = alignment(tree)
        texts = english.sentence(tree), german.sentence(tree)
        assert all(ord(one) < 0x300 for text in texts for one in text)
        assert links.sure <= links.possible
        for side, text in enumerate(texts):
            n_words += len(text.split())
            n_linked += len({link[side] for link in links.possible})
    assert n_linked / n_words > 0.999


def test_alignments_of_the_corpus_by_its_sentences() -> None:
    pairs = corpus(train=20, valid=0, test=3).test
    found = true_alignments([pair.source for pair in reversed(pairs)])
    for pair, links in zip(reversed(pairs), found, strict=True):
        source, target = pair.source.split(), pair.target.split()
        assert max(s for s, _ in links.possible) < len(source)
        assert max(t for _, t in links.possible) < len(target)
        # The full stop is part of the last word; names and capitals agree.
        names = [(s, t) for s, word in enumerate(source) for t, other in enumerate(target) if word == other != "in"]
        assert set(names) <= links.possible
