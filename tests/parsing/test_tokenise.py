"""Penn words of raw text: cases that follow from the treebank's conventions, and what must hold of any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.parsing.tokenise import Token, penn_word, tokenise
from heed.parsing.trees import Tree, parse_tree

CASES = [
    # the examples of the treebank's own description of its tokenisation
    ("children's", "children 's"),
    ("parents'", "parents '"),
    ("won't", "wo n't"),
    ("gonna", "gon na"),
    ("I'm", "I 'm"),
    ("I'd've gone", "I 'd 've gone"),
    ("cannot", "can not"),
    ("'Tis true", "'T is true"),
    # sentences
    ("The cat sleeps.", "The cat sleeps ."),
    ("Mr. Smith's dog didn't bark, did it?", "Mr. Smith 's dog did n't bark , did it ?"),
    ('"Don\'t go (yet)," he said.', "`` Do n't go -LRB- yet -RRB- , '' he said ."),
    ('He said, "Yes."', "He said , `` Yes . ''"),
    ("“Yes” – he’s here…", "`` Yes '' -- he 's here ..."),
    ("They call it 'pure' science.", "They call it ` pure ' science ."),
    ("Wait... what?!", "Wait ... what ? !"),
    ("He left--finally.", "He left -- finally ."),
    ("[a] {b}", "-LSB- a -RSB- -LCB- b -RCB-"),
    ("We met at 5:30 p.m. on Nov. 29.", "We met at 5:30 p.m. on Nov. 29 ."),
    ("It cost $1,000.50, or 12.5% more.", "It cost $ 1,000.50 , or 12.5 % more ."),
    ("He lives in the U.S. and works at AT&T.", "He lives in the U.S. and works at AT&T ."),
    ("J. R. Smith and I. That is all.", "J. R. Smith and I . That is all ."),
    ("It rains. We stay.", "It rains . We stay ."),
    ("a well-known, state-of-the-art T-cell", "a well-known , state-of-the-art T-cell"),
    ("see Fig. 3 and Smith et al., 2003; ok", "see Fig. 3 and Smith et al. , 2003 ; ok"),
    ("pro- and anti-war", "pro- and anti-war"),
    ("the 5'-end of mRNA (p < 0.05)", "the 5'-end of mRNA -LRB- p < 0.05 -RRB-"),
    ("the '90s rock 'n' roll", "the '90s rock 'n ' roll"),
    ("Mail a.b@c.org or see http://x.org/a?b=(1).", "Mail a.b@c.org or see http://x.org/a?b= -LRB- 1 -RRB- ."),
    ("at -5 or +3 degrees", "at -5 or +3 degrees"),
    ("and/or", "and/or"),
    ("O'Neil's o'clock", "O'Neil 's o'clock"),
    ("the resp. values of exp. 4", "the resp. values of exp. 4"),
    ('a\t"b"', "a `` b ''"),
    ("", ""),
    ("   ", ""),
    ("a\tb\n c", "a b c"),
    ("日本 é", "日本 é"),
]


@pytest.mark.parametrize("text, words", CASES, ids=[case[0][:30] for case in CASES])
def test_words_as_penn_has_them(text: str, words: str) -> None:
    assert " ".join(token.word for token in tokenise(text)) == words


def test_places_in_the_text_are_kept() -> None:
    text = 'Don’t  say "(no)"'
    assert tokenise(text) == [
        Token("Do", 0, 2),
        Token("n't", 2, 5),
        Token("say", 7, 10),
        Token("``", 11, 12),
        Token("-LRB-", 12, 13),
        Token("no", 13, 15),
        Token("-RRB-", 15, 16),
        Token("''", 16, 17),
    ]


def test_hyphens_as_newer_treebanks_have_them() -> None:
    words = [token.word for token in tokenise("T-cell and/or IL-2-mediated, -5 x@y-z.org", split_hyphens=True)]
    assert words == "T - cell and / or IL - 2 - mediated , -5 x@y-z.org".split()
    words = [
        token.word for token in tokenise("a 2.8-fold anti-mouse Ca2+-free T-non-Y rise at 5°C", split_hyphens=True)
    ]
    assert words == "a 2.8-fold anti-mouse Ca2+ - free T - non-Y rise at 5 °C".split()


@given(st.text(alphabet=st.sampled_from("aB1 .,'\"’“()[]-–:;!?$%&/@\tnt\u00a0é…`<"), max_size=40))
def test_no_character_is_lost_or_used_twice(text: str) -> None:
    for split_hyphens in (False, True):
        tokens = tokenise(text, split_hyphens)
        covered = [place for token in tokens for place in range(token.start, token.end)]
        assert covered == sorted(set(covered))
        assert all(text[place].isspace() for place in set(range(len(text))) - set(covered))
        for token in tokens:
            assert token.word and not any(c.isspace() for c in text[token.start : token.end])
            assert parse_tree(str(Tree("X", word=token.word))).words() == [token.word]


@pytest.mark.parametrize("text, words", CASES, ids=[case[0][:30] for case in CASES])
def test_split_text_stays_as_it_is(text: str, words: str) -> None:
    assert " ".join(token.word for token in tokenise(words)) == words


def test_craft_words_stay_as_they_are(craft_trees: list[Tree]) -> None:
    """Nearly all of them: with hyphens split, as this treebank has them."""
    same = 0
    for tree in craft_trees:
        # It writes other brackets than round ones, quotes and dashes as the text has them.
        words = [str(leaf.word) for leaf in tree.leaves() if leaf.label != "-NONE-"]
        text = " ".join(words)
        same += [text[token.start : token.end] for token in tokenise(text, split_hyphens=True)] == words
    assert same / len(craft_trees) > 0.97


def test_a_word_with_brackets_fits_into_a_tree() -> None:
    assert [penn_word(word) for word in ("(", ")", "[", ":(", "f(x)", "cat")] == [
        *("-LRB-", "-RRB-", "-LSB-", ":-LRB-", "f-LRB-x-RRB-", "cat")
    ]
