"""A store on the disk is mapped and read-only, and every flipped bit is detected."""

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heed.data.batch import make_batch
from heed.data.prepare import prepare
from heed.data.store import BLOCK_BYTES, PairStore
from heed.durable import MANIFEST, checksum, json_bytes, read_json, write_manifest
from heed.errors import DataError, HeedError
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary
from tests.data.corpora import random_lines, write_pair

N = 40_000
FILES = [
    *(f"{side}.{what}" for side in ("source", "target") for what in ("ids", "lengths", "starts")),
    "lines",
    "blank_lines",
    "tokenizer.model",
    "manifest.json",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, words: Tokenizer) -> Path:
    """Make a store whose ids take several blocks."""
    folder = tmp_path_factory.mktemp("whole")
    source = random_lines(7, N)
    source[17] = ""
    return prepare(write_pair(folder, source, random_lines(8, N)), words, folder / "store").folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "store"))


def flip(path: Path, position: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def open_and_verify(folder: Path) -> None:
    PairStore.open(folder).verify()


# --- damage -----------------------------------------------------------------------------------------------


def test_the_files_are_those_the_tests_damage(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == sorted(FILES)
    assert (whole / "source.ids").stat().st_size > 2 * BLOCK_BYTES
    open_and_verify(whole)


@pytest.mark.parametrize("share", [0, 0.1, 0.37, 0.5, 0.83, 1])
@pytest.mark.parametrize("name", FILES)
def test_one_flipped_bit_is_found(copy: Path, name: str, share: float) -> None:
    size = (copy / name).stat().st_size
    for bit in (0, 5, 7):
        flip(copy / name, round(share * (size - 1)), bit)
        with pytest.raises(HeedError, match=rf"{name}: .*heed prepare --source"):
            open_and_verify(copy)
        flip(copy / name, round(share * (size - 1)), bit)
    open_and_verify(copy)


@pytest.mark.slow
def test_every_bit_of_the_manifest_counts(tmp_path: Path, words: Tokenizer) -> None:
    folder = prepare(write_pair(tmp_path / "Übung", ["one"], ["two"]), words, tmp_path / "store").folder
    for position in range((folder / "manifest.json").stat().st_size):
        for bit in range(8):
            flip(folder / "manifest.json", position, bit)
            with pytest.raises(DataError, match=r"manifest\.json: "):
                PairStore.open(folder)
            flip(folder / "manifest.json", position, bit)
    open_and_verify(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_short_or_longer_or_gone(copy: Path, name: str) -> None:
    content = (copy / name).read_bytes()
    for other in (content[:-2], content[: len(content) // 2], b"", content + b"\0"):
        (copy / name).write_bytes(other)
        with pytest.raises(DataError, match=rf"{name}: "):
            PairStore.open(copy)
    (copy / name).unlink()
    with pytest.raises(DataError, match=r"prepare"):
        PairStore.open(copy)


def test_another_format_is_told_from_damage(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_bytes())
    del manifest["checksum"]
    manifest["format"] = 2
    (copy / "manifest.json").write_bytes(json_bytes({**manifest, "checksum": checksum(json_bytes(manifest))}))
    with pytest.raises(DataError, match=r"store: has format 2, but this heed reads format 1; delete the folder"):
        PairStore.open(copy)


def test_a_run_s_own_corpus_is_made_again_when_it_resumes(copy: Path) -> None:
    (copy / "lines").unlink()
    with pytest.raises(DataError, match=rf"--target FILE --out {copy}"):
        PairStore.open(copy)
    (copy.parent / "tokenizer.model").write_bytes(b"")
    with pytest.raises(DataError, match=rf"delete the folder {copy}; heed train --resume {copy.parent} makes it again"):
        PairStore.open(copy)


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match=r"not a prepared corpus \(it has no manifest\.json\); make one with: heed"):
        PairStore.open(tmp_path)
    for name in ("none", "file"):
        with pytest.raises(DataError, match="no such folder; name one made by `heed prepare`"):
            PairStore.open(tmp_path / name)


def test_opening_reads_no_ids_and_a_batch_only_its_own(copy: Path) -> None:
    """Damage is found only when the damaged block is used, but always before its use."""
    size = (copy / "source.ids").stat().st_size
    flip(copy / "source.ids", size - 3, 1)  # in the last sentence
    store = PairStore.open(copy)
    make_batch(store, [0, 1, 2], Vocabulary(1000))
    with pytest.raises(DataError, match=r"source\.ids: missing or damaged \(bytes [\d,]+ to [\d,]+ have changed\)"):
        make_batch(store, [0, len(store) - 1], Vocabulary(1000))
    with pytest.raises(DataError, match=r"source\.ids: "):  # and again
        make_batch(store, [len(store) - 1], Vocabulary(1000))
    flip(copy / "source.ids", size - 3, 1)
    make_batch(store, [len(store) - 1], Vocabulary(1000))
    store.verify()
    flip(copy / "source.ids", 0, 1)  # after all has been verified
    with pytest.raises(DataError, match=r"source\.ids: "):
        store.verify()


def test_damage_in_the_middle_of_a_long_sentence_is_found(tmp_path: Path, words: Tokenizer) -> None:
    """The first and last blocks of the sentence have been verified, the one in between has not."""
    text = write_pair(tmp_path, ["one", "one " * BLOCK_BYTES, "two"], ["x", "y", "z"])
    folder = prepare(text, words, tmp_path / "store").folder
    store = PairStore.open(folder)
    flip(folder / "source.ids", BLOCK_BYTES + 5, 0)
    make_batch(store, [0, 2], Vocabulary(1000))  # the first and the last block
    with pytest.raises(DataError, match=r"source\.ids: "):
        make_batch(store, [1], Vocabulary(1000))


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("source.lengths", lambda store: store.source.lengths),
        ("target.lengths", lambda store: store.target.lengths),
        ("target.starts", lambda store: store.target.starts),
        ("source.starts", lambda store: make_batch(store, [0], Vocabulary(1000))),
        ("lines", lambda store: store.lines),
        ("blank_lines", lambda store: store.blank_lines),
    ],
)
def test_small_arrays_are_checked_at_first_use(copy: Path, name: str, use: Callable[[PairStore], object]) -> None:
    flip(copy / name, (copy / name).stat().st_size - 1, 0)
    store = PairStore.open(copy)
    with pytest.raises(DataError, match=f"{name}: missing or damaged"):
        use(store)


def test_nothing_can_be_written_by_mistake(whole: Path) -> None:
    store = PairStore.open(whole)
    for array in (store.source.ids, store.target.lengths, store.source.starts, store.lines, store.blank_lines):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


# --- identity ---------------------------------------------------------------------------------------------


def test_the_checksum_is_that_of_pairs_order_and_vocabulary(tmp_path: Path, words: Tokenizer) -> None:
    def checksum_of(source: list[str], target: list[str], tokenizer: Tokenizer = words) -> str:
        return prepare(write_pair(tmp_path, source, target), tokenizer, tmp_path / "store").checksum

    one = checksum_of(["one", "two"], ["three", "four"])
    assert one == checksum_of(["one", "two"], ["three", "four"])
    assert one == checksum_of(["one", "", " two "], ["three", "x", "four"])  # the same pairs
    others = [
        checksum_of(["two", "one"], ["four", "three"]),
        checksum_of(["one", "two"], ["four", "three"]),
        checksum_of(["three", "four"], ["one", "two"]),
        checksum_of(["one two"], ["three four"]),
        checksum_of(["one"], ["three"]),
        checksum_of(["one", "two"], ["three", "four"], Tokenizer.learn(["one two three four"] * 9, 300)),
        # The same ids by another model: this one has a field that sentencepiece does not know.
        checksum_of(["one", "two"], ["three", "four"], Tokenizer(words.model + b"\xc0\x0c\x01")),
    ]
    assert len({one, *others}) == 8


def test_a_store_remembers_its_texts_and_vocabulary(tmp_path: Path, words: Tokenizer) -> None:
    text = write_pair(tmp_path, ["one"], ["two"])
    prepare(text, words, tmp_path / "store", learnt={"vocab_size": 400})
    store = PairStore.open(tmp_path / "store")
    assert [one.path for one in store.texts] == [text.source, text.target]
    for one in store.texts:
        assert (one.size, one.mtime_ns) == (os.stat(one.path).st_size, os.stat(one.path).st_mtime_ns)
        assert one.sha256 == checksum(Path(one.path).read_bytes())
    assert store.tokenizer.model == words.model
    assert store.tokenizer_checksum == checksum(words.model)
    assert store.learnt == {"vocab_size": 400}


def test_texts_that_changed_are_named(tmp_path: Path, words: Tokenizer) -> None:
    text = write_pair(tmp_path, ["one", "two"], ["three", "four"])
    store = prepare(text, words, tmp_path / "store")
    assert store.changed_texts() == []

    now = os.stat(text.source).st_mtime_ns
    for jump in (-(10**18), 10**18):  # the clock jumped, or the file was downloaded again
        os.utime(text.source, ns=(now + jump, now + jump))
        assert store.changed_texts() == []

    Path(text.target).write_text("three\nfive\n", encoding="utf-8")  # the same size
    os.utime(text.target, ns=(now + 1, now + 1))
    assert store.changed_texts() == [text.target]
    with open(text.source, "a", encoding="utf-8") as file:
        file.write("three\n")
    assert store.changed_texts() == [text.source, text.target]

    os.remove(text.source)  # no longer needed
    assert store.changed_texts() == [text.target]


def test_a_compressed_text_is_known_by_its_own_bytes(tmp_path: Path, words: Tokenizer) -> None:
    text = write_pair(tmp_path, ["one"], ["two"], suffix=".gz")
    for path in (text.source, text.target):
        Path(path).write_bytes(gzip.compress(Path(path).read_bytes()))
    store = prepare(text, words, tmp_path / "store")
    assert [one.sha256 for one in store.texts] == [
        checksum(Path(path).read_bytes()) for path in (text.source, text.target)
    ]


def test_sequences_of_any_indices(whole: Path) -> None:
    store = PairStore.open(whole)
    ids, lengths = store.target.gather(np.array([5, 3, 5], dtype=np.int32))
    assert ids.tolist() == [*store.target[5].tolist(), *store.target[3].tolist(), *store.target[5].tolist()]
    assert lengths.tolist() == [len(store.target[5]), len(store.target[3]), len(store.target[5])]


# --- right checksums, wrong content -------------------------------------------------------------------------


def rewrite(folder: Path, name: str, array: "np.ndarray[Any, Any]") -> None:
    """Put other numbers into a file, and correct the checksums."""
    content = array.tobytes()
    (folder / name).write_bytes(content)
    sums = [checksum(content[at : at + BLOCK_BYTES]) for at in range(0, len(content), BLOCK_BYTES)]
    manifest = read_json(folder / MANIFEST)
    manifest["files"][name] = {"size": len(content), "blocks": sums}
    write_manifest(folder, manifest)


def lengthened(lengths: "np.ndarray[Any, Any]", by: int) -> "np.ndarray[Any, Any]":
    lengths = lengths.copy()
    lengths[3] += by
    return lengths


CRAFTED: dict[str, tuple[str, Callable[[PairStore], "np.ndarray[Any, Any]"]]] = {
    "a start below zero": ("source.starts", lambda store: np.where(np.arange(N) == 5, -4, store.source.starts)),
    "a start beyond the end": ("target.starts", lambda store: np.where(np.arange(N) == 5, 10**9, store.target.starts)),
    "starts from one": ("source.starts", lambda store: store.source.starts + 1),
    "a start too few": ("source.starts", lambda store: store.source.starts[:-1]),
    "a length that is not": ("source.lengths", lambda store: lengthened(store.source.lengths, 1)),
    "a length of nothing": ("target.lengths", lambda store: np.zeros_like(store.target.lengths)),
    "a length too few": ("source.lengths", lambda store: store.source.lengths[:-1]),
    "a line too few": ("lines", lambda store: store.lines[:-1]),
    "ids beyond the vocabulary": ("target.ids", lambda store: np.full_like(store.target.ids, 65_000)),
    "half a number": ("lines", lambda store: np.frombuffer(store.lines.tobytes()[:-3], dtype=np.uint8)),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_inconsistent_numbers_are_refused(copy: Path, case: str) -> None:
    name, change = CRAFTED[case]
    rewrite(copy, name, change(PairStore.open(copy)))
    with pytest.raises(DataError, match=str(copy)):
        make_batch(PairStore.open(copy), [2, 3, 4, 5, 6], Vocabulary(1000))


@pytest.mark.parametrize(
    "change",
    [
        {"id_type": "|O"},
        {"id_type": "<f8"},
        {"id_type": 5},
        {"files": {}},
        {"files": 5},
        {"texts": [{"path": 5, "size": 0, "mtime_ns": 0, "sha256": ""}]},
        {"texts": 5},
        {"corpus": None, "learnt": None, "files": None},
    ],
    ids=str,
)
def test_an_invalid_manifest_is_refused(copy: Path, change: dict[str, Any]) -> None:
    write_manifest(copy, {**read_json(copy / MANIFEST), **change})
    with pytest.raises(DataError, match="manifest.json: missing or damaged"):
        PairStore.open(copy)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.timeout(60)
def test_a_fifo_is_not_waited_for(copy: Path, name: str) -> None:
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(DataError, match=str(copy / name)):
        PairStore.open(copy).verify()
