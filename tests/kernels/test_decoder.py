"""Compare the decoder in C with the PyTorch model in float64, and check what it refuses."""

import copy
from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from heed.config import ModelConfig
from heed.kernels.decoder import is_available
from heed.model.cache import KVCache, Source, _Buffers
from heed.model.compiled import CompiledTransformer, reason_not_compiled
from heed.model.int8 import quantized
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary
from tests.model.hypotheses import walk
from tests.model.test_int8 import ByIntegers

pytestmark = pytest.mark.skipif(not is_available(), reason="no compiler, or a PyTorch that exports no sgemm")

SHAPES = {
    "post": ModelConfig(encoder_layers=1, decoder_layers=2, d_model=64, d_ff=96, h=2),
    "pre": ModelConfig(encoder_layers=1, decoder_layers=3, d_model=64, d_ff=48, h=1, norm="pre"),
    "odd": ModelConfig(encoder_layers=1, decoder_layers=2, d_model=20, d_ff=33, h=3, d_k=7, d_v=19),
    "wide": ModelConfig(encoder_layers=1, decoder_layers=1, d_model=40, d_ff=50, h=2, d_k=32, d_v=80),
    "one": ModelConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, h=1, positions="learned"),
}


@pytest.fixture(params=SHAPES)
def model(request):
    torch.manual_seed(7)
    model = Transformer(SHAPES[request.param], Vocabulary(37)).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # so that norms and biases matter
            parameter += 0.2 * torch.randn_like(parameter)
    return model


def ids(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(3, 37, shape, generator=torch.Generator().manual_seed(seed))


def assert_near(found: torch.Tensor, exact: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), exact, atol=2e-4, rtol=2e-4)


@torch.inference_mode()
def test_decoding_token_by_token_equals_the_plain_model(model):
    src, tgt = ids(3, 19), ids(3, 20, seed=1)
    src[0, 5:] = src[2, 18:] = 0
    exact, compiled = copy.deepcopy(model).double()(src, tgt), CompiledTransformer(model)
    state = compiled.start(src)
    for t in range(20):
        logits, state = compiled.step(tgt[:, t : t + 1], state)
        assert_near(logits[:, 0], exact[:, t])


@torch.inference_mode()
def test_hypotheses_that_branch_and_merge_each_see_their_own_past(model):
    src = ids(3, 9)
    src[1, 4:] = 0
    plain = copy.deepcopy(model).double()
    for logits, source, past in walk(CompiledTransformer(model), src, 37):
        assert_near(logits, plain(source, past)[0, -1])


@torch.inference_mode()
def test_8_bits_as_with_integers(model):
    """Except where float error rounds a number to the neighbouring code."""
    src = ids(3, 9)
    src[1, 4:] = 0
    by_integers = quantized(model)
    for name, linear in model.decoder.named_modules():
        if isinstance(linear, nn.Linear):
            by_integers.decoder.set_submodule(name, ByIntegers(linear.weight, linear.bias))
    by_integers.embedding.projection = ByIntegers(model.embedding.weight)
    compiled = CompiledTransformer(quantized(model))
    for (found, _, past), (exact, _, same_past) in zip(
        walk(compiled, src, 37), walk(by_integers, src, 37), strict=True
    ):
        assert torch.equal(past, same_past)
        assert (found - exact).norm() < 0.02 * exact.norm()


# --- what C gets pointers to ------------------------------------------------------------------------------


def after_three_steps(model, n_sentences=3):
    """Return the state of a search after three steps, and a fourth token of each sentence."""
    state, newest = model.start(ids(n_sentences, 9)), ids(n_sentences, 1, seed=2)
    for _ in range(3):
        _, state = model.step(newest, state)
    return state, newest


@torch.inference_mode()
@pytest.mark.parametrize("bits", [32, 8])
def test_it_owns_copies_of_its_weights(model, bits):
    """C points to copies, so overwriting the model's weights changes nothing."""
    compiled = CompiledTransformer(model if bits == 32 else quantized(model))
    state, newest = after_three_steps(compiled)
    expected = compiled.step(newest, state)[0]
    for layer in model.decoder:
        for parameter in layer.parameters():
            parameter.fill_(torch.nan)
    if isinstance(model.decoder_norm, nn.LayerNorm):
        model.decoder_norm.weight.fill_(torch.nan)
    assert torch.equal(compiled.step(newest, state)[0], expected)


