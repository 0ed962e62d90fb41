"""Compare the memory that `heed train` predicts with the memory it takes.

    python bench/memory.py --source train.en --target train.de

Each shape is trained for a few updates with the real command; both numbers come from its events.jsonl.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SHAPES = [
    ("tiny", 4096, 8000, []),
    ("tiny", 1024, 8000, []),
    ("tiny", 12000, 8000, []),
    ("tiny", 4096, 8000, ["model.dropout=0", "model.norm=pre"]),
    ("small", 4096, 16000, []),
    ("base", 2048, 8000, []),
    ("base", 4096, 8000, ["train.ema_decay=0.999"]),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--updates", type=int, default=8)
    args = parser.parse_args()
    print("| preset | tokens at a time | vocabulary | settings | predicted MB | peak MB | predicted / peak |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for number, (preset, tokens, vocabulary, more) in enumerate(SHAPES):
            run = Path(folder) / str(number)
            settings = [
                f"text.vocab_size={vocabulary}",
                f"train.batch_tokens={tokens}",
                f"train.micro_batch_tokens={tokens}",
                f"train.max_steps={args.updates}",
                "train.average_last=1",
                *more,
            ]
            words = [word for setting in settings for word in ("--set", setting)]
            command = ["-m", "heed", "train", "--preset", preset, "--source", args.source, "--target", args.target]
            subprocess.run([sys.executable, *command, "--out", str(run), *words], check=True, stderr=subprocess.DEVNULL)
            events = {e["event"]: e for e in map(json.loads, (run / "events.jsonl").read_text().splitlines())}
            predicted, peak = (events["memory"]["predicted"] / 1e6, events["end"]["peak_memory"] / 1e6)
            print(
                f"| {preset} | {tokens:,} | {vocabulary:,} | {', '.join(more)} | {predicted:,.0f} | {peak:,.0f} "
                f"| {predicted / peak:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
