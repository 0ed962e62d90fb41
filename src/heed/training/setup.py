"""Set up a run: learn the vocabulary, encode the corpus, read the validation pairs, create the run folder.

The folder appears only once it is complete, so an interrupted set-up can simply be repeated.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

import numpy as np

from heed.bar import counting
from heed.box import find_model
from heed.config import Config
from heed.data.corpus import ParallelText, evenly_spaced_lines
from heed.data.prepare import prepare
from heed.data.store import PairStore
from heed.data.trees import prepare_trees, read_located
from heed.durable import checksum, new_locked_folder
from heed.errors import CheckpointError, ConfigError, DataError
from heed.evaluate.criterion import criterion, mean_words
from heed.lock import FolderLock
from heed.parsing.tokenizer import TreeTokenizer, linearisation, load_tokenizer, sentence_text
from heed.parsing.trees import parse_tree
from heed.run import INITIAL, RunFolder
from heed.settings import build_config
from heed.text.normalize import SPACE_MARK
from heed.text.tokenizer import Tokenizer
from heed.training.memory import check_model_fits
from heed.training.workers import Workers
from heed.wording import counted

Pairs = list[tuple[str, str]]

_SHOWN_LABELS = 5


def create_run(config: Config, out: Path, workers: Workers, say: Callable[[str], None]) -> FolderLock:
    """Create a complete run folder with vocabulary and corpus, or none at all; return its lock, held.

    Raises:
        ConfigError, DataError, TokenizerError: wrong input; nothing is left behind.
        CheckpointError: the folder already exists.
    """
    RunFolder.refuse_existing(out)
    initial = _initial_run(config)
    if initial is not None:
        config = _with_vocabulary_of(initial, config, say)
    tokenizer: Tokenizer
    if config.data.train_trees:
        valid = read_validation(config)
        tokenizer = _tree_vocabulary(config, say) if initial is None else initial.tokenizer
        _check_labels(config, tokenizer, valid, say)
    elif config.data.prepared:
        PairStore.open(Path(config.data.prepared))
        tokenizer = Tokenizer.load(Path(config.data.prepared) / "tokenizer.model")
        if initial is not None and initial.tokenizer.model != tokenizer.model:
            raise ConfigError(
                f"train.init_from = {config.train.init_from!r}: another vocabulary than data.prepared = "
                f"{config.data.prepared!r}; prepare the text with --tokenizer {initial.path / 'tokenizer.model'}"
            )
        config = _with_metric(config, read_validation(config), say)
    elif texts := training_texts(config):
        n_pairs = sum(text.count() for text in texts)
        config = _with_metric(config, read_validation(config), say)
        tokenizer = _vocabulary(config, texts, n_pairs, say) if initial is None else initial.tokenizer
        _check_tags(texts, tokenizer)
    else:
        raise ConfigError(
            "nothing to train on: give --source and --target (data.train_source, data.train_target), "
            "several corpora as data.train, or --data with a folder created by `heed prepare`"
        )
    check_model_fits(config, tokenizer.vocabulary, workers)
    try:
        with new_locked_folder(out) as (folder, lock):
            RunFolder.refuse_existing(out)  # again: learning the vocabulary may have taken minutes
            run = RunFolder.create(folder, config, tokenizer)
            if initial is not None:
                run.save_weights(INITIAL, dict(initial.load_model().state_dict()), {"from": str(initial.path)})
            ensure_corpus(run)
            open_corpus(run)
    except OSError as error:
        raise CheckpointError(f"{out}: cannot be written ({error.strerror})") from error
    return lock


def training_texts(config: Config) -> list[ParallelText]:
    """Return the corpora to train on; none if they were prepared elsewhere."""
    return [ParallelText(one.source, one.target, one.tag) for one in config.data.training_texts]


def _check_tags(texts: list[ParallelText], tokenizer: Tokenizer) -> None:
    """Refuse a tag that the vocabulary splits: the model should see it as one token."""
    for number, text in enumerate(texts, 1):
        pieces = [piece.removeprefix(SPACE_MARK) for piece in tokenizer.encode(text.tag).pieces]
        if sum(map(bool, pieces)) > 1:
            raise ConfigError(
                f"data.train, entry {number}: tag = {text.tag!r}: the vocabulary splits it into "
                f"{' '.join(filter(None, pieces))}; use a vocabulary learnt with it in text.symbols"
            )


def _initial_run(config: Config) -> RunFolder | None:
    """Return the run that `train.init_from` names.

    Raises:
        ConfigError: its model has another shape, or the config asks for another vocabulary.
        CheckpointError: it is no run, or damaged.
    """
    if not config.train.init_from:
        return None
    run = RunFolder.open(find_model(config.train.init_from))
    there, here = asdict(run.config.model), asdict(config.model)
    if there["d_k"] != here["d_k"]:  # one may be unset, and follow from other settings
        there["d_k"], here["d_k"] = run.config.model.key_size, config.model.key_size
    if there["d_v"] != here["d_v"]:
        there["d_v"], here["d_v"] = run.config.model.value_size, config.model.value_size
    learned = config.model.positions == "learned" or config.model.kind == "convolutional"
    no_weights = {"dropout", "attention_window"} | (set() if learned else {"max_length"})
    other = [key for key in here if here[key] != there[key] and key not in no_weights]
    name = f"train.init_from = {config.train.init_from!r}"
    if other:
        differences = "; ".join(f"model.{key} is {there[key]} there and {here[key]} here" for key in other)
        options = " ".join(f"--set model.{key}={json.dumps(there[key])}" for key in other)
        raise ConfigError(f"{name} does not fit: {differences}. To train a model of its shape, add:\n{options}")
    if (config.text.trees == "none") != (run.config.text.trees == "none"):
        kinds = ("translates", "parses") if config.text.trees == "none" else ("parses", "translates")
        raise ConfigError(
            f"{name}: this training is for a model that {kinds[0]}, but that one {kinds[1]}; leave it out"
        )
    if config.text.tokenizer and Tokenizer.load(Path(config.text.tokenizer)).model != run.tokenizer.model:
        raise ConfigError(f"{name}: text.tokenizer = {config.text.tokenizer!r} is another vocabulary; leave it out")
    return run


def _with_vocabulary_of(run: RunFolder, config: Config, say: Callable[[str], None]) -> Config:
    """Return the config with what it says of the vocabulary replaced by what is true of the run's; report it."""
    text = replace(run.config.text, bpe_dropout=config.text.bpe_dropout, tokenizer="")
    if config.data.prepared:
        text = replace(text, unit=config.text.unit)  # no other is accepted beside it
    there, here = asdict(text), asdict(config.text)
    changed = [
        f"text.{key} = {json.dumps(there[key])} instead of {json.dumps(here[key])}"
        for key in here
        if there[key] != here[key] and key != "tokenizer"
    ]
    so = f"; so {', '.join(changed)}" if changed else ""
    say(f"starting from the weights and the vocabulary of {config.train.init_from}{so}")
    return replace(config, text=text)


