"""Restricted self-attention (section 4) against full attention with a band mask written as loops."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from heed.config import ModelConfig
from heed.kernels.library import library
from heed.model.attention import attention
from heed.model.compiled import CompiledTransformer, reason_not_compiled
from heed.model.neighbourhood import Neighbourhood
from heed.model.sequences import Packed, Padded
from heed.model.size import kept_floats, update_operations
from heed.model.transformer import AttentionWeights, Transformer
from heed.training.batch_loss import BatchLoss
from heed.vocabulary import Vocabulary
from tests.conftest import PAD, VOCABULARY, shapes_checked, small_batch, small_config
from tests.model.hypotheses import walk
from tests.model.reference import nearest
from tests.model.reference import transformer as reference

WINDOWS = [1, 2, 5, 16, 20]


def windowed(window: int, **changes) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(small_config(attention_window=window, **changes), Vocabulary(VOCABULARY)).double().eval()
    model.embedding.weight.data *= 3
    return model


def ids(*shape, seed=0):
    return torch.randint(3, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def band(n, r, causal):
    """may_attend_LL by loops."""
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            mask[i, j] = i - r < j <= i if causal else j in nearest(i, n, r)
    return torch.from_numpy(mask)


def queries_keys_values(n, n_sentences=1):
    generator = torch.Generator().manual_seed(n)
    return [torch.randn(n_sentences, 2, n, d, dtype=torch.float64, generator=generator) for d in (7, 7, 9)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("r", WINDOWS)
@pytest.mark.parametrize("n", [1, 4, 16, 20, 37, 64])  # odd, one block, several, less than r, r itself
def test_equals_full_attention_with_a_band_mask(n, r, causal):
    given = [x.requires_grad_() for x in queries_keys_values(n)]
    position = torch.arange(n)
    restricted = (
        Neighbourhood.preceding(position, r) if causal else Neighbourhood.centred(position, torch.tensor([[n]]), r)
    )
    expected, _ = attention(*given, band(n, r, causal))
    ours = restricted.attend(*given)
    torch.testing.assert_close(ours, expected, atol=1e-12, rtol=0)
    upstream = torch.linspace(-1, 1, ours.numel(), dtype=torch.float64).view_as(ours)
    gradients = zip(
        torch.autograd.grad(ours, given, upstream), torch.autograd.grad(expected, given, upstream), strict=True
    )
    for gradient, theirs in gradients:
        torch.testing.assert_close(gradient, theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("r", WINDOWS)
def test_sentences_of_many_lengths_padded_and_packed(r, causal):
    """Each sentence has the result that it has alone, so padding and neighbours change nothing."""
    lengths = [1, 37, 3, 16, 20, 29]
    ids_BL = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, n in zip(ids_BL, lengths, strict=True):
        row[:n] = 5
    given = queries_keys_values(max(lengths), len(lengths))
    padded = Padded(ids_BL, PAD).attend_self(0, causal, r, None)(*given)
    packed_given = [torch.cat([x[i, :, :n] for i, n in enumerate(lengths)], 1) for x in given]
    packed = Packed.of(ids_BL, ids_BL.ne(PAD)).attend_self(0, causal, r, None)(*packed_given)
    for i, (n, alone) in enumerate(zip(lengths, packed.split(lengths, 1), strict=True)):
        expected, _ = attention(*(x[i : i + 1, :, :n] for x in given), band(n, r, causal))
        torch.testing.assert_close(padded[i : i + 1, :, :n], expected, atol=1e-12, rtol=0)
        torch.testing.assert_close(alone, expected[0], atol=1e-12, rtol=0)
    assert padded.isfinite().all()


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_the_model_equals_the_loop_written_version(norm, window):
    source, target_in = [5, 9, 4, 17, 8, 1], [0, 8, 8, 20, 4]
    model = windowed(window, norm=norm)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    expected, expected_weights = reference(source, target_in, weights, model.config)
    captured = AttentionWeights()
    with torch.no_grad():
        blockwise = model(torch.tensor([source]), torch.tensor([target_in]))
        explicit = model(torch.tensor([source]), torch.tensor([target_in]), captured)
    np.testing.assert_allclose(blockwise[0].numpy(), expected, atol=1e-6)  # the sinusoid table is float32
    np.testing.assert_allclose(explicit[0].numpy(), expected, atol=1e-6)
    for kind in ("encoder", "decoder", "cross"):
        for ours, theirs in zip(getattr(captured, kind), expected_weights[kind], strict=True):
            np.testing.assert_allclose(ours[0].numpy(), theirs, atol=1e-6)
            if kind != "cross":
                assert ((ours[0] > 0).sum(-1) <= window).all()


@torch.no_grad()
@pytest.mark.parametrize("window", [9, 50])
def test_a_window_of_the_whole_sentence_is_full_attention(window):
    src, tgt = ids(3, 9), ids(3, 8, seed=1)
    src[1, 5:] = 0
    assert torch.equal(windowed(window)(src, tgt), windowed(0)(src, tgt))


@torch.no_grad()
def test_later_tokens_never_change_earlier_logits():
    model, src, tgt = windowed(4), ids(2, 9), ids(2, 12, seed=1)
    before = model(src, tgt)
    for t in range(1, 12):
        changed = tgt.clone()
        changed[:, t:] = ids(2, 12 - t, seed=t + 5)
        after = model(src, changed)
        torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-10, rtol=0)
        assert not torch.allclose(after[:, t:], before[:, t:])


@torch.no_grad()
@pytest.mark.parametrize("window", [1, 3, 8])
def test_decoding_token_by_token_equals_decoding_at_once(window):
    """With many more tokens than the cache has slots for, at first and after they are dropped."""
    n = 90
    model, src, tgt = windowed(window, max_length=100), ids(2, 9), ids(2, n, seed=1)
    src[0, 5:] = 0
    whole, state = model(src, tgt), model.start(src)
    for t in range(n):
        logits, state = model.step(tgt[:, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, t], atol=1e-10, rtol=0)
        assert state.cache.n_slots <= 2 * window + 9


@torch.no_grad()
@pytest.mark.parametrize("window", [1, 3, 10])
def test_hypotheses_that_branch_and_merge_each_see_their_own_past(window):
    model, src = windowed(window), ids(3, 9)
    src[1, 4:] = 0
    for logits, source, past in walk(model, src, 11):
        torch.testing.assert_close(logits, model(source, past)[0, -1], atol=1e-10, rtol=0)


@torch.no_grad()
def test_a_state_stays_valid_when_the_search_steps_from_it():
    model, src, past = windowed(3), ids(2, 9), ids(2, 5)
    state = model.start(src)
    for t in range(5):
        _, state = model.step(past[:, t : t + 1], state)
    for seed in (1, 2, 1):
        newest = ids(2, 1, seed=seed)
        logits, _ = model.step(newest, state)
        torch.testing.assert_close(logits[:, 0], model(src, torch.cat((past, newest), 1))[:, -1], atol=1e-10, rtol=0)


@pytest.mark.skipif(library() is None, reason="needs a C compiler")
@pytest.mark.parametrize("window", [2, 7, 16])
def test_training_packed_has_the_gradient_of_training_padded(window):
    config = ModelConfig(
        encoder_layers=2, decoder_layers=2, d_model=32, d_ff=48, h=2, dropout=0.2, attention_window=window
    )
    lengths = (3, 17, 30, 1, 8), (5, 2, 40, 1, 16)
    source, target = ([[3 + i % 7 for i in range(n)] for n in side] for side in lengths)
    given, found = small_batch(source, target), []
    for packs in (True, False):
        torch.manual_seed(1)
        model = Transformer(config, Vocabulary(VOCABULARY)).train()
        model._layers_are_compiled = not packs
        rows = []
        model.encoder[0].register_forward_hook(lambda module, inputs, output, rows=rows: rows.append(output.dim()))
        seed_B = torch.arange(5)
        hidden_ND = model.hidden(given.src_BS, given.tgt_in_BT, given.tgt_out_BT.ne(PAD), seed_B)
        assert rows == [2 if packs else 3]
        (hidden_ND**2).sum().backward()
        found.append({name: weight.grad for name, weight in model.named_parameters()})
    for name, gradient in found[0].items():
        torch.testing.assert_close(gradient, found[1][name], atol=2e-3, rtol=1e-4, msg=name)


def saved_for_backward(function):
    """Return the tensors that a function's backward pass keeps, one per storage."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = function()
    assert result.requires_grad
    return list(kept.values())


