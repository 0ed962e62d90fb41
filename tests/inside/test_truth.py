"""The numbers are those of the model: checked against a version written with loops, and against other code paths."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from heed.data.batch import batch_of_ids
from heed.decode.penalty import length_penalty
from heed.inside.inspection import AXES, TOP_WORDS, Inspection
from heed.inside.observe import KINDS
from heed.inside.roles import ROLES
from heed.inside.walk import SUBLAYER, record
from heed.model.transformer import Transformer
from heed.translator import Translator
from tests.inside.conftest import TEXT
from tests.model import reference


def weights_of(model: Transformer) -> dict[str, np.ndarray]:
    return {name: weight.double().numpy() for name, weight in model.state_dict().items()}


def ids_of(inspection: Inspection) -> tuple[list[int], list[int]]:
    """Source and target without their end tokens."""
    return inspection.source.ids[:-1], inspection.target.ids[:-1]


def test_attention_and_logits_are_those_of_the_loops(inspection: Inspection) -> None:
    source, target = inspection.source.ids, [0, *inspection.target.ids[:-1]]
    logits, seen = reference.transformer(source, target, weights_of(inspection.model), inspection.model.config)
    np.testing.assert_allclose(inspection.walk["logits"], logits, rtol=1e-4, atol=1e-4)
    for kind in KINDS:
        np.testing.assert_allclose(inspection.attention[kind], np.stack(seen[kind]), atol=1e-5)


def test_rows_sum_to_one_and_what_is_masked_is_zero(inspection: Inspection) -> None:
    for kind in KINDS:
        np.testing.assert_allclose(inspection.attention[kind].sum(-1), 1, atol=1e-5)
    n = len(inspection.target.ids)
    later = np.triu(np.ones((n, n), dtype=bool), k=1)
    assert np.all(inspection.attention["decoder"][:, :, later] == 0)
    assert np.all(inspection.attention["decoder"][:, :, ~later] > 0)


def test_attention_is_what_translate_returns(inspection: Inspection, translator: Translator) -> None:
    (found,) = translator.translate([TEXT], attention=True)
    assert found.attention is not None and found.text == inspection.translation.text
    for kind in KINDS:
        np.testing.assert_array_equal(inspection.attention[kind], getattr(found.attention, kind))


def test_every_step_of_the_walk_follows_from_the_ones_before(inspection: Inspection) -> None:
    """Each array from the recorded ones before it, by the paper's formulas in NumPy."""
    walk, config, weights = inspection.walk, inspection.model.config, weights_of(inspection.model)
    close = {"rtol": 1e-4, "atol": 1e-4}

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return reference.layer_norm(x.astype(np.float64), weights[f"{name}.weight"], weights[f"{name}.bias"])

    for stack, ids in (("encoder", inspection.source.ids), ("decoder", [0, *inspection.target.ids[:-1]])):
        np.testing.assert_allclose(walk[f"{stack}.x"], reference.embed(ids, weights), **close)
        np.testing.assert_allclose(walk[f"{stack}.embedding"] + walk[f"{stack}.positions"], walk[f"{stack}.x"], **close)
        n_layers = getattr(config, f"{stack}_layers")
        for layer in range(n_layers):
            at, x = f"{stack}.{layer}", walk[f"{stack}.{layer}.x"]
            for short, part in (("self", "self_attention"), ("cross", "cross_attention"), ("ff", "feed_forward")):
                if f"{at}.{short}.out" not in walk:
                    assert (stack, short) == ("encoder", "cross")
                    continue
                given = norm(x, f"{at}.{part}_residual.norm") if config.norm == "pre" else x
                if short == "ff":
                    inner = np.maximum(
                        given @ weights[f"{at}.{part}.w_1.weight"].T + weights[f"{at}.{part}.w_1.bias"], 0
                    )
                    np.testing.assert_allclose(walk[f"{at}.ff.inner"], inner, **close)
                    out = inner @ weights[f"{at}.{part}.w_2.weight"].T + weights[f"{at}.{part}.w_2.bias"]
                else:
                    other = walk["encoder.out"] if short == "cross" else given
                    for name, from_ in (("q", given), ("k", other), ("v", other)):
                        made = from_ @ weights[f"{at}.{part}.w_{name}.weight"].T
                        by_head = made.reshape(len(from_), config.h, -1).swapaxes(0, 1)
                        np.testing.assert_allclose(walk[f"{at}.{short}.{name}"], by_head, **close)
                    context = walk[f"{at}.{short}.weights"] @ walk[f"{at}.{short}.v"]
                    np.testing.assert_allclose(walk[f"{at}.{short}.context"], context, **close)
                    out = context.swapaxes(0, 1).reshape(len(x), -1) @ weights[f"{at}.{part}.w_o.weight"].T
                np.testing.assert_allclose(walk[f"{at}.{short}.out"], out, **close)
                y = x + out if config.norm == "pre" else norm(x + out, f"{at}.{part}_residual.norm")
                np.testing.assert_allclose(walk[f"{at}.{short}.y"], y, **close)
                x = walk[f"{at}.{short}.y"]
        last = walk[f"{stack}.{n_layers - 1}.ff.y"]
        out = norm(last, f"{stack}_norm") if config.norm == "pre" else last
        np.testing.assert_allclose(walk[f"{stack}.out"], out, **close)


