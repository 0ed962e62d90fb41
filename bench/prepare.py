"""Measure preparing a corpus as it grows: time, memory, planning an epoch, starting to train.

    python bench/prepare.py encode --source train.en.gz --target train.de.gz --folder FOLDER --pairs 100000 1000000
    python bench/prepare.py plan --pairs 1000000 5000000
    python bench/prepare.py start --data FOLDER/store-5000000
    python bench/prepare.py draw results.json growth.svg

`encode` repeats the text, with a number at the end of each line, until there are enough pairs. It takes turns with
sentencepiece's own encoder in as many processes, each with its share of the lines; the ids are discarded. The best
round of each counts. All results are printed as JSON lines.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText, evenly_spaced_lines
from heed.text.lines import read_lines
from heed.text.tokenizer import Tokenizer

PREPARE = """
import sys, time
from pathlib import Path
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.text.tokenizer import Tokenizer
source, target, model, folder, processes = sys.argv[1:]
prepare(ParallelText(source, target), Tokenizer.load(model), Path(folder), processes=int(processes))
"""

# Encode share k of n of a file's lines, in portions, with a plain call.
SENTENCEPIECE = """
import os, sys
from itertools import islice
import sentencepiece
*files, model, k, n = sys.argv[1:]
k, n = int(k), int(n)
processor = sentencepiece.SentencePieceProcessor(model_file=model)
for path in files:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        begin, end = size * k // n, size * (k + 1) // n
        file.seek(max(begin - 1, 0))
        if begin:
            file.readline()
        while file.tell() < end and (lines := list(islice(iter(file.readline, b""), 10_000))):
            processor.encode([line.decode() for line in lines])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    encode = verbs.add_parser("encode")
    encode.add_argument("--source", required=True)
    encode.add_argument("--target", required=True)
    encode.add_argument("--folder", required=True, type=Path, help="for text and stores; needs about 0.5 kB a pair")
    encode.add_argument("--pairs", required=True, type=int, nargs="+")
    encode.add_argument("--vocab-size", type=int, default=37_000)
    encode.add_argument("--rounds", type=int, default=3)
    encode.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    encode.set_defaults(run=measure_encoding)
    plan = verbs.add_parser("plan")
    plan.add_argument("--pairs", required=True, type=int, nargs="+")
    plan.add_argument("--batch-tokens", type=int, default=25_000)
    plan.set_defaults(run=measure_planning)
    start = verbs.add_parser("start")
    start.add_argument("--data", required=True, type=Path)
    start.add_argument("--preset", default="tiny")
    start.add_argument("--rounds", type=int, default=3)
    start.set_defaults(run=measure_start)
    draw = verbs.add_parser("draw")
    draw.add_argument("results", type=Path, help="the JSON lines of the other verbs")
    draw.add_argument("picture", type=Path)
    draw.set_defaults(run=draw_growth)
    args = parser.parse_args()
    args.run(args)


def say(**values: object) -> None:
    print(json.dumps({**values, "load": round(os.getloadavg()[0], 1)}), flush=True)


# --- encoding ---------------------------------------------------------------------------------------------------


def measure_encoding(args: argparse.Namespace) -> None:
    args.folder.mkdir(parents=True, exist_ok=True)
    model = args.folder / "tokenizer.model"
    if not model.exists():
        text = ParallelText(args.source, args.target)
        model.write_bytes(Tokenizer.learn(evenly_spaced_lines(text, text.count(), 100_000), args.vocab_size).model)
    for n_pairs in args.pairs:
        files = [
            repeated(path, args.folder / f"{n_pairs}.{i}", n_pairs) for i, path in enumerate((args.source, args.target))
        ]
        store = args.folder / f"store-{n_pairs}"

        def ours(files: list[str] = files, store: Path = store) -> list[subprocess.Popen[bytes]]:
            return [begin(PREPARE, *files, model, store, args.processes)]

        def theirs(files: list[str] = files) -> list[subprocess.Popen[bytes]]:
            return [begin(SENTENCEPIECE, *files, model, k, args.processes) for k in range(args.processes)]

        took: dict[str, list[tuple[float, float, float]]] = {"heed": [], "sentencepiece": []}
        for _ in range(args.rounds):
            took["heed"].append(measured(ours))
            took["sentencepiece"].append(measured(theirs))
        seconds, rival = (min(rounds)[0] for rounds in took.values())
        say(
            what="encode",
            pairs=n_pairs,
            processes=args.processes,
            pairs_per_second=round(n_pairs / seconds),
            sentencepiece_pairs_per_second=round(n_pairs / rival),
            ratio=round(rival / seconds, 2),
            seconds={name: [round(one[0], 2) for one in rounds] for name, rounds in took.items()},
            peak_mb_of_parent=round(max(one[1] for one in took["heed"]), 1),
            peak_mb_of_all=round(max(one[2] for one in took["heed"]), 1),
            text_bytes=sum(os.path.getsize(file) for file in files),
            store_bytes=sum(path.stat().st_size for path in store.iterdir()),
        )
        for file in files:
            os.remove(file)


def repeated(path: str, out: Path, n_lines: int) -> str:
    """Write the lines of a file repeatedly, each with its own number."""
    with open(out, "w", encoding="utf-8", newline="\n") as file:
        written = 0
        while written < n_lines:
            for line in islice(read_lines(path), n_lines - written):
                written += 1
                file.write(f"{line} {written}\n")
    return str(out)


def begin(script: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)])


