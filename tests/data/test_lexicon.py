"""IBM Model 1 beside one written in loops, and the shortlists made of it."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import heed.data.lexicon as lexicon_module
from heed.data.lexicon import learn_lexicon
from heed.data.prepare import prepare
from heed.data.shortlist import Shortlist
from heed.data.store import PairStore
from heed.errors import CheckpointError, DamageError
from heed.symbols import EOS
from heed.text.tokenizer import Tokenizer
from tests.data.corpora import random_lines, write_pair


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, words: Tokenizer) -> PairStore:
    """Each word is translated by the same word, sometimes with another beside it."""
    folder = tmp_path_factory.mktemp("pairs")
    source = random_lines(3, 120)
    target = [" ".join(reversed(line.split())) + (" ten" if i % 3 == 0 else "") for i, line in enumerate(source)]
    return prepare(write_pair(folder, source, target), words, folder / "store")


def by_loops(store: PairStore, pairs: list[int], rounds: int) -> dict[tuple[int, int], float]:
    probability: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        expected: dict[tuple[int, int], float] = defaultdict(float)
        for i in pairs:
            source, target = store.source[i].tolist(), store.target[i].tolist()[:-1]
            for t in target:
                total = sum(probability[s, t] for s in source)
                for s in source:
                    expected[s, t] += probability[s, t] / total
        sums: dict[int, float] = defaultdict(float)
        for (s, _t), count in expected.items():
            sums[s] += count
        probability = defaultdict(float, {(s, t): count / sums[s] for (s, t), count in expected.items()})
    return dict(probability)


@pytest.mark.parametrize("at_once", [10**6, 200])
def test_the_probabilities_are_those_of_model_1(
    store: PairStore, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon_module, "_AT_ONCE", at_once)
    told: list[tuple[int, int]] = []
    found = learn_lexicon(store, 1000, lambda done, total: told.append((done, total)))
    exact = by_loops(store, list(range(len(store))), rounds=5)
    keys = zip(found.source.tolist(), found.target.tolist(), strict=True)
    assert dict(zip(keys, found.probability.tolist(), strict=True)) == pytest.approx(exact, rel=1e-9)
    assert found.n_pairs == len(store)
    assert [done for done, _ in told] == list(range(1, told[0][1] + 1))
    assert (told[0][1] > 6) == (at_once == 200)
    counts = np.zeros(len(store.tokenizer), dtype=int)
    for i in range(len(store)):
        for t in store.target[i].tolist()[:-1]:
            counts[t] += 1
    assert found.target_counts.tolist() == counts.tolist()


def test_of_much_text_evenly_spaced_pairs_are_taken(store: PairStore, monkeypatch: pytest.MonkeyPatch) -> None:
    links = store.source.lengths * (store.target.lengths - 1)
    monkeypatch.setattr(lexicon_module, "LINKS", -(-int(links.sum()) // 4))
    found = learn_lexicon(store, 1000)
    assert found.n_pairs == len(store) // 4
    exact = by_loops(store, [4 * i for i in range(found.n_pairs)], rounds=5)
    assert found.probability.sum() == pytest.approx(sum(exact.values()))
    assert len(found.probability) == len(exact)


def test_pairs_that_are_too_long_are_left_out(store: PairStore) -> None:
    longest = int(np.median(store.source.lengths))
    short = [i for i in range(len(store)) if max(store.source.lengths[i], store.target.lengths[i]) <= longest]
    found = learn_lexicon(store, longest)
    assert 0 < found.n_pairs == len(short) < len(store)
    assert found.target_counts.sum() == sum(store.target.lengths[i] - 1 for i in short)


def test_the_best_are_sorted(store: PairStore) -> None:
    found = learn_lexicon(store, 1000)
    table = found.best(3, filler=EOS)
    exact = by_loops(store, list(range(len(store))), rounds=5)
    for s in range(len(store.tokenizer)):
        several = sorted(((-p, t) for (source, t), p in exact.items() if source == s))
        listed = table[s].tolist()
        assert [exact[s, t] for t in listed if t != EOS] == pytest.approx([-p for p, _ in several[:3]], rel=1e-9)
        assert listed.count(EOS) == max(0, 3 - len(several))


# --- shortlists -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shortlist(store: PairStore) -> Shortlist:
    return Shortlist.of(learn_lexicon(store, 1000), best=2, frequent=3)


def test_what_is_in_a_list(store: PairStore, shortlist: Shortlist) -> None:
    found = learn_lexicon(store, 1000)
    table, most = (
        found.best(2, filler=EOS),
        sorted(range(len(found.target_counts)), key=lambda i: -found.target_counts[i]),
    )
    source, other, prefix = [9, 300], [280], [299, 17]
    listed = set(shortlist.symbols([source, other], [prefix]).tolist())
    expected = {0, 1, 2, *source, *other, *prefix, *most[:3]}
    expected |= {int(i) for s in (EOS, *source, *other) for i in table[s]}
    assert listed == expected
    assert shortlist.symbols([source, other], [prefix]).tolist() == sorted(expected)
    assert set(shortlist.symbols([]).tolist()) < listed


def test_a_word_is_translated_by_itself(store: PairStore, shortlist: Shortlist) -> None:
    """So it was in the text; the source itself, which is always listed, set apart."""
    for word in ("one", "three", "über"):
        (ids,) = store.tokenizer.encode_ids([word])
        assert shortlist.best[ids[0]][0] == ids[0]


def test_saved_and_loaded(store: PairStore, shortlist: Shortlist, tmp_path: Path) -> None:
    folder = tmp_path / "shortlist"
    for _ in range(2):  # it is replaced
        shortlist.save(folder, store.tokenizer)
    loaded = Shortlist.load(folder, store.tokenizer)
    assert np.array_equal(loaded.best, shortlist.best) and np.array_equal(loaded.always, shortlist.always)


def test_what_cannot_be_used_says_which_command_makes_it(
    store: PairStore, shortlist: Shortlist, tmp_path: Path
) -> None:
    folder, make = tmp_path / "shortlist", f"heed shortlist --model {tmp_path}$"
    with pytest.raises(CheckpointError, match=f"has no shortlist yet; .*{make}"):
        Shortlist.load(folder, store.tokenizer)
    shortlist.save(folder, store.tokenizer)
    other = Tokenizer.learn(["quite another text"] * 9, 300)
    with pytest.raises(CheckpointError, match=f"another vocabulary.*{make}"):
        Shortlist.load(folder, other)
    file = folder / "shortlist.safetensors"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    with pytest.raises(DamageError, match=f"damaged.*{make}"):
        Shortlist.load(folder, store.tokenizer)
    file.unlink()
    with pytest.raises(DamageError, match=make):
        Shortlist.load(folder, store.tokenizer)
