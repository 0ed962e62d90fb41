import os
import random
import signal
import string
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import example, given
from hypothesis import strategies as st

from heed.errors import DataError, TokenizerError
from heed.text.normalize import normalize
from heed.text.tokenizer import Tokenizer
from heed.text.words import LineEncoder
from tests.conftest import EOS, PAD, UNK

RANDOM = random.Random(7)
WORDS = ["".join(RANDOM.choices("abcdefghijä", k=RANDOM.randint(2, 7))) for _ in range(150)]
LINES = [" ".join(RANDOM.choices(WORDS, k=8)) + "." for _ in range(300)]


@pytest.fixture(scope="module")
def learnt() -> Tokenizer:
    return Tokenizer.learn(LINES, 400)


@pytest.fixture(scope="module", params=["subword", "character"])
def either(request: pytest.FixtureRequest) -> Tokenizer:
    """Return a tokenizer of sub-words, or of characters."""
    return Tokenizer.learn(LINES, 400, unit=request.param)


HARD = [
    "",
    " ",
    "a",
    "nul\x00byte",
    "U+2028\u2028and\u0085next line",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪",
    "مرحبا بالعالم \u202eabc\u202c שלום",
    "z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324",
    "\ud83d",
    "\ude00\ud83d mixed \udfff",
    "▁ ▁▁a ▁b",
    "▅ ▇ ⁇",
    "<0x0A> <pad> </s> <unk> <s>",
    "\ufeffbom \ufffd \uffff \U0010ffff",
    "\u0301 starts with a combining mark",
    "tab\tseparated",
]


# --- encoding and decoding --------------------------------------------------------------------------------


@given(st.text(st.characters(codec=None), max_size=80))
def test_decoding_gives_the_normalised_text_of_anything(either: Tokenizer, text: str) -> None:
    assert either.decode(either.encode(text).ids) == normalize(text)


@pytest.mark.parametrize("text", HARD)
def test_decoding_gives_the_normalised_text_of_hard_ones(either: Tokenizer, text: str) -> None:
    assert either.decode(either.encode(text).ids) == normalize(text)


@pytest.mark.parametrize("text", ["x" * 100_000, "ab " * 33_333, "漢" * 100_000, "".join(WORDS * 200)[:100_000]])
def test_a_hundred_thousand_characters(either: Tokenizer, text: str) -> None:
    encoding = either.encode(text)
    assert either.decode(encoding.ids) == normalize(text)
    assert encoding.offsets[-1][1] == len(encoding.text)


@given(st.lists(st.text(st.characters(codec=None), max_size=30), max_size=5))
def test_encoding_many_texts_gives_the_same_ids(either: Tokenizer, texts: list[str]) -> None:
    expected = [either.encode(text).ids for text in texts]
    assert either.encode_ids(texts) == expected
    assert either.encode_ids(texts * 20) == expected * 20  # so many that sentencepiece gets them all at once


@given(st.text(st.sampled_from("abcä é漢😀\u0301\u200d .")))
@example("abc 😀 x")
def test_offsets_cover_the_text_in_order(either: Tokenizer, text: str) -> None:
    encoding = either.encode(text)
    assert encoding.text == normalize(text)
    assert len(encoding.ids) == len(encoding.pieces) == len(encoding.offsets)
    begins_ends = [0, *(end for _, end in encoding.offsets)]
    assert [begin for begin, _ in encoding.offsets] == begins_ends[:-1]  # no gap, no overlap
    assert begins_ends[-1] == len(encoding.text)
    for piece, (begin, end) in zip(encoding.pieces, encoding.offsets, strict=True):
        if not piece.startswith("<0x"):
            assert piece.replace("▁", " ").removeprefix(" ") == encoding.text[begin:end].removeprefix(" ")


def test_a_frequent_word_is_one_piece_with_its_characters(learnt: Tokenizer) -> None:
    encoding = Tokenizer.learn(["house garden"] * 50, 300).encode("garden house")
    assert list(zip(encoding.pieces, encoding.offsets, strict=True)) == [("▁garden", (0, 6)), ("▁house", (6, 12))]


@given(st.text(st.characters(codec=None), max_size=50))
def test_nothing_is_ever_unknown(either: Tokenizer, text: str) -> None:
    assert not {PAD, EOS, UNK} & set(either.encode(text).ids)


