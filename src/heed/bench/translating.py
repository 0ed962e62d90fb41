"""Measure how fast each engine translates: many sentences at once, and one at a time."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from heed.bench.rounds import in_turns, percentile, rates, timed
from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.loading import default_engine, load
from heed.translator import Translator


def engines(path: Path, checkpoint: str) -> dict[str, Translator]:
    """Return a translator for each available engine, starting with torch, the reference."""
    found = {"torch": load(path, checkpoint=checkpoint, engine="torch")}
    if library() is not None:
        found["torch int8"] = load(path, checkpoint=checkpoint, int8=True, engine="torch")
    if default_engine([path]) == "native":
        found["native"] = load(path, checkpoint=checkpoint, engine="native")
        if bf16_ways.chosen() is not None:
            found["native bfloat16"] = load(path, checkpoint=checkpoint, bfloat16=True, engine="native")
        found["native int8"] = load(path, checkpoint=checkpoint, int8=True, engine="native")
    return found


def measure_translating(
    sides: Mapping[str, Translator],
    texts: Sequence[str],
    beam: int,
    rounds: int,
    single: int,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, object]:
    """Time all texts at once with `beam`, and the first `single` texts one by one, greedily and with `beam`.

    The engines take turns. `progress` is called with the number of turns done, of `turns(...)`.
    """
    tokens: dict[str, int] = {}

    def bulk(name: str) -> Callable[[], None]:
        def work() -> None:
            tokens[name] = sum(len(one.pieces) + 1 for one in sides[name].translate(texts, beam=beam, copy=False))

        return work

    seconds = in_turns({name: bulk(name) for name in sides}, rounds, progress)
    done = len(sides) * (rounds + 1)
    alone: dict[tuple[str, int], list[float]] = {(name, width): [] for name in sides for width in {1, beam}}
    for text in texts[:single]:
        for name, width in alone:
            translate = partial(sides[name].translate, [text], beam=width, copy=False)
            alone[name, width].append(timed(translate)[0])
        done += len(sides)
        progress(done)
    first = min(seconds[next(iter(sides))])
    return {
        "sentences": len(texts),
        "beam": beam,
        "rounds": rounds,
        "single": min(single, len(texts)),
        "engines": {
            name: {
                "seconds": seconds[name],
                "sentences_per_second": rates(len(texts), seconds[name]),
                "target_tokens": tokens[name],
                "target_tokens_per_second": rates(tokens[name], seconds[name]),
                "ratio_to_torch": first / min(seconds[name]),
                "latency_seconds": {
                    label: {f"p{percent}": percentile(alone[name, width], percent) for percent in (50, 95)}
                    for label, width in (("greedy", 1), ("beam", beam))
                },
            }
            for name in sides
        },
    }


def turns(n_sides: int, n_texts: int, rounds: int, single: int) -> int:
    """Return the number of turns that `measure_translating` takes."""
    return n_sides * (rounds + 1 + min(single, n_texts))
