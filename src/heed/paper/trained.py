"""A trained model and the text to measure it on, for experiments that vary how it is used."""

from dataclasses import dataclass
from pathlib import Path

from heed.box import find_model
from heed.errors import ConfigError
from heed.inside.sample import read_pairs, validation_files
from heed.run import RunFolder

_ALL = 1 << 40  # pairs


@dataclass(frozen=True)
class Trained:
    """A run folder, and pairs of held-out text with the name of its source file."""

    run: RunFolder
    pairs: list[tuple[str, str]]
    text: str


def trained(model: str, source: str | None, reference: str | None, sentences: int | None) -> Trained:
    """Open a run and the text to measure it on: these files, or the run's own validation text.

    Raises:
        ConfigError: only one file is given, or there is no text.
        CheckpointError, DataError: the run or a file cannot be read.
    """
    if sentences is not None and sentences < 1:
        raise ConfigError(f"--sentences {sentences}: must be at least 1")
    run = RunFolder.open(find_model(model))
    if (source is None) != (reference is None):
        raise ConfigError("--source and --reference belong together; give both, or none for the validation text")
    files = (source, reference) if source is not None and reference is not None else validation_files(run.path)
    if files is None or not Path(files[0]).exists():
        raise ConfigError(f"{run.path}: its validation text is not here; give some with --source and --reference")
    pairs = within_limit(run, read_pairs(files[0], files[1], sentences or _ALL))
    if not pairs:
        raise ConfigError(f"{files[0]}: has no pair to measure on")
    return Trained(run, pairs, files[0])


def within_limit(run: RunFolder, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs that the model can score: those of at most model.max_length tokens on both sides."""
    limit = run.config.model.max_length
    return [pair for pair in pairs if all(len(ids) <= limit for ids in run.tokenizer.encode_ids(pair))]
