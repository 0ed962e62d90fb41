"""Laws that hold for any Transformer, whatever its weights."""

import torch

from heed.model.transformer import AttentionWeights
from tests.conftest import VOCABULARY
from tests.model.hypotheses import walk


def ids(*shape, seed=0):
    return torch.randint(3, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def test_fused_equals_explicit_attention(model):
    src, tgt = ids(3, 11), ids(3, 7, seed=1)
    src[1, 5:] = 0
    torch.testing.assert_close(model(src, tgt), model(src, tgt, AttentionWeights()), atol=1e-10, rtol=0)


@torch.no_grad()
def test_weights_are_distributions_over_the_visible_positions(model):
    src, tgt = ids(2, 9), ids(2, 6, seed=1)
    src[1, 4:] = 0
    captured = AttentionWeights()
    model(src, tgt, captured)
    for weights in (*captured.encoder, *captured.decoder, *captured.cross):
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    for weights in (*captured.encoder, *captured.cross):
        assert weights[1, :, :, 4:].abs().max() == 0
    for weights in captured.decoder:
        assert weights.triu(1).abs().max() == 0


@torch.no_grad()
def test_later_tokens_never_change_earlier_logits(model):
    src, tgt = ids(2, 9), ids(2, 8, seed=1)
    before = model(src, tgt)
    for t in range(1, 8):
        changed = tgt.clone()
        changed[:, t:] = ids(2, 8 - t, seed=t + 5)
        after = model(src, changed)
        torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-10, rtol=0)
        assert not torch.allclose(after[:, t:], before[:, t:])


@torch.no_grad()
def test_padding_and_batch_mates_never_change_logits(model):
    src, tgt = ids(1, 6), ids(1, 5, seed=1)
    alone = model(src, tgt)
    padded_src, padded_tgt = ids(4, 10, seed=2), ids(4, 9, seed=3)
    padded_src[2], padded_tgt[2] = 0, 0
    padded_src[2, :6], padded_tgt[2, :5] = src[0], tgt[0]
    together = model(padded_src, padded_tgt)
    torch.testing.assert_close(together[2:3, :5], alone, atol=1e-10, rtol=0)


@torch.no_grad()
def test_decoding_token_by_token_equals_decoding_at_once(model):
    src, tgt = ids(2, 9), ids(2, 7, seed=1)
    src[0, 5:] = 0
    whole, state = model(src, tgt), model.start(src)
    for t in range(7):
        logits, state = model.step(tgt[:, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, t], atol=1e-10, rtol=0)


@torch.no_grad()
def test_hypotheses_that_branch_and_merge_each_see_their_own_past(model):
    """Compare with a plain pass over each hypothesis's past, with more slots than the cache has at first."""
    src = ids(3, 9)
    src[1, 4:] = 0
    for logits, source, past in walk(model, src, 11):
        torch.testing.assert_close(logits, model(source, past)[0, -1], atol=1e-10, rtol=0)


@torch.no_grad()
def test_a_state_stays_valid_when_the_search_steps_from_it(model):
    """Step several times from one state: the KV cache is append-only."""
    src, first, one, other = ids(2, 9), ids(2, 1), ids(2, 1, seed=1), ids(2, 1, seed=2)
    _, old = model.step(first, model.start(src))
    for newest in (one, other, one):
        logits, state = model.step(newest, old)
        torch.testing.assert_close(logits[:, 0], model(src, torch.cat((first, newest), 1))[:, -1], atol=1e-10, rtol=0)
        further, _ = model.step(first, state)
        past = torch.cat((first, newest, first), 1)
        torch.testing.assert_close(further[:, 0], model(src, past)[:, -1], atol=1e-10, rtol=0)
