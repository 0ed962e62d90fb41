"""Compare search with exhaustive enumeration and hand-written loops, using a step function without a model."""

import math
import time
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from heed.decode.beam import beam_search
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelStep, TensorScores
from heed.decode.penalty import length_penalty
from heed.decode.prefix import ForcedPrefix
from heed.decode.sampling import sample
from heed.decode.search import Task, Trace
from heed.errors import DecodeError
from heed.options import Sampling
from tests.conftest import shapes_checked
from tests.decode.chain import END, START, Chain

SEEDS = range(12)


def task(limits, **more):
    return Task(limits, START, END, **more)


def test_length_penalty_is_the_papers():
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(25, 0.0) == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wide_beam_finds_the_best_of_all_sequences(seed):
    chain = Chain(vocabulary=5, seed=seed)
    found = beam_search(chain, chain.start(3), task([5, 4, 5], alpha=0.6), beam=60, n_best=3)
    for sentence, limit in enumerate([5, 4, 5]):
        best = chain.everything(sentence, limit, 0.6)[:3]
        assert [one.ids for one in found[sentence]] == [ids for _, ids in best]
        assert [one.score for one in found[sentence]] == pytest.approx([score for score, _ in best])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_beam_one_is_greedy(seed, alpha):
    chain = Chain(seed=seed)
    limits = [9, 3, 20, 1]
    beam = beam_search(chain, chain.start(4), task(limits, alpha=alpha), beam=1)
    greedy = greedy_search(chain, chain.start(4), task(limits, alpha=alpha))
    assert [[one.ids for one in several] for several in beam] == [[one.ids for one in several] for several in greedy]
    for ours, theirs in zip(beam, greedy, strict=True):
        assert ours[0].score == pytest.approx(theirs[0].score)
        assert ours[0].finished == theirs[0].finished


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_takes_the_most_probable_token(seed):
    chain = Chain(seed=seed)
    ((found,),) = greedy_search(chain, chain.start(1), task([8]))
    ids = []
    while len(ids) < 8:
        logprobs = chain.logprobs(0, tuple(ids))
        ids.append(logprobs.index(max(logprobs)))
        if ids[-1] == END:
            break
    assert found.finished == (ids[-1] == END)
    assert found.ids == [i for i in ids if i != END]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("beam", [2, 3, 5])
def test_score_is_forced_decoding_score(seed, beam):
    chain = Chain(seed=seed, vocabulary=7)
    for several in beam_search(chain, chain.start(1), task([12], alpha=0.6), beam=beam, n_best=beam):
        for one in several:
            log_probability = chain.log_probability(0, one.ids, one.finished)
            assert one.log_probability == pytest.approx(log_probability)
            length = len(one.ids) + one.finished
            assert one.score == pytest.approx(log_probability / ((5 + length) / 6) ** 0.6)
        scores = [one.score for one in several]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.ids) for one in several}) == len(several)


@pytest.mark.parametrize("seed", SEEDS)
def test_batch_mates_never_change_a_result(seed):
    chain = Chain(seed=seed, vocabulary=6)
    limits = [4, 12, 7, 1, 9]
    together = beam_search(chain, chain.start(5), task(limits, alpha=0.6), beam=3, n_best=2)
    for sentence, limit in enumerate(limits):
        state = chain.start(5).select(np.array([sentence]), np.zeros((1, 1), dtype=int))
        (alone,) = beam_search(chain, state, task([limit], alpha=0.6), beam=3, n_best=2)
        assert [one.ids for one in alone] == [one.ids for one in together[sentence]]
        assert [one.score for one in alone] == pytest.approx([one.score for one in together[sentence]])


def test_finished_sentences_leave_the_batch():
    chain = Chain(seed=4, sharpness=4.0)
    beam_search(chain, chain.start(6), task([2, 4, 6, 8, 10, 12], alpha=0.6), beam=2)
    sentences = [size[0] for size in chain.sizes]
    assert sentences[0] == 6
    assert sentences[-1] < 6
    assert sentences == sorted(sentences, reverse=True)


def test_early_stop_loses_nothing():
    """Stopping when no live hypothesis can win gives the same best hypothesis as searching up to the limit."""
    for seed in range(40):
        chain = Chain(seed=seed, vocabulary=4)
        ((found,),) = beam_search(chain, chain.start(1), task([6], alpha=0.6), beam=40, n_best=1)
        score, ids = chain.everything(0, 6, 0.6)[0]
        assert (found.ids, found.score) == (ids, pytest.approx(score))


