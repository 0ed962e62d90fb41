"""Measure how time and memory grow with sentence length, batch, vocabulary, width and beam, and compare with theory.

    python bench/growth.py --out bench/results/2026-11-16-growth
    python bench/growth.py --what translate --limit 120 --out growth

One factor at a time changes from a small centre, with fresh weights and random ids. Each point is measured in its own
process with one thread. Time is processor time, the best of three or more, which other work on the machine disturbs
least; memory is the kernel's high-water mark minus the memory of the libraries. Theory is a count: the multiplications
of the matrix products, and the bytes that must exist at once. A fixed cost hides growth, so the comparison uses the
increase since the first point. Writes .json, .md and .png.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

from heed.allocator import keep_freed_memory
from heed.config import Config, ModelConfig, TrainConfig
from heed.data.batch import batch_of_ids, padded
from heed.decode.beam import beam_search
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelStep
from heed.decode.search import Task
from heed.model.compiled import CompiledTransformer, reason_not_compiled
from heed.model.size import kept_floats
from heed.model.transformer import Transformer
from heed.training.learner import Learner
from heed.training.loss import LOGIT_ROWS
from heed.training.memory import peak_memory, used_memory
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary

CPU = torch.device("cpu")
LAYERS, HEADS = 2, 4
REPEATS, AT_LEAST = 3, 0.8  # times, and seconds
FITTED = 3  # the exponent is fitted to this many last points of a curve
TOLERANCE = 0.25  # an exponent above theory by more than this counts as faster growth


@dataclass(frozen=True)
class Shape:
    """One point. `batch` is tokens of a side in training, sentences in translating."""

    length: int = 32
    batch: int = 2048
    vocabulary: int = 4000
    width: int = 128
    beam: int = 4

    @property
    def model(self) -> ModelConfig:
        d = self.width
        return ModelConfig(LAYERS, LAYERS, d_model=d, d_ff=4 * d, h=HEADS, dropout=0.1, max_length=2048)


CENTRES = {"train": Shape(), "translate": Shape(batch=1)}
LENGTHS, VOCABULARIES = [16, 32, 64, 128, 256, 512, 1024], [1000, 2000, 4000, 8000, 16000, 32000]
FACTORS = {
    "train": {
        "length": LENGTHS,
        "batch": [512, 1024, 2048, 4096, 8192],
        "vocabulary": VOCABULARIES,
        "width": [64, 128, 256, 512],
    },
    "translate": {
        "length": LENGTHS,
        "batch": [1, 2, 4, 8, 16, 32, 64, 128],
        "vocabulary": VOCABULARIES,
        "width": [64, 128, 256, 512],
        "beam": [1, 2, 4, 8, 16, 32, 64],
    },
}
POWERS = {  # the highest power in theory: of time, of memory
    ("train", "length"): (1, 0),  # at a fixed number of tokens
    ("train", "batch"): (1, 1),
    ("train", "vocabulary"): (1, 1),
    ("train", "width"): (2, 2),
    ("translate", "length"): (2, 1),  # one step per token, and each attends to all before it
    ("translate", "batch"): (1, 1),
    ("translate", "vocabulary"): (1, 1),
    ("translate", "width"): (2, 2),
    ("translate", "beam"): (1, 1),
}


# --- theory ----------------------------------------------------------------------------------------------------


def products(what: str, shape: Shape) -> float:
    """Count the multiplications of the matrix products."""
    d, length, v = shape.width, shape.length, shape.vocabulary
    attention = 2 * length * d  # of one position to `length` others, all heads
    encoder, decoder = 12 * d * d + attention, 16 * d * d + 2 * attention  # of one position
    if what == "train":  # forward once, backward twice as many
        return 3 * shape.batch * (LAYERS * (encoder + decoder) + d * v)
    written = (
        14 * d * d + 1.5 * attention
    )  # the source's keys and values are computed once; the decoded past is half as long on average
    hypotheses = shape.batch * shape.beam
    return shape.batch * length * LAYERS * (encoder + 2 * d * d) + hypotheses * length * (LAYERS * written + d * v)


def bytes_at_once(what: str, shape: Shape) -> float:
    d, v = shape.width, shape.vocabulary
    weights = LAYERS * 28 * d * d + d * v
    if what == "train":  # weights, gradient, two moments; activations; a portion of logits
        return 4 * (
            4 * weights + kept_floats(shape.model, shape.length) * shape.batch + v * min(LOGIT_ROWS, shape.batch)
        )
    hypotheses = shape.batch * shape.beam
    past = (
        LAYERS * 2 * d * shape.batch * (shape.length + shape.length)
    )  # keys and values: of the source and of the decoded tokens
    # Weights; a reordered copy of those of the decoder, embedding and output; logits and their exp.
    return 4 * (weights + LAYERS * 16 * d * d + 2 * d * v + past + 2 * hypotheses * v)


# --- measurements ----------------------------------------------------------------------------------------------


def training(shape: Shape) -> Callable[[], None]:
    keep_freed_memory()  # as `heed train` does
    config = Config(model=shape.model, train=TrainConfig(batch_tokens=shape.batch, micro_batch_tokens=shape.batch))
    learner = Learner(config, Vocabulary(shape.vocabulary), Workers(0, 1, CPU))
    learner.model.train()
    sides = [random_ids(shape, shape.batch // shape.length, seed) for seed in (1, 2)]
    batch = batch_of_ids(*sides, Vocabulary(shape.vocabulary))
    steps = iter(range(1, 1000))
    return lambda: _checked(train_step(learner, [batch], batch.n_tokens, next(steps)).applied)


def translating(shape: Shape) -> Callable[[], None]:
    vocabulary = Vocabulary(shape.vocabulary)
    torch.manual_seed(1)
    model = Transformer(shape.model, vocabulary).eval()
    with torch.no_grad():
        model.embedding.weight[vocabulary.end] = 0  # never among the best, so every search makes all its steps
    step = ModelStep([model if reason_not_compiled(model) else CompiledTransformer(model)], CPU)
    sources = [[*ids, vocabulary.end] for ids in random_ids(shape, shape.batch, 1)]

    @torch.inference_mode()
    def search() -> None:
        state = step.start(padded(sources, vocabulary.pad))
        never = vocabulary.never_output
        task = Task([shape.length] * shape.batch, vocabulary.start, vocabulary.end, 0.6, never=never)
        found = greedy_search(step, state, task) if shape.beam == 1 else beam_search(step, state, task, shape.beam)
        _checked(all(len(one.ids) == shape.length for several in found for one in several))

    return search


def random_ids(shape: Shape, n: int, seed: int) -> list[list[int]]:
    """Return `n` random sentences of `length` tokens including the end token, which is added later."""
    vocabulary = Vocabulary(shape.vocabulary)
    low = max(vocabulary.pad, vocabulary.end, vocabulary.unknown) + 1
    ids: list[list[int]] = np.random.default_rng(seed).integers(low, shape.vocabulary, (n, shape.length - 1)).tolist()
    return ids


def _checked(all_done: bool) -> None:
    if not all_done:
        raise RuntimeError("the work to be measured was not done in full")


WORK = {"train": training, "translate": translating}


def measure(what: str, shape: Shape, out: Connection) -> None:
    """Measure in a fresh process. A very small model runs first, so that memory does not include loading libraries."""
    torch.set_num_threads(1)
    WORK[what](Shape(length=8, batch=8, vocabulary=50, width=16))()
    Path("/proc/self/clear_refs").write_text("5")  # reset the high-water mark
    before = used_memory(CPU)
    work = WORK[what](shape)
    seconds: list[float] = []
    while len(seconds) <= REPEATS or sum(seconds) < AT_LEAST:  # once to warm up
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    out.send((seconds[1:], peak_memory(CPU) - before))


def fresh_process(what: str, shape: Shape, timeout: float) -> tuple[list[float], int] | None:
    context = multiprocessing.get_context("fork")  # the libraries are loaded but have not computed anything
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(what, shape, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(timeout) else None
    except EOFError:
        raise SystemExit(f"{what} of {shape} failed") from None
    finally:
        process.kill()
        process.join()


# --- the report ------------------------------------------------------------------------------------------------


def exponent(xs: list[int], ys: list[float]) -> float:
    """Return the slope of the last part of the curve on logarithmic axes."""
    return float(np.polyfit(np.log(xs[-FITTED:]), np.log(ys[-FITTED:]), 1)[0])


def exponent_of_increase(xs: list[int], ys: list[float]) -> float | None:
    """Return the exponent of the increase since the first point; None if the last points are not all above it."""
    above = [y - ys[0] for y in ys]
    return exponent(xs, above) if min(above[-FITTED:]) > 0 else None


def curves(points: list[dict]) -> list[dict]:
    found = []
    for (what, factor), powers in POWERS.items():
        own = [p for p in points if (p["what"], p["factor"]) == (what, factor)]
        if len(own) <= FITTED:
            continue
        xs, shapes = [p["shape"][factor] for p in own], [Shape(**p["shape"]) for p in own]
        for measured, theory, power in zip(("seconds", "bytes"), (products, bytes_at_once), powers, strict=True):
            ys, counted = [p[measured] for p in own], [theory(what, shape) for shape in shapes]
            slope, rise, must = exponent(xs, ys), exponent_of_increase(xs, ys), exponent_of_increase(xs, counted)
            faster = slope > TOLERANCE if must is None else rise is not None and rise > must + TOLERANCE
            found.append(
                dict(what=what, factor=factor, measured=measured, xs=xs, ys=ys, counted=counted, power=power)
                | dict(exponent=slope, counted_exponent=exponent(xs, counted), exponent_of_increase=rise)
                | dict(counted_increase=must, faster=faster)
            )
    return found


def report(points: list[dict], about: str) -> str:
    lines = ["# How time and memory grow", "", about]
    for measured, name in (("seconds", "Time"), ("bytes", "Memory")):
        lines += ["", f"## {name}", ""]
        lines += ["| | factor | last part | exponent | counted | of the increase | counted | highest power | |"]
        lines += ["| --- " * 9 + "|"]
        for curve in curves(points):
            if curve["measured"] != measured:
                continue
            begin, end = curve["xs"][-FITTED], curve["xs"][-1]
            cells = [curve["what"], curve["factor"], f"{begin:,} – {end:,}"]
            cells += [f"{curve['exponent']:.2f}", f"{curve['counted_exponent']:.2f}"]
            for rise in (curve["exponent_of_increase"], curve["counted_increase"]):
                cells.append("–" if rise is None else f"{rise:.2f}")
            cells.append(f"{curve['power']}")
            lines.append("| " + " | ".join([*cells, "**faster**" if curve["faster"] else ""]) + " |")
    lines += ["", "## Points", "", "| | factor | value | ms, best | median | MB |", "| --- " * 6 + "|"]
    for p in points:
        value, median = p["shape"][p["factor"]], float(np.median(p["all_seconds"]))
        numbers = f"{1000 * p['seconds']:,.1f} | {1000 * median:,.1f} | {p['bytes'] / 1e6:,.1f}"
        lines.append(f"| {p['what']} | {p['factor']} | {value:,} | {numbers} |")
    return "\n".join(lines) + "\n"


def through_ends(counted: list[float], ys: list[float]) -> list[float]:
    """Return a + b x count through the first and the last measured point: a is the fixed cost."""
    if counted[0] == counted[-1]:
        return [float(np.mean(ys))] * len(ys)
    b = (ys[-1] - ys[0]) / (counted[-1] - counted[0])
    return [ys[0] + b * (count - counted[0]) for count in counted]


def picture(points: list[dict], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullLocator

    rows = [("train", "seconds"), ("train", "bytes"), ("translate", "seconds"), ("translate", "bytes")]
    columns = list(FACTORS["translate"])
    titles = {"train": "one update", "translate": "one search"}
    figure, axes = plt.subplots(len(rows), len(columns), figsize=(15, 11), layout="constrained")
    found = {(c["what"], c["measured"], c["factor"]): c for c in curves(points)}
    handles = []
    for i, (what, measured) in enumerate(rows):
        unit, scale = ("ms", 1e3) if measured == "seconds" else ("MB", 1e-6)
        for j, factor in enumerate(columns):
            axis, curve = axes[i, j], found.get((what, measured, factor))
            if curve is None:
                axis.axis("off")
                continue
            xs, ys = curve["xs"], [scale * y for y in curve["ys"]]
            theory = through_ends(curve["counted"], ys)
            (dashed,) = axis.plot(xs, theory, "--", color="0.55", label="fixed cost + theory,\nthrough both ends")
            (line,) = axis.plot(xs, ys, "o-", color="C0" if measured == "seconds" else "C1", markersize=4)
            line.set_label("measured time" if measured == "seconds" else "measured memory")
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.set_xticks(xs, [f"{x // 1000}k" if x % 1000 == 0 else str(x) for x in xs], fontsize=8)
            low, high = min(ys + theory), max(ys + theory)
            ticks = [m * 10**e for e in range(-2, 6) for m in (1, 2, 5)]
            ticks = ticks if high / low < 60 else ticks[::3]
            axis.set_ylim(low / 1.3, high * 1.3)
            axis.set_yticks([tick for tick in ticks if low / 1.3 <= tick <= high * 1.3])
            axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            axis.yaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_minor_locator(NullLocator())
            axis.grid(alpha=0.25)
            name = f"{factor} ({'tokens' if what == 'train' else 'sentences'})" if factor == "batch" else factor
            rise, must = curve["exponent_of_increase"], curve["counted_increase"]
            if rise is None or must is None:
                rise, must = curve["exponent"], curve["counted_exponent"]
            colour = "C3" if curve["faster"] else "black"
            axis.set_title(f"{name}: {rise:.2f}, theory {must:.2f}", fontsize=9, color=colour)
            if j == 0:
                axis.set_ylabel(f"{titles[what]}, {unit}")
            handles += [dashed, line]
    labelled = {handle.get_label(): handle for handle in handles}
    corner = axes[0, -1]
    corner.legend(labelled.values(), labelled.keys(), loc="upper left", frameon=False)
    text = f"titles: exponents of the increase since the\nfirst point, of the last {FITTED} points"
    text += "\n(red: faster than theory)"
    corner.text(0.02, 0.2, text, fontsize=9)
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="train,translate", help="train, translate, or both, separated by a comma")
    parser.add_argument("--limit", type=float, default=240, help="seconds in total; points beyond it are skipped")
    parser.add_argument("--out", required=True, type=Path, help="file to write, without the extension")
    args = parser.parse_args()
    asked = args.what.split(",")
    if unknown := set(asked) - set(FACTORS):
        parser.error(f"--what: {', '.join(sorted(unknown))} is neither train nor translate")
    end = time.monotonic() + args.limit
    points: list[dict] = []
    left_out: list[str] = []
    load = os.getloadavg()[0]
    for what in asked:
        for factor, values in FACTORS[what].items():
            for value in values:
                shape = replace(CENTRES[what], **{factor: value})
                remaining = end - time.monotonic()
                result = fresh_process(what, shape, remaining) if remaining > 0 else None
                if result is None:
                    left_out.append(f"{what} {factor} {value}")
                    continue
                seconds, memory = result
                points.append(
                    dict(what=what, factor=factor, shape=asdict(shape), seconds=min(seconds), bytes=memory)
                    | dict(all_seconds=seconds)
                )
                print(f"{what:10} {factor:11} {value:6,} {1000 * min(seconds):10,.1f} ms {memory / 1e6:9,.1f} MB")
    cpu = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    machine = f"{cpu.split(': ')[1].strip()}, {os.cpu_count()} cores, one used, load {load:.1f} at the start"
    centre, sentences = CENTRES["train"], CENTRES["translate"].batch
    about = (
        f"`python bench/growth.py --what {args.what}`, seed 1, torch {torch.__version__}, {machine}, "
        f"{time.strftime('%Y-%m-%d')}. Centre: {LAYERS}+{LAYERS} layers, width {centre.width}, {HEADS} heads, "
        f"vocabulary {centre.vocabulary:,}, length {centre.length}; in training a batch of {centre.batch:,} tokens, in "
        f"translating {sentences} sentence and a beam of {centre.beam}. Processor time, best of {REPEATS} or more; "
        f"exponents of the last {FITTED} points."
    ) + (f" Skipped for lack of time: {', '.join(left_out)}." if left_out else "")
    args.out.with_suffix(".json").write_text(json.dumps({"about": about, "points": points}, indent=1) + "\n")
    args.out.with_suffix(".md").write_text(report(points, about))
    picture(points, args.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
