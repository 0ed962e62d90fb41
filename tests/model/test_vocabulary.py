"""Special tokens are where the vocabulary says, and the two sides may have vocabularies of their own."""

import copy

import pytest
import torch

from heed.config import Config, TrainConfig
from heed.data.batch import batch_of_ids, padded
from heed.decode.beam import beam_search
from heed.decode.model_step import ModelStep
from heed.decode.search import Task
from heed.model.compiled import CompiledTransformer, reason_not_compiled
from heed.model.size import count_parameters, update_operations
from heed.model.transformer import Transformer
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_config

HERE = Vocabulary(VOCABULARY)
ELSEWHERE = Vocabulary(VOCABULARY, pad=7, end=11, unknown=20, start=7)
MOVED = {0: 7, 7: 0, 1: 11, 11: 1, 2: 20, 20: 2}  # from HERE to ELSEWHERE, and back
SOURCES = [[3, 4, 5, 6], [8, 9], [10, 12, 13]]
TARGETS = [[14, 15], [16, 17, 18, 19], [21]]
CPU = torch.device("cpu")


def move(ids):
    return [MOVED.get(i, i) for i in ids]


@pytest.fixture(params=["post", "pre"])
def models(request):
    torch.manual_seed(4)
    here = Transformer(small_config(norm=request.param), HERE).eval()
    here.embedding.weight.data *= 3
    elsewhere = Transformer(here.config, ELSEWHERE).eval()
    elsewhere.load_state_dict(here.state_dict())
    elsewhere.embedding.weight.data = here.embedding.weight.data[move(range(VOCABULARY))].clone()
    return here, elsewhere


def test_the_same_loss_whatever_the_special_ids(models):
    losses = []
    for model, vocabulary, moved in zip(models, (HERE, ELSEWHERE), (list, move), strict=True):
        learner = Learner(Config(model=model.config, train=TrainConfig(lanes=1)), vocabulary, Workers(0, 1, CPU))
        learner.model.load_state_dict(model.state_dict())
        learner.model.train()
        batch = batch_of_ids([moved(ids) for ids in SOURCES], [moved(ids) for ids in TARGETS], vocabulary)
        losses.append([train_step(learner, batch.shares(2), batch.n_tokens, step).loss for step in (1, 2)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_same_translations_whatever_the_special_ids(models, compiled):
    if compiled and reason_not_compiled(models[0]):
        pytest.skip("needs the C kernels")
    found = []
    for model, vocabulary, moved in zip(models, (HERE, ELSEWHERE), (list, move), strict=True):
        searcher = CompiledTransformer(model) if compiled else model
        step = ModelStep([searcher], CPU)
        task = Task([12] * 3, vocabulary.start, vocabulary.end, 0.6, never=vocabulary.never_output)
        with torch.inference_mode():
            state = step.start(padded([[*moved(ids), vocabulary.end] for ids in SOURCES], vocabulary.pad))
            results = beam_search(step, state, task, beam=4)
        found.append([(moved(one.ids), pytest.approx(one.score, rel=1e-4)) for (one,) in results])
    assert found[0] == found[1]


def test_two_vocabularies(models):
    """With the same embeddings on both sides, it is the model with one."""
    shared, _ = models
    both = Vocabulary(VOCABULARY, source_size=VOCABULARY + 4)
    model = Transformer(shared.config, both).eval()
    weights = dict(shared.state_dict())
    more = torch.cat([weights["embedding.weight"], torch.randn(4, shared.config.d_model)])
    model.load_state_dict(weights | {"own_source_embedding.weight": more})
    batch = batch_of_ids(SOURCES, TARGETS, both)
    assert torch.equal(model(batch.src_BS, batch.tgt_in_BT), shared(batch.src_BS, batch.tgt_in_BT))
    other = copy.deepcopy(model)
    other.own_source_embedding.weight.data[3] += 1
    assert not torch.equal(other(batch.src_BS, batch.tgt_in_BT), model(batch.src_BS, batch.tgt_in_BT))
    assert count_parameters(model.config, both) == sum(weight.numel() for weight in model.parameters())
    lengths = batch.src_BS.ne(0).sum(1).numpy(), batch.tgt_out_BT.ne(0).sum(1).numpy()
    assert update_operations(model.config, both, *lengths) == update_operations(model.config, HERE, *lengths)


def test_tokens_that_no_output_contains():
    assert Vocabulary(9).never_output == (0, 2)
    assert Vocabulary(9, pad=4, end=2, unknown=3, start=2).never_output == (3, 4)


def test_a_number_still_makes_a_model_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"give Transformer a heed.Vocabulary\(23\)"):
        model = Transformer(small_config(), VOCABULARY)
    assert model.vocabulary == HERE