def test_the_limit_ends_sequences_that_do_not_end_themselves():
    def never_ends(ids_BW, state):
        logprobs = torch.full((*ids_BW.shape, 4), math.log(0.5))
        logprobs[..., :2] = -math.inf
        return TensorScores(logprobs), state

    chain = Chain()
    for found in (
        beam_search(never_ends, chain.start(2), task([3, 5]), beam=2),
        greedy_search(never_ends, chain.start(2), task([3, 5])),
        sample(never_ends, chain.start(2), task([3, 5]), Sampling()),
    ):
        assert [len(several[0].ids) for several in found] == [3, 5]
        assert not any(several[0].finished for several in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_forced_prefix_is_kept_and_counted(seed):
    chain = Chain(seed=seed)
    prefixes = [[3, 4, 2], [], [4]]
    forced = task([10, 10, 10], alpha=0.6, constraint=ForcedPrefix(prefixes))
    free = beam_search(chain, chain.start(3), task([10, 10, 10], alpha=0.6), beam=3)
    for found in (
        beam_search(chain, chain.start(3), forced, beam=3),
        greedy_search(chain, chain.start(3), forced),
        sample(chain, chain.start(3), forced, Sampling()),
    ):
        for sentence, (several, prefix) in enumerate(zip(found, prefixes, strict=True)):
            assert several[0].ids[: len(prefix)] == prefix
            expected = chain.log_probability(sentence, several[0].ids, several[0].finished)
            assert several[0].log_probability == pytest.approx(expected)
    assert beam_search(chain, chain.start(3), forced, beam=3)[1][0].ids == free[1][0].ids


@dataclass
class TensorChainState:
    inner: object

    def select(self, sentences_B, parents_BW):
        return TensorChainState(self.inner.select(sentences_B.numpy(), parents_BW.numpy()))


class Model:
    """A chain with the interface of a PyTorch model."""

    def __init__(self, chain):
        self.chain = chain

    def start(self, src_BS):
        return TensorChainState(self.chain.start(len(src_BS)))

    def step(self, ids_BW, state):
        scores, inner = self.chain(ids_BW.numpy(), state.inner)
        return scores.logits_BWV, TensorChainState(inner)


def model_step(*chains):
    return ModelStep([Model(chain) for chain in chains], torch.device("cpu"))


def test_ensemble_is_the_mean_of_probabilities():
    chains = [Chain(seed=1), Chain(seed=2), Chain(seed=3)]
    step = model_step(*chains)
    scores, _ = step(np.zeros((2, 1), dtype=int), step.start(torch.zeros(2, 1)))
    logprobs = scores.logprobs()
    for sentence in range(2):
        for token in range(1, 5):
            mean = sum(math.exp(chain.logprobs(sentence, ())[token]) for chain in chains) / 3
            assert logprobs[sentence, 0, token] == pytest.approx(math.log(mean))
    assert logprobs[0, 0, START] == -math.inf


def test_an_ensemble_of_one_model_twice_is_that_model():
    chain = Chain(seed=5)
    single = beam_search(chain, chain.start(2), task([8, 8], alpha=0.6), beam=3)
    for step in (model_step(chain), model_step(chain, chain)):
        found = beam_search(step, step.start(torch.zeros(2, 1)), task([8, 8], alpha=0.6), beam=3)
        assert [several[0].ids for several in single] == [several[0].ids for several in found]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_token_has_its_log_probability(seed):
    chain = Chain(seed=seed, vocabulary=7)
    for search in (
        lambda: beam_search(chain, chain.start(2), task([9, 2], alpha=0.6), beam=4, n_best=3),
        lambda: greedy_search(chain, chain.start(2), task([9, 2])),
        lambda: sample(chain, chain.start(2), task([9, 2]), Sampling(), n_samples=3),
    ):
        for sentence, several in enumerate(search()):
            for one in several:
                tokens = [*one.ids, END] if one.finished else one.ids
                expected = [chain.logprobs(sentence, tuple(one.ids[:t]))[token] for t, token in enumerate(tokens)]
                assert one.log_probabilities == pytest.approx(expected, abs=1e-5)


class Brackets:
    """Token 2 opens a bracket, 3 closes one, 4 is a word. Each bracket holds a word, and all are closed at the end."""

    def start(self, sentence):
        return ()

    def allowed(self, state):
        if not state:
            return np.array([2])
        if state == ("done",):
            return np.array([END])
        return np.array([2, 3, 4] if state[-1] else [2, 4])

    def advance(self, state, token):
        if token == 2:
            return (*state, False)
        if token == 4:
            return (*state[:-1], True)
        return ("done",) if len(state) == 1 else (*state[:-2], True)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_constraint_with_a_state_holds_in_every_kind_of_search(seed):
    chain = Chain(seed=seed, vocabulary=6, sharpness=1.0)
    free = task([14, 11], alpha=0.6)
    bound = task([14, 11], alpha=0.6, constraint=Brackets())
    found = [
        *beam_search(chain, chain.start(2), bound, beam=4, n_best=4),
        *greedy_search(chain, chain.start(2), bound),
        *sample(chain, chain.start(2), bound, Sampling(seed=seed), n_samples=5),
    ]
    n_finished = 0
    for several in found:
        for one in several:
            state = ()
            for token in one.ids:
                assert token in Brackets().allowed(state)
                state = Brackets().advance(state, token)
            assert not one.finished or state == ("done",)
            n_finished += one.finished
    assert n_finished
    broken = [one for several in beam_search(chain, chain.start(2), free, beam=4, n_best=4) for one in several]
    assert any(one.ids[:1] != [2] for one in broken)  # without the constraint, brackets do not match


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trace_has_the_candidates_of_each_step_and_their_fates(seed):
    chain, beam = Chain(seed=seed, vocabulary=7), 3
    traces = [Trace(), Trace()]
    traced = task([9, 5], alpha=0.6, traces=traces)
    found = beam_search(chain, chain.start(2), traced, beam, n_best=beam)
    untraced = beam_search(chain, chain.start(2), task([9, 5], alpha=0.6), beam, n_best=beam)
    assert found == untraced
    for sentence, trace in enumerate(traces):
        live, finished = [()], []
        for candidates in trace.steps:
            kept = []
            for one in candidates:
                history = (*live[one.parent], one.token) if one.token != END else live[one.parent]
                is_end = one.token == END
                expected = chain.log_probability(sentence, list(history), finished=is_end)
                assert one.log_probability == pytest.approx(expected, abs=1e-5)
                length = len(history) + is_end
                assert one.score == pytest.approx(expected / ((5 + length) / 6) ** 0.6, abs=1e-5)
                if one.fate == "kept":
                    kept.append(history)
                elif one.fate == "finished":
                    finished.append(list(history))
                else:
                    assert one.fate.startswith(("pruned", "ended, but"))
            totals = [one.log_probability for one in candidates]
            assert totals == sorted(totals, reverse=True) and len(candidates) <= 2 * beam
            live = kept
        assert {tuple(one.ids) for one in found[sentence] if one.finished} <= set(map(tuple, finished))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"is_cancelled": lambda: True}, "the search was cancelled"),
        ({"deadline": time.monotonic() - 1}, "the search did not finish before its deadline"),
    ],
)
def test_a_search_can_be_cancelled_or_run_out_of_time(more, message):
    chain = Chain()
    for search in (
        lambda: beam_search(chain, chain.start(2), task([9, 9], **more), beam=3),
        lambda: greedy_search(chain, chain.start(2), task([9, 9], **more)),
        lambda: sample(chain, chain.start(2), task([9, 9], **more), Sampling()),
    ):
        with pytest.raises(DecodeError, match=message):
            search()


