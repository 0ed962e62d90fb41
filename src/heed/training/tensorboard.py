"""Write a run's events for TensorBoard, next to events.jsonl. Needs tensorboardX, which is optional."""

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heed.errors import ConfigError
from heed.evaluate import CRITERIA

_SCALARS = {
    "step": ("train", ("loss", "perplexity", "learning_rate", "tokens_per_second")),
    "validation": ("valid", tuple(CRITERIA)),
}


def check_tensorboard() -> None:
    """Check that tensorboardX is installed.

    Raises:
        ConfigError: it is not.
    """
    if find_spec("tensorboardX") is None:
        raise ConfigError(
            'train.tensorboard needs tensorboardX: pip install "heed[tensorboard]" (or tensorboardX), '
            "or set train.tensorboard=false; events.jsonl is always written"
        )


class TensorBoard:
    """Write events into the folder `tensorboard` of a run."""

    def __init__(self, run_path: Path, purge_step: int | None = None) -> None:
        """Open the folder. TensorBoard forgets events from `purge_step` on: a resumed run makes those steps again.

        Raises:
            ConfigError: tensorboardX is not installed.
        """
        check_tensorboard()
        from tensorboardX import SummaryWriter

        # File names contain the time in seconds only: the process id keeps a quick restart from overwriting one.
        self._writer = SummaryWriter(
            str(run_path / "tensorboard"), purge_step=purge_step, flush_secs=10, filename_suffix=f".{os.getpid()}"
        )

    def event(self, kind: str, values: Mapping[str, Any]) -> None:
        """Write a step or validation event, as it goes to events.jsonl; ignore other kinds."""
        if kind not in _SCALARS:
            return
        step = values["step"]
        group, keys = _SCALARS[kind]
        keys = tuple(key for key in keys if values.get(key) is not None)  # events omit what is not finite
        of = values.get("of", "step")
        if not of.startswith("step"):  # averaged weights are not a point of the run's curve: write a line of text
            found = ", ".join(f"{key} {values[key]:.4g}" for key in keys)
            self._writer.add_text("valid/averaged", f"{_cell(of)}: {found}", step)
            return
        for key in keys:
            self._writer.add_scalar(f"{group}/{key}", values[key], step)
        if samples := values.get("samples"):
            self._writer.add_text("valid/samples", _table(samples), step)

    def close(self) -> None:
        """Write buffered events and close the file."""
        self._writer.close()


def _table(samples: Iterable[Mapping[str, str]]) -> str:
    """Return the samples as a Markdown table."""
    columns = ("source", "translation", "reference")
    rows = [columns, ("---",) * len(columns)]
    rows += [tuple(_cell(one[column]) for column in columns) for one in samples]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str) -> str:
    """Escape text for Markdown."""
    return "".join(f"\\{char}" if char in r"\`*_{}[]<>()#+-.!|~" else char for char in text)