@torch.inference_mode()
def test_a_head_that_is_off_is_a_head_whose_output_is_zero(inspection: Inspection) -> None:
    """A fresh forward pass each, with a hook that zeroes what the head puts into W_O."""
    model, h = inspection.model, inspection.model.config.h
    d_v = model.config.value_size
    batch = batch_of_ids(*([ids] for ids in ids_of(inspection)), inspection.model.vocabulary)
    before = model(batch.src_BS, batch.tgt_in_BT).log_softmax(-1)[0]
    gold = batch.tgt_out_BT[0].unsqueeze(-1)
    for kind in KINDS:
        stack, sublayer = SUBLAYER[kind]
        for layer, module in enumerate(getattr(model, stack)):
            for head in range(h):

                def zero(_: object, given: tuple[torch.Tensor], head: int = head) -> tuple[torch.Tensor]:
                    changed = given[0].clone()
                    changed[..., head * d_v : (head + 1) * d_v] = 0
                    return (changed,)

                hook = getattr(module, f"{sublayer}_attention").w_o.register_forward_pre_hook(zero)
                after = model(batch.src_BS, batch.tgt_in_BT).log_softmax(-1)[0]
                hook.remove()
                change = (after - before).gather(-1, gold).squeeze(-1).numpy()
                assert np.abs(change).max() > 1e-4
                np.testing.assert_allclose(inspection.heads_off.change[kind][layer, head], change, atol=1e-4)
                chosen = inspection.heads_off.first_choice[kind][layer, head]
                np.testing.assert_array_equal(chosen, after.argmax(-1).numpy())


def test_inspecting_leaves_the_model_as_it_was(inspection: Inspection) -> None:
    for module in inspection.model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks


def test_a_word_left_out_is_the_sentence_without_it(inspection: Inspection, translator: Translator) -> None:
    source, target = ids_of(inspection)
    whole, *without = translator._pytorch().score(
        [
            [
                source,
                *([one for i, one in enumerate(source) if i not in word] for word in inspection.source.words[:-1]),
            ],
            [target] * len(inspection.source.words),
        ]
    )
    changes = inspection.occlusion.change.sum(1)
    assert len(changes) == len(inspection.source.words) - 1
    np.testing.assert_allclose(changes, [one.log_probability - whole.log_probability for one in without], atol=1e-3)


def test_the_lens_after_the_last_layer_is_the_model(inspection: Inspection) -> None:
    logits = inspection.walk["logits"].astype(np.float64)
    for t, gold in enumerate(inspection.target.ids):
        shares = np.exp(logits[t] - logits[t].max())
        assert inspection.lens.probability[-1, t] == pytest.approx(shares[gold] / shares.sum(), rel=1e-3)
        assert inspection.lens.rank[-1, t] == 1 + (logits[t] > logits[t, gold]).sum()
        assert inspection.lens.first_choice[-1, t] == logits[t].argmax() == inspection.top_ids[t, 0]
    assert inspection.lens.rank.shape == (inspection.model.config.decoder_layers + 1, len(inspection.target.ids))
    assert inspection.top_ids.shape == (len(inspection.target.ids), TOP_WORDS)


