"""Compare search for sequences that contain given phrases with exhaustive enumeration."""

import itertools
import random

import numpy as np
import pytest

from heed.decode.banks import _highest
from heed.decode.beam import beam_search
from heed.decode.greedy import greedy_search
from heed.decode.required import Boundaries, RequiredPhrases
from heed.decode.search import Constraint, Requirement, Task
from tests.decode.chain import END, START, Chain

SEEDS = range(12)


def required(phrases, limits, n_tokens, boundaries=None, **more):
    constraint = RequiredPhrases([[[p] for p in several] for several in phrases], limits, END, n_tokens, boundaries)
    return Task(limits, START, END, constraint=constraint, **more)


def contains(ids, phrases):
    """Return whether all phrases are in the sequence without overlap: try every place of the first, then the rest."""
    if not phrases:
        return True
    first, n = list(phrases[0]), len(phrases[0])
    places = [at for at in range(len(ids) - n + 1) if ids[at : at + n] == first]
    return any(contains([*ids[:at], None, *ids[at + n :]], phrases[1:]) for at in places)


@pytest.mark.parametrize(
    "phrases",
    [
        [[2]],
        [[2, 3]],
        [[3, 3]],
        [[2], [3]],
        [[4], [4]],
        [[2, 3, 2]],
        [[2, 2, 3]],
        [[3], [2, 4]],
        [[2], [2, 3]],  # one begins the other
        [[4, 3, 4, 3]],  # fills the whole sequence
    ],
    ids=str,
)
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_wide_beam_finds_the_best_sequence_that_contains_the_phrases(phrases, alpha):
    limits = [5, 5]
    for seed in range(3):
        chain = Chain(vocabulary=5, seed=seed)
        found = beam_search(chain, chain.start(2), required([phrases, []], limits, 5, alpha=alpha), beam=250, n_best=2)
        for sentence, several in enumerate([phrases, []]):
            best = [one for one in chain.everything(sentence, 5, alpha) if contains(one[1], several)][:2]
            assert [one.ids for one in found[sentence]][: len(best)] == [ids for _, ids in best]
            assert [one.score for one in found[sentence]][: len(best)] == pytest.approx([score for score, _ in best])


@pytest.mark.parametrize("beam", [1, 2, 3, 8])
def test_every_hypothesis_contains_the_phrases_however_narrow_the_beam(beam):
    draw = random.Random(beam)
    for seed in range(30):
        chain = Chain(vocabulary=7, seed=seed, sharpness=4.0)
        phrases = [
            [[draw.randrange(2, 7) for _ in range(draw.randint(1, 4))] for _ in range(draw.randint(0, 3))]
            for _ in range(4)
        ]
        limits = [sum(map(len, several)) + 1 + draw.randint(0, 6) for several in phrases]
        task = required(phrases, limits, 7, alpha=0.6)
        for found in (
            beam_search(chain, chain.start(4), task, beam, n_best=beam),
            greedy_search(chain, chain.start(4), task),
        ):
            for several, limit, hypotheses in zip(phrases, limits, found, strict=True):
                assert hypotheses
                for one in hypotheses:
                    assert contains(one.ids, several)
                    assert len(one.ids) + one.finished <= limit


@pytest.mark.parametrize("seed", SEEDS)
def test_batch_mates_never_change_a_result(seed):
    chain = Chain(seed=seed, vocabulary=6)
    phrases, limits = [[[2, 3]], [[4], [5, 5]], [], [[3]]], [8, 12, 7, 3]
    together = beam_search(chain, chain.start(4), required(phrases, limits, 6, alpha=0.6), beam=6, n_best=2)
    for sentence in range(4):
        state = chain.start(4).select(np.array([sentence]), np.zeros((1, 1), dtype=int))
        alone_task = required([phrases[sentence]], [limits[sentence]], 6, alpha=0.6)
        (alone,) = beam_search(chain, state, alone_task, beam=6, n_best=2)
        assert [one.ids for one in alone] == [one.ids for one in together[sentence]]


def test_scores_are_those_of_forced_decoding():
    chain = Chain(seed=3, vocabulary=7)
    ((first, *rest),) = beam_search(chain, chain.start(1), required([[[2, 5]]], [12], 7, alpha=0.6), beam=5, n_best=5)
    for one in (first, *rest):
        assert one.log_probability == pytest.approx(chain.log_probability(0, one.ids, one.finished), abs=1e-5)


