"""What C gets pointers to: sizes are checked first; and the state of a search stays valid."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from heed.config import ModelConfig
from heed.kernels.library import library
from heed.kernels.matrix import Precision
from heed.native.model import NativeModel, sinusoids
from heed.native.state import Buffers, KeysValues, SearchState, Source
from heed.native.weights import Weights
from heed.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")

CONFIG = ModelConfig(encoder_layers=1, decoder_layers=2, d_model=20, d_ff=33, h=3, d_k=7, d_v=19, max_length=30)


def random_model(
    config: ModelConfig = CONFIG, precision: Precision = "float32", vocabulary: Vocabulary | None = None
) -> NativeModel:
    weights = Weights(config, vocabulary or Vocabulary(37), precision)
    random = np.random.default_rng(0)
    for place in weights._places.values():
        array = random.normal(0, 0.3, place.shape).astype(np.float32)
        for put in place.put:
            put(array)
    return NativeModel(weights)


@pytest.fixture(scope="module")
def model() -> NativeModel:
    return random_model()


def stepped(model: NativeModel) -> SearchState:
    state = model.start([[3, 4, 1], [5, 6, 7, 8, 1]])
    for token in (0, 9, 12):
        _, state = model.step(np.array([[token], [token + 1]]), state)
    return state


def cut(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array[..., :-1])


def changed(change_k=lambda k: k, change_v=lambda v: v):
    """Return a function that changes the keys and values of the last layer."""
    return lambda slots: KeysValues(
        [*slots.layers[:-1], (change_k(slots.layers[-1][0]), change_v(slots.layers[-1][1]))]
    )


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(changed(change_k=cut), id="narrower keys"),
        pytest.param(changed(change_v=cut), id="narrower values"),
        pytest.param(lambda slots: KeysValues(slots.layers[:1]), id="fewer layers"),
        pytest.param(changed(lambda k: k[:1].copy(), lambda v: v[:1].copy()), id="fewer sentences"),
        pytest.param(changed(change_v=lambda v: v[:, :4].copy()), id="fewer slots of values"),
        pytest.param(changed(change_k=lambda k: np.zeros(k.shape)), id="64 bits"),
        pytest.param(changed(change_k=np.asfortranarray), id="another order in memory"),
    ],
)
@pytest.mark.parametrize("side", ["target", "source"])
def test_a_wrong_kv_cache_is_refused(model, damage, side):
    state = stepped(model)
    if side == "target":
        state = replace(state, buffers=Buffers(damage(state.buffers.slots), state.n_slots))
    else:
        state = replace(state, source=Source(damage(state.source.slots), state.source.mask_B1S))
    with pytest.raises(ValueError, match="the KV cache is .* this model needs|the input is"):
        model.step(np.array([[3], [3]]), state)


def test_a_wrong_mask_is_refused(model):
    state = stepped(model)
    for mask in (np.zeros((2, 1, 4), np.float32), np.zeros((2, 1, 5)), np.zeros((1, 1, 5), np.float32)):
        with pytest.raises(ValueError, match="a mask is"):
            model.step(np.array([[3], [3]]), replace(state, source=Source(state.source.slots, mask)))


def test_other_sentences_than_the_states_are_refused(model):
    with pytest.raises(ValueError, match="the KV cache is"):
        model.step(np.array([[3], [3], [3]]), stepped(model))


@pytest.mark.parametrize("sources", [[], [[]], [[3, 1], []], [[37, 1]], [[-1, 1]]])
def test_sources_that_are_not_sentences_are_refused(model, sources):
    with pytest.raises(ValueError, match="at least one token each, from 0 to 36"):
        model.start(sources)


def test_more_positions_than_were_learned_are_refused():
    model = random_model(replace(CONFIG, positions="learned"))
    assert model.target_limit == 31
    model.start([[3] * 31])
    with pytest.raises(ValueError, match="a sentence of 32 positions for a model with 31 learned positions"):
        model.start([[3] * 32])


def test_stepping_twice_from_one_state_gives_the_same_twice(model):
    state, ids = stepped(model), np.array([[7], [8]])
    first, after = model.step(ids, state)
    other, _ = model.step(np.array([[11], [12]]), state)
    again, _ = model.step(ids, state)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    follow, _ = model.step(ids, after)
    np.testing.assert_array_equal(model.step(ids, after)[0], follow)


def test_stepping_twice_where_the_kv_cache_has_to_grow(model):
    state, ids = model.start([[3, 4, 1], [5, 6, 7, 8, 1]]), np.array([[7], [8]])
    for _ in range(state.buffers.slots.n_slots):
        _, state = model.step(ids, state)
    first, _ = model.step(ids, state)
    assert state.buffers.slots.n_slots > state.n_slots
    np.testing.assert_array_equal(model.step(ids, state)[0], first)


@pytest.mark.parametrize("sentences", [[1], [0, 1]], ids=["a sentence leaves", "the KV cache is full"])
def test_a_state_whose_kv_cache_was_moved_is_refused(model, sentences):
    state, ids = model.start([[3, 4, 1], [5, 6, 7, 8, 1]]), np.array([[7], [8]])
    while state.n_slots + 2 <= state.buffers.slots.n_slots:
        _, state = model.step(ids, state)
    parents = np.zeros((len(sentences), 2), np.int64)
    moved = state.select(np.array(sentences), parents)
    model.step(np.full_like(parents, 7), moved)
    with pytest.raises(ValueError, match="cannot be used after `select`"):
        model.step(ids, state)


@pytest.mark.parametrize("change", ["move", "enlarge"])
def test_the_kv_cache_is_never_in_memory_twice(change):
    all_BM = np.broadcast_to(np.arange(64), (16, 64))
    tracemalloc.start()
    try:
        slots = KeysValues.empty(8, 16, 64, 256, 256)
        before = tracemalloc.get_traced_memory()[0]
        slots = slots.move(np.arange(16), all_BM, 64) if change == "move" else slots.enlarge(64, 64)
        assert tracemalloc.get_traced_memory()[1] - before < 1.5 * before / 16  # one of the 16 arrays
    finally:
        tracemalloc.stop()


def test_hypotheses_see_their_own_past_and_sentences_may_leave(model):
    """Compare branching hypotheses with each sequence decoded by itself."""
    random, sources = np.random.default_rng(1), [[3, 4, 1], [5, 6, 7, 8, 1], [9, 1]]
    state, pasts, kept = model.start(sources), [[[]] for _ in sources], [0, 1, 2]
    ids = np.zeros((3, 1), np.int64)
    for step in range(40):
        logits, state = model.step(ids, state)
        pasts = [
            [[*past, token] for past, token in zip(own, tokens, strict=True)]
            for own, tokens in zip(pasts, ids.tolist(), strict=True)
        ]
        if step % 9 == 0:
            for b, own in enumerate(pasts):
                for w, past in enumerate(own):
                    alone = model.start([sources[kept[b]]])
                    for token in past:
                        expected, alone = model.step(np.array([[token]]), alone)
                    np.testing.assert_allclose(logits[b, w], expected[0, 0], atol=1e-4)
        rows = np.array([0, 2]) if step == 20 else np.arange(len(kept))
        parents = random.integers(0, ids.shape[1], (len(rows), 4))
        state = state.select(rows, parents)
        kept = [kept[row] for row in rows]
        pasts = [[pasts[row][parent] for parent in own] for row, own in zip(rows, parents.tolist(), strict=True)]
        ids = random.integers(3, 37, (len(rows), 4))


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("width", [1, 4])
def test_threads_that_share_the_products_do_not_change_a_bit(precision, width):
    config = ModelConfig(encoder_layers=1, decoder_layers=2, d_model=128, d_ff=1500, h=2)
    model, found = random_model(config, precision, Vocabulary(6000)), []
    for n_threads in (1, 2, 3, 7):
        state, ids = model.start([[3, 4, 5, 6, 7, 8, 9, 1]], n_threads=n_threads), np.array([[0]])
        encoded = [array for layer in state.source.slots.layers for array in layer]
        steps = []
        for step in range(5):
            logits, state = model.step(ids, state, n_threads=n_threads)
            steps.append(logits)
            ids = np.arange(100 * step, 100 * step + width)[None]
            state = state.select(np.array([0]), np.arange(width)[None] % logits.shape[1])
        found.append([*encoded, *steps])
    for other in found[1:]:
        for array, expected in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(array, expected)


def test_a_table_that_another_thread_replaces_meanwhile(monkeypatch):
    model, lengths = random_model(), []

    def interrupted(n_positions: int, d_model: int) -> np.ndarray:
        lengths.append(n_positions)
        table = sinusoids(n_positions, d_model)
        if len(lengths) == 1:  # a thread with a shorter sentence is slower, and comes last
            type(model).__setattr__ = keeping_the_shorter
        return table

    def keeping_the_shorter(self, name, value):
        object.__setattr__(self, name, sinusoids(64, 20) if name == "_positions_LD" else value)

    monkeypatch.setattr("heed.native.model.sinusoids", interrupted)
    try:
        model.start([[3] * 100])
    finally:
        del type(model).__setattr__
    assert lengths == [200]


def test_positions_are_those_of_the_paper():
    table = sinusoids(50, 6)
    for position in (0, 1, 7, 49):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert table[position, 2 * i] == pytest.approx(np.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1] == pytest.approx(np.cos(angle), abs=1e-6)