def few_pairs(preset: str, n_pairs: int) -> str:
    """Return advice if there are too few pairs for the preset; "" if there are enough."""
    if preset in ("parsing", "parsing-paper"):
        return f"only {counted(n_pairs, 'tree')}: a parser needs tens of thousands" if n_pairs < 5_000 else ""
    if n_pairs < 10_000:
        return (
            f"only {counted(n_pairs, 'pair')}: the model will memorise them and learn little else.\n"
            "Start with tens of thousands, and --preset tiny or swift"
        )
    if preset in ("small", "base", "big") and n_pairs < 200_000:
        return f"{n_pairs:,} pairs are few for {preset}: consider --preset tiny or swift"
    if preset in ("base", "big") and n_pairs < 1_000_000:
        return f"{n_pairs:,} pairs are few for {preset}: consider --preset small"
    return ""


def ensure_corpus(run: RunFolder) -> None:
    """Encode the run's text unless that is done. Changed text is noticed: checkpoints hold its checksum."""
    if run.data_path.exists() or run.config.data.prepared:
        return
    if isinstance(run.tokenizer, TreeTokenizer):
        path = run.config.data.train_trees
        with counting(len(read_located(path)), "encoding") as progress:
            prepare_trees(path, run.tokenizer, run.data_path, progress)
        return
    texts = training_texts(run.config)
    with counting(sum(text.count() for text in texts), "encoding") as progress:
        prepare(texts, run.tokenizer, run.data_path, progress=progress)


def open_corpus(run: RunFolder) -> PairStore:
    """Open the run's encoded corpus.

    Raises:
        CheckpointError: the text or the vocabulary has changed since the run started.
        DataError: no pair can be trained on.
    """
    store = PairStore.open(run.data_path)
    if changed := store.changed_texts():
        raise CheckpointError(
            f"{', '.join(changed)}: changed since {run.path} started; restore the old text to resume, "
            "or start a new run with the new text"
        )
    if store.tokenizer_checksum != checksum(run.tokenizer.model):
        raise CheckpointError(
            f"{run.path / 'tokenizer.model'}: not the vocabulary that {run.data_path} was encoded with; "
            "restore the file that belongs to this run"
        )
    limit = run.config.model.max_length + 1  # plus the end token
    if not np.any((store.source.lengths <= limit) & (store.target.lengths <= limit)):
        raise DataError(
            f"{', '.join(text.path for text in store.texts)}: no pair can be trained on: "
            f"{len(store.blank_lines):,} have a blank side, {len(store):,} are longer than {limit - 1} tokens "
            "(model.max_length)"
        )
    return store