def test_decoding_skips_special_tokens_and_survives_broken_bytes(either: Tokenizer) -> None:
    ids = either.encode("abc").ids
    assert either.decode([PAD, *ids, UNK, EOS]) == "abc"
    first_byte = either.encode("漢").ids
    assert "\ufffd" in either.decode(first_byte[:-1])


def test_the_bytes_of_a_line_end_do_not_end_a_line(either: Tokenizer) -> None:
    newline = either.pieces(range(len(either))).index("<0x0A>")
    letters = either.encode("a b").ids
    assert either.decode([letters[0], newline, letters[0]]).count("\n") == 0


# --- learning ---------------------------------------------------------------------------------------------


def test_learning_twice_gives_the_same_bytes(learnt: Tokenizer) -> None:
    assert Tokenizer.learn(iter(LINES), 400).model == learnt.model


def test_a_vocabulary_is_as_large_as_asked(learnt: Tokenizer) -> None:
    assert len(learnt) == 400
    pieces = learnt.pieces(range(len(learnt)))
    assert pieces[3 : 3 + 256] == [f"<0x{byte:02X}>" for byte in range(256)]
    assert len(set(pieces)) == 400


def test_a_vocabulary_of_characters_has_those_of_the_text_and_no_other_pieces() -> None:
    tokenizer = Tokenizer.learn(LINES, 400, unit="character")
    assert sorted(tokenizer.pieces(range(3 + 256, len(tokenizer)))) == sorted({*"".join(LINES), "▁"} - {" "})
    assert tokenizer.encode("dä b").pieces == ["▁", "d", "ä", "▁", "b"]


def test_characters_beyond_the_vocabulary_size_are_spelt_in_bytes() -> None:
    common = Tokenizer.learn(["aab " * 10, "z"], 3 + 256 + 3, unit="character")
    assert common.encode("abz").pieces == ["▁", "a", "b", "<0x7A>"]
    assert common.decode(common.encode("abz").ids) == "abz"


def test_a_word_in_one_very_long_line_is_learnt() -> None:
    filler = " ".join(["lorem"] * 1600)  # 9,599 characters: with the other half, 20,000 in one line
    tokenizer = Tokenizer.learn([filler + " zebra zebra zebra zebra " + filler], 300)
    assert tokenizer.encode("zebra").pieces == ["▁zebra"]


def test_a_line_without_a_space_is_not_skipped() -> None:
    tokenizer = Tokenizer.learn(["qx" * 40_000], 300)
    assert "q" not in "".join(piece for piece in tokenizer.encode("qx").pieces if piece.startswith("<0x"))
    assert not any(piece.startswith("<0x") for piece in tokenizer.encode("qxqx").pieces)


def test_a_line_with_the_character_sentencepiece_reserves_is_not_skipped() -> None:
    tokenizer = Tokenizer.learn(["▅ zebra"] * 20 + ["lorem"] * 20, 300)
    assert tokenizer.encode("zebra").pieces == ["▁zebra"]
    assert tokenizer.decode(tokenizer.encode("▅ zebra").ids) == "▅ zebra"


def test_character_coverage_spells_rare_characters_in_bytes() -> None:
    lines = [*LINES, "ж"]
    assert Tokenizer.learn(lines, 400).encode("ж").pieces[-1] == "ж"
    assert Tokenizer.learn(lines, 400, character_coverage=0.999).encode("ж").pieces[-2:] == ["<0xD0>", "<0xB6>"]


@pytest.mark.parametrize("vocab_size", [1, 259])
def test_a_vocabulary_below_the_bytes_is_refused(vocab_size: int) -> None:
    with pytest.raises(TokenizerError, match=rf"vocabulary of {vocab_size} is too small.*text\.vocab_size"):
        Tokenizer.learn(LINES, vocab_size)


def test_a_vocabulary_below_the_characters_is_refused_with_the_minimum() -> None:
    # 3 special tokens, 256 bytes, the space mark, and 52 letters.
    with pytest.raises(
        TokenizerError, match=r"vocabulary of 270 is too small .*: .* take 312\. Set text\.vocab_size to 312"
    ):
        Tokenizer.learn([string.ascii_letters], 270)
    assert len(Tokenizer.learn([string.ascii_letters], 312)) == 312
    with pytest.raises(TokenizerError, match="too small"):
        Tokenizer.learn([string.ascii_letters], 311)


