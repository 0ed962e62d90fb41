"""Train with Eole's own command, paused between two updates to take turns."""

import json
import sys
from pathlib import Path

from eole.bin.main import main
from eole.trainer import Trainer
from turns import UpdateTurns, read_job

job = read_job()
shape, text, folder = job["config"]["model"], job["text"], Path(job["folder"]) / "eole"
turns = UpdateTurns(job["updates"])
step = Trainer._train_step


def step_in_turn(self, batches, *args, **kwargs):
    # Each target begins with a start token, which is not predicted.
    turns.before_update(sum(int(batch["tgtlen"].sum()) - len(batch["tgtlen"]) for batch in batches))
    return step(self, batches, *args, **kwargs)


Trainer._train_step = step_in_turn
config = {
    "seed": 1,
    "src_vocab": text["vocabulary"],
    "tgt_vocab": text["vocabulary"],
    "share_vocab": True,
    "src_vocab_size": 8_000,
    "tgt_vocab_size": 8_000,
    "vocab_size_multiple": 1,
    "data": {"corpus": {"path_src": text["train_source"], "path_tgt": text["train_target"], "transforms": []}},
    "model": {
        "architecture": "transformer",
        "hidden_size": shape["d_model"],
        "transformer_ff": shape["d_ff"],
        "heads": shape["h"],
        "encoder": {"encoder_type": "transformer", "layers": shape["encoder_layers"]},
        "decoder": {"decoder_type": "transformer", "layers": shape["decoder_layers"]},
        "embeddings": {
            "word_vec_size": shape["d_model"],
            "position_encoding_type": "SinusoidalInterleaved",
        },
        "mlp_activation_fn": "relu",
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    },
    "training": {
        "model_path": str(folder / "model"),
        "world_size": 1,
        "gpu_ranks": [],
        "compute_dtype": "fp32",
        "batch_type": "tokens",
        "batch_size": job["batch_tokens"],
        "batch_size_multiple": 1,
        "bucket_size": 30_000,
        "num_workers": 0,
        "normalization": "tokens",
        "accum_count": [1],
        "optim": "adamw",
        "adam_beta1": 0.9,
        "adam_beta2": 0.98,
        "learning_rate": 1e-4,
        "decay_method": "none",
        "dropout": [shape["dropout"]],
        "attention_dropout": [0.0],
        "label_smoothing": job["config"]["train"]["label_smoothing"],
        "train_steps": 100_000,
        "valid_steps": 100_000,
        "save_checkpoint_steps": 100_000,
        "max_grad_norm": 0,
    },
}
folder.mkdir()
(folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
sys.argv = ["eole", "train", "-config", str(folder / "config.yaml")]
main()
