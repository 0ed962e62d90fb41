"""Switches: what the model computes and writes without a part is what loops without that part compute and write."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from heed.config import ModelConfig
from heed.engines.pytorch import PyTorchEngine
from heed.inside.inspection import Look, look, measured
from heed.inside.observe import KINDS, Switches
from heed.options import Sampling, SearchOptions
from heed.translator import Translator
from tests.inside.conftest import TEXT
from tests.model import reference

Weights = dict[str, np.ndarray]
GREEDY = SearchOptions(beam=1)


def engine_of(translator: Translator) -> PyTorchEngine:
    assert isinstance(translator.engine, PyTorchEngine)
    return translator.engine


def weights_of(engine: PyTorchEngine) -> Weights:
    return {name: weight.double().numpy() for name, weight in engine.models[0].state_dict().items()}


def head_zeroed(weights: Weights, name: str, head: int, d_v: int) -> Weights:
    """W_O without the rows that read a head: as if the head's part of the concatenation were zero."""
    w_o = weights[f"{name}.w_o.weight"].copy()
    w_o[:, head * d_v : (head + 1) * d_v] = 0
    return {**weights, f"{name}.w_o.weight": w_o}


def layer_removed(weights: Weights, stack: str, layer: int) -> Weights:
    """The weights of a model that has one layer less."""
    kept = {}
    for name, weight in weights.items():
        parts = name.split(".")
        if parts[0] == stack:
            if int(parts[1]) == layer:
                continue
            if int(parts[1]) > layer:
                parts[1] = str(int(parts[1]) - 1)
        kept[".".join(parts)] = weight
    return kept


def written_by_loops(
    source: list[int], weights: Weights, config: ModelConfig, engine: PyTorchEngine, prefix: list[int]
) -> tuple[list[int], np.ndarray, Mapping[str, list[np.ndarray]]]:
    """Greedy search with the loops, each step from the beginning; then one pass over all that was written."""
    vocabulary = engine.tokenizer.vocabulary
    ids: list[int] = []
    for _ in range(len(source) - 1 + len(prefix) + engine.decode.extra_length):
        logits, _ = reference.transformer(source, [vocabulary.start, *ids], weights, config)
        last = logits[-1].copy()
        last[list(vocabulary.never_output)] = -np.inf
        token = prefix[len(ids)] if len(ids) < len(prefix) else int(last.argmax())
        if token == vocabulary.end:
            break
        ids.append(token)
    logits, seen = reference.transformer(source, [vocabulary.start, *ids], weights, config)
    return ids, logits, seen


def check(engine: PyTorchEngine, switches: Switches, weights: Weights, config: ModelConfig) -> Look:
    """Compare with the loops; `weights` and `config` are what is left of the model."""
    plain, found = look(engine, TEXT, GREEDY), look(engine, TEXT, GREEDY, switches=switches)
    ids, logits, seen = written_by_loops(found.source.ids, weights, config, engine, [])
    assert found.target.ids[:-1] == ids
    np.testing.assert_allclose(found.walk["logits"], logits, rtol=1e-3, atol=1e-3)
    for kind in KINDS:
        if len(found.attention[kind]) == len(seen[kind]):
            np.testing.assert_allclose(found.attention[kind], np.stack(seen[kind]), atol=1e-4)
    gold = [*ids, engine.tokenizer.vocabulary.end]
    told = found.translation.log_probabilities
    assert found.lens.first_choice[-1].tolist() == logits.argmax(-1).tolist()
    assert len(told) in (len(gold), len(gold) - 1)
    assert not np.allclose(plain.walk["logits"][0], found.walk["logits"][0])  # it makes a difference
    return found


@pytest.mark.parametrize("kind, part", [("encoder", "self"), ("decoder", "self"), ("cross", "cross")])
def test_a_head_that_is_off(translator: Translator, kind: str, part: str) -> None:
    engine = engine_of(translator)
    config, stack = engine.models[0].config, "encoder" if kind == "encoder" else "decoder"
    weights = head_zeroed(weights_of(engine), f"{stack}.1.{part}_attention", 1, config.value_size)
    check(engine, Switches(heads=frozenset({(kind, 1, 1)})), weights, config)  # type: ignore[arg-type]


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_layer_that_is_off(translator: Translator, stack: str) -> None:
    engine = engine_of(translator)
    left = replace(engine.models[0].config, **{f"{stack}_layers": 1})
    found = check(engine, Switches(layers=frozenset({(stack, 0)})), layer_removed(weights_of(engine), stack, 0), left)
    if stack == "decoder":  # the lens, too, sees what was handed on
        np.testing.assert_array_equal(found.lens.rank[0], found.lens.rank[1])


