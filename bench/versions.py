"""Compare the speed of two versions of heed: training and translating, in turns.

    python bench/versions.py --old ../heed-old/src --new src --model runs/tiny --input test.en --preset tiny

Each turn is a separate process that imports heed from the given folder, so the two versions never share state. The
best turn of each version counts, and only the ratio is worth quoting: above 1, the new version is faster.
`--model` must load in both versions. Stop other work first.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

TRANSLATE = """
import json, sys, time
import heed
from heed.allocator import keep_freed_memory
keep_freed_memory()
run, path, n, n_alone, beam = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
texts = open(path, encoding="utf-8").read().split("\\n")[:n]
translator = heed.load(run, checkpoint="last")
def best(texts, times):
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        translator.translate(texts, beam=beam)
        seconds.append(time.perf_counter() - began)
    return min(seconds)
translator.translate(texts[:20], beam=beam)
print(json.dumps({"bulk": best(texts, 3), "lone": sum(best([text], 10) for text in texts[:n_alone])}))
"""


def main() -> None:
    arguments = _arguments()
    seconds: dict[str, dict[str, list[float]]] = {}
    for number in range(arguments.rounds):
        for version, folder in (("old", arguments.old), ("new", arguments.new)):
            for what, taken in _turn(folder, arguments).items():
                seconds.setdefault(what, {}).setdefault(version, []).append(taken)
                print(f"round {number + 1}  {version}  {what:5}  {taken:8.3f} s", flush=True)
    for what, sides in seconds.items():
        old, new = (min(sides[version]) for version in ("old", "new"))
        print(f"{what:5}  old {old:.3f} s  new {new:.3f} s  old/new {old / new:.3f}")


def _turn(folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Seconds of each measurement by the version in `folder`."""
    taken = {}
    if arguments.preset:
        words = [
            "-m",
            "heed",
            "bench",
            "train",
            arguments.preset,
            "--rounds",
            "3",
            "--updates",
            str(arguments.updates),
            "--json",
        ]
        words += ["--set", f"train.batch_tokens={arguments.batch_tokens}"]
        taken["train"] = min(_run(folder, words)["seconds"])
    if arguments.model:
        numbers = [str(n) for n in (arguments.sentences, arguments.lone, arguments.beam)]
        taken |= _run(folder, ["-c", TRANSLATE, arguments.model, arguments.input, *numbers])
    return taken


def _run(folder: Path, words: list[str]) -> dict:
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve())}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, help="src folder of the old version")
    parser.add_argument("--new", type=Path, required=True, help="src folder of the new version")
    parser.add_argument("--preset", help="measure training with this preset")
    parser.add_argument("--updates", type=int, default=2, help="of each round of training (default 2)")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="of an update (default 4096)")
    parser.add_argument("--model", help="measure translating with this run")
    parser.add_argument("--input", help="text to translate")
    parser.add_argument("--sentences", type=int, default=500, help="in bulk (default 500)")
    parser.add_argument("--lone", type=int, default=40, help="one at a time (default 40)")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
