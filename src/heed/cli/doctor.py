"""`heed doctor`: find the faults of a corpus before hours of training reveal them."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.terminal import wrapped_command
from heed.wording import counted

if TYPE_CHECKING:
    from heed.data.corpus import ParallelText
    from heed.doctor import Examination, Example, Fixed

HELP = "examine a parallel corpus before training: misalignment, damage, leaks; --fix writes a clean copy"

EPILOG = """\
examples:
  heed doctor --source train.en --target train.de
  heed doctor --source train.en --target train.de \\
      --test-source test.en --test-target test.de --fix clean
  heed doctor --source pairs.tsv.gz --keep duplicate --json

exit code: 0 healthy, or all faults fixed; 1 faults found, or a file cannot be
read; 2 wrong usage. docs/doctor.md explains each finding and what --fix does
about it.
"""

_EXAMPLE_COLUMNS = 66


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Examine two line-aligned files, or one .tsv with both. Finds shifted lines,\n"
        "damaged characters, wrong languages, copies, lengths that do not match,\n"
        "duplicates, and test sentences in the training text. Needs nothing but the\n"
        "corpus itself."
    )
    parser.epilog = EPILOG
    text = parser.add_argument_group("text")
    text.add_argument("--source", required=True, metavar="FILE", help="text to translate from: plain, .gz, or .tsv")
    text.add_argument("--target", metavar="FILE", help="its translation, line by line (not with a .tsv)")
    text.add_argument(
        "--test-source", action="append", default=[], metavar="FILE", help="source of a test set; may be repeated"
    )
    text.add_argument("--test-target", action="append", default=[], metavar="FILE", help="its translation")
    result = parser.add_argument_group("what to do")
    result.add_argument("--fix", type=Path, metavar="FOLDER", help="write a clean copy to this new folder")
    result.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="KIND",
        help="do not treat this finding, by its name in the report, as a fault; may be repeated",
    )
    result.add_argument("--json", action="store_true", help="print one JSON object with all line numbers")


def run(args: argparse.Namespace) -> int:
    from heed.cli.progress import with_progress
    from heed.data.corpus import ParallelText
    from heed.doctor import KINDS, examine, fix, refuse_folder
    from heed.errors import ConfigError

    for name in args.keep:
        if name not in KINDS:
            raise ConfigError(f"--keep {name}: no such finding; choose from {', '.join(KINDS)}")
        if name == "line-count":
            raise ConfigError("--keep line-count: files of different length cannot be trained on; fix them first")
    text = ParallelText(args.source, args.target or "")
    tests = _paired(args.test_source, args.test_target)
    if args.fix is not None:
        refuse_folder(text, args.fix)
    examination = examine(text, tests, args.keep, with_progress)
    if not args.json:
        _print_report(examination)
    fixed = fix(examination, args.fix, tests, args.keep, with_progress) if args.fix is not None else None
    if args.json:
        found = examination.to_dict() | ({"fixed": fixed.to_dict()} if fixed else {})
        print(json.dumps(found, ensure_ascii=False))
    elif fixed:
        _print_fixed(fixed, args)
    else:
        _print_verdict(examination, args)
    return 1 if examination.faults and not fixed else 0


def _paired(sources: list[str], targets: list[str]) -> "list[ParallelText]":
    """Pair each test source with its target; a .tsv needs no target."""
    from heed.data.corpus import ParallelText
    from heed.errors import ConfigError

    plain = [source for source in sources if not source.removesuffix(".gz").endswith(".tsv")]
    if len(plain) != len(targets):
        raise ConfigError(
            f"{len(plain)} --test-source but {len(targets)} --test-target; give one target for each, in the same order"
        )
    rest = iter(targets)
    return [ParallelText(source, next(rest) if source in plain else "") for source in sources]


def _print_report(examination: "Examination") -> None:
    print(f"{examination.text.name}: {counted(examination.n_source, 'pair')}\n")
    if examination.findings:
        print(f"{'finding':<47}{'pairs':>10}{'share':>9}  with --fix")
    for fault in (True, False):
        chosen = [finding for finding in examination.findings if finding.kind.fault == fault]
        if chosen:
            print("FAULTS" if fault else "WORTH KNOWING")
        for finding in chosen:
            share = _share(finding.count, examination.n_source)
            print(f"{finding.kind.title:<47}{finding.count:>10,}{share:>9}  {finding.kind.fix}")
    for finding in examination.findings:
        print(f"\n{finding.kind.title} ({finding.kind.name}): {finding.count:,}")
        for line in finding.note.splitlines():
            print(f"  {line}")
        for example in finding.examples:
            _print_example(example, examination)
    if examination.notes:
        print("\nnot examined:" if examination.findings else "not examined:")
    for note in examination.notes:
        print(f"  {note}")
    print()


def _share(count: int, total: int) -> str:
    percent = 100 * count / total
    return "< 0.01 %" if percent < 0.01 else f"{percent:.2f} %"


def _print_example(example: "Example", examination: "Examination") -> None:
    text = examination.text
    if example.side:
        file = text.target if example.side == "target" and text.target else text.source
        print(f"  {file}, line {example.line}:\n    {_shortened(getattr(example, example.side))}")
    else:
        print(f"  line {example.line}:\n    {_shortened(example.source)}\n    {_shortened(example.target)}")
    if example.other is not None:
        other = example.other
        print(f"  compare line {other.line}:\n    {_shortened(other.source)}\n    {_shortened(other.target)}")


def _shortened(text: str) -> str:
    # Escape characters that a terminal would act on or not show.
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return shown if len(shown) <= _EXAMPLE_COLUMNS else shown[: _EXAMPLE_COLUMNS - 1] + "…"


def _print_verdict(examination: "Examination", args: argparse.Namespace) -> None:
    if not examination.faults:
        print(f"healthy. Next:\n{_split_command(examination.text, args)}")
        return
    names = ", ".join(fault.kind.name for fault in examination.faults)
    if examination.refused:
        print(f"cannot be trained on as it is ({names}): repair the files, then run heed doctor again")
        return
    count = len(examination.faulty_lines())
    words = ["heed", "doctor", "--source", args.source, *(["--target", args.target] if args.target else [])]
    for option, values in (("test-source", args.test_source), ("test-target", args.test_target), ("keep", args.keep)):
        words += [word for value in values for word in (f"--{option}", value)]
    print(
        f"{count:,} of {counted(examination.n_source, 'pair')} {'is' if count == 1 else 'are'} faulty ({names}).\n"
        f"Next:\n{wrapped_command([*words, '--fix', 'clean'])}"
    )


def _print_fixed(fixed: "Fixed", args: argparse.Namespace) -> None:
    from heed.doctor import KINDS

    for what, counts in (("dropped", fixed.dropped), ("repaired", fixed.repaired)):
        print(f"{what}: {counted(sum(counts.values()), 'pair')} (lines and reasons in {args.fix / f'{what}.tsv'})")
        for name, count in counts.items():
            print(f"  {KINDS[name].title:<47}{count:>10,}")
    print(f"{counted(fixed.kept, 'pair')} left, examined again: healthy. Next:\n{_split_command(fixed.text, args)}")


def _split_command(text: "ParallelText", args: argparse.Namespace) -> str:
    """Return the next command for a healthy corpus: hold out text, for validation only if there is a test set."""
    words = ["heed", "split", "--source", text.source, *(["--target", text.target] if text.target else [])]
    return wrapped_command([*words, *(["--test", "0"] if args.test_source else []), "--out", "data"])