def read_validation(config: Config) -> Pairs:
    """Read the validation pairs, without those that have a blank side; of a parser, sentences and their trees."""
    if config.data.valid_trees:
        trees = [tree for _, tree in read_located(config.data.valid_trees)]
        return [(sentence_text(tree.words()), str(tree)) for tree in trees]
    if not config.data.valid_source:
        return []
    text = ParallelText(config.data.valid_source, config.data.valid_target)
    text.count()
    pairs = [pair for pair in text if pair[0].strip() and pair[1].strip()]
    if not pairs:
        raise DataError(f"{text.name}: only blank lines; validation needs at least one pair")
    return pairs


def _with_metric(config: Config, pairs: Pairs, say: Callable[[str], None]) -> Config:
    """Choose the metric if `train.metric` is "auto", and report the choice."""
    if config.train.metric != "auto":
        return config
    references = [target for _, target in pairs]
    metric = criterion("auto", references).key
    if pairs:
        why = "" if metric == "bleu" else f" (references average {mean_words(references):.1f} words, too few for BLEU)"
        say(f"train.metric: {metric}{why}")
    return build_config(config, ("train.metric", {"train": {"metric": metric}}))


def missing_validation(config: Config) -> str:
    """Say which validation file is missing; "" if none is."""
    for key in ("valid_source", "valid_target", "valid_trees"):
        path = getattr(config.data, key)
        if path and not Path(path).exists():
            return f"data.{key} = {path!r}: no such file here"
    return ""


def read_run_validation(run: RunFolder) -> Pairs:
    """Read the validation pairs of an existing run.

    Raises:
        DataError: a file is missing. The message says how to fix its path, which comes from config.json.
    """
    if missing := missing_validation(run.config):
        where = run.path / "config.json"
        raise DataError(
            f"{where}: {missing}. Relative paths start at the current folder: change to the folder the run was "
            f'started in. If the file has moved, correct its path in {where} and delete the "checksum" line there'
        )
    return read_validation(run.config)


def _tree_vocabulary(config: Config, say: Callable[[str], None]) -> Tokenizer:
    if config.text.tokenizer:
        return load_tokenizer(Path(config.text.tokenizer), config.text)
    trees = [tree for _, tree in read_located(config.data.train_trees)]
    say(f"learning a vocabulary of {config.text.vocab_size:,} from {counted(len(trees), 'tree')} ...")
    tokenizer = TreeTokenizer.learn_trees(trees, linearisation(config.text), config.text)
    say(f"{counted(len(tokenizer.labels), 'label')}, {counted(len(tokenizer.tags), 'tag')}")
    return tokenizer


def _check_labels(config: Config, tokenizer: Tokenizer, valid: Pairs, say: Callable[[str], None]) -> None:
    """Report labels and tags that only validation trees have. If every one has some, none has a probability.

    Raises:
        DataError: that is so.
    """
    assert isinstance(tokenizer, TreeTokenizer)
    unknown = [found for _, tree in valid if (found := tokenizer.unknown(parse_tree(tree)))]
    if not unknown:
        return
    names = [name for name, _ in Counter(chain.from_iterable(unknown)).most_common()]
    shown = ", ".join(names[:_SHOWN_LABELS]) + f" and {len(names) - _SHOWN_LABELS} more" * (len(names) > _SHOWN_LABELS)
    if len(unknown) == len(valid):
        raise DataError(
            f"{config.data.valid_trees}: every tree has labels or tags that no training tree has ({shown}); "
            "give validation trees that are annotated like the training trees"
        )
    say(
        f"{len(unknown):,} of {counted(len(valid), 'validation tree')} have labels or tags that no training tree has "
        f"({shown}): F1 counts them, perplexity leaves them out"
    )


def _vocabulary(config: Config, texts: list[ParallelText], n_pairs: int, say: Callable[[str], None]) -> Tokenizer:
    if config.text.tokenizer:
        return Tokenizer.load(Path(config.text.tokenizer))
    characters = " characters" if config.text.unit == "character" else ""
    say(f"learning a joint vocabulary of {config.text.vocab_size:,}{characters} from {counted(n_pairs, 'pair')} ...")
    lines = evenly_spaced_lines(chain.from_iterable(texts), n_pairs, config.text.learn_lines)
    how = config.text
    tokenizer = Tokenizer.learn(lines, how.vocab_size, how.character_coverage, how.unit, how.symbols.split())
    if len(tokenizer) < config.text.vocab_size:
        say(f"the text yields only {len(tokenizer):,} pieces, so the vocabulary has that many")
    return tokenizer
