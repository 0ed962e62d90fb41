"""The decoder that follows the source word by word: the same next word in training, scoring and search."""

import copy

import pytest
import torch
from torch import Tensor

from heed.config import ModelConfig
from heed.model.compiled import CompiledFollower, reason_not_compiled
from heed.model.follower import Follower
from heed.model.int8 import check_int8, quantized
from heed.vocabulary import Vocabulary

# Source tokens 6 to 9 begin words; target tokens 3 and 4 stand for words, 5 to 7 do not.
VOCABULARY = Vocabulary(8, 12, begins_word=frozenset(range(6, 10)), writes_word=frozenset((3, 4)))
CONFIG = ModelConfig(2, 2, 16, 32, 2, dropout=0.0, max_length=20, kind="follower")

SRC = torch.tensor([[6, 3, 7, 4, 4, 9, 1], [8, 1, 0, 0, 0, 0, 0], [3, 6, 5, 6, 6, 1, 0]])
TGT_IN = torch.tensor([[0, 3, 5, 4, 3, 6, 5, 7], [0, 5, 3, 6, 0, 0, 0, 0], [0, 3, 3, 5, 3, 3, 6, 0]])
REAL = torch.arange(8) < torch.tensor([8, 4, 7]).unsqueeze(1)


@pytest.fixture(params=["pre", "post"])
def model(request: pytest.FixtureRequest) -> Follower:
    torch.manual_seed(3)
    config = ModelConfig(2, 2, 16, 32, 2, dropout=0.0, max_length=20, kind="follower", norm=request.param)
    return Follower(config, VOCABULARY).eval()


def next_words(src: list[int], tgt_in: list[int]) -> list[int]:
    """The position of the source token that each step gets, written as a loop."""
    starts = [place for place, token in enumerate(src) if token in VOCABULARY.begins_word] + [src.index(1)]
    found, n_words = [], 0
    for token in tgt_in:
        n_words += token in VOCABULARY.writes_word
        found.append(starts[min(n_words, len(starts) - 1)])
    return found


def test_each_step_gets_the_vector_of_the_next_word_and_at_last_that_of_the_end(model: Follower) -> None:
    hidden: list[Tensor] = []
    inputs: list[Tensor] = []
    norm = model.encoder_norm.register_forward_hook(lambda module, args, output: hidden.append(output))
    model.dropout.register_forward_hook(lambda module, args, output: inputs.append(args[0]))
    model(SRC, TGT_IN)
    norm.remove()
    position = model.target_positions(torch.arange(8), 8)
    for b in range(3):
        places = next_words(SRC[b].tolist(), TGT_IN[b].tolist())
        expected = model.embedding(TGT_IN[b : b + 1])[0] + position + hidden[0][b, places] @ model.next_word.weight.T
        torch.testing.assert_close(inputs[1][b][REAL[b]], expected[REAL[b]])


def test_packed_padded_alone_and_step_by_step_agree(model: Follower) -> None:
    logits_BTV = model(SRC, TGT_IN)
    packed_ND = model.hidden(SRC, TGT_IN, REAL)
    torch.testing.assert_close(model.embedding.logits(packed_ND), logits_BTV[REAL], atol=1e-5, rtol=1e-5)
    for b, length in enumerate((8, 4, 7)):
        alone = model(SRC[b : b + 1, : int(SRC[b].ne(0).sum())], TGT_IN[b : b + 1, :length])
        torch.testing.assert_close(alone[0], logits_BTV[b, :length], atol=1e-5, rtol=1e-5)
    assert reason_not_compiled(model) is None
    for searcher in (model, CompiledFollower(model)):
        with torch.inference_mode():
            state = searcher.start(SRC)
            for t in range(8):
                logits_BWV, state = searcher.step(TGT_IN[:, t : t + 1], state)
                real = REAL[:, t]
                torch.testing.assert_close(logits_BWV[real, 0], logits_BTV[real, t], atol=1e-5, rtol=1e-5)


def test_hypotheses_keep_their_own_count_of_words(model: Follower) -> None:
    """Two hypotheses swap places, one of three sentences leaves: each is scored as if it were alone."""
    ways = torch.tensor([[[0, 3, 5, 4], [0, 5, 5, 3]], [[0, 3, 3, 5], [0, 6, 3, 3]]])
    with torch.inference_mode():
        for searcher in (model, CompiledFollower(model)):
            _, state = searcher.step(torch.zeros(3, 1, dtype=torch.long), searcher.start(SRC))
            state = state.select(torch.tensor([0, 2]), torch.zeros(2, 2, dtype=torch.long))
            _, state = searcher.step(ways[:, :, 1], state)
            swapped = torch.tensor([[1, 0], [1, 0]])
            state = state.select(torch.tensor([0, 1]), swapped)
            ways_now = ways.flip(1)
            _, state = searcher.step(ways_now[:, :, 2], state)
            logits_BWV, _ = searcher.step(ways_now[:, :, 3], state)
            for b, sentence in enumerate((0, 2)):
                for w in range(2):
                    expected = model(SRC[sentence : sentence + 1], ways_now[b, w : w + 1])[0, -1]
                    torch.testing.assert_close(logits_BWV[b, w], expected, atol=1e-5, rtol=1e-5)


def test_later_tokens_never_change_earlier_logits(model: Follower) -> None:
    other = TGT_IN.clone()
    other[:, 5:] = 3
    torch.testing.assert_close(model(SRC, other)[:, :5], model(SRC, TGT_IN)[:, :5])


def test_the_size_is_known_without_a_model(model: Follower) -> None:
    counted = Follower.count_parameters(model.config, VOCABULARY)
    assert counted == sum(weight.numel() for weight in model.parameters())


def test_the_next_word_gets_a_gradient_and_8_bits_work(model: Follower) -> None:
    model.hidden(SRC, TGT_IN, REAL).square().sum().backward()
    assert model.next_word.weight.grad is not None and model.next_word.weight.grad.abs().sum() > 0
    try:
        check_int8()
    except Exception:
        pytest.skip("no C kernels")
    small = quantized(copy.deepcopy(model))
    assert reason_not_compiled(small) is None
    torch.testing.assert_close(small(SRC, TGT_IN), model(SRC, TGT_IN), atol=0.3, rtol=0.3)
