"""From text files to a run folder ready to train in: a vocabulary, the encoded corpus, validation pairs.

The folder is there when all of it is: a beginning that was cut short is simply made again.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from heed.bar import counting
from heed.config import Config, build_config
from heed.data.corpus import ParallelText, evenly_spaced_lines
from heed.data.prepare import prepare
from heed.data.store import PairStore
from heed.durable import checksum, new_folder_alone
from heed.errors import CheckpointError, ConfigError, DataError
from heed.evaluate.criterion import criterion, mean_words
from heed.lock import FolderLock
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from heed.training.memory import check_model_fits
from heed.training.workers import Workers
from heed.wording import counted

Pairs = list[tuple[str, str]]


def make_run(config: Config, out: Path, workers: Workers, say: Callable[[str], None]) -> FolderLock:
    """A new run folder with vocabulary and corpus, there whole or not at all; returns its lock, held.

    Raises:
        ConfigError, DataError, TokenizerError: and nothing is left behind.
        CheckpointError: the folder exists already.
    """
    RunFolder.refuse_existing(out)
    if config.data.prepared:
        PairStore.open(Path(config.data.prepared))
        tokenizer = Tokenizer.load(Path(config.data.prepared) / "tokenizer.model")
        config = _with_metric(config, read_validation(config), say)
    elif config.data.train_source:
        text = ParallelText(config.data.train_source, config.data.train_target)
        n_pairs = text.count()
        config = _with_metric(config, read_validation(config), say)
        tokenizer = _vocabulary(config, text, n_pairs, say)
    else:
        raise ConfigError(
            "nothing to train on: give --source and --target (data.train_source, data.train_target), "
            "or --data with a folder made by `heed prepare`"
        )
    check_model_fits(config, tokenizer.vocabulary, workers)
    try:
        with new_folder_alone(out) as (folder, lock):
            RunFolder.refuse_existing(out)  # that was minutes ago
            run = RunFolder.create(folder, config, tokenizer)
            remake_corpus(run)
            open_corpus(run)
    except OSError as error:
        raise CheckpointError(f"{out}: cannot be written ({error.strerror})") from error
    return lock


def few_pairs(preset: str, n_pairs: int) -> str:
    """Say so if there are too few pairs for the preset, and what to do; nothing if there are enough."""
    if n_pairs < 10_000:
        return (
            f"only {counted(n_pairs, 'pair')}: expect the model to learn them by heart and little else.\n"
            "Tens of thousands are a start, with --preset tiny or swift"
        )
    if preset in ("small", "base", "big") and n_pairs < 200_000:
        return f"{n_pairs:,} pairs are few for {preset}: think of --preset tiny or swift"
    if preset in ("base", "big") and n_pairs < 1_000_000:
        return f"{n_pairs:,} pairs are few for {preset}: think of --preset small"
    return ""


def remake_corpus(run: RunFolder) -> None:
    """Encode the run's text, if that is not there. Checkpoints know its checksum: other text is found out."""
    data = run.config.data
    if run.data_path.exists() or data.prepared:
        return
    text = ParallelText(data.train_source, data.train_target)
    with counting(text.count(), "encoding") as progress:
        prepare(text, run.tokenizer, run.data_path, progress=progress)


def open_corpus(run: RunFolder) -> PairStore:
    """The run's encoded corpus.

    Raises:
        CheckpointError: the text is not the one the run was begun with.
        DataError: nothing of it is fit for training.
    """
    store = PairStore.open(run.data_path)
    if changed := store.changed_texts():
        raise CheckpointError(
            f"{', '.join(changed)}: changed since {run.path} was begun with it; put back the old text to go on, "
            "or begin a new run with the new one"
        )
    if store.tokenizer_checksum != checksum(run.tokenizer.model):
        raise CheckpointError(
            f"{run.path / 'tokenizer.model'}: not the vocabulary that {run.data_path} was encoded with; "
            "put back the file that belongs to this run"
        )
    limit = run.config.model.max_length + 1  # and the end symbol
    if not np.any((store.source.lengths <= limit) & (store.target.lengths <= limit)):
        raise DataError(
            f"{', '.join(text.path for text in store.texts)}: no pair is fit for training: "
            f"{len(store.blank_lines):,} have a blank side, {len(store):,} are longer than {limit - 1} pieces "
            "(model.max_length)"
        )
    return store


def read_validation(config: Config) -> Pairs:
    """The validation pairs, blank ones apart."""
    if not config.data.valid_source:
        return []
    text = ParallelText(config.data.valid_source, config.data.valid_target)
    text.count()
    pairs = [pair for pair in text if pair[0].strip() and pair[1].strip()]
    if not pairs:
        raise DataError(f"{text.name}: only blank lines; validation needs at least one pair")
    return pairs


def _with_metric(config: Config, pairs: Pairs, say: Callable[[str], None]) -> Config:
    """Settle what `train.metric = "auto"` means for these validation pairs, and say so."""
    if config.train.metric != "auto":
        return config
    references = [target for _, target in pairs]
    metric = criterion("auto", references).key
    if pairs:
        why = "" if metric == "bleu" else f" (references average {mean_words(references):.1f} words, too few for BLEU)"
        say(f"train.metric: {metric}{why}")
    return build_config(config, ("train.metric", {"train": {"metric": metric}}))


def missing_validation(config: Config) -> str:
    """Say which validation file is not there; "" if none is missing."""
    for key in ("valid_source", "valid_target"):
        path = getattr(config.data, key)
        if path and not Path(path).exists():
            return f"data.{key} = {path!r}: no such file here"
    return ""


def read_own_validation(run: RunFolder) -> Pairs:
    """The validation pairs of a run that goes on, whose names nobody has just typed.

    Raises:
        DataError: a file is missing, with the way out.
    """
    if missing := missing_validation(run.config):
        where = run.path / "config.json"
        raise DataError(
            f"{where}: {missing}. Relative names count from the folder you are in: go to the one the run was begun "
            f'in; or, if the file has moved, change its name in {where} and delete the line "checksum" there'
        )
    return read_validation(run.config)


def _vocabulary(config: Config, text: ParallelText, n_pairs: int, say: Callable[[str], None]) -> Tokenizer:
    if config.text.tokenizer:
        return Tokenizer.load(Path(config.text.tokenizer))
    characters = " characters" if config.text.unit == "character" else ""
    say(f"learning a joint vocabulary of {config.text.vocab_size:,}{characters} from {counted(n_pairs, 'pair')} ...")
    lines = evenly_spaced_lines(text, n_pairs, config.text.learn_lines)
    how = config.text
    tokenizer = Tokenizer.learn(lines, how.vocab_size, how.character_coverage, how.unit, how.symbols.split())
    if len(tokenizer) < config.text.vocab_size:
        say(f"the text has only {len(tokenizer):,} pieces; the vocabulary has as many")
    return tokenizer
