"""Average weights at the end of a training (section 6.1) and let the averages compete with the best checkpoint."""

from collections.abc import Callable

from heed.checkpoint import read_tensors
from heed.evaluate import Criterion
from heed.model.build import build_model
from heed.model.interface import SequenceModel
from heed.run import RunFolder, load_weights
from heed.training.checkpointer import Checkpointer
from heed.training.progress import Progress
from heed.training.validate import Validation
from heed.training.workers import Workers

Validate = Callable[[SequenceModel, str], Validation]  # takes a model, and the name that messages show


def try_averages(
    run: RunFolder,
    checkpointer: Checkpointer,
    progress: Progress,
    workers: Workers,
    validate: Validate | None,
    by: Criterion,
) -> None:
    """Make an average the best checkpoint if it validates better: that of the last checkpoints, or the running one.

    Without validation data, the average of the last checkpoints is chosen if there are enough, else the last one.
    """
    config, step = run.config.train, progress.step
    steps = workers.from_leader(checkpointer.regular_steps()[-config.average_last :])
    enough = config.average_last > 1 and len(steps) > 1
    if validate is None:
        enough = enough and len(steps) == config.average_last
        name = checkpointer.save_average(steps) if enough else None
        checkpointer.set_best(name or run.step_path(step).name, step, None)
        return
    best = progress.best
    candidates = []
    if enough:
        candidates.append((checkpointer.save_average(steps), f"the average of steps {', '.join(map(str, steps))}"))
    if config.ema_decay:
        candidates.append((checkpointer.save_running_average(step), "the running average of the weights"))
    for name, what in candidates:
        if name is None:  # it could not be saved; the log says why
            continue
        path = run.checkpoint_path(name)
        model = build_model(run.config.model, run.tokenizer.vocabulary).to(workers.device)
        load_weights(model, read_tensors(path, "model"), str(path))
        found = validate(model, what)
        if found.better_than(best, by):
            best = found
            checkpointer.set_best(name, step, found)
