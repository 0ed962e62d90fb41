"""The walk of a model with parts switched off, in a real browser: the sums on the page are the model's own numbers."""

import pytest

from heed.engines.pytorch import PyTorchEngine
from heed.inside.inspection import Inspection, look, measured
from heed.inside.observe import Switches
from heed.options import SearchOptions
from heed.translator import Translator
from tests.inside.conftest import TEXT, Open

# The page opens at layer 2, head 2 of both stacks.
OFF = {
    "heads": Switches(heads=frozenset({("encoder", 1, 1), ("decoder", 1, 0), ("cross", 1, 1)})),
    "a layer": Switches(layers=frozenset({("encoder", 0), ("decoder", 1)})),
    "the last of the encoder": Switches(layers=frozenset({("encoder", 1)})),
    "all of the encoder": Switches(layers=frozenset({("encoder", 0), ("encoder", 1)})),
    "mask": Switches(causal=False),
    "positions": Switches(positions=False),
}


def with_switches(translator: Translator, switches: Switches) -> Inspection:
    assert isinstance(translator.engine, PyTorchEngine)
    return measured(look(translator.engine, TEXT, SearchOptions(beam=2), switches=switches))


@pytest.mark.parametrize("off", OFF)
def test_every_sum_is_the_models_own(open_page: Open, translator: Translator, off: str) -> None:
    tab = open_page(with_switches(translator, OFF[off]), "view=walk&stage=encoder.pieces&wlayer=1&whead=1&i=1&j=3")
    n_compared = 0
    while True:
        stage = tab.inner_text("#stage-title")
        for total in tab.query_selector_all(".total"):
            own = total.query_selector("[data-model]")
            if own is not None:
                exact, model = (
                    float(node.get_attribute(f"data-{name}")) for node, name in ((total, "total"), (own, "model"))
                )
                assert exact == pytest.approx(model, abs=0.01 + 0.01 * abs(model)), (off, stage)
                n_compared += 1
        if tab.is_disabled("[data-key=next]"):
            break
        tab.click("[data-key=next]")
    # Q, K, V and W_O of three attentions, three softmaxes, two W_2, what leaves each stack, and a logit.
    is_handed_on = off == "all of the encoder" and translator.models[0].config.norm == "post"
    assert n_compared == 3 * 4 + 3 + 2 + 2 + 1 - is_handed_on


def test_the_page_says_what_is_off(open_page: Open, translator: Translator) -> None:
    tab = open_page(with_switches(translator, OFF["heads"]), "view=walk&stage=encoder.self.context&wlayer=1&whead=1")
    assert "Head 2 is switched off: zeros take the place" in tab.inner_text("main")
    tab.goto(f"{tab.url.partition('#')[0]}#view=walk&stage=encoder.self.concat&wlayer=1&i=2&j=17")
    tab.wait_for_function("() => document.querySelector('#stage-title').textContent === 'concatenation'")
    assert "column 18 is number 9 of head 2, which is switched off: 0" in tab.inner_text(".provenance")
    assert tab.get_attribute(".provenance output", "data-value") == "0"
    tab = open_page(with_switches(translator, OFF["a layer"]), "view=walk&stage=decoder.self.q&wlayer=1")
    assert "Layer 2 of the decoder is switched off" in tab.inner_text("[role=note]")
    tab = open_page(with_switches(translator, OFF["mask"]), "view=walk&stage=decoder.self.masked&i=0&j=2")
    assert "The causal mask is switched off" in tab.inner_text("main")
    assert "stays" in tab.inner_text(".provenance")
    tab = open_page(with_switches(translator, OFF["positions"]), "view=walk&stage=encoder.positions&i=1&j=1")
    assert "PE[2, 2] = 0, switched off" in tab.inner_text(".provenance")
