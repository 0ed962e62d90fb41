"""Learn and apply a joint vocabulary of both languages (section 5.1), with sentencepiece.

It uses byte-pair encoding or single characters, with byte fallback: a character that the vocabulary lacks becomes its
UTF-8 bytes, so nothing is ever unknown, and `decode(encode(text)) == normalize(text)` for every text.
"""

import io
import re
import struct
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
from heed.text.normalize import SPACE_MARK, normalize
from heed.vocabulary import Vocabulary

# Sentencepiece skips lines over 4192 bytes and aborts the process on a word of 65536 characters. Learning only counts
# words, so we split lines into chunks below both limits, and nothing is skipped.
_CHUNK_CHARACTERS = 1000

# Sentencepiece starts threads for a list of texts, which takes as long as encoding so many one by one.
_FEW_TEXTS = 20

# Sentencepiece also skips every line with this character, which means "unknown" during learning. We learn such lines
# without it; in a text to encode, it becomes bytes.
_RESERVED = "\u2585"

# In sentencepiece_model.proto: Type.NORMAL, Type.USER_DEFINED, ModelType.BPE
_NORMAL, _USER_DEFINED, _BPE = 1, 4, 2


@dataclass(frozen=True)
class Encoding:
    """One text as tokens, given by ids and pieces; `offsets[i]` is the span of `text` that token i covers."""

    text: str
    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