def test_an_error_of_sentencepiece_is_reported_and_not_taken_for_ctrl_c() -> None:
    try:
        Tokenizer.learn(LINES, 400, character_coverage=0.9)
    except KeyboardInterrupt:  # would end pytest
        pytest.fail("taken for Ctrl-C")
    except TokenizerError as error:
        assert str(error).startswith(
            "sentencepiece could not learn a vocabulary of 400: [trainer_spec.character_coverage"
        )


def test_a_small_text_gives_a_small_vocabulary() -> None:
    tokenizer = Tokenizer.learn(["a"], 1000)
    assert 259 < len(tokenizer) < 270
    assert tokenizer.decode(tokenizer.encode("anything else").ids) == "anything else"


@pytest.mark.parametrize("lines", [[], ["", " \x00 "]])
def test_no_text_at_all_is_refused(lines: list[str]) -> None:
    with pytest.raises(TokenizerError, match="no text to learn a vocabulary from"):
        Tokenizer.learn(lines, 300)


def test_an_error_while_reading_is_raised() -> None:
    def broken() -> Iterator[str]:
        yield "one line"
        raise DataError("train.en, line 2: not UTF-8")

    with pytest.raises(DataError, match="^train.en, line 2: not UTF-8$"):
        Tokenizer.learn(broken(), 300)


# --- loading ----------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_is_the_same(learnt: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(learnt.model)
    again = Tokenizer.load(tmp_path / "tokenizer.model")
    assert again.model == learnt.model
    assert again.encode(LINES[0]) == learnt.encode(LINES[0])


def test_the_file_is_an_ordinary_sentencepiece_model(learnt: Tokenizer) -> None:
    plain = sentencepiece.SentencePieceProcessor(model_proto=learnt.model)
    assert plain.encode(LINES[5]) == learnt.encode(LINES[5]).ids


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"tokenizer\.model: no such sentencepiece model"):
        Tokenizer.load(tmp_path / "tokenizer.model")


@pytest.mark.parametrize("content", [b"", b"no model at all", b"\x00" * 100])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.model").write_bytes(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.model: "):
        Tokenizer.load(tmp_path / "tokenizer.model")


def test_a_model_without_padding_is_refused(tmp_path: Path) -> None:
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(prefix), vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    with pytest.raises(TokenizerError, match=r"other\.model: the sentencepiece model has no padding token"):
        Tokenizer.load(tmp_path / "other.model")


def test_ctrl_c_while_learning_is_not_taken_for_the_end_of_the_text() -> None:
    """Sentencepiece swallows Ctrl-C, but must not learn a vocabulary from half of the text."""
    interrupted = False

    def lines() -> Iterator[str]:
        for i in range(2_000_000):
            if i == 20_000:  # by then the reading has begun
                threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            yield f"one two three {i}"

    try:
        Tokenizer.learn(lines(), 400)
    except KeyboardInterrupt:
        interrupted = True
    assert interrupted


def test_a_model_of_other_special_ids(tmp_path: Path) -> None:
    """As other programs number them: unknown, start, end, padding."""
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(prefix),
        vocab_size=60,
        hard_vocab_limit=False,
        pad_id=3,
        minloglevel=2,
    )
    tokenizer = Tokenizer.load(f"{prefix}.model")
    there = tokenizer.vocabulary
    assert (there.unknown, there.end, there.pad, there.start) == (0, 2, 3, 3)
    ids = tokenizer.encode(LINES[0]).ids
    assert tokenizer.decode([3, *ids, 0, 2]) == tokenizer.decode(ids) != ""


def test_symbols_are_never_split() -> None:
    lines = [f"{tag} {line}" for tag in ("<2de>", "<2en>") for line in LINES]
    plain, tagged = (Tokenizer.learn(lines, 400, symbols=symbols) for symbols in ((), ("<2de>", "<2en>")))
    text = f"<2de> {LINES[0]} x<2en>y"
    assert "<2de>" not in plain.encode(text).pieces
    assert [piece for piece in tagged.encode(text).pieces if piece.startswith("<2")] == ["<2de>", "<2en>"]
    assert tagged.decode(tagged.encode(text).ids) == text
    ids, lengths = LineEncoder(tagged).encode(text + "\n")
    assert ids.tolist() == [*tagged.encode(text).ids, EOS] and lengths.tolist() == [len(ids)]
