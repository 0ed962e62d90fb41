import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from heed.data.batching import BatchPlan, cut_by_budget

LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=200)


def plan_of(pairs: list[tuple[int, int]], batch_tokens: int, seed: int = 1, max_length: int = 99) -> BatchPlan:
    source, target = np.array(pairs, dtype=np.int32).T
    return BatchPlan(source, target, batch_tokens, seed, max_length)


def corpus(n: int = 500) -> NDArray[np.int64]:
    random = np.random.default_rng(11)
    source = random.integers(2, 40, n)
    return np.stack([source, np.maximum(2, source + random.integers(-3, 4, n))])


def epoch_of(plan: BatchPlan, epoch: int) -> list[list[int]]:
    return [plan.batch(epoch, index).tolist() for index in range(len(plan))]


def as_sets(batches: list[list[int]]) -> set[frozenset[int]]:
    return set(map(frozenset, batches))


# --- runs within a budget ---------------------------------------------------------------------------------


def greedy_cut(lengths: list[int], budget: int) -> list[int]:
    """Cut by a loop over single sequences."""
    bounds, count = [0], 0
    for i, length in enumerate(lengths):
        if count and (count + 1) * length > budget:
            bounds.append(i)
            count = 0
        count += 1
    return [*bounds, len(lengths)] if lengths else bounds


@given(st.lists(st.integers(1, 60), max_size=100), st.integers(1, 300))
def test_cuts_equal_those_of_a_loop(lengths: list[int], budget: int) -> None:
    lengths.sort()
    assert cut_by_budget(np.array(lengths, dtype=np.int64), budget).tolist() == greedy_cut(lengths, budget)


@pytest.mark.parametrize(
    ("lengths", "budget", "bounds"),
    [
        ([], 10, [0]),
        ([5], 10, [0, 1]),
        ([5, 5], 10, [0, 2]),
        ([5, 5, 5], 10, [0, 2, 3]),
        ([3, 3, 4], 10, [0, 2, 3]),
        ([20, 30], 10, [0, 1, 2]),
    ],
)
def test_cuts_by_hand(lengths: list[int], budget: int, bounds: list[int]) -> None:
    assert cut_by_budget(np.array(lengths, dtype=np.int64), budget).tolist() == bounds


# --- an epoch ---------------------------------------------------------------------------------------------


@given(LENGTHS, st.integers(40, 400), st.integers(0, 2**63 - 1), st.integers(0, 1000))
def test_every_pair_once_an_epoch_and_the_budget_never_exceeded(
    pairs: list[tuple[int, int]], budget: int, seed: int, epoch: int
) -> None:
    plan = plan_of(pairs, budget, seed)
    batches = epoch_of(plan, epoch)
    assert sorted(i for batch in batches for i in batch) == list(range(len(pairs)))
    for batch in batches:
        assert len(batch) * max(max(pairs[i]) for i in batch) <= budget


@given(LENGTHS, st.integers(80, 400), st.integers(40, 80))
def test_micro_batches_make_up_the_batch(pairs: list[tuple[int, int]], budget: int, portion: int) -> None:
    plan = plan_of(pairs, budget)
    for index in range(len(plan)):
        batch = plan.batch(0, index)
        parts = [part.tolist() for part in plan.micro_batches(batch, portion)]
        assert [i for part in parts for i in part] == batch.tolist()
        assert all(part and len(part) * max(max(pairs[i]) for i in part) <= portion for part in parts)


def test_sentences_of_a_batch_have_similar_lengths() -> None:
    source, target = corpus(5_000)
    plan = BatchPlan(source, target, 1_000, 1, 99)
    longer = np.maximum(source, target)
    spans = [int(np.ptp(longer[plan.batch(0, index)])) for index in range(len(plan))]
    assert max(spans) <= 2
    # Padded to their longest, batches in the order of the corpus would be less than half full.
    padded = sum(len(b) * int(longer[b].max()) for b in (plan.batch(0, i) for i in range(len(plan))))
    assert longer.sum() / padded > 0.95


def test_batches_of_an_epoch_do_not_come_in_order_of_length() -> None:
    source, target = corpus(5_000)
    plan = BatchPlan(source, target, 1_000, 1, 99)
    firsts = [int(source[plan.batch(0, index)].max()) for index in range(len(plan))]
    assert firsts != sorted(firsts)
    assert abs(np.corrcoef(firsts, range(len(firsts)))[0, 1]) < 0.3


