"""What cannot be inspected is refused before anything is computed, with a word on what to do."""

import pytest

from heed.config import DecodeConfig
from heed.engines.pytorch import PyTorchEngine
from heed.errors import DecodeError
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator
from tests.inside.conftest import small_translator


@pytest.mark.parametrize("text", ["", "  ", "\n", "\u2028"])
def test_a_blank_text_is_refused(tokenizer: Tokenizer, text: str) -> None:
    with pytest.raises(DecodeError, match="the text is blank; give a sentence"):
        small_translator(tokenizer).inspect(text)


def test_a_text_over_the_limit_is_refused_with_both_numbers(tokenizer: Tokenizer) -> None:
    with pytest.raises(DecodeError, match=r"the text has 300 pieces, the model's limit is 60 \(model.max_length\)"):
        small_translator(tokenizer).inspect("fox " * 300)


def test_three_hundred_pieces_are_shown_by_a_model_that_can_read_them(tokenizer: Tokenizer) -> None:
    found = small_translator(tokenizer, max_length=310).inspect("fox " * 300, beam=1)
    assert found.attention["encoder"].shape == (2, 2, 301, 301)


def test_an_ensemble_and_eight_bits_are_refused(tokenizer: Tokenizer) -> None:
    model = small_translator(tokenizer).models[0]
    with pytest.raises(DecodeError, match="inspect looks into one model, and these are 2"):
        Translator(PyTorchEngine([model, model], tokenizer, DecodeConfig())).inspect("fox")
    engine = PyTorchEngine([model], tokenizer, DecodeConfig())
    engine.int8 = True
    with pytest.raises(DecodeError, match="load it without int8"):
        Translator(engine).inspect("fox")


@pytest.mark.parametrize(
    "arguments", [{"text": 7}, {"text": "fox", "beam": "4"}, {"text": "fox", "alpha": None, "beam": 1.5}]
)
def test_arguments_of_the_wrong_type_are_type_errors(tokenizer: Tokenizer, arguments: dict) -> None:
    with pytest.raises(TypeError):
        small_translator(tokenizer).inspect(**arguments)
