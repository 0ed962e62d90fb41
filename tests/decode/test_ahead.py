"""Guessing ahead finds what plain search finds, whatever is guessed."""

import copy
import random
from collections import defaultdict

import pytest
import torch

from heed.config import ModelConfig
from heed.decode.ahead import ahead
from heed.decode.beam import beam_search
from heed.decode.beginnings import Beginnings
from heed.decode.draft import ModelDraft, PhraseMemory
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelState, model_step
from heed.decode.step import EnsembleState, Task, ensemble, forced_prefix
from heed.model.incremental import IncrementalDecoder
from heed.model.transformer import Transformer

VOCABULARY, LIMIT = 40, 30
START, END, NEVER = 0, 1, (0, 2)


class Counted(IncrementalDecoder):
    passes = 0

    def extend(self, past, *rest):
        self.passes += 1
        self.past = past
        return super().extend(past, *rest)


def random_model(seed, **shape):
    torch.manual_seed(seed)
    config = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 16, "d_ff": 32, "h": 2, "dropout": 0.0, **shape}
    model = Transformer(ModelConfig(**config), VOCABULARY).eval().double()
    for weight in model.parameters():  # sharp enough not to say one thing only
        weight.data *= 1.7
    return model


@pytest.fixture(scope="module", params=["post", "pre"])
def model(request):
    return random_model(7, norm=request.param)


@pytest.fixture
def decoder(model):
    return Counted(model)


def sentence(seed):
    return torch.randint(3, VOCABULARY, (1, 5 + seed), generator=torch.Generator().manual_seed(seed))


def search(step, state, task, beam, n_best):
    with torch.inference_mode():
        return (greedy_search(step, state, task) if beam == 1 else beam_search(step, state, task, beam, n_best))[0]


def plain(decoder, src, task, beam=1, n_best=1):
    """What plain search finds, and what it asked for at each step."""
    asked, one_step = [], model_step(decoder)

    class Recorded:
        def __init__(self, state, hypotheses):
            self.state, self.hypotheses = state, hypotheses

        def select(self, sentences, parents):
            kept = [self.hypotheses[parent] for parent in parents[0].tolist()]
            return Recorded(self.state.select(sentences, parents), kept)

    def step(ids, state):
        asked.append([(*one, symbol) for one, symbol in zip(state.hypotheses, ids[0].tolist(), strict=True)])
        logits, after = one_step(ids, state.state)
        return logits, Recorded(after, asked[-1])

    with torch.inference_mode():
        start = ModelState(decoder.start(src))
    return search(step, Recorded(start, [()]), task, beam, n_best), asked


def guessing(decoder, src, task, draft, n_guesses, beam=1, n_best=1):
    with torch.inference_mode():
        step, state = ahead(decoder, src, draft, n_guesses, task.limits[0])
    return search(step, state, task, beam, n_best)


class Right:
    """Knows all that search will ask for, some steps ahead."""

    def __init__(self, asked, depth):
        self.by_length, self.depth = defaultdict(list), depth
        for step in asked:
            self.by_length[len(step[0])] = step

    def of(self, src):
        def guess(beginnings, n):
            now = len(beginnings[0])
            return [one for length in range(now + 1, now + 1 + self.depth) for one in self.by_length[length]]

        return guess


class Wrong:
    """Guesses a symbol that is never taken, again and again."""

    def of(self, src):
        return lambda beginnings, n: [one + (2,) * k for one in beginnings for k in range(1, n + 1)]


class Random:
    """Guesses anything, the end and doubles included: a tree."""

    def of(self, src):
        chance = random.Random(3)

        def guess(beginnings, n):
            tree = list(beginnings)
            for _ in range(n):
                tree.append((*chance.choice(tree), chance.randrange(VOCABULARY)))
            return tree[len(beginnings) :]

        return guess


def assert_same(found, expected):
    assert [(one.ids, one.finished) for one in found] == [(one.ids, one.finished) for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-9)
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-9)


