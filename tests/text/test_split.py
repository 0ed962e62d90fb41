import io
import random
import tracemalloc

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from heed.text.normalize import normalize
from heed.text.split import Part, split_to_fit
from heed.text.tokenizer import Tokenizer

WORDS = "alpha beta gamma delta epsilon zeta eta theta".split()


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    """Learn a vocabulary in which every word is one piece, and punctuation is separate."""
    return Tokenizer.learn([" ".join(WORDS)] * 100 + [". , ! ; "] * 100, 350)


@pytest.fixture(scope="module")
def letters() -> Tokenizer:
    """Learn a vocabulary of short pieces, with many characters encoded as bytes."""
    chance = random.Random(1)
    return Tokenizer.learn(["".join(chance.choices("abcdefgh ", k=40)) for _ in range(200)], 400)


def fit(parts: list[Part], tokenizer: Tokenizer, limit: int) -> bool:
    return all(len(tokenizer.encode(part.text).ids) <= limit for part in parts)


def without_spaces(text: str) -> str:
    return text.replace(" ", "")


def test_a_text_that_fits_is_left_whole(words: Tokenizer) -> None:
    assert split_to_fit("alpha beta gamma", words, 3) == [Part("alpha beta gamma", "end")]


@pytest.mark.parametrize("text", ["", " ", "\x00\u2028"])
def test_a_blank_text_has_no_parts(words: Tokenizer, text: str) -> None:
    assert split_to_fit(text, words, 3) == []


def test_sentence_ends_come_before_commas_before_spaces(words: Tokenizer) -> None:
    text = "alpha beta. gamma, delta epsilon zeta"
    assert [words.encode(part).pieces[-1] for part in ("beta.", "gamma,")] == [".", ","]
    assert split_to_fit(text, words, 7) == [
        Part("alpha beta.", "sentence end"),
        Part("gamma, delta epsilon zeta", "end"),
    ]
    assert split_to_fit("alpha gamma, delta epsilon zeta", words, 5) == [
        Part("alpha gamma,", "comma or colon"),
        Part("delta epsilon zeta", "end"),
    ]
    assert split_to_fit("alpha gamma delta epsilon zeta", words, 3) == [
        Part("alpha gamma delta", "space"),
        Part("epsilon zeta", "end"),
    ]


def test_the_last_sentence_end_that_fits(words: Tokenizer) -> None:
    text = "alpha. beta. gamma. delta. eta."
    assert [part.text for part in split_to_fit(text, words, 6)] == ["alpha. beta. gamma.", "delta. eta."]


def test_a_quote_goes_with_the_sentence_it_ends(letters: Tokenizer) -> None:
    parts = split_to_fit('he said "abc abc!" and then abc abc abc abc abc abc', letters, 20)
    assert parts[0].cut == "sentence end"
    assert parts[0].text.endswith('abc!"')


def test_a_number_is_not_a_sentence_end(letters: Tokenizer) -> None:
    parts = split_to_fit("ab 3.14 cd " * 5, letters, 12)
    assert not any(part.text.endswith("3.") for part in parts)


def test_sentences_without_spaces_between_them(letters: Tokenizer) -> None:
    for text in ("ab。cd。ef。gh。" * 10, "😀。" * 40):  # each takes several bytes
        parts = split_to_fit(text, letters, 20)
        assert {part.cut for part in parts[:-1]} == {"sentence end"}
        assert all(part.text.endswith("。") for part in parts)


@given(st.text(st.sampled_from("abcdefgh,.! 。漢😀\u0301\u200d"), max_size=120), st.integers(5, 25))
def test_nothing_is_lost_and_every_part_fits(letters: Tokenizer, text: str, limit: int) -> None:
    parts = split_to_fit(text, letters, limit)
    assert without_spaces("".join(part.text for part in parts)) == without_spaces(normalize(text))
    assert fit(parts, letters, limit)
    assert [part.cut == "end" for part in parts] == [False] * (len(parts) - 1) + [True] * bool(parts)


@pytest.fixture(scope="module")
def glued() -> Tokenizer:
    """Learn a vocabulary whose pieces cross sentence ends."""
    chance = random.Random(3)
    return Tokenizer.learn(["".join(chance.choices("abcd。", k=30)) for _ in range(300)], 600)


