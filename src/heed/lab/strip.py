"""A run as it trains: its curves, and the attention of a few fixed sentences at every checkpoint, as a film strip."""

import base64
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.engines.pytorch import PyTorchEngine, open_pytorch
from heed.errors import CheckpointError, DataError, HeedError
from heed.evaluate.criterion import BLEU
from heed.follow.curves import Curve, History, read_history
from heed.follow.runs import state_of
from heed.inside.inspection import n_layers_of, one_model
from heed.inside.sample import read_pairs, validation_files
from heed.inside.walk import attention_of, record
from heed.inside.words import Side, by_words, side_of
from heed.lab.models import check_exists, name_of
from heed.model.transformer import Transformer
from heed.options import SearchOptions

_SENTENCES = 3
_MAX_SENTENCE_PIECES = 24  # so that a frame can be read
_LINES_READ = 200  # of the validation text, to find such sentences in
_MAX_FRAMES = 120  # then every other one is dropped
_MAX_POINTS = 400  # of a curve


@dataclass(frozen=True)
class Fixed:
    """A pair of the validation text: the reference is what every checkpoint is asked to write."""

    text: str
    source: Side
    target: Side


@dataclass(frozen=True)
class Frame:
    """One checkpoint: of each sentence its translation, and its attention while it is made to write the reference."""

    step: int
    translations: list[str]
    attention: list[NDArray[np.uint8]]  # layers × heads × target words × source words, 255 is 1


class Strip:
    """What is known of a run. `status` and `missing` read files; the worker calls `add`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_watched = False
        self._lock = threading.Lock()
        self._fixed: list[Fixed] | None = None
        self._frames: dict[int, Frame] = {}
        self._failed: dict[int, str] = {}
        self._history: tuple[object, History] | None = None

    def missing(self) -> int | None:
        """Return the next step that has a checkpoint and no frame yet; None: there is none."""
        if not (self.path / "checkpoints").is_dir():
            return None
        steps = [int(one.name[5:]) for one in (self.path / "checkpoints").glob("step-*") if one.name[5:].isdigit()]
        with self._lock:
            newest = max(self._frames, default=-1)
            done = {*self._frames, *self._failed}
        new = sorted(step for step in steps if step not in done)
        if len(steps) > _MAX_FRAMES:  # of many checkpoints those that lie apart; of what follows, all
            apart = set(steps[:: -(-len(steps) // (_MAX_FRAMES // 2))])
            new = [step for step in new if step > newest >= 0 or step in apart]
        return new[0] if new else None

    def add(self, step: int) -> None:
        """Compute the frame of a checkpoint. What is wrong with one is kept for the page."""
        try:
            engine = open_pytorch([self.path], f"step-{step:08d}", int8=False)
            fixed = self._fixed_of(engine)
            frame = _frame(engine, step, fixed)
        except (HeedError, OSError) as error:
            if (self.path / "checkpoints" / f"step-{step:08d}").exists():  # else the training has just deleted it
                with self._lock:
                    self._failed[step] = str(error)
            return
        with self._lock:
            self._frames[step] = frame
            if len(self._frames) > _MAX_FRAMES:
                steps = sorted(self._frames)
                self._frames = {one: self._frames[one] for one in (*steps[:-1:2], steps[-1])}

    def _fixed_of(self, engine: PyTorchEngine) -> list[Fixed]:
        if self._fixed is None:
            self._fixed = _fixed_sentences(self.path, engine)
        return self._fixed

    def status(self, known: set[int]) -> dict[str, Any]:
        """Return state, curves and the frames but those of the steps in `known`, as JSON can hold it."""
        found: dict[str, Any] = {"name": name_of(self.path), "state": "deleted", "problem": "", "curves": {}}
        try:
            check_exists(self.path)
            state = state_of(self.path)
            found |= {"state": state.state, "step": state.step, "max_steps": state.max_steps, "problem": state.reason}
        except HeedError as error:
            found["problem"] = f"{error}. What was computed before is still shown"
        if (history := self._read_history()) is not None:
            found["curves"] = {
                "loss": _thinned(history.curve("step", "loss")),
                "validation perplexity": _thinned(history.curve("validation", "perplexity")),
                BLEU.label: _thinned(history.curve("validation", BLEU.key)),
            }
            if (criterion := history.criterion).key not in ("bleu", "perplexity"):
                found["curves"][criterion.label] = _thinned(history.curve("validation", criterion.key))
        with self._lock:
            frames, fixed, failed = dict(self._frames), self._fixed, dict(self._failed)
        found["steps"] = sorted(frames)
        found["waiting"] = self.missing() is not None
        found["failed"] = {str(step): message for step, message in failed.items() if step not in frames}
        found["has_text"] = fixed is None or bool(fixed)
        found["sentences"] = [
            {"text": one.text, "source": one.source.word_labels, "target": one.target.word_labels}
            for one in fixed or ()
        ]
        found["frames"] = [_packed(frames[step]) for step in sorted(frames) if step not in known]
        return found

    def _read_history(self) -> History | None:
        """Return the events so far; after the run was deleted, those that were read last."""
        events = self.path / "events.jsonl"
        try:
            stat = events.stat()
            key = (stat.st_mtime_ns, stat.st_size)
            if self._history is None or self._history[0] != key:
                self._history = key, read_history(self.path)
        except (OSError, CheckpointError):
            pass
        return None if self._history is None else self._history[1]


def _fixed_sentences(path: Path, engine: PyTorchEngine) -> list[Fixed]:
    """Return the first short pairs of the run's validation text; none if it cannot be read."""
    try:
        files = validation_files(path)
        pairs = read_pairs(*files, _LINES_READ) if files else []
    except (DataError, OSError):
        return []
    found: list[Fixed] = []
    for text, reference in pairs:
        source, target = engine.tokenizer.encode_ids([text, reference])
        if max(len(source), len(target)) <= min(_MAX_SENTENCE_PIECES, engine.limit) and len(found) < _SENTENCES:
            found.append(Fixed(text, side_of(engine.tokenizer, source), side_of(engine.tokenizer, target)))
    return found


def _frame(engine: PyTorchEngine, step: int, fixed: list[Fixed]) -> Frame:
    model = one_model(engine)
    texts = [one.text for one in fixed]
    found = engine.translate(texts, range(len(texts)), SearchOptions(beam=1), lambda done: None) if texts else []
    attention: list[NDArray[np.uint8]] = []
    if not isinstance(model, Transformer):  # it has no attention to film
        return Frame(step, [one.text for one in found], attention)
    for one in fixed:
        walk = record(model, one.source.ids[:-1], one.target.ids[:-1])
        layers = attention_of(walk, n_layers_of(model))["cross"]
        by_head = [[by_words(head, one.target.words, one.source.words) for head in layer] for layer in layers]
        attention.append(np.round(255 * np.array(by_head)).astype(np.uint8))
    return Frame(step, [one.text for one in found], attention)


def _packed(frame: Frame) -> dict[str, Any]:
    return {
        "step": frame.step,
        "translations": frame.translations,
        "attention": [
            {"shape": list(one.shape), "bytes": base64.b64encode(one.tobytes()).decode()} for one in frame.attention
        ],
    }


def _thinned(curve: Curve) -> Curve:
    """Return at most so many points of a curve as a picture has room for, always the last."""
    every = -(-len(curve) // _MAX_POINTS)
    return curve if every <= 1 else [*curve[:-1:every], curve[-1]]
