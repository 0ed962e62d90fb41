"""Define the options for models and search that `heed translate` and `heed evaluate` share."""

import argparse
from typing import TYPE_CHECKING

from heed.box import default_model, find_model
from heed.cli.startup import import_torch

if TYPE_CHECKING:
    from heed.options import Sampling, SearchOptions
    from heed.translator import Translator

_SAMPLING = ("temperature", "top_k", "top_p", "seed")  # the options of --sample


def add_model(group: argparse._ActionsContainer, required: bool = True) -> None:
    default = "" if required else " (default: English to German, from the box)"
    group.add_argument(
        "--model",
        action="append",
        required=required,
        metavar="FOLDER",
        help=f"a run folder, or a name that heed models lists; repeat it for an ensemble{default}",
    )
    group.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )


def add_search(group: argparse._ActionsContainer) -> None:
    group.add_argument("--beam", type=int, metavar="N", help="beam width; 1 is greedy (default: the run's)")
    group.add_argument("--alpha", type=float, metavar="X", help="length penalty (default: the run's)")


def add_sentences(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--sentences",
        action=argparse.BooleanOptionalAction,
        help="translate each sentence of a line by itself (default: the run's)",
    )


def add_sampling(group: argparse._ActionsContainer) -> None:
    group.add_argument("--sample", action="store_true", help="sample at random instead of beam search")
    group.add_argument(
        "--temperature", type=float, metavar="X", help="below 1 is sharper, above 1 flatter (default: 1)"
    )
    group.add_argument("--top-k", type=int, metavar="K", help="sample from the K most probable tokens")
    group.add_argument("--top-p", type=float, metavar="P", help="sample from the top tokens that sum to P, such as 0.9")
    group.add_argument("--seed", type=int, metavar="N", help="random seed (default: 1)")


def add_engine(group: argparse._ActionsContainer) -> None:
    group.add_argument("--int8", action="store_true", help="use 8-bit weights: faster, slightly less exact")
    group.add_argument(
        "--bfloat16",
        action="store_true",
        help="use 16-bit weights: half the memory; native only, on processors with AVX512-BF16 or AMX",
    )
    group.add_argument(
        "--engine",
        metavar="{native,torch}",
        help="native: heed's search in C, the default with a C compiler; torch: the same with PyTorch",
    )


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other or have no effect.

    Raises:
        ConfigError: the message names the options.
    """
    from heed.errors import ConfigError

    if args.greedy and args.beam not in (None, 1):
        raise ConfigError(f"--greedy and --beam {args.beam} contradict each other; drop one of the two")
    if args.sample and (args.greedy or args.beam is not None):
        option = "--greedy" if args.greedy else f"--beam {args.beam}"
        raise ConfigError(f"--sample replaces the search that {option} asks for; drop one of the two")
    for name in _SAMPLING:
        if not args.sample and getattr(args, name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')} needs --sample; add --sample, or drop it")


def load_translator(args: argparse.Namespace) -> "Translator":
    """Load the models with the engine that --engine names; args.model becomes the list of their folders.

    args.engine becomes the name of the engine.

    Raises:
        ConfigError: there is no such engine, or it does not support an option.
        CheckpointError: there is no such model.
    """
    args.model = [find_model(given) for given in args.model or ()] or [default_model()]
    from heed.allocator import keep_freed_memory
    from heed.loading import default_engine, load

    if args.engine is None:
        args.engine = "native" if args.bfloat16 else default_engine(args.model)
    if args.engine == "torch":
        import_torch()
    keep_freed_memory()
    return load(*args.model, checkpoint=args.checkpoint, int8=args.int8, bfloat16=args.bfloat16, engine=args.engine)


def search_options(args: argparse.Namespace, translator: "Translator") -> "SearchOptions":
    """Return the search options of the command line; the run's settings supply the defaults.

    Raises:
        ConfigError: a value is out of range, or two contradict each other.
    """
    from heed.errors import ConfigError, DecodeError
    from heed.options import SearchOptions
    from heed.text.glossary import Glossary
    from heed.translation import checked

    decode = translator.decode
    beam = 1 if getattr(args, "greedy", False) else args.beam
    options = SearchOptions(
        beam=decode.beam if beam is None else beam,
        alpha=decode.alpha if args.alpha is None else args.alpha,
        n_best=getattr(args, "n_best", 1),
        sampling=_sampling(args) if getattr(args, "sample", False) else None,
        prefixes=() if getattr(args, "prefixes", None) else None,
        glossary=Glossary() if getattr(args, "glossary", None) else None,
        copy=False if getattr(args, "no_copy", False) else None,
        sentences=getattr(args, "sentences", None),
        confidence=getattr(args, "confidence", False) or getattr(args, "min_confidence", None) is not None,
    )
    try:
        return checked(options)
    except DecodeError as error:
        raise ConfigError(_as_option(error)) from None


def _sampling(args: argparse.Namespace) -> "Sampling":
    from heed.errors import ConfigError
    from heed.options import Sampling

    given = {name: getattr(args, name) for name in _SAMPLING if getattr(args, name) is not None}
    try:
        return Sampling(**given)
    except ValueError as error:
        raise ConfigError(_as_option(error)) from None


def _as_option(error: Exception) -> str:
    """Rewrite a message that begins with a parameter's name, such as top_k, to name the option."""
    name, rest = str(error).split(maxsplit=1)
    return f"--{name.replace('_', '-')} {rest}"
