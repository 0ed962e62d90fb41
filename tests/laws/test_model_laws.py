"""What must hold of any Transformer, whatever its weights."""

import pytest
import torch

from heed.model.incremental import IncrementalDecoder, to_add
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
def test_weights_are_distributions_over_what_may_be_attended_to(model):
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
@pytest.mark.parametrize("portions", [[1] * 7, [3, 1, 3], [7]])
def test_decoding_in_portions_equals_decoding_at_once(model, portions):
    src, tgt = ids(2, 9), ids(2, 7, seed=1)
    src[0, 5:] = 0
    whole = model(src, tgt)
    decoder = IncrementalDecoder(model)
    past, parts, begin = decoder.start(src), [], 0
    for size in portions:
        end = begin + size
        sees = to_add(torch.ones(size, end, dtype=torch.bool).tril(begin), whole).expand(2, -1, -1)
        position = torch.arange(begin, end).expand(2, -1) if size > 1 else begin
        parts.append(decoder.extend(past, tgt[:, begin:end], position, None if size == 1 else sees))
        begin = end
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-10, rtol=0)


@torch.no_grad()
def test_hypotheses_that_part_and_merge_each_see_their_own_past(model):
    """Many more slots than there is room for at first; after some steps, a plain pass over each hypothesis's past."""
    src = ids(3, 9)
    src[1, 4:] = 0
    for logits, source, past in walk(IncrementalDecoder(model), src, 11):
        torch.testing.assert_close(logits, model(source, past)[0, -1], atol=1e-10, rtol=0)
