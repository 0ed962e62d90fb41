"""Training speed: heed beside `torch.nn.Transformer` in a plain loop. Same shape, same batches, same machine.

    python bench/train.py --preset tiny
    python bench/train.py --preset tiny --source train.en --target train.de --vocab 8000

Both sides take turns in one process; each side's best round counts; what matters is the ratio.
"""

import argparse
import math
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.config import Config, preset
from heed.data.batch import Batch, make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.model.positions import sinusoids
from heed.symbols import PAD
from heed.text.tokenizer import Tokenizer
from heed.training.learner import Learner
from heed.training.memory import keep_freed_memory
from heed.training.step import train_step
from heed.training.workers import Workers


class PlainTransformer(nn.Module):
    """What one writes with `torch.nn.Transformer` and its documentation at hand."""

    def __init__(self, config: Config, vocab_size: int) -> None:
        super().__init__()
        m = config.model
        self.embedding = nn.Embedding(vocab_size, m.d_model, padding_idx=PAD)
        self.transformer = nn.Transformer(
            m.d_model, m.h, m.encoder_layers, m.decoder_layers, m.d_ff, m.dropout, batch_first=True
        )
        self.dropout = nn.Dropout(m.dropout)
        self.register_buffer("positions", sinusoids(m.max_length + 1, m.d_model))

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


def plain_step(model: PlainTransformer, optimizer: torch.optim.Optimizer, batch: Batch, smoothing: float) -> None:
    optimizer.zero_grad()
    logits = model(batch.src_BS, batch.tgt_in_BT)
    loss = F.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out_BT.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )
    loss.backward()
    optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--source", type=Path, help="left out: the built-in grammar's sentences")
    parser.add_argument("--target", type=Path)
    parser.add_argument("--vocab", type=int, help="left out: the preset's")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=6, help="in each round")
    parser.add_argument("--keep-freed-memory", action="store_true", help="for both sides, as `heed train` does")
    args = parser.parse_args()
    if args.keep_freed_memory:
        keep_freed_memory()

    config = preset(args.preset)
    tokens = min(config.train.batch_tokens, config.train.micro_batch_tokens)
    with tempfile.TemporaryDirectory() as folder:
        if args.source:
            text = ParallelText(str(args.source), str(args.target))
        else:
            from heed.grammar import corpus

            text = ParallelText(str(Path(folder) / "grammar.tsv"))
            pairs = corpus(train=30_000).train
            Path(text.source).write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
        tokenizer = Tokenizer.learn((line for pair in text for line in pair), args.vocab or config.text.vocab_size)
        store = prepare(text, tokenizer, Path(folder) / "store")
        plan = BatchPlan(store.source.lengths, store.target.lengths, tokens, 1, config.model.max_length)
        batches = [make_batch(store, plan.batch(0, i)) for i in range(args.updates)]
    n_tokens = sum(batch.n_tokens for batch in batches)

    torch.manual_seed(1)
    learner = Learner(config, len(tokenizer), Workers(0, 1, torch.device("cpu")))
    learner.model.train()
    plain = PlainTransformer(config, len(tokenizer)).train()
    plain_optimizer = torch.optim.Adam(plain.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def heed_round() -> None:
        for step, batch in enumerate(batches, 1):
            train_step(learner, [batch], batch.n_tokens, step)

    def plain_round() -> None:
        for batch in batches:
            plain_step(plain, plain_optimizer, batch, config.train.label_smoothing)

    sides = {"heed": heed_round, "torch.nn.Transformer": plain_round}
    best = dict.fromkeys(sides, math.inf)
    for number in range(args.rounds + 1):
        for name, one_round in sides.items():
            began = time.perf_counter()
            one_round()
            if number:  # the first round warms up
                best[name] = min(best[name], time.perf_counter() - began)
    print(
        f"{args.preset}, vocabulary {len(tokenizer):,}, {tokens:,}-token batches, torch {torch.__version__}, "
        f"{torch.get_num_threads()} threads; best of {args.rounds} rounds of {args.updates} updates"
    )
    for name, seconds in best.items():
        print(f"  {name:22} {n_tokens / seconds:10,.0f} target tokens/s")
    print(f"  ratio {best['torch.nn.Transformer'] / best['heed']:.2f}")


if __name__ == "__main__":
    main()