def test_banks_beat_a_beam_that_forces_only_at_the_limit():
    """Without banks, no hypothesis begins an improbable phrase before it must."""

    class Unbanked:
        def __init__(self, inner):
            self.start, self.allowed, self.advance = inner.start, inner.allowed, inner.advance

    better = worse = 0
    for seed in range(40):
        chain = Chain(vocabulary=8, seed=seed, sharpness=3.0)
        banked = required([[[3, 6, 2]]], [14], 8, alpha=0.6)
        unbanked = Task([14], START, END, alpha=0.6, constraint=Unbanked(banked.constraint))
        ((ours,),) = beam_search(chain, chain.start(1), banked, beam=8)
        ((theirs,),) = beam_search(chain, chain.start(1), unbanked, beam=8)
        better += ours.score > theirs.score + 1e-6
        worse += ours.score < theirs.score - 1e-6
    assert better >= 10
    assert better > 5 * worse


@pytest.mark.parametrize("n", [1, 3, 16])
@pytest.mark.parametrize("size", [1, 7, 40, 512, 1000])
def test_the_highest_totals_are_those_of_a_sort(n, size):
    draw = np.random.default_rng(size)
    totals = draw.permutation(size).astype(float)
    totals[draw.random(size) < 0.3] = -np.inf
    expected = [i for i in np.argsort(-totals)[:n].tolist() if totals[i] > -np.inf]
    assert sorted(_highest(totals, n).tolist()) == sorted(expected)
    assert len(_highest(np.full(size, -np.inf), n)) == 0
    assert len(_highest(np.zeros(size), n)) == min(n, size)


# --- the constraint by itself -----------------------------------------------------------------------------

# Tokens: 0 start, 1 end, 2 "▁a", 3 "b", 4 "▁c", 5 ".", 6 "▁", 7 "x"
PIECES = ["<pad>", "</s>", "▁a", "b", "▁c", ".", "▁", "x"]
A, B, C, STOP, SPACE, X = range(2, 8)


def is_met(phrases, ids, limit=50):
    constraint = RequiredPhrases([[[phrase] for phrase in phrases]], [limit], END, len(PIECES), Boundaries.of(PIECES))
    state = constraint.start(0)
    for token in ids:
        state = constraint.advance(state, token)
    allowed = constraint.allowed(state)
    return allowed is None or END in allowed


def test_boundaries_are_those_of_the_pieces():
    found = Boundaries.of(PIECES)
    assert found.begins_word == {A, C, SPACE}
    assert found.is_closing == {STOP}


@pytest.mark.parametrize(
    ("phrases", "ids", "expected"),
    [
        ([[A, B]], [A, B], True),
        ([[A, B]], [A], False),
        ([[A, B]], [A, B, C], True),
        ([[A, B]], [A, B, X], False),  # "abx" is another word
        ([[A, B]], [A, B, X, A, B], True),
        ([[A, B]], [A, B, STOP], True),
        ([[A, B]], [A, B, STOP, STOP, C], True),
        ([[A, B]], [A, B, STOP, X], False),  # as "3.5" is not "3"
        ([[A, B]], [A, A, B], True),
        ([[A, B], [A, B]], [A, B, A, B], True),
        ([[A, B], [A, B]], [A, B, C], False),
        ([[A], [A, C]], [A, C], False),
        ([[A], [A, C]], [A, C, A], True),
        ([[A], [A, C]], [A, A, C], True),
        ([[A, C, B], [A]], [A, C, X], False),  # "a" is met, "a cb" is not
        ([[A, C, A, C, X]], [A, C, A, C, A, C, X], True),  # begins again inside itself
        ([], [X], True),
    ],
)
def test_a_phrase_counts_only_as_whole_words(phrases, ids, expected):
    assert is_met(phrases, ids) is expected


def test_what_is_wanted_continues_a_phrase_or_begins_one():
    constraint = RequiredPhrases([[[[A, B]], [[C]]]], [50], END, len(PIECES), Boundaries.of(PIECES))
    state = constraint.start(0)
    steps = []
    for token in (A, B, STOP, C, A):
        steps.append((constraint.wanted(state).tolist(), constraint.n_needed(state)))
        state = constraint.advance(state, token)
    assert steps == [([A, C], 3), ([B], 2), ([C], 1), ([C], 1), ([], 0)]
    assert constraint.n_needed(state) == 0


