"""Report a run as a table, as JSON and as a picture."""

import json
import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driver import Process, Running


@dataclass
class Table:
    title: str
    setting: list[str]  # sentences
    rows: list[dict[str, Any]]  # numbers; each has a "name"
    columns: dict[str, tuple[str, str]]  # key of a row: heading, format
    bars: dict[str, str]  # key of a row: title of its bar chart
    notes: list[str]
    failed: dict[str, str]
    command: str = ""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)

    def text(self) -> str:
        """Return the table as Markdown."""
        lines = [f"# {self.title}", "", f"    {self.command}", ""]
        lines += [f"{machine()}. {' '.join(self.setting)}", ""]
        lines += [f"| | {' | '.join(heading for heading, _ in self.columns.values())} |"]
        lines += [f"| --- |{' ---: |' * len(self.columns)}"]
        for row in self.rows:
            cells = [form.format(row[key]) if key in row else "" for key, (_, form) in self.columns.items()]
            lines.append(f"| {row['name']} | {' | '.join(cells)} |")
        lines += ["", *[f"- {note}" for note in self.notes], ""]
        installed = sorted({f"{name} {number}" for found in self.versions.values() for name, number in found.items()})
        lines += [f"Versions: {', '.join(installed)}."] if installed else []
        lines += [f"\n{name} failed:\n\n```\n{why}\n```" for name, why in self.failed.items()]
        return "\n".join(lines).rstrip() + "\n"

    def save(self, path: Path) -> list[Path]:
        """Write .md, .json and .png next to each other."""
        written = [path.with_name(f"{path.name}.{ending}") for ending in ("md", "json", "png")]
        picture = f"\n![{self.title}]({written[2].name})\n"
        written[0].write_text(self.text() + picture, encoding="utf-8")
        content = {"title": self.title, "command": self.command, "date": date(), "machine": machine()}
        content |= {"setting": self.setting, "rows": self.rows, "versions": self.versions, "failed": self.failed}
        written[1].write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        self._draw(written[2])
        return written

    def _draw(self, path: Path) -> None:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        height = 1.2 + 0.42 * len(self.rows)
        figure, axes = pyplot.subplots(1, len(self.bars), figsize=(3 + 4 * len(self.bars), height), squeeze=False)
        for i, (axis, (key, label)) in enumerate(zip(axes[0], self.bars.items(), strict=True)):
            rows = list(reversed(self.rows))
            colours = ["#c8553d" if row["name"].startswith("heed") else "#8a9ba8" for row in rows]
            bars = axis.barh([row["name"] for row in rows], [row.get(key, 0) for row in rows], color=colours)
            axis.bar_label(
                bars, [self.columns[key][1].format(row[key]) if key in row else "" for row in rows], padding=3
            )
            axis.margins(x=0.18)
            axis.set_title(label, fontsize=10)
            axis.spines[["top", "right"]].set_visible(False)
            if i:
                axis.set_yticklabels([])
        figure.suptitle(self.title, fontsize=11)
        figure.tight_layout()
        figure.savefig(path, dpi=110)


def training(preset: str, job: dict[str, Any], rounds: int, running: Running) -> Table:
    product = running.of("matrix product")
    peak = max(answer["flops"] / answer["seconds"] for answer in product.answers[""])
    rows = []
    for process in running.processes:
        if process is product or "" not in process.answers:
            continue
        answers = process.answers[""]
        speed = max(answer["tokens"] / answer["seconds"] for answer in answers)
        rows.append(
            {
                "name": process.peer.name,
                "tokens_per_second": speed,
                "of_peak": speed * job["flops_per_target_token"] / peak,
                "memory": answers[-1]["memory"],
                "rounds": [answer["tokens"] / answer["seconds"] for answer in answers],
                "tokens_per_update": sum(a["tokens"] for a in answers) / len(answers) / job["updates"],
            }
        )
    _add_ratios(rows, "tokens_per_second")
    setting = [
        f"Multi30k English-German, vocabulary {job['vocabulary_size']:,}, preset `{preset}`, batches of "
        f"{job['batch_tokens']:,} tokens, float32, seed 1.",
        f"Best of {rounds} rounds of {job['updates']} updates each, taken in turns.",
        f"Matrix product of 2048 x 2048 in the same run: {peak / 1e9:.0f} GFLOPS.",
    ]
    columns = {
        "tokens_per_second": ("target tokens/s", "{:,.0f}"),
        "ratio": ("heed is this many times as fast", "{:.2f}"),
        "of_peak": ("share of the product's speed", "{:.0%}"),
        "memory": ("peak memory, MB", "{:,.0f}"),
        "tokens_per_update": ("target tokens/update", "{:,.0f}"),
    }
    for row in rows:
        row["memory"] /= 1e6
    notes = [
        "heed trains as `heed train` does, which tells glibc to keep freed memory; the others do not, unless the "
        "command has `--keep-freed-memory`. `torch.nn.Transformer` with Adam and MarianMT with fused AdamW run in "
        "plain loops on the same batches. `torch.nn.Transformer` also applies dropout to attention weights and hidden "
        "units of the feed-forward layers, which has no separate setting there.",
        "Sockeye, JoeyNMT and Eole train with their own commands, which read and batch the same pieces themselves; "
        "batch size and shape are as close as their options allow. A hook between two updates takes the time and "
        "counts the real target tokens. Sockeye's vocabulary is the pieces that occur; JoeyNMT also applies dropout to "
        "attention weights; Eole's layers are pre-norm.",
        "Tokens are target tokens with end tokens, without padding. Operations: 3 times those of the forward pass's "
        f"matrix products over real tokens, {job['flops_per_target_token'] / 1e6:.1f} million per target token in "
        "heed's batches. Memory: the peak of the process, including everything it loaded.",
    ]
    bars = {"tokens_per_second": "target tokens/s (more is better)", "memory": "peak memory, MB (less is better)"}
    title = f"Training compared with other software, {preset}, {date()}"
    return Table(title, setting, rows, columns, bars, notes, _failures(running))


