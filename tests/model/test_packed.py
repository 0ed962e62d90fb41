"""A packed batch has the loss and gradient of the padded batch, and no layer computes padding."""

import pytest
import torch

from heed.config import ModelConfig
from heed.data.batch import Batch
from heed.kernels import varlen
from heed.kernels.library import library
from heed.model import dropout, fused
from heed.model.sequences import Packed
from heed.model.transformer import Transformer
from heed.training.batch_loss import BatchLoss
from heed.vocabulary import Vocabulary
from tests.conftest import EOS, PAD, small_batch

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")
VOCABULARY = 50


def small(**settings):
    torch.manual_seed(1)
    sizes = dict(encoder_layers=2, decoder_layers=3, d_model=32, d_ff=48, h=2, dropout=0.0)
    return Transformer(ModelConfig(**(sizes | settings)), Vocabulary(VOCABULARY))


def batch(source_lengths=(3, 17, 30, 1, 8), target_lengths=(5, 2, 40, 1, 16)):
    generator = torch.Generator().manual_seed(2)
    source, target = (
        [torch.randint(3, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]
        for lengths in (source_lengths, target_lengths)
    )
    return small_batch(source, target)


def loss_and_gradients(model, given, packs):
    model.zero_grad()
    if not packs:
        model._layers_are_compiled = True  # compiled layers get padded batches
    smoothed, unsmoothed = BatchLoss(model, 0.1)(given.src_BS, given.tgt_in_BT, given.tgt_out_BT)
    smoothed.backward()
    gradients = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    return torch.stack((smoothed.detach(), unsmoothed)), gradients


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_same_loss_and_gradient_as_with_padding(norm, positions):
    model = small(norm=norm, positions=positions)
    ours, our_gradients = loss_and_gradients(model, batch(), True)
    theirs, their_gradients = loss_and_gradients(model.double(), batch(), False)  # float64: no kernel at all
    torch.testing.assert_close(ours, theirs.float(), rtol=1e-5, atol=0)
    assert our_gradients.keys() == their_gradients.keys()
    for name, gradient in our_gradients.items():
        torch.testing.assert_close(gradient, their_gradients[name].float(), atol=1e-5, rtol=1e-4, msg=name)


def test_packing_keeps_the_real_positions():
    ids_BL = torch.tensor([[7, 8, EOS, PAD], [EOS, PAD, PAD, PAD], [4, 5, 6, EOS]])
    packed = Packed.of(ids_BL, ids_BL.ne(PAD))
    assert packed.ids.tolist() == [7, 8, EOS, EOS, 4, 5, 6, EOS]
    assert packed.position.tolist() == [0, 1, 2, 0, 0, 1, 2, 3]
    assert packed.lengths_B.tolist() == [3, 1, 4]


def test_no_layer_sees_padding():
    model, rows = small(), set()
    for layer in (*model.encoder, *model.decoder):
        layer.register_forward_hook(lambda module, inputs, output: rows.add(tuple(output.shape)))
    loss_and_gradients(model, batch(), True)
    n_source, n_target = 3 + 17 + 30 + 1 + 8 + 5, 5 + 2 + 40 + 1 + 16 + 5  # each with an end token
    assert rows == {(n_source, 32), (n_target, 32)}


def test_an_empty_batch_has_a_gradient_of_zeros():
    """A process without work adds zeros to the gradients of the others."""
    sums, gradients = loss_and_gradients(small(), Batch.empty(Vocabulary(VOCABULARY)), True)
    assert sums.tolist() == [0, 0]
    for name, gradient in gradients.items():
        assert gradient is not None and not gradient.any(), name


@pytest.mark.parametrize("where", ["packed", "long", "compiled"])
def test_when_sentences_are_packed(monkeypatch, where):
    calls, call = [], varlen._call
    monkeypatch.setattr(varlen, "_call", lambda name, *rest: (calls.append(name), call(name, *rest)))
    given = batch((3, varlen.MAX_POSITIONS), (5, 9)) if where == "long" else batch()  # with the end token, one too long
    loss_and_gradients(small(), given, where != "compiled")
    n = 2 + 2 * 3 if where == "packed" else 0
    assert (calls.count("heed_varlen"), calls.count("heed_varlen_backward")) == (n, n)


def test_dropout_is_in_the_published_places(monkeypatch):
    """On each sub-layer's output and on both sides' embeddings + positions, each with its own mask."""
    masks = []
    for module, name in ((dropout, "Mask"), (fused, "Mask")):
        made = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, made=made: (masks.append(a), made(*a))[1])
    loss_and_gradients(small(dropout=0.3).train(), batch(), True)
    assert len(masks) == 2 * 2 + 3 * 3 + 2
    assert len({(site, tuple(seeds.tolist())) for seeds, site, _ in masks}) == len(masks)
