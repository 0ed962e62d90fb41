"""Compare heed with CTranslate2 and MarianMT in several runs, and print each ratio with its spread.

    python bench/peers/spread.py
    python bench/peers/spread.py --quick --only start,memory

It measures translating with the native engine against CTranslate2 (many sentences, and one by one), the time from the
command to its first word, the peak memory of the command, and training in bfloat16. A run has processes of its own, in
which all sides take turns; of its rounds, the best counts for each side, and gives one ratio. The table has the median
ratio of all runs, the lowest and the highest. With `--out NAME`, it also goes to bench/results/NAME.md and .json;
otherwise the numbers go to peers-spread.json in the current folder. Data and environments are those of run.py.
"""

import argparse
import json
import multiprocessing
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import report
from driver import HERE, Peer, Running
from environments import python_of, versions
from run import DATA, ROOT, TRAIN_SIZES

sys.path.insert(0, str(HERE.parent))
from heed.wording import counted
from startup import measure

PARTS = ("translate", "start", "memory", "train")
SHAPES = ("tiny", "6+2", "base")
SENTENCES = {"tiny": 512, "base": 128}  # CTranslate2 takes 32 at a time: the same number of batches for both cores
STARTS, MEMORY_SENTENCES = 5, 64  # commands in a run; sentences that fill two batches
TASKS = {
    "all": "many sentences, beam 4",
    "one by one, greedy": "one sentence, greedy",
    "one by one, beam": "one sentence, beam 4",
}
TRANSLATE = {
    kind: (
        Peer(f"heed {kind}", "", "translate_heed.py", words),
        Peer(f"CTranslate2 {kind}", "ctranslate2", "translate_ctranslate2.py", words),
    )
    for kind, words in {"float32": (), "int8": ("int8",)}.items()
}
HEED, HEED_BF16 = Peer("heed float32", "", "train_heed.py"), Peer("heed bfloat16", "", "train_heed.py", ("bfloat16",))
MARIAN = Peer("MarianMT float32", "transformers", "train_marian.py")
MARIAN_BF16 = Peer("MarianMT autocast", "transformers", "train_marian.py", ("bfloat16",))
MARIAN_WITHOUT_AMX = Peer(
    "MarianMT autocast, oneDNN without AMX", "transformers", "train_marian.py", ("bfloat16", "without-amx")
)
PROBE = "import torch; x = torch.randn(512, 512).bfloat16(); assert (x @ x).isfinite().all()"


@dataclass
class Row:
    """One comparison: what each side took in each run, less is better. Without numbers, `failure` says why."""

    work: str
    heed: str
    other: str
    unit: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    def text(self) -> str:
        begin = f"| {self.work} | {self.heed} | {self.other} |"
        if self.failure:
            return f"{begin} | | {self.failure} | |"
        ours, theirs = (f"{_number(statistics.median(side))} {self.unit}" for side in (self.ours, self.theirs))
        spread = f"{min(self.ratios):.2f} to {max(self.ratios):.2f}"
        return f"{begin} {ours} | {theirs} | {statistics.median(self.ratios):.2f} | {spread} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2, help="of each run, after a warm-up round")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--presets", default=",".join(SHAPES), help=f"some of {','.join(SHAPES)}; 6+2 is only trained")
    parser.add_argument("--quick", action="store_true", help="try it out: one run of one round, few sentences")
    parser.add_argument("--environments", type=Path, default=HERE / ".environments")
    parser.add_argument("--out", metavar="NAME", help="write bench/results/NAME.md and .json")
    args = parser.parse_args()
    parts, presets = args.only.split(","), args.presets.split(",")
    if not set(parts) <= set(PARTS) or not set(presets) <= set(SHAPES):
        parser.error(f"--only takes some of {','.join(PARTS)}; --presets some of {','.join(SHAPES)}")
    if not (DATA / "multi30k" / "train.en").exists():
        raise SystemExit(f"{DATA}: no multi30k/train.en; name the folder that has it with HEED_DATA")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the normal exit, which ends the peers
    os.environ.pop("OMP_NUM_THREADS", None)  # each side uses all cores, unless a part says otherwise
    if args.quick:
        args.runs = args.rounds = 1
    began = time.perf_counter()
    needed = {"ctranslate2"} if parts != ["train"] and set(presets) & set(SENTENCES) else set()
    needed |= {"transformers"} if "train" in parts else set()
    pythons = {name: python_of(name, args.environments) for name in sorted(needed)}
    rows: list[Row] = []
    for preset in presets:
        with tempfile.TemporaryDirectory() as name:
            if parts != ["train"] and preset in SENTENCES:
                rows += _translate_rows(args, parts, preset, pythons, Path(name))
        with tempfile.TemporaryDirectory() as name:
            if "train" in parts:
                rows += _training_rows(args, preset, pythons, Path(name))
    _report(args, rows, pythons, time.perf_counter() - began)
    return 0