@given(LENGTHS, st.integers(1, 45))
def test_pairs_over_the_limit_are_left_out_and_counted(pairs: list[tuple[int, int]], max_length: int) -> None:
    """Lengths include the end token, the limit does not."""
    plan = plan_of(pairs, 100, max_length=max_length)
    long = [i for i, pair in enumerate(pairs) if max(pair) - 1 > max_length]
    assert sorted(i for batch in epoch_of(plan, 1) for i in batch) == [i for i in range(len(pairs)) if i not in long]
    assert plan.n_long == len(long)
    assert [plan.long_pairs(k) for k in (0, 1, 3, 500)] == [long[:0], long[:1], long[:3], long]


def test_nothing_within_the_limit_is_a_plan_without_batches() -> None:
    plan = plan_of([(50, 3), (3, 50)], 100, max_length=10)
    assert (len(plan), plan.n_long, plan.long_pairs(5)) == (0, 2, [0, 1])


@pytest.mark.parametrize("limit", [40, 400, 3_000, 30_000, 100_000])
def test_pairs_of_a_batch_are_sorted_by_the_longer_side_then_nearly_by_the_shorter(limit: int) -> None:
    random = np.random.default_rng(3)
    source, target = random.integers(1, limit + 2, (2, 3_000))
    plan = BatchPlan(source, target, 3_000 * limit * 2, 1, limit)  # all in one batch
    assert len(plan) == 1
    batch = plan.batch(0, 0)
    longer, shorter = np.maximum(source, target)[batch], np.minimum(source, target)[batch]
    assert (np.diff(longer) >= 0).all()
    if limit <= 256:
        assert (np.diff(longer * limit * 2 + shorter) >= 0).all()


def test_long_pairs_are_found_far_into_a_corpus() -> None:
    lengths = np.full(2_500_000, 5, dtype=np.int32)
    lengths[[10, 1_200_000, 2_400_000]] = 300
    plan = BatchPlan(lengths, np.full_like(lengths, 4), 25_000, 1, 256)
    assert (plan.n_long, plan.long_pairs(2), plan.long_pairs(9)) == (3, [10, 1_200_000], [10, 1_200_000, 2_400_000])


# --- a pure function of (seed, epoch, index) --------------------------------------------------------------


def test_the_order_of_asking_does_not_matter() -> None:
    forwards, backwards = (BatchPlan(*corpus(), 300, 5, 99) for _ in range(2))
    asked = [(epoch, index) for epoch in (0, 3) for index in range(len(forwards))]
    there = {at: forwards.batch(*at).tolist() for at in asked}
    back = {at: backwards.batch(*at).tolist() for at in reversed(asked[::2] + asked[1::2])}
    assert there == back
    assert forwards.batch(*asked[0]).tolist() == there[asked[0]]


def test_another_process_makes_the_same_batches() -> None:
    plan = BatchPlan(*corpus(), 300, 5, 99)
    script = (
        "import json, numpy as np\n"
        "from heed.data.batching import BatchPlan\n"
        f"source, target = np.array({json.dumps(corpus().tolist())})\n"
        "plan = BatchPlan(source, target, 300, 5, 99)\n"
        "print(json.dumps([plan.batch(2, index).tolist() for index in range(len(plan))]))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, cwd=Path.cwd()).stdout
    assert json.loads(out) == epoch_of(plan, 2)


def test_epochs_differ_in_the_order_and_content_of_batches() -> None:
    plan = BatchPlan(*corpus(), 300, 5, 99)
    first, second = epoch_of(plan, 0), epoch_of(plan, 1)
    assert first != second
    assert len(as_sets(first) & as_sets(second)) < len(plan) / 2


def test_seeds_differ() -> None:
    one, two = (epoch_of(BatchPlan(*corpus(), 300, seed, 99), 0) for seed in (1, 2))
    assert as_sets(one) != as_sets(two)


def test_the_size_of_micro_batches_does_not_change_the_batch() -> None:
    """The batch of an update never depends on how the work is divided."""
    plan = BatchPlan(*corpus(), 300, 5, 99)
    batch = plan.batch(0, 3).tolist()
    for portion in (40, 100, 300):
        assert [i for part in plan.micro_batches(plan.batch(0, 3), portion) for i in part.tolist()] == batch
