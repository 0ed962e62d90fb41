import gzip
import os
from pathlib import Path

import pytest

from heed.data.corpus import ParallelText, evenly_spaced_lines, overlap
from heed.errors import ConfigError, DataError


def write(path: Path, content: str | bytes) -> str:
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


@pytest.fixture
def pair(tmp_path: Path) -> ParallelText:
    source = write(tmp_path / "train.en", "one\ntwo\n\nfour")  # no line end at the end
    return ParallelText(source, write(tmp_path / "train.de.gz", "eins\r\nzwei\r\ndrei\r\nvier\r\n"))


def test_pairs_of_lines_plain_and_compressed(pair: ParallelText) -> None:
    assert pair.count() == 4
    assert list(pair) == [("one", "eins"), ("two", "zwei"), ("", "drei"), ("four", "vier")]
    assert list(pair) == list(pair)  # can be iterated again


def test_only_a_line_feed_counts(tmp_path: Path) -> None:
    text = ParallelText(write(tmp_path / "a", "x\u2028y\x85\rz\n\x0c\n"), write(tmp_path / "b", "x\ny"))
    assert text.count() == len(list(text)) == 2


@pytest.mark.parametrize("name", ["both.tsv", "both.tsv.gz"])
def test_columns(tmp_path: Path, name: str) -> None:
    text = ParallelText(write(tmp_path / name, "one\teins\n\n \ttwo\nthree\t\n\t"))
    assert text.count() == 5
    assert list(text) == [("one", "eins"), ("", ""), (" ", "two"), ("three", ""), ("", "")]


@pytest.mark.parametrize(("line", "columns"), [("only one", "1 column"), ("a\tb\tc", "3 columns")])
def test_other_than_two_columns(tmp_path: Path, line: str, columns: str) -> None:
    text = ParallelText(write(tmp_path / "both.tsv", f"one\teins\n{line}\n"))
    with pytest.raises(DataError, match=rf"both\.tsv, line 2: {columns}; write source, one tab, target"):
        list(text)


def test_one_file_that_is_no_tsv(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"train\.en: has no translation; name a target file"):
        ParallelText(write(tmp_path / "train.en", "x\n"))


def test_unequal_counts_name_both_files_and_counts(tmp_path: Path) -> None:
    text = ParallelText(write(tmp_path / "a.en", "x\n" * 1234), write(tmp_path / "b.de", "x\n" * 1233 + "\n\n"))
    with pytest.raises(DataError, match=r"a\.en has 1,234 lines, but \S*b\.de has 1,235;"):
        text.count()


@pytest.mark.parametrize("empty", ["a.en", "b.de"])
def test_an_empty_file_is_named(tmp_path: Path, empty: str) -> None:
    a, b = (write(tmp_path / name, "" if name == empty else "x\n") for name in ("a.en", "b.de"))
    with pytest.raises(DataError, match=f"{empty}: is empty"):
        ParallelText(a, b).count()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"b\.de: no such file"):
        ParallelText(write(tmp_path / "a.en", "x\n"), str(tmp_path / "b.de")).count()


def test_a_cut_gzip_file_is_named(tmp_path: Path) -> None:
    whole = gzip.compress(os.urandom(3000).hex().encode())
    (tmp_path / "b.gz").write_bytes(whole[:-100])
    with pytest.raises(DataError, match=r"b\.gz: damaged or incomplete gzip file"):
        ParallelText(write(tmp_path / "a", "x\n"), str(tmp_path / "b.gz")).count()


def test_what_is_not_utf8_is_named(tmp_path: Path) -> None:
    text = ParallelText(write(tmp_path / "a", "x\ny\n"), write(tmp_path / "b", b"x\n\xfc\n"))
    assert text.count() == 2
    with pytest.raises(DataError, match="b, line 2: not UTF-8"):
        list(text)


@pytest.mark.timeout(20)  # opening a pipe without a writer blocks for ever
def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("-", str(tmp_path / "pipe")):
        with pytest.raises(DataError, match="can be read only once"):
            ParallelText(path, write(tmp_path / "b", "x\n")).count()


def test_lines_to_learn_from_are_all_or_evenly_spaced(tmp_path: Path) -> None:
    numbers = "".join(f"{i}\n" for i in range(10))
    text = ParallelText(write(tmp_path / "a", numbers), write(tmp_path / "b", numbers))
    assert list(evenly_spaced_lines(text, 10, 10)) == [str(i) for i in range(10) for _ in "ab"]
    assert list(evenly_spaced_lines(text, 10, 4)) == ["0", "0", "3", "3", "6", "6", "9", "9"]


def test_overlap_counts_validation_pairs_in_the_training_text(tmp_path: Path) -> None:
    train = ParallelText(write(tmp_path / "t.en", "a\nb\nc\n\nb\n"), write(tmp_path / "t.de", "A\nB\nC\n\nB\n"))
    # b/B is in both, twice; a differs in case, c in its translation, and d is missing.
    valid = [("b", "B"), (" a \x00", "A"), ("c", "X"), ("d", "D"), ("b", "B")]
    assert overlap(train, valid) == 2


def test_a_tsv_with_a_target_is_refused() -> None:
    """Otherwise the target text would become part of the source."""
    with pytest.raises(ConfigError, match=r"pairs\.tsv\.gz: a \.tsv file holds both languages"):
        ParallelText("pairs.tsv.gz", "train.de")
