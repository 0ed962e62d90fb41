"""Write a model to ship: a run folder a quarter as large, with 8-bit weights and nothing that only training needs.

It has no names of files of the machine it was trained on.
"""

from dataclasses import replace
from pathlib import Path

from heed.config import Config, DataConfig, DecodeConfig
from heed.model.interface import SequenceModel
from heed.model.stored import stored
from heed.run import SHIPPED, RunFolder
from heed.translation import not_finite


def write_shipped(folder: Path, run: RunFolder, checkpoint: Path, model: SequenceModel, decode: DecodeConfig) -> None:
    """Write the model of one of a run's checkpoints as a shipped model that translates with these settings.

    Raises:
        DecodeError: the weights are not finite.
    """
    if not all(weight.isfinite().all() for weight in model.parameters()):
        raise not_finite(str(checkpoint))
    shipped = RunFolder.create(folder, replace(_without_names_of_files(run.config), decode=decode), run.tokenizer)
    shipped.save_weights(SHIPPED, stored(model.state_dict()), {"from": checkpoint.name})
    best = run.best()
    scores = best if best is not None and best["checkpoint"] == checkpoint.name else {}
    n_parameters = sum(weight.numel() for weight in model.parameters())
    shipped.set_best({**scores, "checkpoint": SHIPPED, "from": checkpoint.name, "parameters": n_parameters})


def _without_names_of_files(config: Config) -> Config:
    return replace(
        config,
        data=DataConfig(),
        text=replace(config.text, tokenizer=""),
        train=replace(config.train, init_from=""),
    )
