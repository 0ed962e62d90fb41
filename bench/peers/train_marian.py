"""Train Hugging Face's MarianMT in a plain loop with fused AdamW.

With "smoothed" among the arguments, the loss has label smoothing; otherwise the model computes it from `labels`. With
"bfloat16", products are in bfloat16, by autocast; with "without-amx", oneDNN does not use AMX for them.
"""

import os
import sys

if "without-amx" in sys.argv[2:]:
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"  # read before the first product

import torch
import torch.nn.functional as F
from batches import read_batches
from transformers import MarianConfig, MarianMTModel
from turns import UpdateTurns, read_job

PAD, EOS = 0, 1

job = read_job()
smoothing = job["config"]["train"]["label_smoothing"] if "smoothed" in sys.argv[2:] else 0.0
turns = UpdateTurns(job["updates"])
torch.manual_seed(1)
shape = job["config"]["model"]
config = MarianConfig(
    vocab_size=job["vocabulary_size"],
    d_model=shape["d_model"],
    encoder_layers=shape["encoder_layers"],
    decoder_layers=shape["decoder_layers"],
    encoder_attention_heads=shape["h"],
    decoder_attention_heads=shape["h"],
    encoder_ffn_dim=shape["d_ff"],
    decoder_ffn_dim=shape["d_ff"],
    dropout=shape["dropout"],
    attention_dropout=0.0,
    activation_dropout=0.0,
    activation_function="relu",
    scale_embedding=True,
    max_position_embeddings=shape["max_length"] + 1,
    pad_token_id=PAD,
    eos_token_id=EOS,
    decoder_start_token_id=PAD,
    use_cache=False,
)
model = MarianMTModel(config).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
batches = read_batches(job)
while True:
    for src, tgt_in, tgt_out in batches:
        turns.before_update(int(tgt_out.ne(PAD).sum()))
        optimizer.zero_grad()
        labels = tgt_out.masked_fill(tgt_out.eq(PAD), -100)
        given = {"input_ids": src, "attention_mask": src.ne(PAD).long(), "decoder_input_ids": tgt_in}
        with torch.autocast("cpu", torch.bfloat16, enabled="bfloat16" in sys.argv[2:]):
            if smoothing:
                logits = model(**given).logits
                loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing)
            else:
                loss = model(**given, labels=labels).loss
        loss.backward()
        optimizer.step()
