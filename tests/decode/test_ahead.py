"""Guessing ahead finds what greedy search finds, whatever is guessed."""

import pytest
import torch

from heed.config import ModelConfig
from heed.decode.ahead import PhraseMemory, search_ahead
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelState, model_step
from heed.decode.step import Task
from heed.model.incremental import IncrementalDecoder
from heed.model.transformer import Transformer

VOCABULARY, LIMIT = 40, 30


@pytest.fixture(scope="module", params=["post", "pre"])
def decoder(request):
    torch.manual_seed(7)
    shape = ModelConfig(encoder_layers=1, decoder_layers=2, d_model=16, d_ff=32, h=2, dropout=0.0, norm=request.param)
    model = Transformer(shape, VOCABULARY).eval().double()
    for weight in model.parameters():  # sharp enough not to say one thing only
        weight.data *= 1.7
    return IncrementalDecoder(model)


class Oracle:
    """Knows what greedy search will find, but for every `wrong`-th symbol."""

    def __init__(self, ids, wrong):
        self.ids, self.wrong, self.asked = ids, wrong, 0

    def guess(self, ids, n):
        self.asked += 1
        ahead = self.ids[len(ids) : len(ids) + n]
        return [5 if (len(ids) + i) % self.wrong == self.wrong - 1 else symbol for i, symbol in enumerate(ahead)]


def greedy(decoder, src, task):
    return greedy_search(model_step(decoder), ModelState(decoder.start(src)), task)[0][0]


@pytest.mark.parametrize("n_ahead", [0, 1, 3, 8])
@pytest.mark.parametrize("wrong", [2, 5, 1000])
def test_the_result_is_that_of_greedy_search(decoder, n_ahead, wrong):
    for seed in range(6):
        src = torch.randint(3, VOCABULARY, (1, 5 + seed), generator=torch.Generator().manual_seed(seed))
        task = Task([LIMIT if seed % 2 else 4], 0, 1, 0.6, None, (0, 2))
        with torch.inference_mode():
            expected = greedy(decoder, src, task)
        draft = Oracle(expected.ids, wrong)
        found = search_ahead(decoder, src, task, draft, n_ahead)
        assert (found.ids, found.finished) == (expected.ids, expected.finished)
        assert found.score == pytest.approx(expected.score, abs=1e-9)
        if wrong > LIMIT:  # always right: as few passes as can be
            n_symbols = len(found.ids) + found.finished
            assert draft.asked == -(-n_symbols // (n_ahead + 1))


def test_a_memory_of_other_sentences_changes_nothing(decoder):
    src = torch.randint(3, VOCABULARY, (1, 7), generator=torch.Generator().manual_seed(3))
    task = Task([LIMIT], 0, 1, 0.6, None, (0, 2))
    with torch.inference_mode():
        expected = greedy(decoder, src, task)
    for sequences in ([], [[3, 4, 5, 6]], [[3, 4], [4, 3]], [expected.ids]):
        assert search_ahead(decoder, src, task, PhraseMemory(sequences), 4).ids == expected.ids


def test_what_came_next_most_often_is_guessed():
    memory = PhraseMemory([[3, 4, 5], [3, 4, 6], [3, 4, 6], [7, 4, 8]])
    assert memory.guess([3, 4], 1) == [6]
    assert memory.guess([7], 2) == [4, 8]
    assert memory.guess([9, 9, 9], 1) == [4]  # an unknown past: what is frequent anywhere
    assert PhraseMemory([]).guess([3], 5) == []
