"""Measure how soon the first word comes, and how much memory translating takes, with each engine.

    python bench/startup.py [--model FOLDER] [--input FILE] [--lines 1] [--rounds 10] [--json]

Each turn starts the real command in a new process. The engines take turns, and the first round, which may compile
kernels, does not count. The time is from the start of the process to its first byte of output and to its end; the
memory is the peak of the process.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = "A man is riding a bike."
SIDES = {
    "torch": ["--engine", "torch"],
    "torch int8": ["--engine", "torch", "--int8"],
    "native": ["--engine", "native"],
    "native int8": ["--engine", "native", "--int8"],
}


def measure(command: list[str], environment: dict[str, str] | None = None) -> dict[str, float]:
    """Run a command, and return the seconds to its first output and to its end, and its peak memory in MB.

    The memory includes that of this process when it started the command, so this process must stay small.
    """
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    assert process.stdout is not None
    first = process.stdout.read(1)
    first_word = time.perf_counter() - begin
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status or not first:
        raise SystemExit(f"failed: {' '.join(command)}")
    return {"first_word": first_word, "end": time.perf_counter() - begin, "peak_mb": usage.ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a run folder (default: the model in the box)")
    parser.add_argument("--input", type=Path, help="text to translate (default: one sentence, repeated)")
    parser.add_argument("--lines", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    lines = [TEXT] * args.lines if args.input is None else args.input.read_text(encoding="utf-8").splitlines()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SIDES}
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "in.txt"
        text.write_text("".join(f"{line}\n" for line in lines[: args.lines]), encoding="utf-8")
        model = ["--model", args.model] if args.model else []
        for turn in range(args.rounds + 1):
            for name, options in SIDES.items():
                once = measure([sys.executable, "-m", "heed", "translate", *model, "--input", str(text), *options])
                if turn:
                    found[name].append(once)
            print(f"round {turn} of {args.rounds}", file=sys.stderr)
    if args.json:
        print(json.dumps({"lines": args.lines, "rounds": args.rounds, "engines": found}))
        return
    print("| engine | first word, best and median | end, best and median | peak memory |")
    print("| --- | ---: | ---: | ---: |")
    for name, turns in found.items():
        times = [[one[key] for one in turns] for key in ("first_word", "end")]
        cells = [f"{min(one):.2f}, {statistics.median(one):.2f} s" for one in times]
        print(f"| {name} | {' | '.join(cells)} | {max(one['peak_mb'] for one in turns):,.0f} MB |")


if __name__ == "__main__":
    main()
