"""Several corpora with weights: which pairs an epoch has, and what the store keeps of each corpus."""

import hashlib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heed.config import Config, TrainConfig
from heed.data.augment import augmentation
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.data.store import Place
from heed.errors import DataError
from heed.text.tokenizer import Tokenizer
from tests.data.corpora import write_pair
from tests.data.test_batching import corpus

WEIGHTS = st.one_of(st.integers(1, 3).map(float), st.floats(0.05, 3))


def mixed(*parts: tuple[int, float], seed: int = 5) -> BatchPlan:
    source, target = corpus(sum(n for n, _ in parts))
    return BatchPlan(source, target, 300, seed, 99, parts)


def batches(plan: BatchPlan, n_epochs: int) -> list[list[list[int]]]:
    """Return the batches of the first epochs, as a training asks for them."""
    found: list[list[list[int]]] = [[] for _ in range(n_epochs)]
    for step in range(10**6):
        epoch, index = plan.locate(step)
        if epoch == n_epochs:
            return found
        assert index == len(found[epoch])
        found[epoch].append(plan.batch(epoch, index).tolist())
    raise AssertionError


def pairs_of(epoch: list[list[int]]) -> Counter[int]:
    return Counter(pair for batch in epoch for pair in batch)


# --- the pairs of an epoch --------------------------------------------------------------------------------


def test_one_corpus_has_the_batches_it_always_had() -> None:
    """The checksum is that of heed before there were mixtures: runs started by it go on with the same batches."""
    source, target = corpus(500)
    source[::50] = 60
    for mixture in ([], [(500, 1.0)]):
        plan = BatchPlan(source, target, 300, 5, 45, mixture)
        found = hashlib.sha256()
        for epoch in (0, 1, 7):
            for index in range(len(plan)):
                found.update(plan.batch(epoch, index).astype("<i8").tobytes() + b"|")
        assert (len(plan), plan.n_long) == (38, 10)
        assert found.hexdigest() == "a49c94d95724d9e882dd2141d5cf0b7ae37c701361ea4d64a949dc2c5b177806"
        assert [plan.locate(step) for step in (0, 37, 38, 100)] == [(0, 0), (0, 37), (1, 0), (2, 24)]


def test_parts_of_weight_1_are_like_one_corpus() -> None:
    assert batches(mixed((200, 1.0), (300, 1.0)), 3) == batches(mixed((500, 1.0)), 3)


def test_weight_2_is_twice() -> None:
    first, second = batches(mixed((40, 2.0), (60, 1.0)), 2)
    assert first != second
    for epoch in (first, second):
        assert pairs_of(epoch) == Counter([*range(40), *range(40), *range(40, 100)])


def test_half_of_the_pairs_then_the_other_half() -> None:
    first, second, third, fourth = (pairs_of(epoch) for epoch in batches(mixed((40, 0.5), (60, 1.0)), 4))
    for epoch in (first, second, third, fourth):
        assert epoch.total() == 80 and set(epoch.values()) == {1} and set(range(40, 100)) <= set(epoch)
    halves = [set(epoch) & set(range(40)) for epoch in (first, second)]
    assert not halves[0] & halves[1] and len(halves[0]) == 20
    assert first == third and second == fourth


@given(st.lists(st.tuples(st.integers(1, 60), WEIGHTS), min_size=1, max_size=4), st.integers(0, 2**63 - 1))
@example([(3, 1 / 3)], 0)  # a little less than one pair an epoch: none in the first
def test_all_pairs_of_a_part_come_equally_often(parts: list[tuple[int, float]], seed: int) -> None:
    n_epochs = 7
    source, target = corpus(sum(n for n, _ in parts))
    plan = BatchPlan(source, target, 300, seed, 99, parts)
    if sum(n * weight for n, weight in parts) < 1:
        return  # there may be an epoch without a pair
    epochs = [pairs_of(epoch) for epoch in batches(plan, n_epochs)]
    begin = 0
    for n, weight in parts:
        part = range(begin, begin + n)
        for epoch in epochs:
            assert abs(sum(epoch[pair] for pair in part) - Fraction(weight) * n) < 1
            assert {epoch[pair] for pair in part} <= {int(weight), int(weight) + 1}
        total = sum(epochs, Counter())
        counts = [total[pair] for pair in part]
        assert max(counts) - min(counts) <= 1
        assert abs(sum(counts) - Fraction(weight) * n * n_epochs) < 1
        begin += n


@given(st.integers(0, 200))
def test_a_step_has_the_same_batch_after_a_resume(step: int) -> None:
    def plan() -> BatchPlan:
        return mixed((80, 0.3), (40, 1.7), (50, 1.0))

    whole, resumed = plan(), plan()
    for before in range(step + 1):
        at = whole.locate(before)
        last = whole.batch(*at)
    assert resumed.locate(step) == at
    assert resumed.batch(*at).tolist() == last.tolist()


def test_long_pairs_are_left_out_of_copies_and_shares() -> None:
    source, target = corpus(100)
    source[::10] = 60
    plan = BatchPlan(source, target, 300, 5, 45, [(50, 1.5), (50, 2.0)])
    first, second = map(pairs_of, batches(plan, 2))
    assert plan.n_long == 10
    for epoch in (first, second):
        assert not set(epoch) & set(range(0, 100, 10))
        assert sum(epoch[pair] for pair in range(50)) in (67, 68)  # 45 of the 50 pairs, and half of them
        assert sum(epoch[pair] for pair in range(50, 100)) == 90


