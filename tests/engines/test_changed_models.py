"""A translator whose model is changed translates like a new translator of the changed model."""

import pytest
import torch

from heed.config import DecodeConfig
from heed.errors import ConfigError
from heed.kernels.library import library
from heed.model.transformer import Transformer
from tests.conftest import small_config, torch_translator

TEXTS = ["the quick brown fox", "dog", "über über über"]


def make_translator(tokenizer, int8=False):
    torch.manual_seed(0)
    model = Transformer(small_config(max_length=40), tokenizer.vocabulary).eval()
    model.embedding.weight.data *= 4
    return torch_translator([model], tokenizer, DecodeConfig(extra_length=6), int8)


def in_place(model):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name or "bias" in name:
                weight.add_(torch.randn_like(weight))


def other_weights(model):
    torch.manual_seed(9)
    model.load_state_dict(Transformer(model.config, model.vocabulary).state_dict())


CHANGES = {
    "half": lambda model: model.half(),
    "bfloat16": lambda model: model.bfloat16(),
    "double": lambda model: model.double(),
    "there and back": lambda model: model.double().float(),
    "in place": in_place,
    "other weights": other_weights,
}


def translations(translator):
    return [(one.text, one.score) for one in translator.translate(TEXTS, beam=3)]


@pytest.mark.usefixtures("sixteen_bits")
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_takes_effect(tokenizer, change):
    translator = make_translator(tokenizer)
    before = translations(translator)
    searchers = translator.engine._searchers
    assert translations(translator) == before and translator.engine._searchers is searchers  # not rebuilt without need
    CHANGES[change](translator.models[0])
    fresh = torch_translator(translator.models, tokenizer, translator.decode)
    assert translations(translator) == translations(fresh)
    assert (translations(translator) == before) == (change == "there and back")


def test_a_replaced_model_takes_effect(tokenizer):
    translator = make_translator(tokenizer)
    before = translations(translator)
    model = Transformer(small_config(max_length=40), tokenizer.vocabulary).eval()
    translator.models[0] = model
    assert translations(translator) == translations(torch_translator([model], tokenizer, translator.decode)) != before


@pytest.mark.skipif(library() is None, reason="no compiler")
def test_8_bits_are_quantised_again_or_refused(tokenizer):
    translator = make_translator(tokenizer, int8=True)
    before = translations(translator)
    in_place(translator.models[0])
    after = translations(translator)
    assert after == translations(torch_translator(translator.models, tokenizer, translator.decode, int8=True)) != before
    translator.models[0].half()
    with pytest.raises(ConfigError, match="float16"):
        translator.translate(TEXTS)
    translator.models[0].float()
    assert len(translator.translate(TEXTS)) == len(TEXTS)