# Search for such texts, because they are rare: a part alone has more pieces than inside the text.
@example("cdb。。。db。d。dc。d。cba。cb。c。a。。cdcb。。。。bcbb。cbdcbbcabbbdabc。ba。cba。c。dabc。a", 6)
@example("。bb。cc。dd。cb。addbaadbcc。。b。bdddd。dcd。cabdcdaddd。bccca。cdcbd。c。ab。c。baba。。。cdcbcb", 4)
@given(st.text(st.sampled_from("abcd。"), max_size=200), st.integers(5, 25))
def test_every_part_fits_after_a_cut_inside_a_piece(glued: Tokenizer, text: str, limit: int) -> None:
    parts = split_to_fit(text, glued, limit)
    assert "".join(part.text for part in parts) == text
    assert fit(parts, glued, limit)
    assert [part.cut == "end" for part in parts] == [False] * (len(parts) - 1) + [True] * bool(parts)


@given(st.lists(st.sampled_from([*WORDS, "alpha.", "beta,"]), max_size=60), st.integers(3, 12))
def test_words_stay_whole_when_each_fits(words: Tokenizer, text: list[str], limit: int) -> None:
    parts = split_to_fit(" ".join(text), words, limit)
    assert " ".join(part.text for part in parts) == " ".join(text)
    assert fit(parts, words, limit)


@pytest.mark.parametrize("text", ["x" * 100_000, "abcdefgh" * 12_500, "漢" * 100_000, "ab " * 33_333 + "a"])
def test_a_hundred_thousand_characters(letters: Tokenizer, text: str) -> None:
    parts = split_to_fit(text, letters, 200)
    assert without_spaces("".join(part.text for part in parts)) == without_spaces(text)
    assert fit(parts, letters, 200)
    pieces = len(letters.encode(text).ids)
    assert len(parts) <= 4 * pieces / 200  # and they are not needlessly small


def test_a_long_line_takes_little_memory(letters: Tokenizer) -> None:
    text = "abcdefgh" * 10_000
    tracemalloc.start()
    parts = split_to_fit(text, letters, 60)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "".join(part.text for part in parts) == text
    assert most < 30 * len(text)  # the offsets of all its pieces would take hundreds of bytes a character


@example(["alpha", "alpha", "alpha", "alpha.", "alpha", "alpha", "beta"], 3)
@given(st.lists(st.sampled_from([*WORDS, "alpha.", "beta,"]), max_size=400), st.integers(3, 12))
def test_windows_change_no_cut(words: Tokenizer, text: list[str], limit: int) -> None:
    whole = split_to_fit(" ".join(text), words, limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heed.text.split._WINDOW_CHARACTERS", 1)
        assert split_to_fit(" ".join(text), words, limit) == whole


def test_a_vocabulary_that_drops_characters() -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS)] * 100),
        model_writer=model,
        vocab_size=300,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    tokenizer, text = Tokenizer(model.getvalue()), "\u200b" * 50_000
    assert len(tokenizer.encode(text).ids) < 10  # the zero-width spaces have no pieces
    parts = split_to_fit(text, tokenizer, 20)
    assert "".join(part.text for part in parts) == text


def test_a_character_larger_than_the_limit_is_kept(letters: Tokenizer) -> None:
    assert "".join(part.text for part in split_to_fit("a😀b", letters, 2)) == "a😀b"


def test_what_must_be_copied_is_never_cut(letters: Tokenizer) -> None:
    spans = ["http://ab.cd/ef", "<b c=d, e>", "{abcdefgh}", "1234567", "1,234.5", "+49 89 1234567"]
    for n in range(30):
        text = "ab " * n + " ".join(spans) + " cd ef gh"
        parts = split_to_fit(text, letters, 24)
        assert fit(parts, letters, 24)
        assert without_spaces("".join(part.text for part in parts)) == without_spaces(text)
        assert all(any(span in part.text for part in parts) for span in spans)


def test_what_must_be_copied_and_is_too_long_is_a_part_by_itself(letters: Tokenizer) -> None:
    url = "http://ab.cd/" + "ef" * 40
    parts = split_to_fit(f"abc {url}, def.", letters, 20, copy=True)
    assert parts == [
        Part("abc", "anywhere"),
        Part(f"{url},", "anywhere", is_copied=True),
        Part("def.", "end"),
    ]
    assert split_to_fit(url, letters, 20, copy=True) == [Part(url, "end", is_copied=True)]
    cut = split_to_fit(url, letters, 20)  # without copying
    assert len(cut) > 1 and fit(cut, letters, 20)


def test_windows_do_not_cut_what_must_be_copied(letters: Tokenizer) -> None:
    span = "{" + "abcdefgh" * 9 + "}"
    text = span * 60
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heed.text.split._WINDOW_CHARACTERS", 1)
        parts = split_to_fit(text, letters, 100)
    assert "".join(part.text for part in parts) == text
    assert all(part.text.count("{") == part.text.count("}") == len(part.text) / len(span) for part in parts)