def test_a_term_that_is_not_continued_is_taken_back():
    constraint = RequiredPhrases([[[[A, B, C]]]], [50], END, len(PIECES), Boundaries.of(PIECES))
    state = constraint.start(0)
    for token, needed in [(A, 2), (B, 1), (X, 3), (A, 2), (A, 2), (B, 1), (C, 0)]:
        state = constraint.advance(state, token)
        assert constraint.n_needed(state) == needed


def test_near_the_limit_every_path_leads_to_the_phrases():
    """Follow every token that is allowed, from the start to the limit."""
    phrases = [[A, B], [C]]
    for limit in (4, 5, 6):
        constraint = RequiredPhrases(
            [[[phrase] for phrase in phrases]], [limit], END, len(PIECES), Boundaries.of(PIECES)
        )
        paths, n_finished = [((), constraint.start(0))], 0
        for _ in range(limit):
            further = []
            for ids, state in paths:
                allowed = constraint.allowed(state)
                tokens = range(1, len(PIECES)) if allowed is None else allowed.tolist()
                for token in (token for token in tokens if token != START):
                    if token == END:
                        assert is_met(phrases, ids)
                        n_finished += 1
                    else:
                        further.append(((*ids, token), constraint.advance(state, token)))
            paths = further
        assert all(is_met(phrases, ids) for ids, _ in paths)
        # Two words that touch nothing else, in either order: with a limit of 4 nothing else fits.
        assert limit > 4 or n_finished == 2
        assert n_finished


@pytest.mark.parametrize("beam", [1, 2, 8])
def test_the_phrases_of_a_chain_come_in_their_order(beam):
    """Whatever the scores; another chain comes anywhere."""
    for seed in range(20):
        chain = Chain(vocabulary=7, seed=seed, sharpness=4.0)
        constraint = RequiredPhrases([[[[2, 3], [4], [2]], [[5, 6]]]], [9], END, 7)
        ((found,),) = beam_search(chain, chain.start(1), Task([9], START, END, constraint=constraint), beam)
        assert any(
            found.ids[i : i + 2] == [2, 3] and 4 in found.ids[i + 2 : j] and found.ids[j] == 2
            for i, j in itertools.combinations(range(len(found.ids)), 2)
        )
        assert contains(found.ids, [[2, 3], [4], [2], [5, 6]])


@pytest.mark.parametrize("beam", [1, 2, 8])
def test_a_barred_token_comes_only_in_a_phrase(beam):
    for seed in range(20):
        chain = Chain(vocabulary=7, seed=seed, sharpness=4.0)
        for phrases in ([], [[3, 4, 3]], [[4, 2], [3]]):
            chains = [[[phrase] for phrase in phrases]]
            constraint = RequiredPhrases(chains, [12], END, 7, barred=[[3, 4]])
            ((found,),) = beam_search(chain, chain.start(1), Task([12], START, END, constraint=constraint), beam)
            assert contains(found.ids, phrases)
            for token in (3, 4):
                assert found.ids.count(token) == sum(phrase.count(token) for phrase in phrases)


def test_a_limit_that_is_too_low_gives_as_much_as_fits():
    chain = Chain(seed=1, vocabulary=7)
    ((found,),) = beam_search(chain, chain.start(1), required([[[2, 3, 4, 5]]], [3], 7), beam=4)
    assert found.ids == [2, 3, 4]
    assert not found.finished


def test_it_is_a_requirement_and_other_constraints_are_not():
    from heed.decode.prefix import ForcedPrefix

    constraint: Constraint = RequiredPhrases([[]], [3], END, 5)
    assert isinstance(constraint, Requirement)
    assert not isinstance(ForcedPrefix([[]]), Requirement)
    with pytest.raises(ValueError, match="at least one token"):
        RequiredPhrases([[[[]]]], [3], END, 5)


def test_the_exhaustive_check_itself():
    assert contains([2, 3, 2], [[2], [3, 2]])
    assert not contains([2, 3], [[2, 3], [3]])
    assert sum(contains(list(ids), [[2]]) for ids in itertools.product([2, 3], repeat=2)) == 3
