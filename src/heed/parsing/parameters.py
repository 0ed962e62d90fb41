"""Read EVALB's parameter files, which say what is compared and what is left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heed.errors import DataError
from heed.parsing.trees import TRACE
from heed.text.lines import read_lines


@dataclass(frozen=True)
class Parameters:
    """How EVALB counts. The defaults are those of COLLINS.prm, with S1 and ROOT as further names of TOP."""

    delete: frozenset[str] = frozenset(["TOP", "S1", "ROOT", TRACE, ",", ":", "``", "''", "."])
    delete_for_length: frozenset[str] = frozenset([TRACE])
    quotes: frozenset[str] = frozenset()  # tags that a quote may have been given by mistake
    equal_labels: frozenset[tuple[str, str]] = frozenset([("ADVP", "PRT")])
    equal_words: frozenset[tuple[str, str]] = frozenset()
    labelled: bool = True
    cutoff: int = 40  # words of a sentence that counts as short
    max_errors: int = 10

    def same_label(self, one: str, other: str) -> bool:
        return one == other or (one, other) in self.equal_labels or (other, one) in self.equal_labels

    def same_word(self, one: str, other: str) -> bool:
        return one == other or (one, other) in self.equal_words or (other, one) in self.equal_words

    def deletes_bracket(self, label: str) -> bool:
        """Return whether brackets with this label, which has no function tags, are left out."""
        return label in self.delete or any(self.same_label(label, one) for one in self.delete)


_SETS = ("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL")
_PAIRS = ("EQ_LABEL", "EQ_WORD")
_NUMBERS = {"CUTOFF_LEN": 40, "MAX_ERROR": 10, "LABELED": 1, "DISC_ONLY": 0, "DEBUG": 0}  # and EVALB's defaults
_KNOWN = [*_SETS, *_PAIRS, *_NUMBERS]


def read_parameters(path: str | Path) -> Parameters:
    """Read a parameter file. Labels and pairs that it does not name are none, as in EVALB.

    Raises:
        DataError: the file cannot be read, or a line of it is not a known parameter with its values.
    """
    sets: dict[str, set[str]] = {key: set() for key in _SETS}
    pairs: dict[str, set[tuple[str, str]]] = {key: set() for key in _PAIRS}
    numbers = dict(_NUMBERS)
    for number, line in enumerate(read_lines(path), 1):
        key, *values = line.split() or [""]
        if not key or key.startswith("#"):
            continue
        _check(f"{path}, line {number}", key, values)
        if key in _SETS:
            sets[key].add(values[0])
        elif key in _PAIRS:
            pairs[key].add((values[0], values[1]))
        else:
            numbers[key] = int(values[0])
    return Parameters(
        delete=frozenset(sets["DELETE_LABEL"]),
        delete_for_length=frozenset(sets["DELETE_LABEL_FOR_LENGTH"]),
        quotes=frozenset(sets["QUOTE_LABEL"]),
        equal_labels=frozenset(pairs["EQ_LABEL"]),
        equal_words=frozenset(pairs["EQ_WORD"]),
        labelled=numbers["LABELED"] == 1,
        cutoff=numbers["CUTOFF_LEN"],
        max_errors=numbers["MAX_ERROR"],
    )


def _check(where: str, key: str, values: Sequence[str]) -> None:
    """
    Raises:
        DataError: there is no such parameter, or its values are not what it needs.
    """
    if key not in _KNOWN:
        raise DataError(f'{where}: there is no parameter "{key}"; there are {", ".join(_KNOWN)}')
    n_needed = 2 if key in _PAIRS else 1
    if len(values) != n_needed:
        raise DataError(f"{where}: {key} needs {n_needed} value{'s' * (n_needed > 1)}, not {len(values)}")
    if key in _NUMBERS and not values[0].isdecimal():
        raise DataError(f"{where}: {key} must be a whole number, not {values[0]}")
    if key == "LABELED" and values[0] not in ("0", "1"):
        raise DataError(f"{where}: LABELED must be 0 or 1, not {values[0]}")
    if key == "DISC_ONLY" and values[0] != "0":
        raise DataError(f"{where}: DISC_ONLY must be 0: trees in Penn brackets have no discontinuous constituents")
