"""A decoder restricted to some symbols, beside the columns of the whole one."""

import pytest
import torch

from heed.config import ModelConfig
from heed.kernels.decoder import CompiledDecoder
from heed.model.incremental import IncrementalDecoder
from heed.model.int8 import Int8Product, int8_encoder
from heed.model.transformer import Transformer

SYMBOLS = torch.tensor([0, 1, 2, 7, 11, 30, 49])


def decoders() -> dict[str, IncrementalDecoder]:
    torch.manual_seed(1)
    model = Transformer(ModelConfig(encoder_layers=1, decoder_layers=2, d_model=32, d_ff=64, h=4), 50).eval()
    made = {
        "float64": IncrementalDecoder(Transformer(model.config, 50).double().eval()),  # never compiled
    }
    if CompiledDecoder.can_do(model.embedding.weight):
        made["compiled"] = IncrementalDecoder(model)
        made["compiled int8"] = IncrementalDecoder(int8_encoder(model), Int8Product)
    return made


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["float64", "compiled", "compiled int8"])
def test_its_logits_are_those_of_the_whole(kind: str) -> None:
    if (whole := decoders().get(kind)) is None:
        pytest.skip("no compiler")
    assert (whole._compiled is not None) == kind.startswith("compiled")
    few = whole.restricted(SYMBOLS)
    src = torch.randint(3, 50, (3, 6), generator=torch.Generator().manual_seed(2))
    pasts = whole.start(src), few.start(src)
    places = torch.tensor([[0], [0], [0]])
    for position in range(4):
        all_logits = whole.extend(pasts[0], SYMBOLS[places], position, None)
        logits = few.extend(pasts[1], places, position, None)
        assert logits.shape == (3, 1, len(SYMBOLS))
        torch.testing.assert_close(logits, all_logits[..., SYMBOLS], atol=1e-5, rtol=1e-5)
        places = (places * 3 + torch.tensor([[4], [5], [6]])) % len(SYMBOLS)
    # The whole one is as it was.
    assert whole.extend(whole.start(src), torch.zeros(3, 1, dtype=torch.long), 0, None).size(-1) == 50