# --- translating ------------------------------------------------------------------------------------------


def _translate_rows(
    args: argparse.Namespace, parts: list[str], preset: str, pythons: dict[str, Path], folder: Path
) -> list[Row]:
    sentences = 40 if args.quick else SENTENCES[preset]
    job = _in_a_process("translation_job", DATA, None, preset, sentences, folder)
    written = folder / "job.json"
    written.write_text(json.dumps(job), encoding="utf-8")
    rows = _speed_rows(args, preset, pythons, written, folder) if "translate" in parts else []
    if "start" in parts:
        rows += _command_rows(args, f"{preset}: command to first word", "first_word", 1, STARTS, pythons, job, "s")
    if "memory" in parts:
        work, n = f"{preset}: peak memory, one thread", MEMORY_SENTENCES
        rows += _command_rows(args, work, "peak_mb", n, 1, pythons, job, "MB")
    return rows


def _speed_rows(args: argparse.Namespace, preset: str, pythons: dict[str, Path], job: Path, folder: Path) -> list[Row]:
    rows = {
        (task, kind): Row(f"{preset}: {title}", ours.name, theirs.name, "s" if task == "all" else "ms")
        for task, title in TASKS.items()
        for kind, (ours, theirs) in TRANSLATE.items()
    }
    peers = [peer for pair in TRANSLATE.values() for peer in pair]
    for _ in range(args.runs):
        with Running(
            peers, {peer: pythons[peer.environment] for peer in peers if peer.environment}, job, folder
        ) as all:
            for task in TASKS:
                for number in range(1 + args.rounds):
                    all.turn(f"{preset}, {task}, round {number}", task, warm_up=number == 0)
            for (task, kind), row in rows.items():
                _add(row, all, TRANSLATE[kind], task, _seconds if task == "all" else _median_ms)
    return list(rows.values())


def _seconds(answer: dict[str, Any]) -> float:
    return float(answer["seconds"])


def _median_ms(answer: dict[str, Any]) -> float:
    return 1000 * float(answer["median"])


def _command_rows(
    args: argparse.Namespace,
    work: str,
    key: str,
    n_sentences: int,
    n_times: int,
    pythons: dict[str, Path],
    job: dict[str, Any],
    unit: str,
) -> list[Row]:
    """Start the real commands in turns, with one thread each."""
    text = Path(job["folder"]) / f"first-{n_sentences}.txt"
    lines = Path(job["sources"]).read_text(encoding="utf-8").splitlines()[:n_sentences]
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    rows = []
    for kind in TRANSLATE:
        row = Row(work, f"heed {kind}", f"CTranslate2 {kind}", unit)
        heed = [sys.executable, "-m", "heed", "translate", "--engine", "native", "--model", job["run"]]
        # Untrained weights write broken characters, which heed would search away: no other program does.
        heed += ["--no-copy", "--input", str(text), *(["--int8"] if kind == "int8" else [])]
        other = [str(pythons["ctranslate2"]), str(HERE / "once_ctranslate2.py")]
        other += [str(Path(job["folder"]) / "job.json"), str(text), kind]
        for _ in range(1 + args.runs):  # the first may compile kernels, and fills the system's file cache
            found = [(measure(heed, environment)[key], measure(other, environment)[key]) for _ in range(n_times)]
            row.ours.append(min(ours for ours, _ in found))
            row.theirs.append(min(theirs for _, theirs in found))
        del row.ours[0], row.theirs[0]
        print(f"{work}, {kind}", file=sys.stderr)
        rows.append(row)
    return rows


# --- training ---------------------------------------------------------------------------------------------


