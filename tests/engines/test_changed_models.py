"""A model that is changed after it has translated: what follows is what a new translator of it would say."""

import pytest
import torch

from heed.config import DecodeConfig
from heed.errors import ConfigError
from heed.kernels.decoder import CompiledDecoder
from heed.kernels.library import library
from heed.model.transformer import Transformer
from heed.translator import Translator
from tests.conftest import small_config

TEXTS = ["the quick brown fox", "dog", "über über über"]


def make_translator(tokenizer, int8=False):
    torch.manual_seed(0)
    model = Transformer(small_config(max_length=40), len(tokenizer)).eval()
    model.embedding.weight.data *= 4
    return Translator([model], tokenizer, DecodeConfig(extra_length=6), int8)


def in_place(model):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name or "bias" in name:
                weight.add_(torch.randn_like(weight))


def other_weights(model):
    torch.manual_seed(9)
    model.load_state_dict(Transformer(model.config, model.vocab_size).state_dict())


CHANGES = {
    "half": lambda model: model.half(),
    "bfloat16": lambda model: model.bfloat16(),
    "double": lambda model: model.double(),
    "there and back": lambda model: model.double().float(),
    "in place": in_place,
    "other weights": other_weights,
}


def said(translator):
    return [(one.text, one.score) for one in translator.translate(TEXTS, beam=3)]


@pytest.mark.usefixtures("sixteen_bits")
@pytest.mark.parametrize("change", CHANGES)
def test_it_translates_as_it_is_now(tokenizer, change):
    translator = make_translator(tokenizer)
    before = said(translator)
    decoders = translator._decoders
    assert said(translator) == before and translator._decoders is decoders  # not made again without need
    CHANGES[change](translator.models[0])
    fresh = Translator(translator.models, tokenizer, translator.decode)
    assert said(translator) == said(fresh)
    assert (said(translator) == before) == (change == "there and back")


def test_a_model_put_in_its_place_is_noticed(tokenizer):
    translator = make_translator(tokenizer)
    before = said(translator)
    model = Transformer(small_config(max_length=40), len(tokenizer)).eval()
    translator.models[0] = model
    assert said(translator) == said(Translator([model], tokenizer, translator.decode)) != before


@pytest.mark.skipif(library() is None, reason="no compiler")
def test_8_bits_are_made_again_or_refused_by_name(tokenizer):
    translator = make_translator(tokenizer, int8=True)
    before = said(translator)
    in_place(translator.models[0])
    after = said(translator)
    assert after == said(Translator(translator.models, tokenizer, translator.decode, int8=True)) != before
    translator.models[0].half()
    with pytest.raises(ConfigError, match="float16"):
        translator.translate(TEXTS)
    translator.models[0].float()
    assert len(translator.translate(TEXTS)) == len(TEXTS)


def test_a_draft_whose_model_has_changed_is_refused(tokenizer):
    """It keeps its decoder; another draft of the same model works."""
    translator, other = make_translator(tokenizer), make_translator(tokenizer)
    if not CompiledDecoder.can_do(other.models[0].embedding.weight):
        pytest.skip("no compiler")
    draft = other.as_draft_of(translator)
    expected = translator.translate(TEXTS[:1], draft=draft)
    other.models[0].double()
    with pytest.raises(ValueError, match="Was the model changed meanwhile"):
        translator.translate(TEXTS[:1], draft=draft)
    assert translator.translate(TEXTS[:1], draft=other.as_draft_of(translator))[0].text == expected[0].text
