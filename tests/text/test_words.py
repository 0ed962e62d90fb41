"""Blocks of lines are encoded exactly as sentencepiece encodes each line."""

import io
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from heed.text.tokenizer import Tokenizer
from heed.text.words import LineEncoder
from tests.conftest import EOS

# Letters that compose, blanks of every kind, the space mark, and characters no vocabulary has.
_CHARACTERS = "ab Aeu\u0301\u0308\u1100\u1161 \t\r\x00\x85\xa0\u2028\u3000\u200b\u2581\ufeff_é</s>\U0001f600中"
LINES = st.lists(
    st.one_of(
        st.text(st.sampled_from(_CHARACTERS), max_size=30),
        st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n"), max_size=20),
        st.sampled_from(["the quick brown fox", " the  dog ", "", "über den Hund", "</s> <unk> <pad>"]),
    ),
    min_size=1,
    max_size=12,
)


def by_line(tokenizer: Tokenizer, lines: list[str]) -> tuple[list[int], list[int]]:
    """Encode line by line with sentencepiece."""
    encoded = [[*tokenizer.encode(line).ids, EOS] for line in lines]
    return [i for ids in encoded for i in ids], [len(ids) for ids in encoded]


def at_once(encoder: LineEncoder, lines: list[str]) -> tuple[list[int], list[int]]:
    ids, lengths = encoder.encode("".join(f"{line}\n" for line in lines))
    return ids.tolist(), lengths.tolist()


@given(st.lists(LINES, min_size=1, max_size=4))
def test_blocks_of_lines_are_encoded_as_line_by_line(tokenizer: Tokenizer, blocks: list[list[str]]) -> None:
    assert tokenizer.splits_at_spaces
    encoder = LineEncoder(tokenizer, max_words=20)  # so the table is soon full, and starts anew
    for lines in blocks:
        assert at_once(encoder, lines) == by_line(tokenizer, lines)


def test_real_text(tokenizer: Tokenizer, data_dir: Path) -> None:
    encoder = LineEncoder(tokenizer, max_words=3_000)
    for name in ("newstest/newstest2013.de", "newstest/newstest2013.en"):
        lines = (data_dir / name).read_text(encoding="utf-8").split("\n")[:-1]
        for begin in range(0, len(lines), 500):
            assert at_once(encoder, lines[begin : begin + 500]) == by_line(tokenizer, lines[begin : begin + 500])


def test_a_page_without_a_space_does_not_stay_in_the_table(tokenizer: Tokenizer) -> None:
    encoder = LineEncoder(tokenizer, max_words=100)
    for letter in "abcdef":
        assert at_once(encoder, [letter * 5_000, "fox"]) == by_line(tokenizer, [letter * 5_000, "fox"])
    assert len(encoder._table._ids) < 12_000  # not 6 x 5,000


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "unigram"},
        {"split_by_whitespace": False},
        {"byte_fallback": False},
        {"normalization_rule_name": "nmt_nfkc"},
        {"add_dummy_prefix": False},
        {"treat_whitespace_as_suffix": True},
    ],
    ids=str,
)
def test_models_that_do_not_split_at_spaces_are_recognised(changes: dict[str, object]) -> None:
    model = io.BytesIO()
    settings = {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity", **changes}
    lines = ["the quick brown fox jumps over the lazy dog", "how vexingly quick daft zebras jump"] * 20
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=400,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
        **settings,
    )
    other = Tokenizer(model.getvalue())
    assert not other.splits_at_spaces
    texts = ["the quick fox", "", "daft zebras jump over"]
    assert at_once(LineEncoder(other), texts) == by_line(other, texts)