def test_the_tree_holds_the_translation_and_its_sums(inspection: Inspection) -> None:
    tree, found = inspection.beam, inspection.translation
    path = [tree.nodes[i] for i in tree.best]
    ended = ["</s>"] if found.finished else []
    assert [node.piece for node in path] == [*found.pieces, *ended]
    assert [node.step for node in path] == list(range(1, len(path) + 1))
    steps = np.diff([0.0, *(node.log_probability for node in path)])
    np.testing.assert_allclose(steps, found.log_probabilities, atol=1e-4)
    # The recorded pass gives the same probabilities as the search did, step by step.
    logits, ids = inspection.walk["logits"], inspection.target.ids
    passed = [logits[t, ids[t]] - inspection.log_partition[t] for t in range(len(path))]
    np.testing.assert_allclose(passed, found.log_probabilities, atol=1e-3)
    for i, node in enumerate(tree.nodes):
        if node.parent >= 0:
            assert tree.nodes[node.parent].step == node.step - 1 and node.parent < i
            assert tree.nodes[node.parent].fate == "kept"
            assert tree.nodes[node.parent].log_probability >= node.log_probability - 1e-6


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_what_finished_is_what_a_search_returns(translator: Translator, alpha: float) -> None:
    """The page ranks the finished nodes by log P / penalty: so does the search, over the same hypotheses."""
    tree = translator.inspect(TEXT, alpha=alpha).beam
    assert tree.is_finished
    scores = sorted(
        one.log_probability / length_penalty(one.step, alpha) for one in tree.nodes if one.fate == "finished"
    )
    (best,) = translator.translate([TEXT], beam=tree.beam, alpha=alpha)
    assert scores[-1] == pytest.approx(best.score)


def test_json_and_npz_hold_what_there_is(inspection: Inspection, tmp_path) -> None:
    told = json.loads(inspection.to_json())
    assert told["format"] == "heed inspection 1"
    np.testing.assert_allclose(told["arrays"]["attention.cross"], inspection.attention["cross"], atol=1e-6)
    assert not any(name.startswith("walk.") for name in told["arrays"])
    path = tmp_path / "inside.npz"
    path.write_bytes(inspection.to_npz())
    with np.load(path, allow_pickle=False) as archive:
        assert json.loads(archive["summary"].tobytes()) == {k: v for k, v in told.items() if k != "arrays"}
        for name, array in inspection.arrays().items():
            np.testing.assert_array_equal(archive[name], array)


def test_every_dimension_has_a_name_and_its_size(inspection: Inspection) -> None:
    n_source, n_target = len(inspection.source.ids), len(inspection.target.ids)
    sizes = {
        "layer": 2,
        "head": 2,
        "after layer": 3,
        "source piece": n_source,
        "source word": len(inspection.source.words) - 1,
        "target piece": n_target,
        "target input": len(inspection.target.input_labels),
    }
    named = {name: array for name, array in inspection.arrays().items() if not name.startswith("walk.")}
    assert named.keys() == AXES.keys()
    for name, axes in AXES.items():
        roles = len(ROLES[name.rpartition(".")[2]]) if "role" in axes else 0  # type: ignore[index]
        assert named[name].shape == tuple(sizes.get(axis, roles) for axis in axes), name


@pytest.mark.parametrize("text", ["fox", "x"])
def test_one_word_can_be_inspected(translator: Translator, text: str) -> None:
    found = translator.inspect(text, beam=1)
    assert found.source.word_labels == [text, "</s>"] and found.occlusion.change.shape[0] == 1


@pytest.mark.parametrize("target", [[], [5]])
def test_an_empty_translation_can_be_walked(inspection: Inspection, target: list[int]) -> None:
    walk = record(inspection.model, [7], target)
    assert walk["logits"].shape == (len(target) + 1, inspection.model.vocabulary.size)
    assert walk["decoder.0.self.weights"].shape == (2, len(target) + 1, len(target) + 1)


def test_learned_positions_can_be_walked(tokenizer) -> None:
    from tests.inside.conftest import small_translator

    found = small_translator(tokenizer, positions="learned").inspect(TEXT)
    np.testing.assert_allclose(
        found.walk["encoder.positions"],
        found.model.source_positions.weight[: len(found.source.ids)].detach().numpy(),
    )


def test_an_inspection_does_not_disturb_a_translation_in_another_thread(translator: Translator) -> None:
    """The recorded pass runs on modules of its own, so hooks meet no other thread's numbers."""
    from concurrent.futures import ThreadPoolExecutor

    alone = translator.inspect("lazy dog")
    with ThreadPoolExecutor(2) as pool:
        inside = pool.submit(translator.inspect, "lazy dog")
        for _ in range(3):
            translator.translate([TEXT], attention=True)
        np.testing.assert_array_equal(inside.result().walk["logits"], alone.walk["logits"])
    assert math.isfinite(replace(alone.translation).score)


def test_progress_counts_every_sentence(translator: Translator) -> None:
    told: list[tuple[int, int]] = []
    translator.inspect("lazy dog", sample=[("dog", "Hund")] * 3, progress=lambda *one: told.append(one))
    n = 3 * 2 * 2 + 2 + 3  # heads, words, pairs
    assert {total for _, total in told} == {n}
    assert [done for done, _ in told] == sorted(done for done, _ in told) and told[-1] == (n, n)
