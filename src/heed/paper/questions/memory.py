"""A memory network of two hops answers a question about a story (Sukhbaatar et al., 2015), with weights set by hand."""

import numpy as np

from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "What is an end-to-end memory network?"
_STORY = (  # actor, verb, what or where to
    ("Mary", "went", "kitchen"),
    ("John", "went", "garden"),
    ("Mary", "took", "ball"),
    ("John", "took", "milk"),
)
_WORDS = ("Mary", "John", "kitchen", "garden", "ball", "milk")
_PLACES = ("kitchen", "garden")
_SHARPNESS = 6.0


def answer(asked: Asked) -> Part:
    """Attend to the story twice; what the first hop found is part of the second hop's query."""
    things = np.stack([_vector(what) if verb == "took" else _vector() for _, verb, what in _STORY])
    actors = np.stack([_vector(actor) for actor, _, _ in _STORY])
    places = np.stack([_vector(what) if verb == "went" else _vector() for _, verb, what in _STORY])
    query = _SHARPNESS * _vector("ball")
    # Adjacent hops share a matrix: what hop 1 returns, actors, is what hop 2 looks for.
    hops, returns = [], []
    for looked_for, returned in ((things, actors), (actors, places)):
        weights = _softmax(looked_for @ query)
        query = query + _SHARPNESS * weights @ returned
        hops.append(weights)
        returns.append(_WORDS[int(np.argmax(weights @ returned))])
    scores = [float(query[_WORDS.index(place)]) for place in _PLACES]
    found = _PLACES[int(np.argmax(scores))]
    rows = tuple((" ".join(fact), *(f"{weights[i]:.2f}" for weights in hops)) for i, fact in enumerate(_STORY))
    rows = (*rows, ("what it hands on", *returns))
    return Part(
        "question-memory",
        QUESTION,
        (Table(("memory", "hop 1", "hop 2"), rows, "Where is the ball? Attention weights"),),
        (
            f"The answer: {found}. Each hop is one attention over all sentences at once, and its result is added to "
            'the query of the next hop. So the recurrence is over hops ("recurrent attention"), a fixed number, and '
            "not over the words in their order (sequence-aligned). The weights here are set by hand; a network "
            "learns them end to end, from questions and answers alone.",
        ),
        values={"answer": found, "hops": [hop.tolist() for hop in hops], "scores": scores},
    )


def _vector(*words: str) -> np.ndarray:
    return np.array([float(word in words) for word in _WORDS])


def _softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    normalised: np.ndarray = weights / weights.sum()
    return normalised
