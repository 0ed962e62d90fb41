"""`heed lab`: the page of `heed inspect`, live on this machine."""

import argparse
import errno
import socket
import sys
from pathlib import Path

from heed.box import DEFAULT, default_model, find_model, names
from heed.cli.startup import import_torch
from heed.errors import ConfigError, printable

HELP = "type a sentence and see inside as you type; switch parts off; watch a run train"

_HOST = "127.0.0.1"
_PORT = 8017
_FOLDER = Path("runs")  # where runs are looked for without --model


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Open the page of `heed inspect` live, on this machine only: type a sentence and\n"
        "see its translation, attention and beam as you type; switch off heads, layers,\n"
        "the causal mask or the positions; type over the translation; compare models,\n"
        "checkpoints or sentences; ask why one word and not another; watch a run train.\n"
        "It needs starlette and uvicorn: pip install 'heed[lab]'. Ctrl-C ends it."
    )
    parser.epilog = "examples:\n  heed lab\n  heed lab --model en-de --model runs/x\n  heed lab --model runs/x --port 0"
    parser.add_argument(
        "--model",
        action="append",
        metavar="FOLDER",
        help="a run folder, or a name that heed models lists; repeat it for several (default: all below runs, and "
        "English to German, from the box)",
    )
    parser.add_argument(
        "--port", type=int, default=_PORT, metavar="N", help=f"port on {_HOST}; 0: any that is free (default: {_PORT})"
    )


def run(args: argparse.Namespace) -> int:
    if not 0 <= args.port <= 65535:
        raise ConfigError(f"--port must be from 0 to 65,535, not {args.port}")
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ModuleNotFoundError as error:
        raise ConfigError(f"the lab needs {error.name}: pip install 'heed[lab]'") from None
    paths = _runs(args.model)
    listening = _listen(args.port)
    import_torch()
    from heed.lab.app import create_app
    from heed.lab.models import Models, name_of

    with listening:
        models = Models(paths)
        for one in models.described():
            if one["problem"]:
                print(printable(one["problem"]), file=sys.stderr)
        print(f"http://{_HOST}:{listening.getsockname()[1]}/", flush=True)
        print(f"{', '.join(map(name_of, paths))}: open that address in a browser; Ctrl-C ends the lab", file=sys.stderr)
        config = uvicorn.Config(
            create_app(models), log_level="warning", access_log=False, ws="none", timeout_graceful_shutdown=3
        )
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _runs(given: list[str] | None) -> list[Path]:
    """Return the models to show: those given, or the runs below `runs` and the model in the box.

    Raises:
        CheckpointError: there is none.
    """
    from heed.follow.runs import find_runs

    if given:
        return list(dict.fromkeys(map(find_model, given)))
    found = list(find_runs(_FOLDER)) if _FOLDER.is_dir() else []
    return found if found and DEFAULT not in names() else [*found, default_model()]


def _listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of this machine.

    Raises:
        ConfigError: the port is taken, or may not be used.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
        listening.listen()  # whoever connects from now on waits for the app
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} is in use, perhaps by another lab; choose another one, or any that is free: --port 0"
            ) from None
        raise ConfigError(f"port {port} cannot be used ({error.strerror}); choose one above 1023: --port 0") from None
    return listening