@pytest.mark.parametrize(("beam", "n_best", "alpha"), [(1, 1, 0.6), (2, 1, 0.0), (4, 1, 0.6), (4, 4, 1.0), (7, 3, 0.6)])
@pytest.mark.parametrize("kind", ["right", "wrong", "random"])
def test_the_result_is_that_of_plain_search(model, beam, n_best, alpha, kind):
    endings = set()
    eager = copy.deepcopy(model)
    eager.embedding.weight.data[END] *= 2  # to end early
    for decoder in (IncrementalDecoder(model), IncrementalDecoder(eager)):
        for seed in range(4):
            src, task = sentence(seed), Task([LIMIT if seed % 2 else 4], START, END, alpha, None, NEVER)
            expected, asked = plain(decoder, src, task, beam, n_best)
            endings |= {one.finished for one in expected}
            draft = {"right": Right(asked, 3), "wrong": Wrong(), "random": Random()}[kind]
            for n_guesses in (0, 5):
                assert_same(guessing(decoder, src, task, draft, n_guesses, beam, n_best), expected)
    assert endings == {True, False}


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_guesses_that_are_right_save_passes(decoder, beam, depth):
    src, task = sentence(1), Task([LIMIT], START, END, 0.6, None, NEVER)
    _, asked = plain(decoder, src, task, beam)
    assert decoder.passes == len(asked) > 8
    decoder.passes = 0
    guessing(decoder, src, task, Right(asked, depth), 1, beam)
    assert decoder.passes == -(-len(asked) // (depth + 1))


def test_computed_is_what_a_pass_over_the_whole_says(model):
    src = sentence(2)
    tree = [(0,), (0, 5), (0, 6), (0, 5, 9), (0, 5, 9, 4), (0, 6, 9)]
    with torch.inference_mode():
        computed = Beginnings(IncrementalDecoder(model), src)
        computed.compute(tree[:3])
        computed.compute([*tree[1:], (0, 7, 7, 7)])  # some known, some not, some with more before them than was known
        for one in [*tree, (0, 7), (0, 7, 7, 7)]:
            expected = model(src, torch.tensor([one]))[0, -1]
            torch.testing.assert_close(computed.logits([one])[0], expected, rtol=0, atol=1e-9)


def test_what_was_guessed_in_vain_is_forgotten(decoder):
    src, task = sentence(1), Task([LIMIT], START, END, 0.6, None, NEVER)
    expected, _ = plain(decoder, src, task, 4)
    assert_same(guessing(decoder, src, task, Wrong(), 20, 4), expected)
    # 30 steps with 84 nodes each are 2,500; of the newest pass there are two at most.
    assert decoder.past.n_slots < 400


def test_nothing_is_guessed_beyond_the_limit():
    decoder = IncrementalDecoder(random_model(7, positions="learned", max_length=12))
    limit = decoder.model.target_positions.limit
    src, task = sentence(1), Task([limit], START, END, 0.6, None, (*NEVER, END))
    expected, _ = plain(decoder, src, task, 4)
    assert len(expected[0].ids) == limit
    assert_same(guessing(decoder, src, task, Wrong(), 3, 4), expected)


def test_prefixes_and_ensembles_guess_ahead_too(model):
    src = sentence(3)
    task = Task([LIMIT], START, END, 0.6, forced_prefix([[7, 9, 11]], VOCABULARY), NEVER)
    decoders = [IncrementalDecoder(one) for one in (model, random_model(8))]
    with torch.inference_mode():
        step = ensemble([model_step(one) for one in decoders])
        expected = search(step, EnsembleState([ModelState(one.start(src)) for one in decoders]), task, 4, 2)
        begun = [ahead(one, src, Random(), 6, LIMIT) for one in decoders]
        step, state = ensemble([one for one, _ in begun]), EnsembleState([one for _, one in begun])
        assert_same(search(step, state, task, 4, 2), expected)
    assert expected[0].ids[:3] == [7, 9, 11]


@pytest.mark.parametrize("beam", [1, 4])
def test_a_memory_of_other_sentences_changes_nothing(decoder, beam):
    src, task = sentence(2), Task([LIMIT], START, END, 0.6, None, NEVER)
    expected, _ = plain(decoder, src, task, beam)
    for sequences in ([], [[3, 4, 5, 6]], [[3, 4], [4, 3]], [expected[0].ids]):
        assert_same(guessing(decoder, src, task, PhraseMemory(sequences), 4, beam), expected)


@pytest.mark.parametrize("beam", [1, 4])
def test_another_model_that_guesses_changes_nothing(decoder, beam):
    draft = ModelDraft(IncrementalDecoder(random_model(8)), (*NEVER, END))
    for seed in range(4):
        src, task = sentence(seed), Task([LIMIT], START, END, 0.6, None, NEVER)
        expected, _ = plain(decoder, src, task, beam)
        assert_same(guessing(decoder, src, task, draft, 5, beam), expected)


@pytest.mark.parametrize("n_guesses", [1, 3])
def test_a_model_that_guesses_for_itself_is_right(decoder, n_guesses):
    draft = ModelDraft(IncrementalDecoder(decoder.model), (*NEVER, END))
    src, task = sentence(1), Task([LIMIT], START, END, 0.6, None, NEVER)
    _, asked = plain(decoder, src, task)
    decoder.passes = 0
    guessing(decoder, src, task, draft, n_guesses)
    assert decoder.passes == -(-len(asked) // (n_guesses + 1))


def test_a_model_guesses_the_likeliest_next_symbols_of_several_hypotheses(model):
    src, beginnings = sentence(2), [(0, 5, 9), (0, 6, 9)]
    with torch.inference_mode():
        found = ModelDraft(IncrementalDecoder(model), NEVER).of(src)(beginnings, 6)
        logprobs = model(src.expand(2, -1), torch.tensor(beginnings))[:, -1].log_softmax(-1).tolist()
    ranked = sorted(
        ((*one, symbol) for one in beginnings for symbol in range(VOCABULARY) if symbol not in NEVER),
        key=lambda guess: -logprobs[beginnings.index(guess[:-1])][guess[-1]],
    )
    assert found == ranked[:6]


def test_what_came_next_most_often_is_guessed():
    memory = PhraseMemory([[3, 4, 5], [3, 4, 6], [3, 4, 6], [7, 4, 8]])
    assert memory.guess([(0, 3, 4)], 1) == [(0, 3, 4, 6)]
    # After 3 4: 6 was seen 2 times of 3, so 2/4; 5 once, 1/4. Nothing followed 4 6, nor 4 5, nor 6, nor 5: then what
    # is frequent anywhere, which is 4, 4 times of 12, 4/13; but 2/4 x 4/13 is less than 1/4.
    assert memory.guess([(0, 3, 4)], 3) == [(0, 3, 4, 6), (0, 3, 4, 5), (0, 3, 4, 6, 4)]
    assert memory.guess([(0, 7)], 2) == [(0, 7, 4), (0, 7, 4, 8)]
    assert memory.guess([(0, 9, 9, 9)], 1) == [(0, 9, 9, 9, 4)]  # an unknown past: what is frequent anywhere
    # After 3: 4 in 3 of 3, so 3/4; after 7: 4 in 1 of 1, so 1/2; 3/4 x 2/4 is less.
    assert memory.guess([(0, 7), (0, 3)], 2) == [(0, 3, 4), (0, 7, 4)]
    assert PhraseMemory([]).guess([(0, 3)], 5) == []
    # What followed two times of two (2/3) is likelier than what followed once (1/2).
    assert PhraseMemory([[3, 4], [7, 8], [7, 8]]).guess([(0, 3), (0, 7)], 1) == [(0, 7, 8)]
