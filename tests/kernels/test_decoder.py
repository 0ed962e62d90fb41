"""The compiled decoder beside the plain model in twice the precision."""

import copy
from dataclasses import replace

import pytest
import torch

from heed.config import ModelConfig
from heed.kernels.decoder import CompiledDecoder, LayerPast
from heed.model.incremental import FloatProduct, IncrementalDecoder, Source, to_add
from heed.model.int8 import Int8Product, int8_encoder
from heed.model.transformer import Transformer
from tests.model.hypotheses import walk
from tests.model.test_int8 import ByIntegers

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
    model = Transformer(SHAPES[request.param], 37).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases do something, too
            parameter += 0.2 * torch.randn_like(parameter)
    if not CompiledDecoder.can_do(model.embedding.weight):
        pytest.skip("no compiler, or a PyTorch that shows no sgemm")
    return model


def ids(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(3, 37, shape, generator=torch.Generator().manual_seed(seed))


def near(found: torch.Tensor, exact: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), exact, atol=2e-4, rtol=2e-4)


@torch.inference_mode()
@pytest.mark.parametrize("portions", [[1] * 20, [3, 1, 16], [20]])
def test_decoding_in_portions_equals_the_plain_model(model, portions):
    src, tgt = ids(3, 19), ids(3, 20, seed=1)
    src[0, 5:] = src[2, 18:] = 0
    exact = copy.deepcopy(model).double()(src, tgt)
    decoder = IncrementalDecoder(model)
    assert decoder._compiled is not None
    past, begin = decoder.start(src), 0
    for size in portions:
        end = begin + size
        sees = to_add(torch.ones(size, end, dtype=torch.bool).tril(begin), torch.zeros(())).expand(3, -1, -1)
        position = torch.arange(begin, end).expand(3, -1) if size > 1 else begin
        found = decoder.extend(past, tgt[:, begin:end], position, None if size == 1 else sees)
        near(found, exact[:, begin:end])
        begin = end


@torch.inference_mode()
def test_hypotheses_that_part_and_merge_each_see_their_own_past(model):
    src = ids(3, 9)
    src[1, 4:] = 0
    plain = copy.deepcopy(model).double()
    for logits, source, past in walk(IncrementalDecoder(model), src, 37):
        near(logits, plain(source, past)[0, -1])


@torch.inference_mode()
def test_8_bits_are_those_of_integers(model):
    """But for a number now and then that falls to the other side of half a step."""
    src = ids(3, 9)
    src[1, 4:] = 0
    model = int8_encoder(model)
    compiled, by_layers = IncrementalDecoder(model, Int8Product), IncrementalDecoder(model, ByIntegers)
    assert compiled._compiled is not None and by_layers._compiled is None
    for (found, _, past), (exact, _, same_past) in zip(walk(compiled, src, 37), walk(by_layers, src, 37), strict=True):
        assert torch.equal(past, same_past)
        assert (found - exact).norm() < 0.02 * exact.norm()


# --- what C is given the address of -----------------------------------------------------------------------


def begun(decoder, n_sentences=3):
    """Three steps into a translation: its KV cache, and a fourth symbol of each sentence."""
    past, newest = decoder.start(ids(n_sentences, 9)), ids(n_sentences, 1, seed=2)
    for position in range(3):
        decoder.extend(past, newest, position, None)
    return past, newest


@torch.inference_mode()
@pytest.mark.parametrize("product", [FloatProduct, Int8Product], ids=["float32", "8 bits"])
def test_it_owns_its_weights(model, product):
    """Norms and biases are copies, and what is copied may be overwritten: here it is."""
    decoder = IncrementalDecoder(model, product)
    assert decoder._compiled is not None
    past, newest = begun(decoder)
    expected = decoder.extend(copy.deepcopy(past), newest, 3, None)
    few, kept = decoder.restricted(torch.arange(12)), copy.deepcopy(past)
    for layer in model.decoder:
        for parameter in layer.parameters():
            parameter.fill_(torch.nan)
    if isinstance(model.decoder_norm, torch.nn.LayerNorm):
        model.decoder_norm.weight.fill_(torch.nan)
    assert torch.equal(decoder.extend(past, newest, 3, None), expected)
    torch.testing.assert_close(few.extend(kept, newest.clamp_max(11), 3, None).isnan().any(), torch.tensor(False))