def measured(start: Callable[[], list[subprocess.Popen[bytes]]]) -> tuple[float, float, float]:
    """Return the seconds and the peak resident megabytes of the started processes, without and with their children."""
    began, processes = time.perf_counter(), start()
    peaks, done = [0.0, 0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            own = [process.pid for process in processes]
            all_of_them = [*own, *(child for pid in own for child in children(pid))]
            for i, pids in enumerate((own, all_of_them)):
                peaks[i] = max(peaks[i], sum(map(resident_mb, pids)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    codes = [process.wait() for process in processes]
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    assert not any(codes), codes
    return seconds, *peaks


def children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # has just ended
        return []


def resident_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError):
        return 0.0


# --- planning ---------------------------------------------------------------------------------------------------


def measure_planning(args: argparse.Namespace) -> None:
    """Measure each size in its own process, because peaks never fall."""
    if len(args.pairs) > 1:
        for n_pairs in args.pairs:
            command = [sys.executable, __file__, "plan", "--batch-tokens", args.batch_tokens, "--pairs", n_pairs]
            subprocess.run([*map(str, command)], check=True)
        return
    (n_pairs,) = args.pairs
    random = np.random.default_rng(1)
    with tempfile.NamedTemporaryFile() as file:
        lengths = np.memmap(file.name, dtype=np.int32, mode="w+", shape=(2, n_pairs))
        for begin_at in range(0, n_pairs, 100_000):  # about as long as the lines of Europarl
            part = lengths[:, begin_at : begin_at + 100_000]
            part[0] = np.minimum(random.lognormal(3.3, 0.6, part.shape[1]), 400) + 2
            part[1] = np.maximum(part[0] * random.normal(1.05, 0.15, part.shape[1]), 2)
        del lengths, part
        lengths = np.memmap(file.name, dtype=np.int32, mode="r", shape=(2, n_pairs))
        BatchPlan(lengths[0, :10], lengths[1, :10], 25_000, 1, 256).batch(0, 0)
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        before = peak_mb()
        seconds = []
        for epoch in range(3):
            began = time.perf_counter()
            if epoch == 0:
                plan = BatchPlan(lengths[0], lengths[1], args.batch_tokens, 1, 256)
                seconds.append(time.perf_counter() - began)
                began = time.perf_counter()
            plan.batch(epoch, 0)
            seconds.append(time.perf_counter() - began)
        say(
            what="plan",
            pairs=n_pairs,
            batches=len(plan),
            left_out=plan.n_long,
            seconds_to_cut=round(seconds[0], 3),
            seconds_an_epoch=round(min(seconds[1:]), 3),
            extra_bytes_a_pair=round((peak_mb() - before) * 1e6 / n_pairs, 1),
            extra_mb=round(peak_mb() - before, 1),
        )


def peak_mb() -> float:
    """Return the peak memory of this process, including mapped files."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


# --- starting ---------------------------------------------------------------------------------------------------


def measure_start(args: argparse.Namespace) -> None:
    """Measure the time from the command to its first update."""
    heed = str(Path(sys.executable).with_name("heed"))
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            command = [heed, "train", "--data", args.data, "--preset", args.preset, "--out", out]
            command += ["--set", "train.log_every=1", "--set", "train.max_steps=3"]
            began = time.perf_counter()
            process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE)
            events, peak = out / "events.jsonl", 0.0
            while not (events.exists() and '"event": "step"' in events.read_text(encoding="utf-8")):
                if process.poll() is not None:
                    sys.exit(f"training ended without a step:\n{process.stderr.read().decode()}")
                peak = max(peak, resident_mb(process.pid))
                time.sleep(0.02)
            seconds, computed = time.perf_counter() - began, cpu_seconds(process.pid)
            process.communicate()
        say(
            what="start",
            data=args.data.name,
            seconds_to_first_update=round(seconds, 2),
            cpu_seconds=round(computed, 2),
            peak_mb=round(peak, 1),
        )


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far, which other work hardly changes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- a picture --------------------------------------------------------------------------------------------------


def draw_growth(args: argparse.Namespace) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    results = [json.loads(line) for line in args.results.read_text(encoding="utf-8").splitlines()]
    encode, plan = ([one for one in results if one["what"] == what] for what in ("encode", "plan"))
    figure, (time_axes, memory_axes, plan_axes) = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    millions = [one["pairs"] / 1e6 for one in encode]
    time_axes.plot(
        millions, [one["pairs"] / one["sentencepiece_pairs_per_second"] for one in encode], "s--", color="gray"
    )
    time_axes.plot(millions, [one["pairs"] / one["pairs_per_second"] for one in encode], "o-")
    time_axes.legend(["sentencepiece alone, ids thrown away", "heed prepare"], frameon=False)
    time_axes.set(title="seconds to encode", xlabel="million pairs", ylim=0, xlim=0)
    memory_axes.plot(millions, [one["peak_mb_of_all"] for one in encode], "o-")
    memory_axes.plot(millions, [one["peak_mb_of_parent"] for one in encode], "^-")
    memory_axes.legend(["all processes", "the parent"], frameon=False)
    memory_axes.set(title="peak MB while encoding", xlabel="million pairs", ylim=0, xlim=0)
    plan_axes.plot([one["pairs"] / 1e6 for one in plan], [one["extra_mb"] for one in plan], "o-")
    plan_axes.set(title="MB to plan an epoch", xlabel="million pairs", ylim=0, xlim=0)
    figure.savefig(args.picture)


if __name__ == "__main__":
    main()