def test_positions_off(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of(translator)
    monkeypatch.setattr(reference, "position", lambda pos, d_model: np.zeros(d_model))
    found = check(engine, Switches(positions=False), weights_of(engine), engine.models[0].config)
    assert not found.walk["encoder.positions"].any() and not found.walk["decoder.positions"].any()


def test_causal_mask_off(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, attend = engine_of(translator), reference.attend

    def unmasked(queries, attended, weights, name, h, allowed):  # type: ignore[no-untyped-def]
        return attend(queries, attended, weights, name, h, lambda query, key: True)

    monkeypatch.setattr(reference, "attend", unmasked)
    plain, found = look(engine, TEXT, GREEDY), look(engine, TEXT, GREEDY, switches=Switches(causal=False))
    ids, logits, seen = written_by_loops(
        found.source.ids, weights_of(engine), engine.models[0].config, engine, prefix=[]
    )
    assert found.target.ids[:-1] == ids
    np.testing.assert_allclose(found.walk["logits"], logits, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.attention["decoder"], np.stack(seen["decoder"]), atol=1e-4)
    assert found.attention["decoder"][0, 0, 0, -1] > 0 and plain.attention["decoder"][0, 0, 0, -1] == 0


def test_all_on_is_the_search_that_translates(translator: Translator) -> None:
    engine = engine_of(translator)
    for beam in (1, 3):
        assert look(engine, TEXT, SearchOptions(beam=beam)).translation.text == (
            translator.translate([TEXT], beam=beam, copy=False)[0].text
        )


def test_search_without_a_cache_is_search_with_one(translator: Translator) -> None:
    """A switch that changes nothing: off is the head of a layer that is off anyway."""
    engine = engine_of(translator)
    layer = frozenset({("decoder", 1)})
    one = look(engine, TEXT, SearchOptions(beam=3), switches=Switches(layers=layer))
    other = look(engine, TEXT, SearchOptions(beam=3), switches=Switches(frozenset({("cross", 1, 0)}), layer))
    assert one.translation.text == other.translation.text
    assert one.translation.log_probability == pytest.approx(other.translation.log_probability, abs=1e-5)


def test_a_beginning_is_forced_and_the_rest_is_searched(translator: Translator) -> None:
    engine = engine_of(translator)
    plain = look(engine, TEXT, GREEDY)
    other = plain.target.ids[3] if plain.target.ids[3] != plain.target.ids[1] else plain.target.ids[2]
    prefix = [plain.target.ids[0], other]
    found = look(engine, TEXT, GREEDY, prefix=prefix)
    ids, _, _ = written_by_loops(found.source.ids, weights_of(engine), engine.models[0].config, engine, prefix=prefix)
    assert found.n_forced == 2 and found.target.ids[:-1] == ids


def test_measures_of_a_switched_model_are_those_of_fresh_passes(translator: Translator) -> None:
    """With one head off, a second one off: the difference of two passes over the loops."""
    engine = engine_of(translator)
    config, vocabulary = engine.models[0].config, engine.tokenizer.vocabulary
    found = measured(look(engine, TEXT, GREEDY, switches=Switches(heads=frozenset({("cross", 0, 0)}))))
    one = head_zeroed(weights_of(engine), "decoder.0.cross_attention", 0, config.value_size)
    both = head_zeroed(one, "encoder.1.self_attention", 1, config.value_size)

    def logprobs(weights: Weights) -> np.ndarray:
        target_in = [vocabulary.start, *found.target.ids[:-1]]
        logits, _ = reference.transformer(found.source.ids, target_in, weights, config)
        return np.array(
            [row[token] - np.log(np.exp(row).sum()) for row, token in zip(logits, found.target.ids, strict=True)]
        )

    np.testing.assert_allclose(found.heads_off.change["encoder"][1, 1], logprobs(both) - logprobs(one), atol=2e-3)
    np.testing.assert_allclose(found.heads_off.change["cross"][0, 0], 0, atol=1e-5)  # it is off already


def test_what_is_drawn_is_one_path(translator: Translator) -> None:
    options = SearchOptions(sampling=Sampling(temperature=1.5, seed=4))
    found = look(engine_of(translator), TEXT, options)
    assert [node.parent for node in found.beam.nodes] == [i - 1 for i in range(len(found.beam.nodes))]
    assert found.beam.nodes[-1].log_probability == pytest.approx(found.translation.log_probability)
    assert found.translation.text == translator.translate([TEXT], sampling=options.sampling)[0].text