def frequencies(sampling, n=4000):
    chain = Chain(seed=7, sharpness=1.0)
    drawn = sample(chain, chain.start(1), task([1]), sampling, n_samples=n)[0]
    counts = [0] * 5
    for one in drawn:
        counts[one.ids[0] if one.ids else END] += 1
    return [count / n for count in counts], [math.exp(p) for p in chain.logprobs(0, ())]


def test_samples_follow_the_distribution():
    found, expected = frequencies(Sampling(seed=3))
    assert found == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 4000))


def test_temperature_sharpens():
    found, expected = frequencies(Sampling(temperature=0.5, seed=3))
    squared = [p**2 / sum(q**2 for q in expected) for p in expected]
    assert found == pytest.approx(squared, abs=4 * math.sqrt(0.25 / 4000))


def test_top_k_and_top_p_leave_only_the_most_probable():
    _, probabilities = frequencies(Sampling())
    order = sorted(range(5), key=lambda i: -probabilities[i])
    found, _ = frequencies(Sampling(top_k=2))
    assert all(found[i] > 0 for i in order[:2]) and all(found[i] == 0 for i in order[2:])
    share = probabilities[order[0]] + 1e-6  # the first alone is not enough, so two stay
    found, _ = frequencies(Sampling(top_p=share))
    assert all(found[i] > 0 for i in order[:2]) and all(found[i] == 0 for i in order[2:])
    found, _ = frequencies(Sampling(top_p=1e-9))
    assert found[order[0]] == 1.0


