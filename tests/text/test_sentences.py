"""Sentences of a line: where it is cut, where it is not, and that nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.text.normalize import normalize
from heed.text.sentences import sentences_of

TOGETHER = [
    "",
    "One sentence.",
    "no stop",
    "Mr. Smith met Dr. Jones in St. Louis.",
    "J. R. R. Tolkien wrote it.",
    "Come at 5 p.m. They will wait.",  # may be two, may be one
    "See e.g. Germany, i.e. Berlin.",
    "Am 3. Mai kam er.",
    "It is No. 5 on Jan. 7, see Fig. 3.",
    '"Why?" she asked.',
    "The price is 3.50 Euro.",
    "Am 24.12. Und am 25. Dezember.",  # may be two, may be one
    "Am 100. Geburtstag kam er.",
    "Siehe § 3.14. Danach ist es gut.",
    "See www.example.org. it is good.",
    "What?!No space",
    "He is tired. he wants to sleep.",  # only in a line that begins with a small letter
    'he asked "why?" and left',
    "well... i think so",
    "apples, pears etc. are fruit, approx. ten, e.g. these",
    'click <a title="Stop! Now. Or. else">',
    "call 0800 or see https://x.y/a?b. it",  # the stop belongs to a word with stops
]
APART = [
    ["I am tired.", "I am going to bed."],
    ["Hello!", "How are you?"],
    ["No.", "That is wrong."],
    ["I like art.", "He likes Max.", "She does not."],
    ["He opened the door.", "Nobody was there.", "He closed it again."],
    ['He said: "Stop!"', '"Why?"', "(Nobody knew.)", "Then he left."],
    ["Wirklich?", "Ja, wirklich!", "Über Nacht.", "Ärger!"],
    ["I was there in 1990!", "7 men came."],
    ["Well…", "Yes."],
    ["It costs $25.99.", "That is a lot."],
    ["She was born in 1990.", "It was $1,005.10.", "Good."],
    ["Mrs. Brown came.", "Mr. Brown did not."],
    ["i am tired.", "i want to sleep.", "good night"],
    ["really?!", "no!", "we met mr. brown.", "Then he left"],
    ['see <b title="A. B">x</b>.', "Yes."],
    ["come at 5 p.m. or later.", "bye"],
]


@pytest.mark.parametrize("text", TOGETHER)
def test_one_sentence_stays_whole(text: str) -> None:
    assert sentences_of(text) == [text]


@pytest.mark.parametrize("sentences", APART, ids=" ".join)
def test_several_are_cut_apart(sentences: list[str]) -> None:
    assert sentences_of(" ".join(sentences)) == sentences


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["." * 10**6, "a" * 10**6 + ". B", "A. " * 300_000, '"' * 10**6], ids=len)
def test_a_long_line_takes_linear_time(text: str) -> None:
    text = text.strip()
    assert " ".join(sentences_of(text)) == text


@given(st.text(alphabet="aB1.!?…\"' ”(Äß", max_size=60))
def test_joined_they_are_the_text(text: str) -> None:
    text = normalize(text)
    found = sentences_of(text)
    assert " ".join(found) == text
    assert found == [""] or all(one == one.strip() and one for one in found)