# --- the store --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    lines = ["one two three", "four five six", "seven eight nine."]
    return Tokenizer.learn(lines, 300, symbols=["<bt>"])


def two_texts(folder: Path) -> list[ParallelText]:
    first = write_pair(folder / "a", ["one", "", "two"], ["four", "five", "six"])
    second = write_pair(folder / "b", ["seven", "\x00", "one two", " "], ["eight", "x", "nine", "x"])
    return [first, ParallelText(second.source, second.target, "<bt>")]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_store_of_several_texts(
    tmp_path: Path, words: Tokenizer, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heed.data.prepare._MIN_BLOCKS_FOR_WORKERS", 1)
    first, second = two_texts(tmp_path)
    done: list[int] = []
    store = prepare([first, second], words, tmp_path / "store", processes=processes, progress=done.append)
    assert [words.decode(store.source[i].tolist()) for i in range(4)] == ["one", "two", "<bt> seven", "<bt> one two"]
    assert [words.decode(store.target[i].tolist()) for i in range(4)] == ["four", "six", "eight", "nine"]
    assert done == [3, 7]
    assert [(part.n_pairs, part.n_blank) for part in store.parts] == [(2, 1), (2, 2)]
    names = [text.name for text in (first, second)]
    assert store.part_names == names
    assert store.places([3, 0, 1, 3]) == [Place(names[0], [1, 3]), Place(names[1], [3])]
    assert store.places([2]) == [Place(names[1], [1])]
    assert store.blank_places(2) == [Place(names[0], [2]), Place(names[1], [2])]
    assert [text.path for text in store.texts] == [first.source, first.target, second.source, second.target]


def test_one_text_in_a_list_is_that_text(tmp_path: Path, words: Tokenizer) -> None:
    first, second = two_texts(tmp_path)
    alone, listed = prepare(first, words, tmp_path / "alone"), prepare([first], words, tmp_path / "listed")
    assert alone.checksum == listed.checksum
    both = prepare([first, second], words, tmp_path / "both")
    assert both.checksum not in (alone.checksum, prepare([second, first], words, tmp_path / "other").checksum)


def test_where_a_text_ends_is_part_of_the_checksum(tmp_path: Path, words: Tokenizer) -> None:
    """Weights depend on it."""
    lines = ["one", "two", "three"]

    def checksum(name: str, cut: int) -> str:
        texts = [write_pair(tmp_path / f"{name}{i}", part, part) for i, part in enumerate((lines[:cut], lines[cut:]))]
        return prepare(texts, words, tmp_path / name).checksum

    assert checksum("first", 1) != checksum("second", 2)


def test_a_store_without_parts_is_one_part(tmp_path: Path, words: Tokenizer) -> None:
    import json

    from heed.data.store import PairStore
    from heed.durable import checksum, json_bytes

    store = prepare(two_texts(tmp_path)[0], words, tmp_path / "store")
    manifest = json.loads((store.folder / "manifest.json").read_bytes())
    del manifest["checksum"]

    def opened(**changes: object) -> PairStore:
        content = {**manifest, **changes}
        (store.folder / "manifest.json").write_bytes(json_bytes({**content, "checksum": checksum(json_bytes(content))}))
        return PairStore.open(store.folder)

    parts = manifest.pop("parts")
    assert opened().parts == store.parts
    with pytest.raises(DataError, match="the parts are not the whole"):
        opened(parts=parts * 2)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [([], [], r"b/\S+: is empty"), (["one"], ["one", "two"], r"b/\S+ has 1 line, but \S+b/\S+ has 2;")],
)
def test_wrong_files_are_named(
    tmp_path: Path, words: Tokenizer, source: list[str], target: list[str], message: str
) -> None:
    texts = [two_texts(tmp_path)[0], write_pair(tmp_path / "b", source, target)]
    with pytest.raises(DataError, match=message):
        prepare(texts, words, tmp_path / "store")
    assert not (tmp_path / "store").exists()


# --- noise and tags ---------------------------------------------------------------------------------------


def test_noise_leaves_tags_alone(tmp_path: Path) -> None:
    lines = [f"the number {i} is here." for i in range(60)]
    words = Tokenizer.learn(lines, 350, symbols=["<bt>"])
    plain = write_pair(tmp_path / "a", lines[:30], lines[:30])
    tagged = write_pair(tmp_path / "b", lines[30:], lines[30:])
    store = prepare([plain, ParallelText(tagged.source, tagged.target, "<bt>")], words, tmp_path / "store")
    found = augmentation(Config(train=TrainConfig(noise=1.0)), store, words)
    assert found is not None
    changed = 0
    for epoch in range(6):
        (ids, lengths), (target_ids, _) = found.gather(epoch, np.arange(60))
        for i, one in enumerate(np.split(ids, np.cumsum(lengths)[:-1])):
            text = words.decode(one.tolist())
            assert text.startswith("<bt> ") == (i >= 30)
            assert "<BT>" not in text and text.count("<bt>") <= 1
            changed += text.removeprefix("<bt> ") != lines[i]
        assert not set(words.pieces(target_ids.tolist())) & words.symbols
    assert changed > 200
