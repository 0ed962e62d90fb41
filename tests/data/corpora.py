"""Make text files for tests, and list processes."""

import random
from pathlib import Path

from heed.data.corpus import ParallelText

_WORDS = ["one", "two", "three", "four", "five", "six", "über", "naïve", "x²", "don't", "1,000.5", "日本語", "ß"]
LEARN = [" ".join(_WORDS)] * 30 + ["one two three four five six seven eight nine ten"] * 20


def random_lines(seed: int, n: int) -> list[str]:
    """Return lines of up to a dozen words, some of which occur only once."""
    chance = random.Random(seed)
    letters = "abcdeäöé\u4e2d"
    return [
        " ".join(
            "".join(chance.choices(letters, k=5)) if chance.random() < 0.05 else chance.choice(_WORDS)
            for _ in range(chance.randint(1, 12))
        )
        for _ in range(n)
    ]


def write_pair(folder: Path, source: list[str], target: list[str], suffix: str = "") -> ParallelText:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"text.{side}{suffix}" for side in ("en", "de")]
    for path, lines in zip(paths, (source, target), strict=True):
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return ParallelText(*map(str, paths))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def children(pid: int) -> list[int]:
    """Return the child processes of a process that still run."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return [child for child in found if is_running(child)]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