def shorter(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[..., :-1].contiguous()


@torch.inference_mode()
@pytest.mark.parametrize("model", ["odd"], indirect=True)
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda own: (shorter(own[0]), own[1]), id="narrower keys"),
        pytest.param(lambda own: (own[0], shorter(own[1])), id="narrower values"),
        pytest.param(lambda own: (own[0][:, :5].contiguous(), own[1]), id="fewer slots of keys"),
        pytest.param(lambda own: (own[0], own[1][:, :5].contiguous()), id="fewer slots of values"),
        pytest.param(lambda own: (own[0][:2], own[1]), id="fewer sentences"),
        pytest.param(lambda own: (own[0].half(), own[1]), id="16 bits"),
        pytest.param(lambda own: (own[0], own[1].double()), id="64 bits"),
        pytest.param(lambda own: (own[0].mT.contiguous().mT, own[1]), id="another order in memory"),
        pytest.param(lambda own: (own[0].to("meta"), own[1]), id="another device"),
    ],
)
@pytest.mark.parametrize("side", ["target", "source"])
def test_a_wrong_kv_cache_is_refused(model, damage, side):
    compiled = CompiledTransformer(model)
    state, newest = after_three_steps(compiled)
    layers = [*(state.cache if side == "target" else state.source).layers]
    layers[-1] = damage(layers[-1])
    if side == "target":
        state = replace(state, cache=KVCache(_Buffers(layers, 3), 3))
    else:
        state = replace(state, source=Source(layers, None))
    with pytest.raises(ValueError, match=r"the KV cache is \(.*this decoder needs \("):
        compiled.step(newest, state)


@torch.inference_mode()
def test_the_kv_cache_of_another_model_is_refused(model):
    compiled = CompiledTransformer(model)
    deeper = replace(model.config, decoder_layers=model.config.decoder_layers + 1)
    for config in (deeper, replace(model.config, d_k=5, d_v=3)):
        state, newest = after_three_steps(Transformer(config, Vocabulary(37)).eval())
        with pytest.raises(ValueError, match="KV cache"):
            compiled.step(newest, state)
    state, _ = after_three_steps(compiled)
    with pytest.raises(ValueError, match="KV cache"):
        compiled.step(ids(2, 1), state)  # of fewer sentences


@torch.inference_mode()
@pytest.mark.parametrize("model", ["odd"], indirect=True)
@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(torch.zeros(3, 1, 8), id="short"),
        pytest.param(torch.zeros(3, 1, 10), id="long"),
        pytest.param(torch.zeros(2, 1, 9), id="fewer sentences"),
        pytest.param(torch.zeros(3, 1, 9).half(), id="16 bits"),
        pytest.param(torch.zeros(3, 1, 18)[..., ::2], id="gaps"),
        pytest.param(torch.zeros(3, 9), id="two dimensions"),
    ],
)
def test_a_wrong_mask_is_refused(model, mask):
    compiled = CompiledTransformer(model)
    state, newest = after_three_steps(compiled)
    with pytest.raises(ValueError, match=r"a mask is \("):
        compiled.step(newest, replace(state, source=Source(state.source.layers, mask)))


# --- models it refuses --- ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class WithSpan(ModelConfig):
    span: int = 7


class Scaled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def bias(model):
    model.decoder[1].self_attention.w_q.bias = nn.Parameter(torch.ones(21))


def hook(model):
    model.decoder[0].cross_attention.register_forward_hook(lambda module, inputs, output: 0 * output)


def other_forward(model):
    model.decoder[0].feed_forward.forward = lambda x: x


def other_module(model):
    linear = model.decoder[0].self_attention.w_o
    model.decoder[0].self_attention.w_o = Scaled(linear.in_features, linear.out_features, bias=False)


def more_parameters(model):
    model.decoder[0].self_attention.register_parameter("relative", nn.Parameter(torch.ones(3)))


def other_field(model):
    model.config = WithSpan(**vars(model.config))


def other_epsilon(model):
    model.decoder[0].feed_forward_residual.norm.eps = 1e-5


def another_class(model):
    model.__class__ = type("Changed", (Transformer,), {})


@torch.inference_mode()
@pytest.mark.parametrize("model", ["odd"], indirect=True)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (bias, "decoder.1.self_attention: a bias in w_q is not implemented in C"),
        (hook, "decoder.0.cross_attention: it has a hook or its own forward method"),
        (other_forward, "decoder.0.feed_forward: it has a hook or its own forward method"),
        (other_module, "decoder.0.self_attention.w_o: a Scaled is not implemented in C"),
        (more_parameters, "decoder.0.self_attention: relative is not implemented in C"),
        (other_field, "model.span = 7 is not implemented in C"),
        (other_epsilon, "its norms have different epsilons"),
        (another_class, "it is a Changed, not a Transformer"),
        (lambda model: model.double(), "its weights are torch.float64 on cpu, not float32 on a CPU"),
    ],
)
def test_a_model_with_anything_unknown_is_left_to_pytorch(model, change, reason):
    assert reason_not_compiled(model) is None
    change(model)
    assert reason_not_compiled(model) == reason
    with pytest.raises(ValueError, match="the C decoder does not implement this model"):
        CompiledTransformer(model)