def test_samples_depend_on_seed_and_number_only():
    chain = Chain(seed=7)
    together = sample(chain, chain.start(4), task([9] * 4), Sampling(seed=5), n_samples=3, numbers=[10, 11, 12, 13])
    state = chain.start(4).select(np.array([2]), np.zeros((1, 1), dtype=int))
    alone = sample(chain, state, task([9]), Sampling(seed=5), n_samples=3, numbers=[12])
    assert [one.ids for one in together[2]] == [one.ids for one in alone[0]]
    other = sample(chain, chain.start(4), task([9] * 4), Sampling(seed=6), n_samples=3, numbers=[10, 11, 12, 13])
    assert [[o.ids for o in several] for several in other] != [[o.ids for o in several] for several in together]


def test_samples_have_the_models_log_probability_at_any_temperature():
    chain = Chain(seed=7)
    for one in sample(chain, chain.start(1), task([9]), Sampling(temperature=3.0), n_samples=20)[0]:
        assert one.log_probability == pytest.approx(chain.log_probability(0, one.ids, one.finished), abs=1e-4)


def test_top_p_of_one_half_and_two_tokens_of_one_half_each():
    """The first alone is exactly enough."""

    def halves(ids_BW, state):
        logprobs = torch.full((*ids_BW.shape, 4), -math.inf, dtype=torch.float64)
        logprobs[..., 2:] = math.log(0.5)
        return TensorScores(logprobs), state

    drawn = {
        share: {one.ids[0] for one in sample(halves, Chain().start(1), task([1]), Sampling(top_p=share), 200)[0]}
        for share in (0.5, 0.51)
    }
    assert len(drawn[0.5]) == 1
    assert drawn[0.51] == {2, 3}


@pytest.mark.parametrize("temperature", [0.001, 1000.0])
def test_sampling_at_the_extremes(temperature):
    found, expected = frequencies(Sampling(temperature=temperature, seed=3))
    if temperature < 1:
        assert found[expected.index(max(expected))] == 1.0
    else:
        assert found[1:] == pytest.approx([1 / 4] * 4, abs=4 * math.sqrt(0.25 / 4000))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0}, "temperature must be from 0.001 to 1,000, not 0"),
        ({"temperature": 1e-300}, "temperature must be from 0.001 to 1,000, not 1e-300"),
        ({"temperature": math.nan}, "temperature must be from 0.001 to 1,000, not nan"),
        ({"temperature": math.inf}, "temperature must be from 0.001 to 1,000, not inf"),
        ({"top_k": -1}, "top_k must be at least 1, or 0 for all, not -1"),
        ({"top_p": 0}, "top_p must be above 0 and at most 1, not 0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1, not 1.5"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
    ],
)
def test_sampling_values_out_of_range_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**wrong)


def test_beam_values_out_of_range_are_refused():
    chain = Chain()
    with pytest.raises(ValueError, match="n_best = 3"):
        beam_search(chain, chain.start(1), task([3]), beam=2, n_best=3)
    with pytest.raises(ValueError, match="alpha = -1"):
        beam_search(chain, chain.start(1), task([3], alpha=-1.0), beam=2)


def test_shapes_match_the_names():
    chain = Chain(vocabulary=11)
    with shapes_checked("heed.decode", shrinking=("beam_search", "greedy_search", "sample")) as seen:
        constraint = ForcedPrefix([[], [3]])
        beam_search(chain, chain.start(2), task([5, 4], constraint=constraint), beam=3)
        greedy_search(chain, chain.start(2), task([5, 4]))
        sample(chain, chain.start(2), task([5, 4]), Sampling(), n_samples=4)
    assert {"beam_search", "greedy_search", "sample", "best_continuations", "_draw"} <= seen