class Tokenizer:
    """Converts text to ids and back."""

    def __init__(self, model: bytes) -> None:
        self.model = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except (RuntimeError, ValueError) as error:
            raise TokenizerError(f"not a sentencepiece model: {error}") from None
        pad, end, unknown = self._processor.pad_id(), self._processor.eos_id(), self._processor.unk_id()
        if min(pad, end) < 0:
            missing = " and ".join(name for name, number in (("padding", pad), ("end", end)) if number < 0)
            raise TokenizerError(
                f"the sentencepiece model has no {missing} token (pad_id = {pad}, eos_id = {end}); "
                "learn it with both, or let `heed train` learn the vocabulary"
            )
        self._special = {pad, end, unknown}
        self.vocabulary = Vocabulary(len(self), pad=pad, end=end, unknown=unknown, start=pad)

    @classmethod
    def learn(
        cls,
        lines: Iterable[str],
        vocab_size: int,
        character_coverage: float = 1.0,
        unit: Literal["subword", "character"] = "subword",
        symbols: Sequence[str] = (),
    ) -> "Tokenizer":
        """Learn at most `vocab_size` pieces from text; a small text may have fewer.

        The most frequent characters, up to `character_coverage`, become pieces; the others are encoded as bytes.
        `symbols` are one piece each and never split, such as the tag of a language.
        """
        special = Vocabulary(vocab_size)  # their ids
        smallest = len({special.pad, special.end, special.unknown}) + len(symbols) + 256 + 1
        if vocab_size < smallest:
            raise TokenizerError(
                f"a vocabulary of {vocab_size} is too small: the 256 bytes and the special tokens take "
                f"{smallest - 1}; raise text.vocab_size"
            )
        model = io.BytesIO()
        chunks = _ErrorKeeper(_chunks(lines))
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
                max_sentence_length=8 * _CHUNK_CHARACTERS,
                pad_id=special.pad,
                eos_id=special.end,
                unk_id=special.unknown,
                bos_id=-1,
                user_defined_symbols=list(symbols),
                minloglevel=2,
            )
        except RuntimeError as error:
            chunks.check()
            if chunks.ended and not chunks.count:
                raise TokenizerError("no text to learn a vocabulary from: all lines are blank") from None
            raise TokenizerError(_explained(str(error), vocab_size)) from None
        chunks.check()
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Load a tokenizer from a file, such as a run folder's `tokenizer.model`."""
        try:
            return cls(read_file(Path(path)))
        except FileNotFoundError:
            raise TokenizerError(f"{path}: no such sentencepiece model; check the path, or restore the file") from None
        except OSError as error:
            raise TokenizerError(f"{path}: cannot be read ({error.strerror})") from None
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from None

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @cached_property
    def longest_piece(self) -> int:
        """Return the number of characters of the longest piece."""
        return max(map(len, self.pieces(range(len(self)))))

    @cached_property
    def symbols(self) -> frozenset[str]:
        """Return the pieces that `learn` was told not to split, such as the tag of a language."""
        pieces = (
            dict(_fields(value)) for field, value in _fields(self.model) if field == 1 and isinstance(value, bytes)
        )
        return frozenset(bytes(piece[1]).decode() for piece in pieces if piece.get(3, 1) == _USER_DEFINED)

    @cached_property
    def byte_ids(self) -> frozenset[int]:
        """Return the tokens that stand for one byte."""
        return frozenset(i for i in range(len(self)) if self._processor.is_byte(i))

    def is_symbol(self, text: str) -> bool:
        """Return whether a text is one of the symbols. They are looked for in the model when first asked."""
        return text in self.symbols

    def can_write(self, text: str) -> bool:
        """Return whether there are tokens for exactly this text, the first of which begins a word.

        There always are in a vocabulary that `learn` made. A foreign one may lack characters, or change the text.
        """
        (ids,) = self.encode_ids([text])
        is_possible = bool(ids) and not self._special.intersection(ids)
        return is_possible and self.pieces(ids[:1])[0].startswith(SPACE_MARK) and self.decode(ids) == normalize(text)

    def encode(self, text: str) -> Encoding:
        """Encode one text, with the span of the *normalised* text that each token covers."""
        text = normalize(text)
        found = self._processor.encode(text, return_type="offset_mapping")
        return Encoding(text, found["ids"], found["pieces"], [(begin, end) for begin, end in found["offsets"]])

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts to ids only, which is fast."""
        normalized = [normalize(text) for text in texts]
        if len(normalized) < _FEW_TEXTS:
            return [self._processor.encode(text) for text in normalized]
        ids: list[list[int]] = self._processor.encode(normalized)
        return ids

    def encode_arrays(self, normalized: Sequence[str]) -> list[NDArray[np.int32]]:
        """Encode texts that are normalised already, in one thread."""
        ids: list[NDArray[np.int32]] = self._processor.encode(list(normalized), return_type="numpy", num_threads=1)
        return ids

    @cached_property
    def splits_at_spaces(self) -> bool:
        """Return whether encoding a line gives the ids of its words, each encoded alone.

        It does for the sub-words that `learn` makes. A foreign model may have pieces that contain spaces, or choose the
        most probable pieces of the whole line. It is False for characters, too, for which words do not matter.
        """
        trainer: dict[int, int | bytes] = {}
        normalizer: dict[int, int | bytes] = {}
        for field, value in _fields(self.model):
            if field == 2 and isinstance(value, bytes):
                trainer |= dict(_fields(value))
            elif field == 3 and isinstance(value, bytes):
                normalizer |= dict(_fields(value))
        # Field numbers and defaults are from sentencepiece_model.proto: byte-pair encoding with byte fallback, a space
        # mark before every word, even the first, and no other change of the text.
        is_bpe = (trainer.get(3, 1), trainer.get(35, 0), trainer.get(24, 0)) == (2, 1, 0)
        is_plain = (normalizer.get(2, b""), normalizer.get(3, 1), normalizer.get(5, 1)) == (b"", 1, 1)
        pieces = self.pieces(range(len(self)))
        has_inner_space = any(SPACE_MARK in piece[1:] or " " in piece for piece in pieces)
        return is_bpe and is_plain and SPACE_MARK in pieces and not has_inner_space

    def merge_scores(self) -> dict[str, float]:
        """Return the pieces that byte-pair encoding makes of characters, with their scores: the highest merge first.

        Raises:
            TokenizerError: a vocabulary of another kind.
        """
        found: dict[str, float] = {}
        for field, value in _fields(self.model):
            if field == 1 and isinstance(value, bytes):
                piece = dict(_fields(value))
                if piece.get(3, 1) == _NORMAL:
                    (score,) = struct.unpack("<f", piece.get(2, bytes(4)))  # type: ignore[arg-type]
                    found[bytes(piece[1]).decode()] = score
            elif field == 2 and isinstance(value, bytes) and dict(_fields(value)).get(3, 1) != _BPE:
                raise TokenizerError("the vocabulary is not byte-pair encoding, so there are no merges to skip")
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids; special tokens are ignored, and invalid byte sequences become U+FFFD."""
        # Normalise, because a model may write the bytes of a line end.
        return normalize(self._processor.decode([i for i in ids if i not in self._special]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        pieces: list[str] = self._processor.id_to_piece(list(ids))
        return pieces

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The ids of pieces of this vocabulary: what `pieces` takes."""
        ids: list[int] = self._processor.piece_to_id(list(pieces))
        return ids


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a protocol-buffer message; a sub-message is bytes."""
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


class _ErrorKeeper:
    """Iterates over items, and keeps an error that sentencepiece would hide or take for the end of the text.

    `items` is a generator that is inside its `try` from the start, so it keeps Ctrl-C whenever it comes.
    """

    def __init__(self, items: Iterator[str]) -> None:
        self.count = 0
        self.ended = False
        self._error: BaseException | None = None
        self.items = self._keeping_errors(items)
        next(self.items)

    def _keeping_errors(self, items: Iterator[str]) -> Iterator[str]:
        try:
            yield ""  # consumed by the constructor
            for item in items:
                self.count += 1
                yield item
            self.ended = True
        except BaseException as error:
            self._error = error
            raise

    def check(self) -> None:
        """Raise the error that occurred while sentencepiece was reading, if any."""
        if self._error is not None:
            raise self._error from None


def _explained(error: str, vocab_size: int) -> str:
    """Rewrite a message of sentencepiece without its references to source code."""
    if too_small := re.search(r"required_chars\. \d+ vs (\d+)", error):
        minimum = int(too_small[1])
        return (
            f"a vocabulary of {vocab_size:,} is too small for this text: its characters, the 256 bytes and the special "
            f"tokens take {minimum:,}. Set text.vocab_size to {minimum:,} for a character model, or higher for "
            "sub-words; or lower text.character_coverage, so that rare characters are encoded as bytes"
        )
    reason = re.sub(r"^[A-Z_]+: *\S*\(\d+\) *", "", error).strip()
    return f"sentencepiece could not learn a vocabulary of {vocab_size:,}: {reason}"


def _chunks(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        line = normalize(line.replace(_RESERVED, " "))
        while len(line) > _CHUNK_CHARACTERS:
            cut = line.rfind(" ", 1, _CHUNK_CHARACTERS)
            cut = cut if cut > 0 else _CHUNK_CHARACTERS
            yield line[:cut]
            line = line[cut:].lstrip(" ")
        if line:
            yield line
