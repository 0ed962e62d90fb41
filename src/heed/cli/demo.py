"""`heed demo`: train, score and try a translator in minutes, on a built-in corpus."""

import argparse
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.startup import import_torch

if TYPE_CHECKING:
    from heed.config import Config
    from heed.translation import Attention
    from heed.translator import Translator

HELP = "train a small English-German translator on built-in data, and try it"

_EVERYDAY = ("The cat chased its tail.", "Where is the nearest train station?", "I would like a cup of coffee, please.")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate a few sentences with the model that is installed with heed, if there\n"
        "is one. Then train the tiny model on English-German sentences from a built-in\n"
        "grammar, score it on held-out sentences, translate a few more, and show its\n"
        "attention. This takes a few minutes on two cores. After Ctrl-C, the same\n"
        "command resumes the training."
    )
    parser.epilog = "examples:\n  heed demo\n  heed demo --folder somewhere/else --seed 2"
    parser.add_argument("--folder", type=Path, default=Path("runs"), help="folder for data and runs (default: runs)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the training; the data stay the same (default: 1)")


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.allocator import keep_freed_memory
    from heed.demo.grammar import TYPED_BY_PEOPLE
    from heed.evaluate import Bleu, score
    from heed.loading import load
    from heed.text.lines import read_lines
    from heed.training.loop import resume, train

    keep_freed_memory()
    _try_the_box()
    data = args.folder / "demo-data"
    _write_corpus(data)
    config = demo_config(data, args.seed)
    out, is_new = _run_folder(args.folder / "demo", config)
    outcome = train(config, out) if is_new else resume(out)
    if outcome.reason == "interrupted":
        print("or repeat the same command, to see the rest of the demo as well", file=sys.stderr)
        return 130
    translator = load(out)

    sources, references = (list(read_lines(data / f"test.{language}")) for language in ("en", "de"))
    translations = [one.text for one in translator.translate(sources)]
    print(f"\n{len(sources):,} held-out sentences, none of them seen in training:")
    print(f"  {score(Bleu(), translations, references)}")
    right = sum(a == b for a, b in zip(translations, references, strict=True))
    print(f"  {right / len(sources):.1%} of them translated word for word like the reference\n")

    print("Five sentences a person might type:")
    typed = [pair.source for pair in TYPED_BY_PEOPLE[:5]]
    for pair, found in zip(TYPED_BY_PEOPLE, translator.translate(typed), strict=False):
        verdict = "" if found.text == pair.target else f"   (expected: {pair.target})"
        print(f"  {pair.source}\n    → {found.text}{verdict}")

    _show_attention(translator, "The cat chased its tail.")
    heed = _command()
    print(
        f"\nWhat next:\n"
        f"  echo 'The dog chased its tail.' | {heed} translate --model {out}\n"
        f"  {heed} evaluate --model {out} --source {data}/test.en --reference {data}/test.de\n"
        f"  {heed} split --source your.en --target your.de --out your-data\n"
        "  README.md and docs/ say more."
    )
    return 0


def _try_the_box() -> None:
    """Translate a few sentences with the model in the box, if there is one."""
    from heed.box import DEFAULT, default_model, names
    from heed.loading import load

    if DEFAULT not in names():
        return
    print(f"The model in the box ({DEFAULT}), as `heed translate` uses it:")
    for text, found in zip(_EVERYDAY, load(default_model()).translate(_EVERYDAY), strict=True):
        print(f"  {text}\n    → {found.text}")
    print("\nNow a model of your own, from a built-in corpus:", flush=True)


def demo_config(data: Path, seed: int) -> "Config":
    """Return the `tiny` preset, tuned for clean data and little time: no dropout, a small vocabulary, a short warm-up.

    Pre-norm is the only setting found that reaches 90 BLEU in the time available; docs/results.md lists what was tried.
    """
    from heed.presets import tiny
    from heed.settings import build_config

    settings = {
        "model": {"dropout": 0.0, "norm": "pre"},
        "text": {"vocab_size": 2_000},
        "data": {
            "train_source": str(data / "train.en"),
            "train_target": str(data / "train.de"),
            "valid_source": str(data / "valid.en"),
            "valid_target": str(data / "valid.de"),
        },
        "train": {
            "max_steps": 1_200,
            "batch_tokens": 1_500,
            "warmup_steps": 250,
            "learning_rate_factor": 1.0,
            "validate_every": 600,
            # Averaging checkpoints that are close together has the effect of a falling learning rate.
            "save_every": 20,
            "keep_checkpoints": 8,
            "average_last": 8,
            "seed": seed,
        },
    }
    return build_config(tiny(), ("demo", settings))