def translating(job: dict[str, Any], rounds: int, running: Running) -> Table:
    rows = []
    for process in running.processes:
        if "all" not in process.answers:
            continue
        answers = process.answers["all"]
        best = min(answers, key=lambda answer: answer["seconds"])
        row = {
            "name": process.peer.name,
            "sentences_per_second": len(best["translations"]) / best["seconds"],
            "tokens_per_second": best["tokens"] / best["seconds"],
            "memory": answers[-1]["memory"] / 1e6,
            "rounds": [answer["seconds"] for answer in answers],
        }
        for key, task in (("greedy", "one by one, greedy"), ("beam", "one by one, beam")):
            if task in process.answers:
                row[key] = 1000 * min(answer["median"] for answer in process.answers[task])
                row["threads_for_one"] = process.answers[task][-1]["threads"] or "its own choice"
        if job["references"]:
            from sacrebleu.metrics import BLEU

            row["bleu"] = BLEU().corpus_score(best["translations"], [job["references"]]).score
        rows.append(row)
    _add_ratios(rows, "sentences_per_second")
    n, shape = len(running.processes and best["translations"]), job["model"]
    what = f"{shape['encoder_layers']}+{shape['decoder_layers']} layers of width {shape['d_model']}"
    exact = job["exact_tokens"]
    setting = [
        f"The same fresh weights ({what}, seed 1), {n} Multi30k training sentences of 12 pieces; every program writes "
        f"exactly {exact} tokens."
        if exact
        else f"The same trained weights ({what}), {n} sentences of Multi30k test_2016_flickr.",
        f"Beam {job['beam']}, from text to text. Best of {rounds} rounds, taken in turns.",
        f"One by one: the first {min(n, job['one_by_one'])} sentences, each alone; the median, best round.",
    ]
    columns = {
        "sentences_per_second": ("sentences/s", "{:,.1f}"),
        "tokens_per_second": ("tokens/s", "{:,.0f}"),
        "ratio": ("heed is this many times as fast", "{:.2f}"),
        "greedy": ("one, greedy, ms", "{:.1f}"),
        "beam": (f"one, beam {job['beam']}, ms", "{:.1f}"),
        "memory": ("peak memory, MB", "{:,.0f}"),
    }
    if not exact:
        columns["bleu"] = ("BLEU", "{:.2f}")
    notes = [
        "heed with `heed.load(run).translate(texts)`, which uses the native engine if there is a C compiler; the torch "
        'engine with `heed.load(run, engine="torch")`. Ratios are of the same precision.',
        "CTranslate2 from `heed export --to ctranslate2`: many sentences with two workers of one thread, at most 32 "
        "per batch.",
        "HF generate from `heed export --to huggingface`: batches of 64 of similar length, early stopping.",
        "Threads for one sentence, chosen by a short trial of one and two: "
        + ", ".join(
            f"{row['name']} {row['threads_for_one']}" for row in rows if row.get("threads_for_one", "") in (1, 2)
        )
        + "; heed as configured by default.",
        "Memory: the peak of the process while it translated everything.",
    ]
    bars = {"sentences_per_second": "sentences/s (more is better)", "beam": "one sentence, ms (less is better)"}
    title = f"Translating compared with other software, {job['preset']}, {date()}"
    return Table(title, setting, rows, columns, bars, notes, _failures(running))


def _add_ratios(rows: list[dict[str, Any]], key: str) -> None:
    """Add how many times as fast heed is as each of the others, at the same precision."""
    by_name = {row["name"]: row[key] for row in rows}
    for row in rows:
        ours = by_name.get("heed int8" if row["name"].endswith("int8") else "heed")
        if ours is not None and row["name"] not in ("heed", "heed int8"):
            row["ratio"] = ours / row[key]


def _failures(running: Running) -> dict[str, str]:
    def last_lines(process: Process) -> str:
        return "\n".join(process.failure.splitlines()[-5:])

    return {process.peer.name: last_lines(process) for process in running.processes if process.failure}


def date() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def machine() -> str:
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    name = models[0].split(":")[1].strip() if models else platform.processor()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores of {name}, {memory:.0f} GB, torch {version('torch')}"
