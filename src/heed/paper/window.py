"""Restricted self-attention on long input (section 4): its cost beside full attention, and quality against r."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch

from heed.config import Config, ModelConfig, TrainConfig
from heed.data.batch import Batch, batch_of_ids
from heed.data.corpus import ParallelText
from heed.errors import DataError
from heed.model.sequences import Padded
from heed.model.transformer import as_transformer
from heed.paper.chart import Axis, Series, chart
from heed.paper.layer_cost import kept_by
from heed.paper.long_text import (
    COPY_SYMBOLS,
    COPY_VOCABULARY,
    Document,
    copy_batch,
    document_of,
    documents,
    learn_tokenizer,
)
from heed.paper.report import Part, Table
from heed.paper.resumable import Rows
from heed.training.batch_loss import BatchLoss
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary

_VOCAB_SIZE = 2_000
_MAX_FREE_SHARE = 0.8  # of the free memory may be used
_HELD_OUT = 8  # documents
NOTES = (
    "What differs: the paper names restricted self-attention in Table 1 and leaves it to future work, so there is no "
    "published number, and nothing here may be compared with one. r counts the positions that a position attends to, "
    "itself included. Cross-attention stays full, so a whole update still has a part that grows with n².",
    "Memory is what the forward pass keeps for the backward pass, counted. Full attention is PyTorch's fused kernel, "
    "which does not keep the weights: in the encoder its memory does not grow with n² either, and a neighbourhood, "
    "which keeps a mask of up to 2·r·n elements, saves time there, not memory. In the decoder, the causal mask of full "
    "attention has n × n elements.",
)


@dataclass(frozen=True)
class Plan:
    """What to measure and to train."""

    scale: str
    lengths: tuple[int, ...]  # pieces a side, for cost
    cost_windows: tuple[int, ...]
    rounds: int
    distance: int  # of the copy task
    copy_windows: tuple[int, ...]
    copy_steps: int
    document_pieces: int
    document_windows: tuple[int, ...]
    document_steps: int


PLANS = {
    "tiny": Plan("tiny", (1000, 2000), (64,), 1, 12, (2, 4, 8, 12, 24), 1000, 256, (8, 32), 200),
    "small": Plan(
        *("small", (1000, 2000, 4000, 8000), (64, 256), 3),
        *(48, (4, 8, 16, 32, 48, 96), 2000),
        *(1000, (16, 64, 256), 1000),
    ),
}


def model_config(window: int, max_length: int) -> ModelConfig:
    """Return the shape of the models that are measured and trained."""
    return ModelConfig(2, 2, 64, 128, 4, dropout=0.0, max_length=max_length, attention_window=window)


def measure(
    plan: Plan, text: ParallelText | None, rows: Rows, free: int | None, done: Callable[[int], None]
) -> dict[str, Any]:
    """Measure and train all that is not among the rows yet; without a text, there is no translation of documents."""
    found: dict[str, Any] = {"cost": [], "copy": [], "documents": []}
    n_done = 0

    def row(kind: str, name: str, make: Callable[[], dict[str, Any]]) -> None:
        nonlocal n_done
        known = rows.get(name)
        found[kind].append(known if known is not None else rows.add(name, make()))
        done(n_done := n_done + 1)

    vocabulary, texts, held_out = _read(plan, text)
    where = "random ids" if text is None else text.name
    for n in plan.lengths:
        for window in (0, *plan.cost_windows):
            name = f"cost n={n} r={window} rounds={plan.rounds} threads={torch.get_num_threads()} {where}"
            row("cost", name, partial(_cost, n, window, texts, vocabulary, plan.rounds, free))
    for window in (*plan.copy_windows, 0):
        name = f"copy distance={plan.distance} r={window} steps={plan.copy_steps}"
        row("copy", name, partial(_copied, plan, window))
    for window in (*plan.document_windows, 0) if text is not None else ():
        name = f"documents pieces={plan.document_pieces} r={window} steps={plan.document_steps} {where}"
        row("documents", name, partial(_translated, plan, window, texts, held_out, vocabulary))
    return found


def n_rows(plan: Plan, with_text: bool) -> int:
    """Return how many rows a plan has."""
    trained = len(plan.copy_windows) + 1 + (len(plan.document_windows) + 1 if with_text else 0)
    return len(plan.lengths) * (1 + len(plan.cost_windows)) + trained


def _read(plan: Plan, text: ParallelText | None) -> tuple[Vocabulary, list[Document], list[Document]]:
    """Return the vocabulary, the documents to train on, and those held out: the first ones.

    There is a document for each step, if the text has so many.

    Raises:
        DataError: there is too little text.
    """
    if text is None:
        generator = torch.Generator().manual_seed(1)
        ids: list[int] = torch.randint(3, _VOCAB_SIZE, (4096,), generator=generator).tolist()
        return Vocabulary(_VOCAB_SIZE), [(ids, ids)], []
    tokenizer = learn_tokenizer(text, _VOCAB_SIZE)
    n_needed = _HELD_OUT + max(_HELD_OUT, plan.document_steps, max(plan.lengths) // plan.document_pieces + 1)
    found = list(islice(documents(text, tokenizer, plan.document_pieces), n_needed))
    if len(found) < 2 * _HELD_OUT:
        raise DataError(
            f"{text.name}: makes {len(found)} documents of {plan.document_pieces} pieces, but {2 * _HELD_OUT} are "
            "needed; give more text, such as Europarl: heed data get europarl --out europarl"
        )
    return tokenizer.vocabulary, found[_HELD_OUT:], found[:_HELD_OUT]


def _cost(
    n: int, window: int, texts: list[Document], vocabulary: Vocabulary, rounds: int, free: int | None
) -> dict[str, Any]:
    """Measure the encoder, and a whole update, on one pair of n pieces a side."""
    row: dict[str, Any] = {"n": n, "r": window}
    # Full attention: the causal mask in bytes, and in floats, for each layer of the decoder.
    if not window and free is not None and 9 * n * n > _MAX_FREE_SHARE * free:
        return row | {"fits": False}
    learner = _learner(model_config(window, n), vocabulary, steps=1)
    model, batch = as_transformer(learner.model, "window"), document_of(n, texts, vocabulary)
    loss = BatchLoss(model, 0.1)

    def encoder() -> torch.Tensor:
        # The encoder's output is what its last layer returns; its keys and values are the decoder's business.
        keys_values = model.encode(Padded(batch.src_BS, vocabulary.pad)).keys_values
        return torch.stack([k.sum() + v.sum() for k, v in keys_values]).sum()

    def update() -> torch.Tensor:
        smoothed: torch.Tensor = loss(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)[0]
        return smoothed

    for name, run in (("encoder", encoder), ("update", update)):
        best = math.inf
        for _ in range(rounds + 1):  # the first is for warming up
            begin = time.perf_counter()
            run().backward()  # type: ignore[no-untyped-call]
            best = min(best, time.perf_counter() - begin)
        row[name] = {"seconds": best, "bytes": kept_by(model, run)}
    return row | {"fits": True}


def _learner(model: ModelConfig, vocabulary: Vocabulary, steps: int) -> Learner:
    train = TrainConfig(max_steps=steps, warmup_steps=max(100, steps // 4), lanes=1, label_smoothing=0.0)
    torch.manual_seed(1)
    learner = Learner(Config(model=model, train=train), vocabulary, Workers(0, 1, torch.device("cpu")))
    learner.model.train()
    return learner


def _copied(plan: Plan, window: int) -> dict[str, Any]:
    """Train on the copy task, and return the share of symbols of the second half that are predicted right."""
    learner = _learner(model_config(window, 2 * plan.distance + 1), COPY_VOCABULARY, plan.copy_steps)
    for step in range(1, plan.copy_steps + 1):
        batch = copy_batch(plan.distance, 32, step)
        train_step(learner, [batch], batch.n_tokens, step)
    model, test = learner.model.eval(), copy_batch(plan.distance, 64, 0)
    with torch.no_grad():
        predicted_BT = model(test.src_BS, test.tgt_in_BT).argmax(-1)
    second = slice(plan.distance, 2 * plan.distance)
    right_BT = predicted_BT[:, second].eq(test.tgt_out_BT[:, second])
    return {"r": window, "accuracy": float(right_BT.double().mean())}


def _translated(
    plan: Plan, window: int, texts: Sequence[Document], held_out: Sequence[Document], vocabulary: Vocabulary
) -> dict[str, Any]:
    """Train on documents, and return the perplexity of those held out."""
    learner = _learner(model_config(window, plan.document_pieces), vocabulary, plan.document_steps)
    begin = time.perf_counter()
    for step in range(1, plan.document_steps + 1):
        batch = _pair(texts[(step - 1) % len(texts)], vocabulary, step)
        train_step(learner, [batch], batch.n_tokens, step)
    taken = time.perf_counter() - begin
    loss, total, n_tokens = BatchLoss(learner.model.eval(), 0.0), 0.0, 0
    with torch.no_grad():
        for document in held_out:
            batch = _pair(document, vocabulary, 0)
            total += float(loss(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)[1])
            n_tokens += batch.n_tokens
    return {"r": window, "perplexity": math.exp(total / n_tokens), "seconds": taken}


def _pair(document: Document, vocabulary: Vocabulary, number: int) -> Batch:
    return batch_of_ids([document[0]], [document[1]], vocabulary, number)


def part(plan: Plan, found: dict[str, Any]) -> Part:
    """Return tables of cost and quality, and charts of them."""

    def cells(one: dict[str, Any]) -> tuple[str, ...]:
        if not one["fits"]:
            return ("does not fit", "", "", "")
        measured = (one["encoder"], one["update"])
        return tuple(cell for each in measured for cell in (f"{each['seconds']:.3f}", f"{each['bytes'] / 1e6:,.1f}"))

    tables = [
        Table(
            ("n", "attention", "encoder, s", "MB", "update, s", "MB "),
            tuple((f"{one['n']:,}", _named(one["r"]), *cells(one)) for one in found["cost"]),
            "Forward and backward pass of one pair of n pieces a side",
        ),
        Table(
            ("attention", "accuracy %"),
            tuple((_named(one["r"]), f"{100 * one['accuracy']:.1f}") for one in found["copy"]),
            f"Copying a string of {plan.distance} symbols, {plan.copy_steps:,} steps "
            f"(by chance: {100 / COPY_SYMBOLS:.1f} %)",
        ),
    ]
    if found["documents"]:
        tables.append(
            Table(
                ("attention", "perplexity", "training, s"),
                tuple(
                    (_named(one["r"]), f"{one['perplexity']:.1f}", f"{one['seconds']:.0f}")
                    for one in found["documents"]
                ),
                f"Translating documents of {plan.document_pieces:,} pieces, {plan.document_steps:,} steps",
            )
        )
    charts = [
        chart(
            f"{what.capitalize()}: {label}",
            Axis("pieces n", True),
            Axis(label, True),
            [
                Series(
                    _named(r), [(one["n"], one[what][key]) for one in found["cost"] if one["r"] == r and one["fits"]]
                )
                for r in (0, *plan.cost_windows)
            ],
        )
        for what in ("encoder", "update")
        for key, label in (("seconds", "seconds"), ("bytes", "bytes kept"))
    ]
    points = [(one["r"], one["accuracy"]) for one in found["copy"] if one["r"]]
    distance = [(f"r = {plan.distance}", float(plan.distance))]
    charts.append(
        chart("Copying, against r", Axis("neighbourhood r", True), Axis("accuracy"), [Series("copy", points)], distance)
    )
    title = "Restricted self-attention on long input"
    return Part("window", title, tuple(tables), NOTES, tuple(charts), {"plan": asdict(plan), **found})


def _named(r: int) -> str:
    return f"r = {r}" if r else "full"
