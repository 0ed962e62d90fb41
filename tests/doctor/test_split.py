"""Every line goes to one part, and no source sentence to two."""

import gzip
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from heed.data.corpus import ParallelText
from heed.doctor import examine
from heed.doctor.split import PARTS, Split, split
from heed.errors import ConfigError, DataError

CHANCE = random.Random(5)
SOURCES = [f"Sentence number {number}." for number in range(300)]


def corpus(folder: Path, pairs: list[tuple[str, str]]) -> ParallelText:
    folder.mkdir(exist_ok=True)
    for ending, side in (("en", 0), ("de", 1)):
        (folder / f"all.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return ParallelText(str(folder / "all.en"), str(folder / "all.de"))


@pytest.fixture
def pairs() -> list[tuple[str, str]]:
    """500 lines of 300 sources: most once, some up to a hundred times; written in different ways."""
    drawn = SOURCES + CHANCE.choices(SOURCES[:50], k=100) + SOURCES[:1] * 100
    ways = [str, str.upper, lambda text: text.replace(".", " !"), lambda text: text.replace(" ", "  ")]
    found = [(ways[number % 4](source), f"Satz Nummer {number}.") for number, source in enumerate(drawn)]
    CHANCE.shuffle(found)
    return found


def key(source: str) -> str:
    """Fold a sentence independently of heed: keep only letters and digits."""
    return re.sub(r"[^a-z0-9]", "", source.lower())


def read(text: ParallelText) -> list[tuple[str, str]]:
    return list(text)


def test_no_line_is_lost_and_no_source_is_in_two_parts(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    made = split(corpus(tmp_path / "in", pairs), tmp_path / "out", n_valid=40, n_test=60)
    parts = {part: read(made.texts[part]) for part in PARTS}
    assert {part: len(lines) for part, lines in parts.items()} == {"train": 400, "valid": 40, "test": 60}
    assert made.counts == {"train": 400, "valid": 40, "test": 60}
    assert Counter(pair for lines in parts.values() for pair in lines) == Counter(pairs)
    sources = {part: {key(source) for source, _ in lines} for part, lines in parts.items()}
    assert not sources["train"] & sources["valid"]
    assert not sources["train"] & sources["test"]
    assert not sources["valid"] & sources["test"]
    assert made.n_sources == 300 == sum(map(len, sources.values()))
    for lines in parts.values():  # in the order of the corpus
        places = [pairs.index(pair) for pair in lines]
        assert places == sorted(places)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        f"{part}.{ending}" for part in PARTS for ending in ("en", "de")
    )


def test_the_doctor_finds_no_leak(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    made = split(corpus(tmp_path / "in", pairs), tmp_path / "out", 40, 60)
    kinds = {
        found.kind.name for found in examine(made.texts["train"], [made.texts["valid"], made.texts["test"]]).findings
    }
    assert not kinds & {"pair-in-test", "source-in-test", "near-test"}


def valid_of(made: Split) -> list[tuple[str, str]]:
    return read(made.texts["valid"])


def test_a_seed_draws_the_same_lines_in_any_process(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    text = corpus(tmp_path / "in", pairs)
    one, other = (valid_of(split(text, tmp_path / f"seed{seed}", 40, 0, seed)) for seed in (1, 2))
    assert one != other
    script = (
        "import sys; from pathlib import Path; from heed.data.corpus import ParallelText; "
        "from heed.doctor.split import split; split(ParallelText(*sys.argv[1:3]), Path(sys.argv[3]), 40, 0, 1)"
    )
    for number in (3, 4):  # the seed of string hashing
        out = tmp_path / f"hash{number}"
        subprocess.run(
            [sys.executable, "-c", script, text.source, text.target, str(out)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(number)},
        )
        assert read(ParallelText(str(out / "valid.en"), str(out / "valid.de"))) == one


def test_lines_are_drawn_from_everywhere(tmp_path: Path) -> None:
    lines = [(f"Sentence {number} of many.", f"Satz {number}.") for number in range(1000)]
    drawn = [lines.index(pair) for pair in valid_of(split(corpus(tmp_path / "in", lines), tmp_path / "out", 200, 0))]
    # Of 200, a quarter is expected in each quarter; 30 to 70 is far beyond chance (3.3 standard deviations).
    assert all(30 <= sum(250 * i <= place < 250 * (i + 1) for place in drawn) <= 70 for i in range(4))


def test_pairs_useless_for_testing_go_to_training(tmp_path: Path) -> None:
    """This covers blank sides, pure punctuation, and pairs with the same source."""
    good = [(f"Sentence {number}.", f"Satz {number}.") for number in range(50)]
    bad = [("", "x"), ("No target.", ""), ("no target", "Kein Ziel."), ("...", "..."), ("  ", "  ")]
    made = split(corpus(tmp_path / "in", good + bad), tmp_path / "out", 25, 24)
    assert set(bad) <= set(read(made.texts["train"]))
    assert made.counts == {"train": 6, "valid": 25, "test": 24}


def test_no_test_part(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    made = split(corpus(tmp_path / "in", pairs), tmp_path / "out", 40, 0)
    assert made.counts == {"train": 460, "valid": 40, "test": 0} and list(made.texts) == ["train", "valid"]
    assert not list((tmp_path / "out").glob("test*"))


def test_tsv_and_gz_stay_what_they_are(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [*("\t".join(pair) for pair in pairs), ""]
    with gzip.open(tmp_path / "in" / "all.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
    made = split(ParallelText(str(tmp_path / "in" / "all.tsv.gz")), tmp_path / "out", 40, 60)
    names = [tmp_path / "out" / f"{part}.tsv.gz" for part in PARTS]
    assert [text.source for text in made.texts.values()] == list(map(str, names))
    found = [line for name in names for line in gzip.decompress(name.read_bytes()).decode().split("\n")[:-1]]
    assert sorted(found) == sorted(lines)


@pytest.mark.parametrize(
    "names, expected",
    [
        (("all.en", "all.de.gz"), ("train.en", "train.de.gz")),
        (("source.txt", "target.txt"), ("train.source", "train.target")),
        (("english", "deutsch"), ("train.source", "train.target")),
    ],
)
def test_names(names: tuple[str, str], expected: tuple[str, str], tmp_path: Path) -> None:
    for name in names:
        content = b"a\nb\nc\n"
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    made = split(ParallelText(*(str(tmp_path / name) for name in names)), tmp_path / "out", 1, 1)
    assert tuple(Path(path).name for path in (made.texts["train"].source, made.texts["train"].target)) == expected


def test_what_is_there_is_not_overwritten(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    text = corpus(tmp_path / "in", pairs)
    before = (tmp_path / "in" / "all.en").read_bytes()
    with pytest.raises(ConfigError, match="is not empty"):
        split(text, tmp_path / "in", 40, 60)
    with pytest.raises(ConfigError, match="is a file"):
        split(text, tmp_path / "in" / "all.en", 40, 60)
    assert (tmp_path / "in" / "all.en").read_bytes() == before
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["all.de", "all.en"]


@pytest.mark.parametrize("sizes", [(300, 0), (40, 60), (45, 5), (0, 5), (5, -1)])
def test_invalid_sizes_are_refused(sizes: tuple[int, int], tmp_path: Path) -> None:
    """50 lines of ten sources, five lines each."""
    text = corpus(tmp_path / "in", [(f"Sentence {number % 10}.", f"Satz {number}.") for number in range(50)])
    with pytest.raises((DataError, ConfigError), match=rf"{sizes[0]}.*{sizes[1]}"):
        split(text, tmp_path / "out", *sizes)
    assert not (tmp_path / "out").exists()


def test_a_corpus_that_cannot_be_read_leaves_nothing_behind(tmp_path: Path) -> None:
    text = corpus(tmp_path / "in", [("a", "b"), ("c", "d")])
    Path(text.target).write_bytes(b"one\n")
    with pytest.raises(DataError, match="2 lines"):
        split(text, tmp_path / "out", 1, 0)
    Path(text.target).write_bytes(b"one\n\xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        split(text, tmp_path / "out", 1, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
