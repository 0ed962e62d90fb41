"""Questions of readers of the paper, each answered by a small experiment with heed's own modules.

A question is a module with QUESTION, the question, and answer, which takes what is asked about and returns a part of
the report. `docs/questions.md` has their answers at length.
"""

from heed.paper.questions import (
    bert,
    cat,
    dependency,
    diversity,
    dropout,
    embedding,
    encoder,
    feedforward,
    gates,
    heads,
    infinity,
    learned,
    mask,
    memory,
    output,
    passes,
    positions,
    residual,
    resolution,
    restricted,
    saturation,
    scaling,
    softmax,
    state,
    transduction,
    values,
)

# In the order of docs/questions.md, which is that of the paper.
QUESTIONS = {
    "transduction": transduction,
    "state": state,
    "gates": gates,
    "dependency": dependency,
    "resolution": resolution,
    "memory": memory,
    "encoder": encoder,
    "output": output,
    "passes": passes,
    "mask": mask,
    "infinity": infinity,
    "softmax": softmax,
    "scaling": scaling,
    "values": values,
    "heads": heads,
    "diversity": diversity,
    "feedforward": feedforward,
    "embedding": embedding,
    "positions": positions,
    "learned": learned,
    "residual": residual,
    "dropout": dropout,
    "cat": cat,
    "restricted": restricted,
    "saturation": saturation,
    "bert": bert,
}
TRAINED = frozenset({"mask", "diversity", "learned", "residual"})  # with tiny trainings: up to a minute on one core
MINUTES = frozenset({"saturation"})  # run only if named
