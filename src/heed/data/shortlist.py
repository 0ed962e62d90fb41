"""The few target symbols that are plausible for some sentences, so that search need not score all of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from heed.data.lexicon import Lexicon
from heed.durable import checksum, new_folder, read_file, read_manifest, write_manifest, write_through
from heed.errors import CheckpointError, DamageError
from heed.symbols import EOS, N_SPECIAL
from heed.text.tokenizer import Tokenizer

FORMAT = 1  # of the folder
_FILE = "shortlist.safetensors"
BEST = 10  # translations of each source symbol
FREQUENT = 100  # target symbols that are plausible anywhere


@dataclass(frozen=True)
class Shortlist:
    best: NDArray[np.int32]  # row s: the translations of source symbol s
    always: NDArray[np.bool_]  # which symbols are in every list

    @classmethod
    def of(cls, lexicon: Lexicon, best: int = BEST, frequent: int = FREQUENT) -> "Shortlist":
        counts = lexicon.target_counts
        always = np.zeros(len(counts), dtype=bool)
        most = np.argsort(-counts, kind="stable")[:frequent]
        always[most] = counts[most] > 0  # a small text may not have as many
        always[:N_SPECIAL] = True
        return cls(lexicon.best(best, filler=EOS), always)

    def symbols(self, sources: Iterable[Sequence[int]], prefixes: Iterable[Sequence[int]] = ()) -> NDArray[np.int64]:
        """All that may be needed to translate these sentences, in order: so the special ones keep their numbers.

        Beside the translations that is what stands in the source itself, as names do, and in forced prefixes.
        """
        listed = self.always.copy()
        listed[self.best[EOS]] = True
        for source in sources:
            listed[self.best[source]] = True
            listed[source] = True
        for prefix in prefixes:
            listed[prefix] = True
        return np.flatnonzero(listed)

    def save(self, folder: Path, tokenizer: Tokenizer) -> None:
        """As a folder that is whole or not there; one that is there is replaced."""
        with new_folder(folder, replacing=True) as new:
            content = write_through(new / _FILE, [save({"best": self.best, "always": self.always})])
            vocabulary = checksum(tokenizer.model)
            write_manifest(new, {"format": FORMAT, "tokenizer": vocabulary, "sha256": {_FILE: content}})

    @classmethod
    def load(cls, folder: Path, tokenizer: Tokenizer) -> "Shortlist":
        """
        Raises:
            CheckpointError: there is none, it is damaged, or of another vocabulary.
        """
        make = f"make it with: heed shortlist --model {folder.parent}"
        if not folder.is_dir():
            raise CheckpointError(f"{folder.parent}: has no shortlist yet; {make}")
        try:
            manifest = read_manifest(folder, (FORMAT,), make)
            content = read_file(folder / _FILE)
            if checksum(content) != manifest["sha256"][_FILE]:
                raise DamageError(f"{folder / _FILE}: damaged: its checksum is not right")
            if manifest["tokenizer"] != checksum(tokenizer.model):
                raise CheckpointError(f"{folder}: was made for another vocabulary than this run's; {make}")
            found = cls(**load(content))
        except (DamageError, OSError) as error:
            raise DamageError(f"{error}; {make}") from None
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise DamageError(f"{folder}: damaged ({error}); {make}") from None
        if not found._fits(len(tokenizer)):
            raise DamageError(f"{folder / _FILE}: damaged (not a list for {len(tokenizer):,} symbols); {make}")
        return found

    def _fits(self, vocabulary: int) -> bool:
        best, always = self.best, self.always
        shaped = best.ndim == 2 and len(best) == vocabulary and always.shape == (vocabulary,)
        typed = best.dtype == np.int32 and always.dtype == np.bool_
        return shaped and typed and bool(np.all((best >= 0) & (best < vocabulary)))
