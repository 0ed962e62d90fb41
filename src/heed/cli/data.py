"""`heed data`: public data sets by name."""

import argparse
import json
import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.cli.usage import Parser

if TYPE_CHECKING:
    from heed.datasets.catalogue import DataSet
    from heed.datasets.get import Written

HELP = "get public data sets by name, ready to train on"


def configure(parser: Parser) -> None:
    parser.description = (
        "Download public parallel text, check it, and write it as line-aligned files.\n"
        "Each data set has a licence of its own, which is printed."
    )
    parser.epilog = (
        "examples:\n"
        "  heed data list\n"
        "  heed data get multi30k --out multi30k\n"
        "  heed data get wmt14-en-de --out wmt14-en-de --from /mnt/downloads"
    )
    kinds = parser.add_subparsers(title="what to do", dest="what", metavar="list|get", required=True)

    listing = kinds.add_parser("list", help="what there is: size, licence, origin")
    listing.description = "List the data sets that can be got by name."
    listing.epilog = "examples:\n  heed data list\n  heed data list --json"

    getting = kinds.add_parser("get", help="download one and unpack it")
    getting.description = (
        "Write a data set into a folder as line-aligned files, such as train.en and\n"
        "train.de. A download that was cut off resumes, by itself and in the next call.\n"
        "Files that are complete stay as they are; other text is never overwritten. The\n"
        "downloads are kept in the subfolder archives. --from takes the same files from\n"
        "a folder or a mirror: the publisher's archives, or line-aligned text."
    )
    getting.epilog = (
        "examples:\n"
        "  heed data get multi30k --out multi30k\n"
        "  heed data get europarl-en-de --out europarl --from /mnt/corpora/europarl\n"
        "  heed data get wmt14-en-de --out wmt14 --from https://mirror.example.org/wmt"
    )
    getting.add_argument("name", help="the data set; heed data list shows them")
    getting.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="where to write the text")
    getting.add_argument(
        "--from", dest="origin", default="", metavar="FOLDER|URL", help="take the files from here (default: publisher)"
    )
    for kind in (listing, getting):
        kind.add_argument("--json", action="store_true", help="print one JSON object")
        kind.add_other_options()


def run(args: argparse.Namespace) -> int:
    return _list(args) if args.what == "list" else _get(args)


def _list(args: argparse.Namespace) -> int:
    from heed.datasets.catalogue import DATA_SETS
    from heed.wording import counted, gigabytes

    if args.json:
        print(json.dumps({"data_sets": [_described(data) for data in DATA_SETS.values()]}, ensure_ascii=False))
        return 0
    print(f"{'name':<16}{'pairs':<14}{'download':<16}checksums known")
    for data in DATA_SETS.values():
        files = data.files()
        known = sum(file.n_bytes or 0 for file in files)
        size = "not known" if not known else gigabytes(known)
        over = "over " if known and any(file.n_bytes is None for file in files) else ""
        n_checked = sum(bool(file.checksum) for file in files)
        print(f"{data.name:<16}{data.pairs:<14}{over + size:<16}{n_checked} of {counted(len(files), 'file')}")
        print(f"{'':<16}{data.licence}")
    print("\nget one:\n  heed data get NAME --out FOLDER")
    return 0


def _described(data: "DataSet") -> dict[str, Any]:
    return {
        "name": data.name,
        "title": data.title,
        "source": data.source,
        "target": data.target,
        "pairs": data.pairs,
        "parts": [{"name": part.name, "pairs": part.n_pairs} for part in data.parts],
        "files": [
            {"name": file.name, "url": file.url, "bytes": file.n_bytes, "checksum": file.checksum or None}
            for file in data.files()
        ],
        "licence": data.licence,
        "attribution": data.attribution,
        "home": data.home,
    }


def _get(args: argparse.Namespace) -> int:
    from heed.bar import counting
    from heed.datasets.catalogue import find
    from heed.datasets.get import get

    data = find(args.name)
    if not args.json:
        print(f"{data.name}: {data.title}")
        print(f"licence: {data.licence}")
        print(f"by:      {data.attribution}")
        print(f"home:    {data.home}", flush=True)
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        made = get(data, args.out, args.origin, lambda total, what: counting(total, what, of_bytes=True))
    except KeyboardInterrupt:
        again = ["heed", "data", "get", args.name, "--out", str(args.out)]
        again += ["--from", args.origin] if args.origin else []
        raise KeyboardInterrupt(f"(what has arrived is kept; to continue: {shlex.join(again)})") from None
    finally:
        signal.signal(signal.SIGTERM, before)
    _report(args, data, made)
    return 0


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _report(args: argparse.Namespace, data: "DataSet", made: "list[Written]") -> None:
    from heed.cli.terminal import wrapped_command
    from heed.datasets.get import ARCHIVES

    if args.json:
        parts = {
            one.part.name: {
                "pairs": one.n_pairs,
                "published_pairs": one.part.n_pairs,
                "source": str(one.source),
                "target": str(one.target),
                "was_there": one.was_there,
            }
            for one in made
        }
        print(json.dumps({**_described(data), "from": args.origin or None, "parts": parts}, ensure_ascii=False))
        return
    print(f"in {args.out}:")
    for one in made:
        notes = ["was there"] if one.was_there else []
        if one.part.n_pairs not in (None, one.n_pairs):
            notes.append(f"published: {one.part.n_pairs:,}")
        note = f" ({'; '.join(notes)})" if notes else ""
        print(f"  {one.n_pairs:>11,}  {one.source.name} {one.target.name}{note}")
    left_out = [part.name for part in data.parts if part.bitexts and part.name not in {one.part.name for one in made}]
    if left_out:
        print(f"not in {args.origin}, left out:")
        for name in left_out:
            print(f"{'':<15}{name}")
    if (args.out / ARCHIVES).is_dir():
        print(f"the downloads are in {args.out / ARCHIVES}; delete them if you need the space")
    print(f"next:\n{wrapped_command(_next(args.out, data, made))}")


def _next(out: Path, data: "DataSet", made: "list[Written]") -> list[str]:
    """Return the command to go on with: train, or split first if there is no text to validate on."""
    parts = {one.part.name: one for one in made}
    train = parts["train"]
    text = ["--source", str(train.source), "--target", str(train.target)]
    if data.valid not in parts:
        return ["heed", "split", *text, "--out", str(out / "split")]
    valid = parts[data.valid]
    text += ["--valid-source", str(valid.source), "--valid-target", str(valid.target)]
    return ["heed", "train", *text, "--preset", data.preset, "--out", f"runs/{data.name}"]
