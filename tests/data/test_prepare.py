"""Prepare text files: the store holds the right ids, and is complete or absent."""

import gzip
import os
import random
import resource
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from heed.data.corpus import ParallelText
from heed.data.encode import id_type
from heed.data.prepare import prepare
from heed.data.store import PairStore, Sequences
from heed.errors import CheckpointError, DataError
from heed.text.tokenizer import Tokenizer
from tests.conftest import EOS
from tests.data.corpora import children, contents, is_running, random_lines, write_pair
from tests.processes import Started

MANY = 30_000  # enough for workers to be started


Workers = Callable[[], list[int]]


@pytest.fixture
def workers() -> Workers:
    """Return a function that lists the child processes that this test has started."""
    before = children(os.getpid())
    return lambda: [pid for pid in children(os.getpid()) if pid not in before]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> ParallelText:
    """Write a text with some blank lines."""
    source, target = random_lines(1, MANY), random_lines(2, MANY)
    for i in range(0, MANY, 1_000):
        (source if i % 2_000 else target)[i] = " \t" if i % 3_000 else ""
    return write_pair(tmp_path_factory.mktemp("many"), source, target)


def as_lists(sequences: Sequences) -> list[list[int]]:
    return [sequences[i].tolist() for i in range(len(sequences))]


def by_sentencepiece(tokenizer: Tokenizer, lines: list[str]) -> list[list[int]]:
    """Encode lines with sentencepiece itself, as an independent reference."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    clean = [" ".join(unicodedata.normalize("NFC", line).split()) for line in lines]
    return [[*ids, EOS] for ids in processor.encode(clean)]


# --- content ----------------------------------------------------------------------------------------------


def test_pairs_become_ids_with_an_end_each(tmp_path: Path, words: Tokenizer) -> None:
    source, target = ["one two", "four", "über x² \u2581"], ["three", "five six one", "don't 日本語 \U0001f600"]
    store = prepare(write_pair(tmp_path, source, target), words, tmp_path / "store")
    assert len(store) == 3
    assert as_lists(store.source) == [[*words.encode(line).ids, EOS] for line in source]
    assert as_lists(store.target) == [[*words.encode(line).ids, EOS] for line in target]
    assert store.source.lengths.tolist() == [len(words.encode(line).ids) + 1 for line in source]
    assert store.source.starts.tolist() == np.cumsum([0, *store.source.lengths]).tolist()
    assert store.lines.tolist() == [1, 2, 3]
    assert store.blank_lines.tolist() == []


def test_real_text_is_encoded_as_sentencepiece_does(tmp_path: Path, data_dir: Path) -> None:
    sides = [data_dir / "multi30k" / f"train.{language}" for language in ("en", "de")]
    lines = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in sides]
    tokenizer = Tokenizer.learn([*lines[0][:3_000], *lines[1][:3_000]], 4_000)
    store = prepare(ParallelText(*map(str, sides)), tokenizer, tmp_path / "store", processes=2)
    assert len(store) == 29_000
    for sequences, texts in zip((store.source, store.target), lines, strict=True):
        expected = by_sentencepiece(tokenizer, texts)
        assert sequences.ids.tolist() == [i for ids in expected for i in ids]
        assert sequences.lengths.tolist() == list(map(len, expected))
    assert store.source.ids.dtype == np.uint16


def test_blank_pairs_are_accounted_for_and_long_ones_kept(tmp_path: Path, words: Tokenizer) -> None:
    source = ["one", "", "one " * 5_000, "one", "two", "\u2028"]
    target = ["one", "one", "two", " \x00\u2028", "two", "\r"]
    store = prepare(write_pair(tmp_path, source, target), words, tmp_path / "store")
    assert store.lines.tolist() == [1, 3, 5]
    assert store.blank_lines.tolist() == [2, 4, 6]
    assert store.source.lengths.tolist() == [2, 5_001, 2]


def test_a_text_of_blank_lines_is_an_empty_store(tmp_path: Path, words: Tokenizer) -> None:
    store = prepare(write_pair(tmp_path, ["", "x"], ["x", " "]), words, tmp_path / "store")
    assert len(store) == len(store.source) == len(store.target) == 0
    assert store.source.lengths.tolist() == []
    assert store.blank_lines.tolist() == [1, 2]
    store.verify()


def test_the_number_of_processes_changes_no_byte(tmp_path: Path, words: Tokenizer, many: ParallelText) -> None:
    stores = [prepare(many, words, tmp_path / f"{n}", processes=n) for n in (1, 2, 3)]
    one, two, three = (contents(store.folder) for store in stores)
    assert one == two == three
    blank = list(range(1, MANY + 1, 1_000))
    assert stores[0].blank_lines.tolist() == blank
    assert stores[0].lines.tolist() == [number for number in range(1, MANY + 1) if number not in set(blank)]


def test_compressed_and_columns_and_windows_lines_are_the_same_text(tmp_path: Path, words: Tokenizer) -> None:
    source, target = random_lines(3, 5_000), random_lines(4, 5_000)
    text = write_pair(tmp_path / "plain", source, target)
    plain = prepare(text, words, tmp_path / "0")
    for name in ("packed.en.gz", "packed.de.gz"):
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / "plain" / f"text.{name[7:9]}").read_bytes()))
    columns = "".join(f"{a}\t{b}\r\n" for a, b in zip(source, target, strict=True))
    (tmp_path / "both.tsv").write_text("\ufeff" + columns.removesuffix("\r\n"), encoding="utf-8", newline="")
    windows = write_pair(tmp_path / "windows", [f"{line}\r" for line in source], target)
    marked = Path(windows.source)
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes().removesuffix(b"\n"))
    others = [
        ParallelText(str(tmp_path / "packed.en.gz"), str(tmp_path / "packed.de.gz")),
        ParallelText(str(tmp_path / "both.tsv")),
        windows,
    ]
    for i, other in enumerate(others, 1):
        store = prepare(other, words, tmp_path / str(i))
        assert store.checksum == plain.checksum, other
        assert contents(store.folder)["source.ids"] == contents(plain.folder)["source.ids"]


def test_lines_longer_than_any_buffer(tmp_path: Path, words: Tokenizer) -> None:
    source = ["one " * 600_000, "two"]
    store = prepare(write_pair(tmp_path, source, ["three", "four"]), words, tmp_path / "store")
    assert store.source.lengths.tolist() == [600_001, 2]


def test_small_vocabularies_take_two_bytes_an_id() -> None:
    assert (id_type(37_000), id_type(65_536), id_type(65_537)) == (np.uint16, np.uint16, np.int32)


@pytest.mark.slow
def test_a_vocabulary_that_needs_four_bytes_an_id(tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = [" ".join("".join(chance.choices("abcdefghij", k=7)) for _ in range(10)) for _ in range(20_000)]
    tokenizer = Tokenizer.learn(lines, 70_000)
    assert len(tokenizer) == 70_000
    store = prepare(write_pair(tmp_path, lines[:100], lines[100:200]), tokenizer, tmp_path / "store")
    assert as_lists(store.source) == by_sentencepiece(tokenizer, lines[:100])
    assert store.source.ids.max() > 65_535


def test_a_model_that_does_not_split_at_spaces_encodes_whole_lines(tmp_path: Path) -> None:
    """A foreign vocabulary may have pieces that contain spaces."""
    with open(tmp_path / "model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["one two three four five six seven eight"] * 20),
            model_writer=file,
            model_type="bpe",
            vocab_size=300,
            split_by_whitespace=False,
            byte_fallback=True,
            normalization_rule_name="identity",
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            minloglevel=2,
            hard_vocab_limit=False,
        )
    tokenizer = Tokenizer.load(tmp_path / "model")
    assert any("\u2581" in piece[1:] for piece in tokenizer.pieces(range(len(tokenizer))))
    lines = ["one two three", "", "three  four", "eight seven"]
    store = prepare(write_pair(tmp_path, lines, lines), tokenizer, tmp_path / "store")
    assert as_lists(store.source) == by_sentencepiece(tokenizer, [line for line in lines if line])


# --- invalid texts ----------------------------------------------------------------------------------------


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("text."))


@pytest.mark.parametrize(("processes", "line"), [(1, 3), (1, 25_000), (2, 25_000), (2, MANY)])
def test_what_is_not_utf8_is_named(
    tmp_path: Path, words: Tokenizer, many: ParallelText, processes: int, line: int, workers: Workers
) -> None:
    text = ParallelText(many.source, str(tmp_path / "text.de"))
    lines = Path(many.target).read_bytes().split(b"\n")
    lines[line - 1] = b"one \xfc"
    Path(text.target).write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=rf"text\.de, line {line}: not UTF-8 \(byte 0xfc at position 5\); find out"):
        prepare(text, words, tmp_path / "store", processes=processes)
    assert left_behind(tmp_path) == []
    assert workers() == []


def test_a_column_too_many_is_named(tmp_path: Path, words: Tokenizer) -> None:
    lines = ["one\ttwo\n"] * MANY
    lines[MANY // 2] = "one\ttwo\tthree\n"
    (tmp_path / "text.tsv").write_text("".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=rf"text\.tsv, line {MANY // 2 + 1:}: 3 columns; write source, one tab"):
        prepare(ParallelText(str(tmp_path / "text.tsv")), words, tmp_path / "store", processes=2)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("more", [1, 500, 5_000])
@pytest.mark.parametrize("longer", ["en", "de"])
def test_unequal_counts_name_both(tmp_path: Path, words: Tokenizer, more: int, longer: str) -> None:
    text = write_pair(tmp_path, ["x"] * 2_000, ["x"] * 2_000)
    with open(tmp_path / f"text.{longer}", "a", encoding="utf-8") as file:
        file.write("x\n" * more)
    en, de = (2_000 + more * (longer == side) for side in ("en", "de"))
    with pytest.raises(DataError, match=rf"text\.en has {en:,} lines, but \S*text\.de has {de:,};"):
        prepare(text, words, tmp_path / "store")
    assert left_behind(tmp_path) == []


@pytest.mark.timeout(20)  # opening a pipe without a writer blocks for ever
def test_files_that_are_empty_missing_cut_or_pipes(tmp_path: Path, words: Tokenizer) -> None:
    good = write_pair(tmp_path, ["x"], ["x"]).source
    (tmp_path / "text.empty").write_bytes(b"")
    (tmp_path / "text.gz").write_bytes(gzip.compress(os.urandom(3_000).hex().encode())[:-100])
    os.mkfifo(tmp_path / "text.pipe")
    for name, complaint in (
        ("text.empty", r"text\.empty: is empty"),
        ("text.none", r"text\.none: no such file"),
        ("text.gz", r"text\.gz: damaged or incomplete gzip file"),
        ("text.pipe", r"text\.pipe: a pipe can be read only once"),
    ):
        for sides in ((str(tmp_path / name), good), (good, str(tmp_path / name))):
            with pytest.raises(DataError, match=complaint):
                prepare(ParallelText(*sides), words, tmp_path / "store")
    assert left_behind(tmp_path) == []


def test_a_text_that_grows_while_it_is_read_is_refused(tmp_path: Path, words: Tokenizer) -> None:
    text = write_pair(tmp_path, ["one"] * MANY, ["two"] * MANY)

    def append(done: int) -> None:
        for path in (text.source, text.target):
            with open(path, "a", encoding="utf-8") as file:
                file.write("one\n")

    with pytest.raises(DataError, match=r"text\.en: changed while it was read"):
        prepare(text, words, tmp_path / "store", processes=1, progress=append)
    assert left_behind(tmp_path) == []


# --- complete or absent -----------------------------------------------------------------------------------


def test_a_failure_keeps_the_old_store(tmp_path: Path, words: Tokenizer) -> None:
    text = write_pair(tmp_path, ["one"], ["two"])
    before = contents(prepare(text, words, tmp_path / "store").folder)
    Path(text.target).write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="not UTF-8"):
        prepare(text, words, tmp_path / "store")
    assert contents(tmp_path / "store") == before
    Path(text.target).write_text("three\n", encoding="utf-8")
    assert as_lists(prepare(text, words, tmp_path / "store").target) == [[*words.encode("three").ids, EOS]]
    assert left_behind(tmp_path) == ["store"]


def test_progress_counts_the_lines(tmp_path: Path, words: Tokenizer, many: ParallelText) -> None:
    for processes in (1, 2):
        told: list[int] = []
        prepare(many, words, tmp_path / "store", processes=processes, progress=told.append)
        assert told == sorted(set(told))
        assert told[-1] == MANY
        assert len(told) > 5


@pytest.mark.timeout(60)
def test_stopping_half_way_leaves_no_file_and_no_process(
    tmp_path: Path, words: Tokenizer, many: ParallelText, workers: Workers
) -> None:
    seen: list[int] = []

    def stop(done: int) -> None:
        seen.extend(workers())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(many, words, tmp_path / "store", processes=2, progress=stop)
    assert len(seen) == 2
    assert workers() == []
    assert left_behind(tmp_path) == []


@pytest.mark.timeout(60)
def test_a_worker_that_is_killed_is_an_error(
    tmp_path: Path, words: Tokenizer, many: ParallelText, workers: Workers
) -> None:
    def kill(done: int) -> None:
        for worker in workers()[:1]:
            os.kill(worker, signal.SIGKILL)

    with pytest.raises(DataError, match=r"a worker that encodes text was killed by signal 9, at lines [\d,]+ to"):
        prepare(many, words, tmp_path / "store", processes=2, progress=kill)
    assert workers() == []
    assert left_behind(tmp_path) == []


def test_two_processes_do_not_fill_one_folder(tmp_path: Path, words: Tokenizer, many: ParallelText) -> None:
    """The second one is refused, and does not disturb the first."""
    refused: list[str] = []

    def second(done: int) -> None:
        with pytest.raises(CheckpointError) as caught:
            prepare(many, words, tmp_path / "store")
        refused.append(str(caught.value))

    store = prepare(many, words, tmp_path / "store", processes=1, progress=second)
    store.verify()
    assert f"{tmp_path / 'store'}: another process is creating it; wait until" in refused[0]
    assert "lock" not in contents(store.folder)


def test_a_file_name_that_is_not_utf8(tmp_path: Path, words: Tokenizer) -> None:
    text = write_pair(tmp_path, ["one"], ["two"])
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/text.\xff")
    os.rename(text.source, odd)
    store = prepare(ParallelText(odd, text.target), words, tmp_path / "store")
    assert store.texts[0].path.endswith("text.\\xff")
    assert len(PairStore.open(store.folder)) == 1


PREPARE = """
import sys
from pathlib import Path
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.text.tokenizer import Tokenizer
source, target, model, folder = sys.argv[1:]
prepare(ParallelText(source, target), Tokenizer.load(model), Path(folder), processes=2)
"""


def command(tmp_path: Path, words: Tokenizer, text: ParallelText, folder: Path) -> list[str]:
    (tmp_path / "model").write_bytes(words.model)
    return [sys.executable, "-c", PREPARE, text.source, text.target, str(tmp_path / "model"), str(folder)]


@pytest.mark.timeout(60)  # orphans would make it wait for ever
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, words: Tokenizer, many: ParallelText) -> None:
    with Started(command(tmp_path, words, many, tmp_path / "store")) as process:
        while len(workers := children(process.pid)) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    while any(map(is_running, workers)):
        time.sleep(0.01)
    assert not (tmp_path / "store").exists()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kills_at_any_moment_leave_a_whole_store_or_none(tmp_path: Path, words: Tokenizer, many: ParallelText) -> None:
    folder = tmp_path / "new" / "store"
    began = time.monotonic()
    subprocess.run(command(tmp_path, words, many, folder), check=True)
    whole, seconds = contents(folder), time.monotonic() - began
    chance, killed = random.Random(5), 0
    for _ in range(20):
        if folder.exists():
            assert contents(folder) == whole
        process = subprocess.Popen(command(tmp_path, words, many, folder))
        time.sleep(chance.uniform(0.2, 0.9) * seconds)
        workers = children(process.pid)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        while any(map(is_running, workers)):
            time.sleep(0.01)
    assert killed > 10
    subprocess.run(command(tmp_path, words, many, folder), check=True)
    assert contents(folder) == whole
    assert left_behind(folder.parent) == ["store"]
    PairStore.open(folder).verify()


def test_workers_start_without_torch() -> None:
    script = "import heed.data.worker, heed.data.prepare, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_full_disk_is_named_and_left_clean(
    tmp_path: Path, words: Tokenizer, many: ParallelText, workers: Workers
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        for processes in (1, 2):
            with pytest.raises(OSError, match="No space left on device") as caught:
                prepare(many, words, disk / "store", processes=processes)
            assert caught.value.filename.startswith(str(disk))
            assert left_behind(disk) == []
        assert workers() == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_limit_on_the_size_of_files_is_like_a_full_disk(tmp_path: Path, words: Tokenizer, many: ParallelText) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            prepare(many, words, tmp_path / "store", processes=1)
        assert Path(caught.value.filename).name in contents_of_a_store()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert left_behind(tmp_path) == []


def contents_of_a_store() -> set[str]:
    sides = {f"{side}.{what}" for side in ("source", "target") for what in ("ids", "lengths", "starts")}
    return sides | {"lines", "blank_lines", "tokenizer.model", "manifest.json"}