@pytest.mark.parametrize("causal", [False, True])
def test_memory_grows_with_r_times_n(causal):
    """Twice as many positions keep twice as much, and no tensor has n × n elements."""
    r, totals = 16, []
    for n in (512, 1024, 2048):
        given = [torch.randn(1, 2, n, 8, requires_grad=True) for _ in range(3)]
        batch = Padded(torch.full((1, n), 5), PAD)
        kept = saved_for_backward(lambda given=given, batch=batch: batch.attend_self(0, causal, r, None)(*given))
        assert max(one.numel() for one in kept) <= n * 2 * r  # the mask: fewer than 2 r keys of each query
        totals.append(sum(one.numel() for one in kept))
    assert totals[1] / totals[0] == pytest.approx(2, rel=0.02)
    assert totals[2] / totals[1] == pytest.approx(2, rel=0.02)
    wider = Padded(torch.full((1, 2048), 5), PAD).attend_self(0, causal, 4 * r, None)
    given = [torch.randn(1, 2, 2048, 8, requires_grad=True) for _ in range(3)]
    assert sum(one.numel() for one in saved_for_backward(lambda: wider(*given))) < 4 * totals[2]


def test_a_long_document_makes_no_tensor_of_n_by_n_in_either_pass():
    """Watch the sizes of all tensors that any operation makes, forward and backward."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            for one in made if isinstance(made, tuple) else (made,):
                if isinstance(one, torch.Tensor):
                    self.largest = max(self.largest, one.untyped_storage().nbytes())
            return made

    n, r, d = 2000, 16, 16
    for causal in (False, True):
        given = [torch.randn(1, 2, n, d, requires_grad=True) for _ in range(3)]
        with Largest() as watched:
            attend = Padded(torch.full((1, n), 5), PAD).attend_self(0, causal, r, None)
            attend(*given).sum().backward()
        assert 0 < watched.largest <= 8 * n * 3 * max(r, 2 * d)  # 8: integers, of 8 bytes


def test_the_predicted_memory_is_what_training_keeps():
    config = ModelConfig(
        encoder_layers=2, decoder_layers=3, d_model=64, d_ff=160, h=4, dropout=0.1, max_length=60, attention_window=16
    )
    model = Transformer(config, Vocabulary(300)).train()
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    batch = small_batch([[5] * 49] * 40, [[7] * 49] * 40)

    def loss():
        return BatchLoss(model, 0.1)(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)[0]

    kept = [one.untyped_storage() for one in saved_for_backward(loss)]
    n_bytes = sum(one.nbytes() for one in kept if one.data_ptr() not in weights)
    predicted = 4 * kept_floats(config, 50) * 40 * 50
    assert 0.6 * predicted < n_bytes < 1.1 * predicted


def test_operations_are_counted_by_hand():
    config, vocabulary = small_config(attention_window=3, encoder_layers=1, decoder_layers=1), Vocabulary(VOCABULARY)
    full = small_config(encoder_layers=1, decoder_layers=1)
    lengths = np.array([7]), np.array([5])
    pairs = sum(len(nearest(i, 7, 3)) for i in range(7)) + sum(min(i + 1, 3) for i in range(5))
    full_pairs = 7 * 7 + sum(i + 1 for i in range(5))
    fewer = update_operations(full, vocabulary, *lengths) - update_operations(config, vocabulary, *lengths)
    assert fewer == 3 * 2 * (full_pairs - pairs) * 2 * (7 + 9)
    short = np.array([3]), np.array([2])
    assert update_operations(full, vocabulary, *short) == update_operations(config, vocabulary, *short)


def test_c_refuses_a_window_by_name():
    model = windowed(5).float()
    assert reason_not_compiled(model) == "model.attention_window = 5 is not implemented in C"
    with pytest.raises(ValueError, match=r"model\.attention_window = 5"):
        CompiledTransformer(model)


def test_shapes_match_the_names():
    model = windowed(4)
    src, tgt = ids(3, 31), ids(3, 37, seed=1)
    src[1, 6:] = 0
    with shapes_checked("heed.model") as seen, torch.no_grad():
        model(src, tgt)
    assert {"Neighbourhood.attend", "Neighbourhood._queries", "_gathered"} <= seen


def test_padding_in_float32_is_finite():
    model = windowed(4).float()
    src = ids(2, 40)
    src[1, 1:] = 0
    with torch.no_grad():
        assert F.log_softmax(model(src, ids(2, 40)), -1).isfinite().all()


@torch.no_grad()
def test_a_decoder_that_follows_the_source_searches_with_a_window():
    from heed.model.follower import Follower

    torch.manual_seed(3)
    vocabulary = Vocabulary(8, 12, begins_word=frozenset(range(6, 10)), writes_word=frozenset((3, 4)))
    config = ModelConfig(2, 2, 16, 32, 2, dropout=0.0, max_length=20, kind="follower", attention_window=3)
    model = Follower(config, vocabulary).eval()
    src, tgt = torch.tensor([[6, 3, 7, 4, 4, 9, 1]]), torch.tensor([[0, 3, 5, 4, 3, 6, 5, 7]])
    whole, state = model(src, tgt), model.start(src)
    for t in range(8):
        logits, state = model.step(tgt[:, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, t], atol=1e-5, rtol=1e-5)


def test_inspection_sees_zero_outside_the_neighbourhood():
    from heed.inside.walk import record

    found = record(windowed(3).float(), [5, 9, 4, 17, 8], [8, 8, 20, 4])
    for n, name in ((6, "encoder.0.self.weights"), (5, "decoder.1.self.weights")):
        outside = ~band(n, 3, causal=name.startswith("decoder")).numpy()
        assert (found[name][:, outside] == 0).all() and (found[name][:, ~outside] > 0).all()


@pytest.mark.parametrize("what", ["CTranslate2", "Marian"])
def test_other_software_gets_no_model_with_a_window(what):
    from heed.errors import ConfigError
    from heed.export.exportable import as_exportable

    with pytest.raises(ConfigError, match=rf"{what} has no .*model\.attention_window = 4 cannot be exported"):
        as_exportable(windowed(4), what)
