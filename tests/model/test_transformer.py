"""Compare the model with a loop-written NumPy version, and its parts with the paper's text."""

import math

import numpy as np
import pytest
import torch

from heed.model.dropout import Dropout
from heed.model.sequences import Padded
from heed.model.transformer import AttentionWeights, Transformer
from heed.vocabulary import Vocabulary
from tests.conftest import PAD, VOCABULARY, shapes_checked, small_config
from tests.model.reference import transformer as reference

SOURCE, TARGET_IN = [5, 9, 4, 17, 1], [0, 8, 8, 20]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_equals_the_loop_written_version(norm, positions):
    torch.manual_seed(5)
    config = small_config(norm=norm, positions=positions)
    model = Transformer(config, Vocabulary(VOCABULARY)).double().eval()
    for parameter in model.parameters():  # norms and biases start at one and zero, which would hide mistakes
        parameter.data += 0.1 * torch.randn_like(parameter)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    expected, expected_weights = reference(SOURCE, TARGET_IN, weights, config)

    captured = AttentionWeights()
    with torch.no_grad():
        fused = model(torch.tensor([SOURCE]), torch.tensor([TARGET_IN]))
        explicit = model(torch.tensor([SOURCE]), torch.tensor([TARGET_IN]), captured)
    np.testing.assert_allclose(fused[0].numpy(), expected, atol=1e-6)  # the sinusoid table is float32
    np.testing.assert_allclose(explicit[0].numpy(), expected, atol=1e-6)
    for kind in ("encoder", "decoder", "cross"):
        ours = getattr(captured, kind)
        assert len(ours) == len(expected_weights[kind]) == 2
        for layer, theirs in zip(ours, expected_weights[kind], strict=True):
            np.testing.assert_allclose(layer[0].numpy(), theirs, atol=1e-6)


def test_shapes_match_the_names(model):
    src, tgt = torch.randint(3, VOCABULARY, (3, 11)), torch.randint(3, VOCABULARY, (3, 13))
    src[1, 6:] = 0
    with shapes_checked("heed.model") as seen, torch.no_grad():
        model(src, tgt, AttentionWeights())
        model(src, tgt)
    assert {"attention", "MultiHeadAttention.forward", "DecoderLayer.forward"} <= seen


def test_parameter_names_are_the_contract_of_saved_models():
    names = set(Transformer(small_config(encoder_layers=1, decoder_layers=1), Vocabulary(VOCABULARY)).state_dict())
    attention = {f"w_{letter}.weight" for letter in "qkvo"}
    norm = {"norm.weight", "norm.bias"}
    feed_forward = {"w_1.weight", "w_1.bias", "w_2.weight", "w_2.bias"}
    encoder = {
        **{"self_attention": attention, "self_attention_residual": norm},
        **{"feed_forward": feed_forward, "feed_forward_residual": norm},
    }
    decoder = {**encoder, "cross_attention": attention, "cross_attention_residual": norm}
    expected = {"embedding.weight"}
    for stack, parts in (("encoder", encoder), ("decoder", decoder)):
        expected |= {f"{stack}.0.{part}.{name}" for part, those in parts.items() for name in those}
    assert names == expected


def test_padding_embeds_to_the_zero_vector_and_others_are_scaled():
    model = Transformer(small_config(), Vocabulary(VOCABULARY))
    embedded = model.embedding(torch.tensor([[0, 7]]))[0]
    assert embedded[0].abs().max() == 0
    torch.testing.assert_close(embedded[1], model.embedding.weight[7] * math.sqrt(24))


def test_dropout_is_in_the_published_places_only():
    """On each sub-layer's output and on embeddings + positions: 3 per decoder layer, 2 per encoder layer, 2 more."""
    # In float64, for which nothing is fused; tests/kernels/test_residual.py counts the fused calls.
    model = Transformer(small_config(dropout=0.37), Vocabulary(VOCABULARY)).double().train()
    calls = []
    for module in model.modules():
        assert not isinstance(module, torch.nn.Dropout)
        if isinstance(module, Dropout):
            assert module.p == 0.37
            module.register_forward_hook(lambda *_: calls.append(1))
    model(torch.tensor([SOURCE]), torch.tensor([TARGET_IN]))
    assert len(calls) == 2 * 2 + 2 * 3 + 2


def test_published_initialisation():
    config = small_config(d_model=512, d_ff=2048, h=8, d_k=64, d_v=64)
    torch.manual_seed(1)
    model = Transformer(config, Vocabulary(1000))
    encoder, decoder = model.encoder[0], model.decoder[0]

    def bound(*fans):
        return math.sqrt(6 / sum(fans))

    fused, kv, square = bound(512, 3 * 512), bound(512, 2 * 512), bound(512, 512)
    assert fused == pytest.approx(0.054, abs=5e-4)  # PAPER: the bound at d = 512
    wide = bound(512, 2048)
    for weight, limit in [
        *[(getattr(encoder.self_attention, f"w_{letter}").weight, fused) for letter in "qkv"],
        (encoder.self_attention.w_o.weight, square),
        (decoder.cross_attention.w_q.weight, square),
        (decoder.cross_attention.w_k.weight, kv),
        (decoder.cross_attention.w_v.weight, kv),
        (encoder.feed_forward.w_1.weight, wide),
        (encoder.feed_forward.w_2.weight, wide),
    ]:
        assert 0.98 * limit < weight.abs().max() <= limit
        assert weight.std().item() == pytest.approx(limit / math.sqrt(3), rel=0.02)
    assert model.embedding.weight.std().item() == pytest.approx(512**-0.5, rel=0.02)
    assert encoder.feed_forward.w_1.bias.abs().max() == 0
    assert encoder.feed_forward_residual.norm.eps == 1e-6


def test_learned_positions_are_limited_and_sinusoids_are_not():
    long = Padded(torch.randint(3, VOCABULARY, (1, 200)), PAD)
    Transformer(small_config(), Vocabulary(VOCABULARY)).encode(long)
    with pytest.raises(ValueError, match="61 learned positions"):
        Transformer(small_config(positions="learned"), Vocabulary(VOCABULARY)).encode(long)
