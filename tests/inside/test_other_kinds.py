"""A model that is not a Transformer: what can be shown of it is shown, and the page says why the rest is not."""

import json

import numpy as np
import pytest
import torch

from heed.config import DecodeConfig, ModelConfig
from heed.engines.pytorch import PyTorchEngine
from heed.errors import ConfigError, DecodeError
from heed.inside.document import document
from heed.inside.inspection import Inspection, look
from heed.inside.observe import Switches
from heed.inside.svg import Choice, draw
from heed.model.build import build_model
from heed.options import SearchOptions
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator
from tests.conftest import small_config
from tests.inside.conftest import SAMPLE, TEXT, Open
from tests.model import baselines
from tests.model.test_interface import Gru


@pytest.fixture(scope="module")
def recurrent(tokenizer: Tokenizer) -> Translator:
    torch.manual_seed(3)
    model = Gru(small_config(), tokenizer.vocabulary).eval()
    model.embedding.weight.data *= 4
    return Translator(PyTorchEngine([model], tokenizer, DecodeConfig(beam=3, extra_length=4)))


@pytest.fixture(scope="module")
def seen(recurrent: Translator) -> Inspection:
    return recurrent.inspect(TEXT, sample=SAMPLE, name="a recurrent model")


def test_its_numbers_are_those_of_a_fresh_pass(recurrent: Translator, seen: Inspection) -> None:
    model, vocabulary = recurrent.models[0], recurrent.tokenizer.vocabulary
    target_in = torch.tensor([[vocabulary.start, *seen.target.ids[:-1]]])
    with torch.no_grad():
        logits = model(torch.tensor([seen.source.ids]), target_in)[0]
    np.testing.assert_allclose(seen.walk["logits"], logits.numpy(), rtol=1e-5, atol=1e-5)
    before = logits.log_softmax(-1)[range(len(seen.target.ids)), seen.target.ids]
    without = [one for i, one in enumerate(seen.source.ids) if i not in seen.source.words[2]]
    with torch.no_grad():
        after = model(torch.tensor([without]), target_in)[0].log_softmax(-1)[
            range(len(seen.target.ids)), seen.target.ids
        ]
    np.testing.assert_allclose(seen.occlusion.change[2], (after - before).numpy(), rtol=1e-4, atol=1e-4)
    assert seen.beam.nodes[seen.beam.best[-1]].log_probability == pytest.approx(seen.translation.log_probability)


def test_it_can_be_written_as_files(seen: Inspection) -> None:
    read = json.loads(seen.to_json())
    assert set(read["arrays"]) == {"occlusion.change", "occlusion.first_choice"}
    assert read["roles"] is None and read["next_words"] and read["beam"]["nodes"]
    assert seen.to_npz()
    assert "lens.rank" not in document(seen).summary["arrays"]


def test_figures_it_has_are_drawn_and_others_refused(seen: Inspection) -> None:
    for view in ("beam", "occlusion"):
        assert draw(seen, view, Choice()).startswith("<svg")
    for view in ("attention", "heatmap", "grid", "heads", "layers", "figure3", "figure4", "figure5"):
        with pytest.raises(ConfigError, match=f"--svg {view}: .* has no attention heads; its views are beam and occ"):
            draw(seen, view, Choice())


def test_there_is_nothing_to_switch_off(recurrent: Translator) -> None:
    assert isinstance(recurrent.engine, PyTorchEngine)
    with pytest.raises(DecodeError, match="has no attention heads; what can be shown"):
        look(recurrent.engine, TEXT, SearchOptions(), switches=Switches(positions=False))


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_opens_at_the_beam_and_says_what_is_missing(open_page: Open, seen: Inspection, width: int) -> None:
    tab = open_page(seen, width=width)
    assert tab.get_attribute("#tab-beam", "aria-selected") == "true"
    assert 'model.kind = "transformer", 2 + 2 layers, d_model 24' in tab.inner_text("header")  # as its config says
    assert tab.query_selector_all(".node") and tab.query_selector_all("#next tr")
    for view, word in (("attention", "weights"), ("walk", "equations"), ("heads", "off"), ("layers", "earlier layer")):
        tab.click(f"#tab-{view}")
        text = tab.inner_text("main")
        assert word in text and "Beam shows its search and its next words, Occlusion" in text
    tab.click("#tab-occlusion")
    assert len(tab.query_selector_all(".heat tbody tr")) == len(seen.target.word_labels)
    assert "no attention to compare" in tab.inner_text("main")
    assert "≠" not in tab.inner_text("main")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


# --- the baselines of Table 2, whose decoders attend to the source ------------------------------------------------


@pytest.fixture(scope="module", params=["recurrent", "convolutional"])
def baseline(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    torch.manual_seed(4)
    config = ModelConfig(encoder_layers=2, decoder_layers=3, d_model=24, max_length=60, kind=request.param)
    model = build_model(config, tokenizer.vocabulary).eval()
    model.output_weight.data *= 4
    return Translator(PyTorchEngine([model], tokenizer, DecodeConfig(beam=3, extra_length=4)))


@pytest.fixture(scope="module")
def attended(baseline: Translator) -> Inspection:
    return baseline.inspect(TEXT, sample=SAMPLE, name="a baseline")


def test_attention_to_the_source_is_that_of_plain_loops(baseline: Translator, attended: Inspection) -> None:
    model = baseline.models[0]
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    by_loops = getattr(baselines, model.config.kind)
    vocabulary = baseline.tokenizer.vocabulary
    _, expected = by_loops(attended.source.ids, [vocabulary.start, *attended.target.ids[:-1]], weights, model.config)
    n_layers = 1 if model.config.kind == "recurrent" else 3
    found = attended.attention["cross"]
    assert found.shape == (n_layers, 1, len(attended.target.ids), len(attended.source.ids))
    np.testing.assert_allclose(found[:, 0], np.reshape(expected, found[:, 0].shape), rtol=1e-3, atol=1e-5)


def test_a_baseline_as_files_and_figures(attended: Inspection) -> None:
    read = json.loads(attended.to_json())
    assert read["model"]["h"] == 1 and read["roles"] is None
    assert set(read["arrays"]) == {"attention.cross", "occlusion.change", "occlusion.first_choice"}
    np.testing.assert_allclose(np.sum(read["arrays"]["attention.cross"], -1), 1, rtol=1e-5)
    for view in ("attention", "heatmap", "grid", "beam", "occlusion"):
        assert draw(attended, view, Choice()).startswith("<svg")
    for view in ("heads", "layers", "figure3"):
        with pytest.raises(ConfigError, match="has no attention heads; its views are attention, heatmap, grid, b"):
            draw(attended, view, Choice())
    with pytest.raises(ConfigError, match="--kind encoder: .* attends to its source only: cross"):
        draw(attended, "attention", Choice(kind="encoder"))


def test_the_page_of_a_baseline_opens_at_its_attention(open_page: Open, attended: Inspection) -> None:
    tab = open_page(attended)
    assert tab.get_attribute("#tab-attention", "aria-selected") == "true"
    assert len(tab.query_selector_all(".thumb")) == len(attended.attention["cross"])
    assert "heads" not in tab.inner_text("header")
    tab.click("#tab-heads")
    assert "Attention shows what its decoder reads of the source" in tab.inner_text("main")
    tab.click("#tab-occlusion")
    assert "no attention to compare" not in tab.inner_text("main")
