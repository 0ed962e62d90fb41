"""Train with Sockeye's own command, paused between two updates to take turns."""

import sys
from pathlib import Path

from sockeye import constants, train, training
from turns import UpdateTurns, read_job

job = read_job()
shape, text = job["config"]["model"], job["text"]
turns = UpdateTurns(job["updates"])
step = training.EarlyStoppingTrainer._step


def step_in_turn(self, batch):
    turns.before_update(int(batch.labels[constants.TARGET_LABEL_NAME].ne(constants.PAD_ID).sum()))
    return step(self, batch)


training.EarlyStoppingTrainer._step = step_in_turn
layers, dropout, d = f"{shape['encoder_layers']}:{shape['decoder_layers']}", str(shape["dropout"]), shape["d_model"]
options = {
    "source": text["train_source"],
    "target": text["train_target"],
    "validation-source": text["valid_source"],
    "validation-target": text["valid_target"],
    "output": str(Path(job["folder"]) / "sockeye"),
    "num-words": "8000",
    "weight-tying-type": "src_trg_softmax",
    "num-layers": layers,
    "transformer-model-size": d,
    "num-embed": d,
    "transformer-attention-heads": shape["h"],
    "transformer-feed-forward-num-hidden": shape["d_ff"],
    "transformer-preprocess": "",
    "transformer-postprocess": "drn",  # dropout, residual, norm: as published
    "transformer-dropout-prepost": dropout,
    "transformer-dropout-attention": "0",
    "transformer-dropout-act": "0",
    "embed-dropout": "0",
    "label-smoothing": job["config"]["train"]["label_smoothing"],
    "batch-type": "max-word",
    "batch-size": job["batch_tokens"],
    "max-seq-len": shape["max_length"],
    "optimizer-betas": "0.9:0.98",
    "optimizer-eps": "1e-9",
    "checkpoint-interval": 100_000,
    "max-updates": 100_000,
    "seed": 1,
}
sys.argv = ["sockeye-train", "--use-cpu", "--shared-vocab"]
sys.argv += [word for name, value in options.items() for word in (f"--{name}", str(value))]
train.main()
