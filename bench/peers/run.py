"""Compare heed with other software: same data, weights, beam and precision, on one machine, in one interleaved run.

    python bench/peers/run.py train --preset tiny
    python bench/peers/run.py train --preset base
    python bench/peers/run.py train --preset tiny --batch-tokens 25000 --updates 1
    python bench/peers/run.py translate --run runs/x
    python bench/peers/run.py translate --untrained base

Each peer is installed from the package registry into its own virtual environment and runs in its own process. The
processes take turns: one computes, the others sleep. The first round is a warm-up; of the others, the best counts for
each peer. Multi30k English-German is read from the folder in HEED_DATA (default ../shared/data). With `--save NAME`,
the table also goes to bench/results/NAME.md, .json and .png.
"""

import argparse
import os
import shlex
import signal
import sys
import tempfile
from pathlib import Path

import report
from driver import Peer, Running
from environments import python_of, versions

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("HEED_DATA", ROOT.parent / "shared" / "data"))

PRODUCT = Peer("matrix product", "", "product.py")
TRAIN = [
    Peer("heed", "", "train_heed.py"),
    Peer("torch.nn.Transformer", "", "train_torch.py"),
    Peer("MarianMT", "transformers", "train_marian.py"),
    Peer("MarianMT, label smoothing", "transformers", "train_marian.py", ("smoothed",)),
    Peer("Sockeye", "sockeye", "train_sockeye.py"),
    Peer("JoeyNMT", "joeynmt", "train_joeynmt.py"),
    Peer("Eole", "eole", "train_eole.py"),
]
TRANSLATE = [
    Peer("heed", "", "translate_heed.py"),
    Peer("heed int8", "", "translate_heed.py", ("int8",)),
    Peer("heed, torch engine", "", "translate_heed.py", ("torch",)),
    Peer("heed, torch engine int8", "", "translate_heed.py", ("torch", "int8")),
    Peer("CTranslate2 float32", "ctranslate2", "translate_ctranslate2.py"),
    Peer("CTranslate2 int8", "ctranslate2", "translate_ctranslate2.py", ("int8",)),
    Peer("HF generate", "transformers", "translate_marian.py"),
]
# Tokens per batch, updates per round, rounds: a table takes a few minutes on two cores.
TRAIN_SIZES = {"tiny": (4_096, 6, 4), "6+2": (4_096, 2, 4), "base": (2_048, 1, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="updates of a training")
    train.add_argument("--preset", choices=list(TRAIN_SIZES), default="tiny")
    train.add_argument("--batch-tokens", type=int, help="of an update (default: 4,096 for tiny, 2,048 for base)")
    train.add_argument("--updates", type=int, help="in each round")
    train.add_argument(
        "--keep-freed-memory", action="store_true", help="for all peers, as `heed train` does for itself"
    )
    translate = verbs.add_parser("translate", help="a test set, and one sentence at a time")
    what = translate.add_mutually_exclusive_group(required=True)
    what.add_argument("--run", type=Path, metavar="FOLDER", help="a run folder trained on Multi30k")
    what.add_argument("--untrained", metavar="PRESET", help="fresh weights of this shape; every peer writes 25 tokens")
    translate.add_argument("--sentences", type=int, help="of the test set (default: all)")
    for verb, peers in ((train, TRAIN), (translate, TRANSLATE)):
        verb.add_argument("--rounds", type=int, help="after the warm-up round")
        verb.add_argument("--only", metavar="NAME,...", help=f"of {'; '.join(peer.name for peer in peers)}")
        verb.add_argument("--environments", type=Path, default=Path(__file__).parent / ".environments")
        verb.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md, .json and .png")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the normal exit, which ends the peers

    if not (DATA / "multi30k" / "train.en").exists():
        raise SystemExit(f"{DATA}: no multi30k/train.en; name the folder that has it with HEED_DATA")
    peers = _chosen(TRAIN if args.verb == "train" else TRANSLATE, args.only)
    pythons = {peer: python_of(peer.environment, args.environments) for peer in peers if peer.environment}
    with tempfile.TemporaryDirectory() as name:
        table = (_train if args.verb == "train" else _translate)(args, peers, pythons, Path(name))
    table.command = f"python bench/peers/run.py {shlex.join(_public_arguments(args))}"
    table.versions = {peer.name: versions(python, [peer.environment, "torch"]) for peer, python in pythons.items()}
    print(table.text())
    if args.save:
        print(*table.save(ROOT / "bench" / "results" / args.save), sep="\n", file=sys.stderr)
    return 1 if table.failed else 0


def _train(args: argparse.Namespace, peers: list[Peer], pythons: dict[Peer, Path], folder: Path) -> report.Table:
    from material import training_job, write_job

    batch_tokens, updates, rounds = TRAIN_SIZES[args.preset]
    job = training_job(DATA, args.preset, args.batch_tokens or batch_tokens, args.updates or updates, folder)
    with Running([PRODUCT, *peers], pythons, write_job(job, folder), folder, args.keep_freed_memory) as running:
        for number in range(1 + (args.rounds or rounds)):
            running.turn(f"round {number}", warm_up=number == 0)
    return report.training(args.preset, job, args.rounds or rounds, running)


def _translate(args: argparse.Namespace, peers: list[Peer], pythons: dict[Peer, Path], folder: Path) -> report.Table:
    from material import translation_job, write_job

    job = translation_job(DATA, args.run, args.untrained, args.sentences, folder)
    rounds = args.rounds or 3
    with Running(peers, pythons, write_job(job, folder), folder) as running:
        for task in ("all", "one by one, greedy", "one by one, beam"):
            for number in range(1 + rounds):
                running.turn(f"{task}, round {number}", task, warm_up=number == 0)
    return report.translating(job, rounds, running)


def _chosen(peers: list[Peer], only: str | None) -> list[Peer]:
    if not only:
        return peers
    # A name may contain a comma, so match prefixes: every peer whose name begins with one of the words.
    chosen = [peer for peer in peers if any(peer.name.startswith(word.strip()) for word in only.split(","))]
    return chosen or sys.exit(f"--only {only}: no such peer; there are: {'; '.join(peer.name for peer in peers)}")


def _public_arguments(args: argparse.Namespace) -> list[str]:
    """Return the arguments without what depends on the machine: the environments' folder and the run's path."""
    words = [w for w in sys.argv[1:] if w not in ("--environments", str(args.environments))]
    return [f"runs/{args.run.name}" if args.verb == "translate" and w == str(args.run) else w for w in words]


if __name__ == "__main__":
    sys.exit(main())
