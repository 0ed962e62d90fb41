"""Layer by layer: what the translation's words would be if the decoder ended sooner (the "logit lens")."""

from dataclasses import dataclass

import numpy as np
import torch

from heed.inside.forced import Floats, Ints
from heed.inside.observe import NOTHING_OFF, Switches
from heed.inside.walk import Arrays
from heed.model.transformer import Transformer


@dataclass(frozen=True)
class Lens:
    """Before the first decoder layer and after each: arrays of (decoder layers + 1) × T."""

    rank: Ints  # of the final token: 1 is the most probable
    probability: Floats  # of the final token
    first_choice: Ints  # the most probable token


@torch.inference_mode()
def lens(model: Transformer, arrays: Arrays, target_out: list[int], switches: Switches = NOTHING_OFF) -> Lens:
    """Put what each decoder layer hands on through the output's norm and softmax, as if it were the last."""
    n_layers = len(model.decoder)
    after = [arrays["decoder.0.x"]]
    for layer in range(n_layers):
        after.append(after[-1] if ("decoder", layer) in switches.layers else arrays[f"decoder.{layer}.ff.y"])
    hidden = torch.from_numpy(np.stack(after)).to(model.embedding.weight)
    logits = model.embedding.logits(model.decoder_norm(hidden)).float()  # (layers + 1, T, vocabulary)
    chosen = torch.tensor(target_out, device=logits.device).expand(n_layers + 1, -1).unsqueeze(-1)
    own = logits.gather(-1, chosen)
    rank = 1 + (logits > own).sum(-1)
    probability = logits.softmax(-1).gather(-1, chosen).squeeze(-1)
    return Lens(rank.cpu().numpy(), probability.cpu().numpy(), logits.argmax(-1).cpu().numpy())
