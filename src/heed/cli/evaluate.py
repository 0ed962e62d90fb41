"""`heed evaluate`: translate a test set and score the result."""

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path

from heed.cli.progress import in_chunks, with_progress
from heed.cli.score import configure_scoring, named, report
from heed.cli.search import add_engine, add_model, add_search, add_sentences, load_translator, search_options
from heed.cli.translate import refuse_overwriting
from heed.wording import counted

HELP = "translate a test set and score it: BLEU, chrF, exact match, perplexity"

_LINES_PER_CHUNK = 500


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate --source, and score the translations against --reference as heed\n"
        "score does: BLEU, chrF2, exact match, character and word error rate, and\n"
        "paperBLEU with --target-language. Adds the perplexity of the model or ensemble\n"
        "on the reference, per token and without label smoothing. The signatures record\n"
        "how the translations were made."
    )
    parser.epilog = (
        "examples:\n"
        "  heed evaluate --model runs/x --source test.en --reference test.de\n"
        "  heed evaluate --model runs/x --source test.en --reference test.de \\\n"
        "      --baseline other.de --json\n"
        "  heed evaluate --model runs/x --int8 --reference test.de < test.en"
    )
    models = parser.add_argument_group("model and search")
    add_model(models)
    add_search(models)
    add_sentences(models)
    add_engine(models)
    texts = parser.add_argument_group("test set")
    texts.add_argument("--source", default="-", metavar="FILE", help="text to translate (default: standard input)")
    texts.add_argument("--output", type=Path, metavar="FILE", help="save the translations to this file")
    configure_scoring(parser)


def run(args: argparse.Namespace) -> int:
    import heed
    from heed.checkpoint import read_manifest
    from heed.errors import ConfigError, DataError
    from heed.evaluate import decoding_signature
    from heed.evaluate.signature import join_signature
    from heed.loading import load
    from heed.run import RunFolder
    from heed.text.lines import read_lines
    from heed.translation import are_split

    if [args.source, *args.reference, args.baseline].count("-") > 1:
        raise ConfigError("standard input (-, or no --source) can be used for one of the files only")
    refuse_overwriting(args.output, args.source, args.baseline, *args.reference)
    translator = load_translator(args)
    options = replace(search_options(args, translator), copy=False)  # score the model, with any engine
    # Perplexity always comes from whole weights.
    reference = translator
    if args.engine == "native" and (args.int8 or args.bfloat16):
        reference = load(*args.model, checkpoint=args.checkpoint)
    sources = list(read_lines(args.source))
    if not sources:
        raise DataError(f"{named(args.source)}: is empty, nothing to translate; name a file with --source")
    references = [list(read_lines(file)) for file in args.reference]
    for file, lines in zip(args.reference, references, strict=True):
        if len(sources) != len(lines):
            raise DataError(
                f"{named(args.source)} has {len(sources):,} lines, but {named(file)} has {len(lines):,}; "
                "line n of one must be the translation of line n of the other"
            )

    hypotheses: list[str] = []
    for texts in with_progress(in_chunks(sources, _LINES_PER_CHUNK), len(sources), "translating"):
        hypotheses += [one.text for one in translator.run(texts, options)]
    if args.output is not None:
        args.output.write_text("".join(f"{text}\n" for text in hypotheses), encoding="utf-8", newline="\n")

    pairs = [(s, r) for s, r in zip(sources, references[0], strict=True) if translator.fits(s) and translator.fits(r)]
    if len(pairs) < len(sources):
        left_out = counted(len(sources) - len(pairs), "pair")
        print(f"perplexity: left out {left_out} longer than the model's limit", file=sys.stderr)
    scores = [
        one
        for chunk in with_progress(in_chunks(pairs, _LINES_PER_CHUNK), len(pairs), "perplexity")
        for one in reference.score([s for s, _ in chunk], [r for _, r in chunk])
    ]
    n_tokens = sum(one.n_tokens for one in scores)
    nll = -sum(one.log_probability for one in scores) / max(n_tokens, 1)
    checkpoints = [RunFolder.open(Path(path)).checkpoint_path(args.checkpoint) for path in args.model]
    decoding = decoding_signature(
        beam=options.beam,
        alpha=options.alpha,
        checkpoint="+".join(path.name for path in checkpoints),
        model_hash="+".join(read_manifest(path)["sha256"]["model.safetensors"][:12] for path in checkpoints),
        heed_version=heed.__version__,
    )
    capitals = "lowered" if translator.decode.capitals else None
    one_by_one = "split" if are_split(options, translator.decode.sentences) else None
    weights = "int8" if args.int8 else "bfloat16" if args.bfloat16 else None
    decoding += "|" + join_signature(
        {"engine": args.engine, "weights": weights, "sentences": one_by_one, "capitals": capitals}
    )
    perplexity = math.exp(min(nll, 700.0)) if n_tokens else None
    report(args, args.source, hypotheses, references, decoding, perplexity)
    return 0
