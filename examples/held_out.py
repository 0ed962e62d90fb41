"""Divide a dictionary with one or several right answers per entry into training, validation and test files."""

import zlib
from pathlib import Path

VALID, TEST = range(2), range(2, 12)  # of every 100 entries; the others are for training


def write_parts(answers: dict[str, list[str]], folder: Path, source: str, target: str) -> None:
    """Write train.SOURCE, train.TARGET and so on, and print their sizes.

    A checksum of the entry chooses the part, so no entry is in two of them. Training has a line for each answer,
    validation the first answer only. A test entry with n answers has a line in each of test.1.TARGET to test.N.TARGET,
    the references for `heed evaluate`; from n + 1 it is the first answer again.
    """
    parts: dict[str, dict[str, list[str]]] = {"train": {}, "valid": {}, "test": {}}
    for entry, several in answers.items():
        number = zlib.crc32(entry.encode()) % 100
        parts["valid" if number in VALID else "test" if number in TEST else "train"][entry] = several
    files = {
        f"train.{source}": [entry for entry, several in parts["train"].items() for _ in several],
        f"train.{target}": [answer for several in parts["train"].values() for answer in several],
        f"valid.{source}": list(parts["valid"]),
        f"valid.{target}": [several[0] for several in parts["valid"].values()],
        f"test.{source}": list(parts["test"]),
    }
    for n in range(max(map(len, parts["test"].values()), default=0)):
        files[f"test.{n + 1}.{target}"] = [(several[n:] or several)[0] for several in parts["test"].values()]
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    for name, entries in parts.items():
        print(f"{name}: {len(entries):,} entries, {sum(map(len, entries.values())):,} answers")
