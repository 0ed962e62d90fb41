"""`heed prepare`, run as a command."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from heed.data.store import PairStore
from tests.cli.conftest import Done, heed, started, write_lines
from tests.data.corpora import children, is_running, random_lines

N = 500


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    source, target = random_lines(1, N), random_lines(2, N)
    source[6], target[9] = "", " \t"
    write_lines(folder / "train.en", source)
    write_lines(folder / "train.de", target)
    return folder


def prepared(text: Path, out: Path, *more: object) -> Done:
    return heed("prepare", "--source", text / "train.en", "--target", text / "train.de", "--out", out, *more)


def test_text_becomes_a_folder_with_vocabulary_and_ids(text: Path, tmp_path: Path) -> None:
    done = prepared(text, tmp_path / "data" / "x", "--vocab-size", 400)
    assert (done.code, done.err) == (0, f"learning a vocabulary of 400 from {N} pairs ...\n")
    store = PairStore.open(tmp_path / "data" / "x")
    store.verify()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "data" / "x" / "tokenizer.model"))
    lines = [(text / name).read_text(encoding="utf-8").split("\n")[:-1] for name in ("train.en", "train.de")]
    kept = [pair for pair in zip(*lines, strict=True) if pair[0].strip() and pair[1].strip()]
    n_pieces = [sum(len(processor.encode(line)) for line in side) for side in zip(*kept, strict=True)]
    assert done.lines[:2] == [
        f"{N - 2:,} pairs, {n_pieces[0]:,} + {n_pieces[1]:,} tokens, vocabulary {processor.get_piece_size()}",
        "left out: 2 pairs with a blank side (lines 7, 10)",
    ]
    assert done.lines[-1] == f"next: heed train --data {tmp_path / 'data' / 'x'} --out runs/x"


def test_json(text: Path, tmp_path: Path) -> None:
    found = json.loads(prepared(text, tmp_path / "x", "--vocab-size", 400, "--json").out)
    store = PairStore.open(tmp_path / "x")
    assert found["pairs"] == len(store) == N - 2
    assert found["blank_pairs_left_out"] == 2
    assert found["vocabulary"] == len(store.tokenizer)
    assert found["checksum"] == store.checksum
    assert found["bytes"] == sum(path.stat().st_size for path in (tmp_path / "x").iterdir())
    assert found["made"] is True and found["pairs_per_second"] > 0


def test_preparing_again_does_nothing_and_another_corpus_is_refused(text: Path, tmp_path: Path) -> None:
    out, vocabulary = tmp_path / "x", ("--vocab-size", 400)
    assert prepared(text, out, *vocabulary).code == 0
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.iterdir()}

    again = prepared(text, out, *vocabulary)
    assert again.code == 0
    assert again.lines[0] == f"nothing to do: {out} holds this corpus already, undamaged"
    assert json.loads(prepared(text, out, *vocabulary, "--json").out)["made"] is False
    assert prepared(text, out, "--tokenizer", out / "tokenizer.model").code == 0
    os.utime(text / "train.en", ns=(1, 1))  # another time, but the same content
    assert prepared(text, out, *vocabulary).code == 0

    for more, complaint in (
        (("--vocab-size", 410), "exists already, made with other vocabulary settings"),
        (("--preset", "tiny"), "exists already, made with other vocabulary settings"),
        ((*vocabulary, "--target", text / "train.en"), "exists already, made from another text"),
    ):
        done = prepared(text, out, *more)
        assert done.code == 1
        assert complaint in done.err
    (tmp_path / "folder").mkdir()
    assert "not a prepared corpus" in prepared(text, tmp_path / "folder", *vocabulary).err
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.iterdir()} == before


def test_a_given_vocabulary_is_used_unchanged(text: Path, tmp_path: Path) -> None:
    assert prepared(text, tmp_path / "one", "--vocab-size", 350).code == 0
    done = prepared(text, tmp_path / "two", "--tokenizer", tmp_path / "one" / "tokenizer.model")
    assert (done.code, done.err) == (0, "")
    one, two = (PairStore.open(tmp_path / name) for name in ("one", "two"))
    assert one.checksum == two.checksum


def test_learning_from_some_of_the_lines(text: Path, tmp_path: Path) -> None:
    done = prepared(text, tmp_path / "x", "--vocab-size", 350, "--learn-lines", 50)
    assert done.err.startswith(f"learning a vocabulary of 350 from 50 of {N} pairs ...")
    assert PairStore.open(tmp_path / "x").learnt["learn_lines"] == 50


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--processes", 0], 2, "--processes 0: must be at least 1"),
        (["--learn-lines", -1], 2, "--learn-lines -1: must be at least 1"),
        (["--tokenizer", "t", "--learn-lines", 5], 2, "--learn-lines has no effect with --tokenizer"),
        (["--tokenizer", "t", "--vocab-size", 5], 2, "not allowed with argument"),
        (["--preset", "huge"], 2, "huge"),
        (["--vocab-size", 100], 2, "text.vocab_size = 100: must be at least 260"),
        (["--tokenizer", "missing.model"], 1, "missing.model: no such sentencepiece model"),
    ],
)
def test_invalid_options_are_refused(
    text: Path, tmp_path: Path, arguments: list[object], code: int, complaint: str
) -> None:
    done = prepared(text, tmp_path / "x", *arguments)
    assert done.code == code
    assert complaint in done.err
    assert list(tmp_path.iterdir()) == []


def test_bad_text_names_file_and_line_and_leaves_nothing(text: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.de"
    bad.write_bytes((text / "train.de").read_bytes().replace(b"\n", b"\n\xff", 1))
    out = tmp_path / "x"
    done = heed("prepare", "--source", text / "train.en", "--target", bad, "--out", out, "--vocab-size", 400)
    assert done.code == 1
    assert "bad.de, line 2: not UTF-8" in done.err
    assert list(tmp_path.iterdir()) == [bad]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_leaves_nothing(tmp_path: Path, text: Path, number: signal.Signals) -> None:
    assert prepared(text, tmp_path / "small", "--vocab-size", 400).code == 0
    lines = random_lines(3, 2_000) * 100
    large = [write_lines(tmp_path / name, lines) for name in ("large.en", "large.de")]
    model = tmp_path / "small" / "tokenizer.model"
    words = ["prepare", "--source", large[0], "--target", large[1], "--out", tmp_path / "x"]
    words += ["--tokenizer", model, "--processes", 2]
    # In its own session, so that the signal goes to all processes, as from a terminal.
    with started(*words, start_new_session=True) as process:
        while not (workers := children(process.pid)):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"heed prepare: stopped\n")
    assert not any(map(is_running, workers))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.de", "large.en", "small"]


def test_columns_in_one_file(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "pairs.tsv", [f"{a}\t{b}" for a, b in zip(random_lines(1, 50), random_lines(2, 50), strict=True)]
    )
    done = heed("prepare", "--source", tmp_path / "pairs.tsv", "--out", tmp_path / "x", "--vocab-size", 320)
    assert done.code == 0, done.err
    assert np.array_equal(PairStore.open(tmp_path / "x").lines, np.arange(1, 51))
