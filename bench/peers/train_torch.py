"""Train `torch.nn.Transformer` in a plain loop, as its documentation suggests."""

import math

import torch
import torch.nn.functional as F
from batches import read_batches
from torch import Tensor, nn
from turns import UpdateTurns, read_job

PAD = 0


class PlainTransformer(nn.Module):
    def __init__(self, shape: dict, vocabulary_size: int) -> None:
        super().__init__()
        d = shape["d_model"]
        self.embedding = nn.Embedding(vocabulary_size, d, padding_idx=PAD)
        self.transformer = nn.Transformer(
            d,
            shape["h"],
            shape["encoder_layers"],
            shape["decoder_layers"],
            shape["d_ff"],
            shape["dropout"],
            batch_first=True,
        )
        self.dropout = nn.Dropout(shape["dropout"])
        angles = torch.arange(shape["max_length"] + 1).unsqueeze(1) / 10_000 ** (torch.arange(0, d, 2) / d)
        self.register_buffer("positions", torch.stack((angles.sin(), angles.cos()), -1).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + self.positions[: ids.size(1)])

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        padding = src.eq(PAD)
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.size(1), dtype=torch.bool)
        hidden = self.transformer(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return hidden @ self.embedding.weight.T


job = read_job()
turns = UpdateTurns(job["updates"])
torch.manual_seed(1)
model = PlainTransformer(job["config"]["model"], job["vocabulary_size"]).train()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
smoothing = job["config"]["train"]["label_smoothing"]
batches = read_batches(job)
while True:
    for src, tgt_in, tgt_out in batches:
        turns.before_update(int(tgt_out.ne(PAD).sum()))
        optimizer.zero_grad()
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, label_smoothing=smoothing)
        loss.backward()
        optimizer.step()
