"""`heed align`: whole files, chosen heads, an error rate, and what it refuses."""

import gzip
import json
import re
from pathlib import Path

import pytest

from heed.box import DEFAULT, names
from tests.cli.conftest import Trained, heed

SOURCE = ["a b c", "", "d e", "a b " * 100, "c"]
TARGET = ["C B A", "X", "E  D", "A", "C"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "text.src", tmp_path / "text.tgt"
    for path, lines in zip(paths, (SOURCE, TARGET), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def test_one_line_per_pair_in_moses_format(trained: Trained, files: tuple[Path, Path]) -> None:
    done = heed("align", "--model", trained.path, "--source", files[0], "--target", files[1])
    assert done.code == 0, done.err
    assert len(done.lines) == 5
    for line, source, target in zip(done.lines, SOURCE, TARGET, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        if not source or len(source) > 60:
            assert links == []
            continue
        assert sorted(t for _, t in links) == list(range(len(target.split())))
        assert all(s < len(source.split()) for s, _ in links) and links == sorted(links)
    assert "1 pair longer than the model's limit of 60 pieces: an empty line each (line 4)" in done.err
    # What was chosen can be asked for, and gives the same.
    again = re.search(r"to use them again: (--heads \S+ --step \S+)", done.err)
    assert again and "agreement with model 1 on" in done.err
    same = heed("align", "--model", trained.path, "--source", files[0], "--target", files[1], *again[1].split())
    assert same.lines == done.lines and "agreement" not in same.err


def test_json_and_compressed_files(trained: Trained, files: tuple[Path, Path], tmp_path: Path) -> None:
    packed = tmp_path / "text.src.gz"
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    out = tmp_path / "links.gz"
    chosen = ("--heads", "1.2,1.1", "--step", "write")
    done = heed("align", "--model", trained.path, "--source", packed, "--target", files[1], "--out", out, *chosen)
    assert done.code == 0 and done.out == "", done.err
    plain = gzip.decompress(out.read_bytes()).decode().split("\n")[:-1]
    told = heed("align", "--model", trained.path, "--source", packed, "--target", files[1], "--json", *chosen)
    found = [json.loads(line) for line in told.lines]
    assert [one["line"] for one in found] == [1, 2, 3, 4, 5]
    assert found[2]["source"] == ["d", "e"] and found[2]["target"] == ["E", "D"]
    assert found[3]["links"] is None and found[3]["error"]
    for line, one in zip(plain, found, strict=True):
        assert line == " ".join(f"{s}-{t}" for s, t, _ in sorted(one["links"] or []))
        assert all(0 < weight <= 1.0001 for _, _, weight in one["links"] or [])
    assert not list(tmp_path.glob("*.part"))


def test_the_error_rate_of_links_by_hand(trained: Trained, files: tuple[Path, Path], tmp_path: Path) -> None:
    arguments = ("align", "--model", trained.path, "--source", files[0], "--target", files[1], "--heads", "1.1")
    gold = tmp_path / "gold"
    gold.write_text("".join(f"{line}\n" for line in heed(*arguments).lines))
    done = heed(*arguments, "--gold", gold)
    assert "alignment error rate 0.0% (precision 100.0%, recall 100.0%) on 5 pairs" in done.err, done.err
    gold.write_text("9-9\n\n\n\n\n")
    assert "alignment error rate 100.0%" in heed(*arguments, "--gold", gold).err
    gold.write_text("0-0\n")
    assert "has 1 line, but there are 5 pairs to align" in heed(*arguments, "--gold", gold).err
    gold.write_text("0-0\nx\n\n\n\n")
    assert "gold, line 2: 'x' is no link" in heed(*arguments, "--gold", gold).err


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--heads", "3"], 2, "--heads 3: write layer.head, counted from 1"),
        (["--heads", "0.1"], 2, "--heads 0.1: write layer.head, counted from 1"),
        (["--heads", "9.1"], 1, "there is no head 9.1: the decoder has layers 1 to 1, heads 1 to 2"),
        (["--step", "read"], 2, "--step read goes with --heads"),
        (["--heads", "1.1", "--choose-on", "a", "b"], 2, "--heads and --choose-on both say"),
        (["--choose-on", "none.en", "none.de"], 1, "none.en: no such file"),
        (["--out", "no/folder/x"], 1, "the folder no/folder does not exist"),
    ],
)
def test_bad_input_is_refused(
    trained: Trained, files: tuple[Path, Path], arguments: list[str], code: int, message: str
) -> None:
    done = heed("align", "--model", trained.path, "--source", files[0], "--target", files[1], *arguments)
    assert done.code == code and message in done.err, done.err
    assert done.out == "" and "Traceback" not in done.err


def test_files_of_different_lengths_are_refused_before_anything_is_written(
    trained: Trained, files: tuple[Path, Path], tmp_path: Path
) -> None:
    files[1].write_text("A\nB\n")
    out = tmp_path / "links"
    done = heed("align", "--model", trained.path, "--source", files[0], "--target", files[1], "--out", out)
    assert done.code == 1 and "text.src has 5 lines" in done.err and "text.tgt has 2" in done.err
    assert not out.exists() and not list(tmp_path.glob("*.part"))


def test_an_input_is_not_overwritten(trained: Trained, files: tuple[Path, Path]) -> None:
    done = heed("align", "--model", trained.path, "--source", files[0], "--target", files[1], "--out", files[0])
    assert done.code == 2 and "would overwrite an input file" in done.err
    assert files[0].read_text().startswith("a b c\n")


@pytest.mark.skipif(DEFAULT not in names(), reason="no model in the box")
def test_the_model_in_the_box_is_known_by_its_name(tmp_path: Path) -> None:
    paths = tmp_path / "a.en", tmp_path / "a.de"
    for path, line in zip(paths, ("The cat sleeps.", "Die Katze schläft."), strict=True):
        path.write_text(f"{line}\n", encoding="utf-8")
    done = heed("align", "--model", DEFAULT, "--source", paths[0], "--target", paths[1])
    assert done.code == 0 and done.lines == ["0-0 1-1 2-2"], done.err
    assert "pairs of heed demo" in done.err
