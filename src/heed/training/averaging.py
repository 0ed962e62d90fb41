"""Means of weights (section 6.1), which compete with the best checkpoint at the end of a training."""

from collections.abc import Callable

from heed.checkpoint import read_tensors
from heed.evaluate import Criterion
from heed.model.build import build_model
from heed.model.interface import SequenceModel
from heed.run import RunFolder, load_weights
from heed.training.keeper import Keeper
from heed.training.progress import Progress
from heed.training.validate import Validation
from heed.training.workers import Workers

Judge = Callable[[SequenceModel, str], Validation]  # of a model, called by this name


def try_means(
    run: RunFolder, keeper: Keeper, progress: Progress, workers: Workers, judge: Judge | None, by: Criterion
) -> None:
    """Choose the mean of the last checkpoints, or the running mean, if it is better than the best checkpoint.

    Without a judge: the mean, if there are enough checkpoints for it, else the last one.
    """
    config, step = run.config.train, progress.step
    steps = workers.from_leader(keeper.regular_steps()[-config.average_last :])
    enough = config.average_last > 1 and len(steps) > 1
    if judge is None:
        enough = enough and len(steps) == config.average_last
        name = keeper.save_mean(steps) if enough else None
        keeper.set_best(name or run.step_path(step).name, step, None)
        return
    best = progress.best
    candidates = []
    if enough:
        candidates.append((keeper.save_mean(steps), f"the average of steps {', '.join(map(str, steps))}"))
    if config.ema_decay:
        candidates.append((keeper.save_running_mean(step), "the running mean of the weights"))
    for name, what in candidates:
        if name is None:  # it could not be made, and that was said
            continue
        path = run.checkpoint_path(name)
        model = build_model(run.config.model, run.tokenizer.vocabulary).to(workers.device)
        load_weights(model, read_tensors(path, "model"), str(path))
        found = judge(model, what)
        if found.better_than(best, by):
            best = found
            keeper.set_best(name, step, found)