def _training_rows(args: argparse.Namespace, preset: str, pythons: dict[str, Path], folder: Path) -> list[Row]:
    batch_tokens, updates, _ = TRAIN_SIZES[preset]
    job = _in_a_process("training_job", DATA, preset, batch_tokens, 1 if args.quick else updates, folder)
    written = folder / "job.json"
    written.write_text(json.dumps(job), encoding="utf-8")
    dies = _death(pythons["transformers"])
    peers = [HEED, HEED_BF16, MARIAN, MARIAN_WITHOUT_AMX if dies else MARIAN_BF16]
    pairs = [(HEED_BF16, HEED), (HEED_BF16, MARIAN), (HEED, MARIAN), (HEED_BF16, peers[3])]
    work, unit = f"{preset}: training, {batch_tokens:,} tokens a batch", "µs/token"
    rows = [Row(work, ours.name, theirs.name, unit) for ours, theirs in pairs]
    for _ in range(args.runs):
        with Running(
            peers, {peer: pythons[peer.environment] for peer in peers if peer.environment}, written, folder
        ) as all:
            for number in range(1 + args.rounds):
                all.turn(f"{preset}, training, round {number}", warm_up=number == 0)
            for row, pair in zip(rows, pairs, strict=True):
                _add(row, all, pair, "", lambda answer: 1e6 * answer["seconds"] / answer["tokens"])
    if dies:
        rows.append(Row(work, HEED_BF16.name, MARIAN_BF16.name, unit, failure=f"dies on this machine ({dies})"))
    return rows


def _death(python: Path) -> str:
    """Return the signal that ends a process in which PyTorch multiplies in bfloat16; "" if none does."""
    done = subprocess.run([python, "-c", PROBE], capture_output=True)
    return signal.Signals(-done.returncode).name if done.returncode < 0 else ""


# --- rows -------------------------------------------------------------------------------------------------


def _add(
    row: Row, running: Running, pair: tuple[Peer, Peer], task: str, value: Callable[[dict[str, Any]], float]
) -> None:
    """Add what both sides took in one run: the best of their rounds."""
    found = []
    for peer in pair:
        process = running.of(peer.name)
        if process.failure:
            row.failure = f"{peer.name}: {process.failure.splitlines()[-1]}"
            return
        found.append(min(map(value, process.answers[task])))
    row.ours.append(found[0])
    row.theirs.append(found[1])


def _in_a_process(name: str, *arguments: Any) -> dict[str, Any]:
    """Make a job in a new process: it imports torch, and a process starts with the peak memory of its parent."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_made, name, arguments).result()


def _made(name: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    import material

    job: dict[str, Any] = getattr(material, name)(*arguments)
    return job


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _report(args: argparse.Namespace, rows: list[Row], pythons: dict[str, Path], seconds: float) -> None:
    words = [word for word in sys.argv[1:] if word not in ("--environments", str(args.environments))]
    command = f"python bench/peers/spread.py {shlex.join(words)}".strip()
    installed: dict[str, str] = {}
    for name, python in pythons.items():
        installed |= versions(python, [name, "torch"])
    lines = [
        f"# heed compared with other software, with the spread of {counted(args.runs, 'run')}, {report.date()}",
        "",
    ]
    lines += [f"    {command}", ""]
    lines += [f"{report.machine()}. {', '.join(f'{name} {number}' for name, number in installed.items())}."]
    lines += [f"Untrained weights, seed 1. It took {seconds / 60:.0f} minutes.", ""]
    lines += ["| work | heed | other | heed takes | the other takes | ratio | lowest to highest |"]
    lines += ["| --- | --- | --- | ---: | ---: | ---: | ---: |", *(row.text() for row in rows), ""]
    lines += [
        "Ratio: what the other takes, divided by what heed takes; above 1, heed is faster or smaller. In each run all "
        f"sides took turns in processes of their own, and the best of {args.rounds} rounds counted (of {STARTS} "
        "commands for the first word). Times and memory are medians of the runs, ratios are of one run each. "
        "Translating, every program writes exactly 25 tokens for each sentence.",
        "",
    ]
    print("\n".join(lines))
    content = {"command": command, "date": report.date(), "machine": report.machine(), "versions": installed}
    content["rows"] = [{**asdict(row), "ratios": row.ratios} for row in rows]
    path = ROOT / "bench" / "results" / f"{args.out}.json" if args.out else Path("peers-spread.json")
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if args.out:
        path.with_suffix(".md").write_text("\n".join(lines), encoding="utf-8")
    print(path, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
