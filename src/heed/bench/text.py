"""The text to measure with: the user's, or sentences of the built-in grammar."""

from itertools import islice
from pathlib import Path

from heed.data.corpus import ParallelText
from heed.demo.grammar import sentences
from heed.errors import ConfigError, DataError
from heed.text.tokenizer import Tokenizer

_SEED = 2017


def first_pairs(source: str | None, target: str | None, n_pairs: int, folder: Path) -> ParallelText:
    """Write the first `n_pairs` pairs of a text, or as many built-in ones, to files in a folder.

    Raises:
        ConfigError: there is a target without a source.
        DataError: the text cannot be read, or has no pair.
    """
    if source is None and target is not None:
        raise ConfigError("--target without --source: give both, or neither for the built-in sentences")
    if source is None:
        pairs = [(pair.source, pair.target) for pair in islice(sentences(_SEED), n_pairs)]
    else:
        pairs = list(islice(ParallelText(source, target or ""), n_pairs))
    if not any(one.strip() and other.strip() for one, other in pairs):
        raise DataError(f"{source}: has no pair of lines to measure with; give files with text")
    paths = [folder / "source", folder / "target"]
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return ParallelText(str(paths[0]), str(paths[1]))


def learned_tokenizer(text: ParallelText, vocab_size: int) -> Tokenizer:
    """Learn one vocabulary for both sides of a text."""
    return Tokenizer.learn((line for pair in text for line in pair), vocab_size)