def _command() -> str:
    """Return the command that starts heed from here: `make demo` runs without an activated virtual environment."""
    if shutil.which("heed") or Path(sys.argv[0]).name != "heed":
        return "heed"
    return os.path.relpath(sys.argv[0])


def _write_corpus(data: Path) -> None:
    """Write the grammar's sentences to line-aligned files, like any corpus."""
    from heed.demo.grammar import corpus

    if (data / "test.de").exists():  # written last; the content never changes
        return
    print("writing the built-in corpus ...", file=sys.stderr)
    data.mkdir(parents=True, exist_ok=True)
    made = corpus()
    for name, pairs in (("train", made.train), ("valid", made.valid), ("test", made.test)):
        for language, texts in (("en", [p.source for p in pairs]), ("de", [p.target for p in pairs])):
            (data / f"{name}.{language}").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def _run_folder(path: Path, config: "Config") -> tuple[Path, bool]:
    """Return a run folder (demo, demo-2, demo-3 ...) and whether it is new.

    It is the first unfinished run with these settings, else a new folder.
    """
    from heed.follow.runs import state_of

    number, folder = 2, path
    while folder.exists():
        if state_of(folder).state in ("interrupted", "died", "empty") and _was_started_with(folder, config):
            return folder, False
        folder, number = path.with_name(f"{path.name}-{number}"), number + 1
    return folder, True


def _was_started_with(run: Path, config: "Config") -> bool:
    from heed.errors import CheckpointError
    from heed.run import RunFolder

    try:
        theirs = RunFolder.open(run).config
    except CheckpointError:
        return False
    # A new run derives these from its machine and its text.
    derived = {name: getattr(theirs.train, name) for name in ("lanes", "micro_batch_tokens", "metric")}
    return theirs == replace(config, train=replace(config.train, **derived))


def _show_attention(translator: "Translator", text: str) -> None:
    from heed.inside.terminal import grid
    from heed.inside.words import by_words, side_of

    (found,) = translator.translate([text], attention=True)
    attention = found.attention
    assert attention is not None
    tokenizer = translator.tokenizer
    source, target = (
        side_of(tokenizer, tokenizer.ids(pieces[:-1])) for pieces in (attention.source_pieces, attention.target_pieces)
    )
    source_words, target_words = ([*side.word_labels[:-1], "(end)"] for side in (source, target))
    layer = _sharpest_layer(attention)
    weights = by_words(attention.cross[layer].mean(0), target.words, source.words)
    print(
        f"\nWhat the decoder looks at while it writes: attention from each German word to\n"
        f"the English ones, layer {layer + 1} of {len(attention.cross)}, "
        f"mean of its {attention.cross.shape[1]} heads.\n"
    )
    print(grid(weights, target_words, source_words))
    if "its" in source_words and "cat" in source_words:
        its, cat = source.words[source_words.index("its")], source.words[source_words.index("cat")]
        to_cat = attention.encoder[:, :, its][..., cat].sum(-1).mean(-1)
        best_layer, best_head = divmod(int(to_cat.argmax()), to_cat.shape[1])
        print(
            f'\n"its" must find its owner (die Katze, so "ihren"). Of all encoder heads, head {best_head + 1} of\n'
            f'layer {best_layer + 1} looks from "its" to "cat" the most, with {to_cat.max():.0%} of its weight.'
        )


def _sharpest_layer(attention: "Attention") -> int:
    """Return the decoder layer whose mean attention is most concentrated on single source pieces."""
    return int(attention.cross.mean(1).max(-1).mean(-1).argmax())
