"""A joint vocabulary of both languages (section 5.1), learnt and applied by sentencepiece.

Byte-pair encoding, or single characters, with byte fallback: a character the vocabulary lacks is spelt as its UTF-8
bytes, so nothing is ever unknown and `decode(encode(text)) == normalize(text)` for every text.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from heed.durable import read_file
from heed.errors import TokenizerError
from heed.symbols import EOS, N_SPECIAL, PAD, UNK
from heed.text.normalize import SPACE_MARK, normalize

# Sentencepiece skips lines over 4192 bytes and aborts the process on a word of 65536 characters. Learning
# counts words only, so lines are handed over in chunks below both limits and nothing is skipped.
_CHUNK = 1000

# It also skips every line with this character, which stands for "unknown" while it learns. Such lines are
# learnt without it; in texts to encode it is spelt in bytes.
_RESERVED = "\u2585"


@dataclass(frozen=True)
class Encoding:
    """One text as pieces; `offsets[i]` are the characters `text[begin:end]` that piece i covers."""

    text: str
    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


class Tokenizer:
    """Text to ids and back."""

    def __init__(self, model: bytes) -> None:
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except (RuntimeError, ValueError) as error:
            raise TokenizerError(f"not a sentencepiece model: {error}") from None
        specials = (self._processor.pad_id(), self._processor.eos_id(), self._processor.unk_id())
        if specials != (PAD, EOS, UNK):
            raise TokenizerError(
                f"the sentencepiece model has pad, eos, unk = {specials}, heed needs {(PAD, EOS, UNK)}; "
                "let `heed train` learn the vocabulary"
            )

    @classmethod
    def learn(
        cls,
        lines: Iterable[str],
        vocab_size: int,
        character_coverage: float = 1.0,
        unit: Literal["subword", "character"] = "subword",
    ) -> "Tokenizer":
        """Learn at most `vocab_size` pieces from text; a small text may not have that many.

        Of characters, the most frequent ones get a piece; the others are spelt in bytes.
        """
        smallest = N_SPECIAL + 256 + 1
        if vocab_size < smallest:
            raise TokenizerError(
                f"a vocabulary of {vocab_size} is too small: {smallest - 1} are taken by the 256 bytes and special "
                "symbols; raise text.vocab_size"
            )
        model = io.BytesIO()
        chunks = _Remembering(_chunks(lines))
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=chunks.items,
                model_writer=model,
                model_type="bpe" if unit == "subword" else "char",
                vocab_size=vocab_size,
                hard_vocab_limit=False,
                character_coverage=character_coverage,
                byte_fallback=True,
                normalization_rule_name="identity",  # ours is `normalize`; sentencepiece's NFKC changes text
                remove_extra_whitespaces=False,
                max_sentence_length=8 * _CHUNK,
                pad_id=PAD,
                eos_id=EOS,
                unk_id=UNK,
                bos_id=-1,
                minloglevel=2,
            )
        except RuntimeError as error:
            chunks.check()
            if chunks.ended and not chunks.count:
                raise TokenizerError("no text to learn a vocabulary from: there are only blank lines") from None
            raise TokenizerError(_plain_words(str(error), vocab_size)) from None
        chunks.check()
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """The tokenizer in a file, such as a run folder's `tokenizer.model`."""
        try:
            return cls(read_file(Path(path)))
        except FileNotFoundError:
            raise TokenizerError(
                f"{path}: no such sentencepiece model; check the path, or fetch the file again"
            ) from None
        except OSError as error:
            raise TokenizerError(f"{path}: cannot be read ({error.strerror})") from None
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from None

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @cached_property
    def longest_piece(self) -> int:
        """The characters of the longest piece."""
        return max(map(len, self.pieces(range(len(self)))))

    def encode(self, text: str) -> Encoding:
        """Pieces of one text, with the characters of the *normalised* text each one covers."""
        text = normalize(text)
        found = self._processor.encode(text, return_type="offset_mapping")
        return Encoding(text, found["ids"], found["pieces"], [(begin, end) for begin, end in found["offsets"]])

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids alone, of many texts at once: the quick way."""
        ids: list[list[int]] = self._processor.encode([normalize(text) for text in texts])
        return ids

    def encode_arrays(self, normalized: Sequence[str]) -> list[NDArray[np.int32]]:
        """Ids of texts that `normalize` would not change, in one thread."""
        ids: list[NDArray[np.int32]] = self._processor.encode(list(normalized), return_type="numpy", num_threads=1)
        return ids

    @cached_property
    def splits_at_spaces(self) -> bool:
        """Whether the ids of a line are those of its words, each encoded by itself.

        So it is for the sub-words `learn` makes. A model from elsewhere may have pieces that reach over spaces, or look
        for the most probable pieces of the line as a whole. False for characters, too: a word is no unit of theirs.
        """
        trainer: dict[int, int | bytes] = {}
        normalizer: dict[int, int | bytes] = {}
        for field, value in _fields(self.model):
            if field == 2 and isinstance(value, bytes):
                trainer |= dict(_fields(value))
            elif field == 3 and isinstance(value, bytes):
                normalizer |= dict(_fields(value))
        # Numbers and defaults are those of sentencepiece_model.proto: byte-pair encoding with bytes to fall back on,
        # the space mark before a word, even the first, and the text as it is otherwise.
        is_bpe = (trainer.get(3, 1), trainer.get(35, 0), trainer.get(24, 0)) == (2, 1, 0)
        is_plain = (normalizer.get(2, b""), normalizer.get(3, 1), normalizer.get(5, 1)) == (b"", 1, 1)
        pieces = self.pieces(range(len(self)))
        reach_over = any(SPACE_MARK in piece[1:] or " " in piece for piece in pieces)
        return is_bpe and is_plain and SPACE_MARK in pieces and not reach_over

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids; specials count for nothing, broken byte sequences become U+FFFD."""
        # Normalised, because a model may well write the bytes of a line end.
        return normalize(self._processor.decode([i for i in ids if i >= N_SPECIAL]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        pieces: list[str] = self._processor.id_to_piece(list(ids))
        return pieces

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The ids of pieces of this vocabulary: what `pieces` takes."""
        ids: list[int] = self._processor.piece_to_id(list(pieces))
        return ids


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer's message: number and value, sub-messages as bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        field, kind = divmod(varint(), 8)
        if kind == 0:
            yield field, varint()
            continue
        size = {1: 8, 5: 4}[kind] if kind != 2 else varint()
        yield field, message[at : at + size]
        at += size


class _Remembering:
    """Items for sentencepiece, which hides an error raised by its iterator or takes it for the end of the text.

    `items` is a generator that waits within its `try` from the start, so that Ctrl-C is kept whenever it comes.
    """

    def __init__(self, items: Iterator[str]) -> None:
        self.count = 0
        self.ended = False
        self._error: BaseException | None = None
        self.items = self._remembering(items)
        next(self.items)

    def _remembering(self, items: Iterator[str]) -> Iterator[str]:
        try:
            yield ""  # the constructor takes this one
            for item in items:
                self.count += 1
                yield item
            self.ended = True
        except BaseException as error:
            self._error = error
            raise

    def check(self) -> None:
        """Raise what went wrong while sentencepiece was reading."""
        if self._error is not None:
            raise self._error from None


def _plain_words(error: str, vocab_size: int) -> str:
    """What sentencepiece says, without its source code."""
    if too_small := re.search(r"required_chars\. \d+ vs (\d+)", error):
        least = int(too_small[1])
        return (
            f"a vocabulary of {vocab_size:,} is too small for this text: its characters, the 256 bytes and the special "
            f"symbols are {least:,}. Set text.vocab_size to {least:,} for a model of characters, and higher for pieces "
            "of words; or lower text.character_coverage, so that rare characters are spelt in bytes"
        )
    reason = re.sub(r"^[A-Z_]+: *\S*\(\d+\) *", "", error).strip()
    return f"sentencepiece could not learn a vocabulary of {vocab_size:,}: {reason}"


def _chunks(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        line = normalize(line.replace(_RESERVED, " "))
        while len(line) > _CHUNK:
            cut = line.rfind(" ", 1, _CHUNK)
            cut = cut if cut > 0 else _CHUNK
            yield line[:cut]
            line = line[cut:].lstrip(" ")
        if line:
            yield line
