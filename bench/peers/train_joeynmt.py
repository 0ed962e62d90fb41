"""Train with JoeyNMT's own command, paused between two updates to take turns."""

import json
import sys
from pathlib import Path

from joeynmt import training
from joeynmt.__main__ import main
from turns import UpdateTurns, read_job

job = read_job()
shape, text, folder = job["config"]["model"], job["text"], Path(job["folder"]) / "joeynmt"
turns = UpdateTurns(job["updates"])
step = training.TrainManager._train_step


def step_in_turn(self, batch):
    turns.before_update(batch.ntokens)
    return step(self, batch)


training.TrainManager._train_step = step_in_turn


def side(lang: str) -> dict:
    return {"lang": lang, "level": "word", "voc_file": text["vocabulary"], "max_length": shape["max_length"]}


def stack(layers: int) -> dict:
    return {
        "type": "transformer",
        "num_layers": layers,
        "num_heads": shape["h"],
        "embeddings": {"embedding_dim": shape["d_model"], "scale": True, "dropout": 0.0},
        "hidden_size": shape["d_model"],
        "ff_size": shape["d_ff"],
        "dropout": shape["dropout"],
        "layer_norm": "post",
        "activation": "relu",
    }


config = {
    "name": "peer",
    "joeynmt_version": "2.3.0",
    "model_dir": str(folder / "model"),
    "use_cuda": False,
    "random_seed": 1,
    "data": {
        "train": str(Path(text["train_source"]).with_suffix("")),
        "dev": str(Path(text["valid_source"]).with_suffix("")),
        "dataset_type": "plain",
        "src": side("src"),
        "trg": side("tgt"),
    },
    "training": {
        "optimizer": "adam",
        "adam_betas": [0.9, 0.98],
        "normalization": "tokens",
        "learning_rate": 1e-4,
        "learning_rate_min": 0.0,
        "scheduling": "warmupinversesquareroot",
        "label_smoothing": job["config"]["train"]["label_smoothing"],
        "loss": "crossentropy",
        "batch_size": job["batch_tokens"],
        "batch_type": "token",
        "epochs": 1_000,
        "validation_freq": 100_000,
        "shuffle": True,
    },
    "testing": {"beam_size": 1, "eval_metrics": []},
    "model": {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": stack(shape["encoder_layers"]),
        "decoder": stack(shape["decoder_layers"]),
    },
}
folder.mkdir()
(folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
sys.argv = ["joeynmt", "train", str(folder / "config.yaml"), "--skip-test"]
main()
