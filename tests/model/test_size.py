"""Compare parameter counts with Table 3 of the paper (in millions)."""

import pytest

from heed.config import ModelConfig
from heed.model.size import count_parameters
from heed.model.transformer import Transformer
from heed.presets import big
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_config

# With any vocabulary from 41,004 to 41,208, all ten rows round to the printed numbers. "About 37,000" would make base
# 63 instead of 65, and 40,960 would make the row d_ff = 1024 52.48 instead of 53.
VOCABULARY_OF_TABLE_3 = Vocabulary(41_100)

ROWS = [
    (65, {}),
    (58, {"d_k": 16}),
    (60, {"d_k": 32}),
    (36, {"encoder_layers": 2, "decoder_layers": 2}),
    (50, {"encoder_layers": 4, "decoder_layers": 4}),
    (80, {"encoder_layers": 8, "decoder_layers": 8}),
    (28, {"d_model": 256, "d_k": 32, "d_v": 32}),
    (168, {"d_model": 1024, "d_k": 128, "d_v": 128}),
    (53, {"d_ff": 1024}),
    (90, {"d_ff": 4096}),
]


@pytest.mark.parametrize(("millions", "changes"), ROWS)
def test_rows_of_table_3(millions, changes):
    assert round(count_parameters(ModelConfig(**changes), VOCABULARY_OF_TABLE_3) / 1e6) == millions


@pytest.mark.parametrize("h", [1, 4, 16, 32])
def test_rows_a_keep_the_number_of_parameters(h):
    size = 512 // h
    changed = ModelConfig(h=h, d_k=size, d_v=size)
    assert count_parameters(changed, VOCABULARY_OF_TABLE_3) == count_parameters(ModelConfig(), VOCABULARY_OF_TABLE_3)


def test_big_fits_a_vocabulary_of_about_37000():
    assert count_parameters(big().model, Vocabulary(36_000)) / 1e6 == pytest.approx(213, abs=0.5)
    assert count_parameters(big().model, Vocabulary(37_000)) / 1e6 == pytest.approx(213, abs=1.5)


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"positions": "learned"}, {"d_k": 3}, {"decoder_layers": 1}])
def test_the_formula_agrees_with_the_built_model(changes):
    config = small_config(**changes)
    built = sum(parameter.numel() for parameter in Transformer(config, Vocabulary(VOCABULARY)).parameters())
    assert built == count_parameters(config, Vocabulary(VOCABULARY))