@torch.inference_mode()
@pytest.mark.usefixtures("sixteen_bits")
@pytest.mark.parametrize("change", ["half", "double"])
def test_a_converted_model_is_noticed(model, change):
    decoder = IncrementalDecoder(model)
    begun(decoder)
    getattr(model, change)()
    with pytest.raises(ValueError, match="Was the model changed meanwhile"):
        begun(decoder)


def shorter(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[..., :-1].contiguous()


@torch.inference_mode()
@pytest.mark.parametrize("model", ["odd"], indirect=True)
@pytest.mark.parametrize(
    "spoil",
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
@pytest.mark.parametrize("whose", ["target", "source"])
def test_another_kv_cache_is_refused(model, spoil, whose):
    decoder = IncrementalDecoder(model)
    past, newest = begun(decoder)
    if whose == "target":
        past.slots[-1] = spoil(past.slots[-1])
    else:
        last = past.sources[-1]
        k, v = spoil((last.k_BSX, last.v_BSX))
        past.sources[-1] = Source(k, v, last.mask_B1S)
    with pytest.raises(ValueError, match=r"the KV cache is \(.*this decoder needs \("):
        decoder.extend(past, newest, 3, None)


@torch.inference_mode()
def test_the_kv_cache_of_another_model_is_refused(model):
    decoder = IncrementalDecoder(model)
    config = replace(model.config, decoder_layers=model.config.decoder_layers + 1)
    deeper = IncrementalDecoder(Transformer(config, 37).eval())
    config = replace(model.config, d_k=5, d_v=3)
    narrower = IncrementalDecoder(Transformer(config, 37).eval())
    for other in (deeper, narrower):
        past, newest = begun(other)
        with pytest.raises(ValueError, match="KV cache"):
            decoder.extend(past, newest, 3, None)
    past, _ = begun(decoder)
    with pytest.raises(ValueError, match="KV cache"):
        decoder.extend(past, ids(2, 1), 3, None)  # of fewer sentences


@torch.inference_mode()
@pytest.mark.parametrize("model", ["odd"], indirect=True)
@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(torch.zeros(3, 1, 3), id="short"),
        pytest.param(torch.zeros(3, 1, 5), id="long"),
        pytest.param(torch.zeros(2, 1, 4), id="fewer sentences"),
        pytest.param(torch.zeros(3, 1, 4).half(), id="16 bits"),
        pytest.param(torch.zeros(3, 1, 8)[..., ::2], id="gaps"),
        pytest.param(torch.zeros(3, 4), id="two dimensions"),
    ],
)
def test_another_mask_is_refused(model, mask):
    decoder = IncrementalDecoder(model)
    past, newest = begun(decoder)
    with pytest.raises(ValueError, match=r"a mask is \("):
        decoder.extend(past, newest, 3, mask)
    past, newest = begun(decoder)
    past.sources[0] = Source(past.sources[0].k_BSX, past.sources[0].v_BSX, mask)
    with pytest.raises(ValueError, match=r"a mask is \("):
        decoder.extend(past, newest, 3, None)


@torch.inference_mode()
@pytest.mark.parametrize("model", ["odd"], indirect=True)
def test_slots_that_are_not_there_are_refused(model):
    decoder = IncrementalDecoder(model)
    past, _ = begun(decoder)
    pasts = [LayerPast(*own, source.k_BSX, source.v_BSX) for own, source in zip(past.slots, past.sources, strict=True)]
    capacity = pasts[0].k_BMX.size(1)
    with pytest.raises(ValueError, match=f"of {capacity} slots, {capacity} of them in use, has no room for 1"):
        decoder._compiled(torch.zeros(3, 1, model.config.d_model), pasts, capacity, None, None)


@pytest.mark.parametrize("model", ["odd"], indirect=True)
def test_weights_that_do_not_fit_are_refused(model):
    model.decoder[0].feed_forward.w_1.half()
    with pytest.raises(ValueError, match=r"a weight is \(.*torch.float16"):
        IncrementalDecoder(model)
