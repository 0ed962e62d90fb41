"""Find the text that a table's rows train on, and encode it once for all of them."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heed.config import DataConfig, TextConfig
from heed.data.corpus import ParallelText, evenly_spaced_lines
from heed.data.prepare import prepare
from heed.data.store import PairStore
from heed.errors import ConfigError, DataError
from heed.text.tokenizer import Tokenizer
from heed.wording import counted

_HELD_OUT = ("newstest2013", "val", "valid", "dev")  # names of validation text; the paper's first
GET_DATA = "to get some: heed data get multi30k --out multi30k"


@dataclass(frozen=True)
class Texts:
    """The files to train and validate on, with absolute paths."""

    source: str
    target: str
    valid_source: str
    valid_target: str

    @property
    def target_language(self) -> str:
        """Return the ending of the target's file, such as "de"."""
        return Path(self.valid_target.removesuffix(".gz")).suffix.removeprefix(".")


def texts_of(source: str, target: str, valid_source: str, valid_target: str) -> Texts:
    """Return these files.

    Raises:
        DataError: one of them does not exist.
    """
    given = (source, target, valid_source, valid_target)
    for path in given:
        if not Path(path).is_file():
            raise DataError(f"{path}: no such file; {GET_DATA}")
    return Texts(*map(os.path.abspath, given))


def texts_in(folder: Path) -> Texts:
    """Return the files of a folder that `heed data get` made, or one like it: train.en, train.de, val.en, val.de.

    English is the source if it is one of the two; else the first by name.

    Raises:
        DataError: there is no such folder, or it does not have these files.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; {GET_DATA}")
    languages = sorted(_languages(folder, "train"), key=lambda name: (name != "en", name))
    if len(languages) != 2:
        found = f" (there are: {', '.join(sorted(languages))})" if languages else ""
        raise DataError(
            f"{folder}: needs one text in two languages, such as train.en and train.de{found}; name the files with "
            f"--source and --target, or get a folder that has them: {GET_DATA.partition(': ')[2]}"
        )
    for name in _HELD_OUT:
        if set(languages) <= _languages(folder, name):
            paths = [_path(folder, part, language) for part in ("train", name) for language in languages]
            return texts_of(*map(str, paths))
    raise DataError(
        f"{folder}: has no held-out text, such as val.{languages[0]} and val.{languages[1]}; hold some out with "
        "`heed split`, or name it with --valid-source and --valid-target"
    )


def _languages(folder: Path, part: str) -> set[str]:
    names = (path.name.removesuffix(".gz").split(".") for path in folder.glob(f"{part}.*"))
    return {name[1] for name in names if len(name) == 2}


def _path(folder: Path, part: str, language: str) -> Path:
    plain = folder / f"{part}.{language}"
    return plain if plain.exists() else plain.with_name(f"{plain.name}.gz")


def encoded_once(texts: Texts, how: TextConfig, folder: Path, say: Callable[[str], None]) -> DataConfig:
    """Learn a vocabulary and encode the text into a folder, unless that is done; return the settings to train on it.

    Raises:
        ConfigError: the folder holds another text, or another vocabulary.
    """
    text = ParallelText(texts.source, texts.target)
    settings: dict[str, Any] = {key: getattr(how, key) for key in ("vocab_size", "character_coverage", "learn_lines")}
    if not folder.exists():
        n_pairs = text.count()
        say(f"learning a joint vocabulary of {how.vocab_size:,} from {counted(n_pairs, 'pair')} ...")
        lines = evenly_spaced_lines(text, n_pairs, how.learn_lines)
        tokenizer = Tokenizer.learn(lines, how.vocab_size, how.character_coverage)
        prepare(text, tokenizer, folder, learnt=settings)
    store = PairStore.open(folder)
    was = [one.path for one in store.texts]
    if store.learnt != settings or was != [texts.source, texts.target] or store.changed_texts():
        raise ConfigError(
            f"{folder}: holds the text of another table ({' and '.join(was)}, a vocabulary of at most "
            f"{store.learnt.get('vocab_size')}); choose another --out, or delete {folder.parent}"
        )
    return replace(
        DataConfig(),
        prepared=os.path.abspath(folder),
        valid_source=texts.valid_source,
        valid_target=texts.valid_target,
    )
