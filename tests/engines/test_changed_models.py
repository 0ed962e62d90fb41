"""A model that is changed after it has translated: what follows is what a new translator of it would say."""

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


def said(translator):
    return [(one.text, one.score) for one in translator.translate(TEXTS, beam=3)]


@pytest.mark.usefixtures("sixteen_bits")
@pytest.mark.parametrize("change", CHANGES)
def test_it_translates_as_it_is_now(tokenizer, change):
    translator = make_translator(tokenizer)
    before = said(translator)
    searchers = translator.engine._searchers
    assert said(translator) == before and translator.engine._searchers is searchers  # not made again without need
    CHANGES[change](translator.models[0])
    fresh = torch_translator(translator.models, tokenizer, translator.decode)
    assert said(translator) == said(fresh)
    assert (said(translator) == before) == (change == "there and back")


def test_a_model_put_in_its_place_is_noticed(tokenizer):
    translator = make_translator(tokenizer)
    before = said(translator)
    model = Transformer(small_config(max_length=40), tokenizer.vocabulary).eval()
    translator.models[0] = model
    assert said(translator) == said(torch_translator([model], tokenizer, translator.decode)) != before


@pytest.mark.skipif(library() is None, reason="no compiler")
def test_8_bits_are_made_again_or_refused_by_name(tokenizer):
    translator = make_translator(tokenizer, int8=True)
    before = said(translator)
    in_place(translator.models[0])
    after = said(translator)
    assert after == said(torch_translator(translator.models, tokenizer, translator.decode, int8=True)) != before
    translator.models[0].half()
    with pytest.raises(ConfigError, match="float16"):
        translator.translate(TEXTS)
    translator.models[0].float()
    assert len(translator.translate(TEXTS)) == len(TEXTS)
