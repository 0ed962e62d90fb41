"""Make one virtual environment per peer, from the package registry, on first use."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CONSTRAINTS = HERE / "constraints.txt"


@dataclass(frozen=True)
class Environment:
    """Packages to install, and one to install without its dependencies.

    Those ask for an older torch, numpy or protobuf, or for parts that training does not use. The dependencies that it
    does use are among the packages.
    """

    packages: str
    alone: str = ""


ENVIRONMENTS = {
    "transformers": Environment("torch numpy transformers sentencepiece sacremoses"),
    "ctranslate2": Environment("ctranslate2 numpy sentencepiece"),
    "sockeye": Environment("torch numpy pyyaml sacrebleu", "sockeye"),  # itself: torch < 1.14, numpy < 2
    "joeynmt": Environment(  # itself: protobuf < 3.21
        "torch numpy datasets importlib_metadata matplotlib packaging pandas pillow pyyaml sacrebleu sacremoses "
        "seaborn sentencepiece subword-nmt tensorboard",
        "joeynmt",
    ),
    "eole": Environment(  # itself: fasttext-wheel, which has to be compiled; torchcodec, for sound
        "torch numpy aiohttp configargparse ctranslate2 datasets fastapi huggingface_hub pandas pyahocorasick pydantic "
        "pyonmttok pyyaml rapidfuzz rich sacrebleu safetensors sentencepiece six spacy subword-nmt tensorboard "
        "tokenizers torch-optimi uvicorn waitress",
        "eole",
    ),
}


def python_of(name: str, folder: Path) -> Path:
    """Return the interpreter of an environment; make it first if it is missing or was made from another recipe."""
    environment, path = ENVIRONMENTS[name], folder.absolute() / name
    recipe = f"{environment.packages}\n{environment.alone}\n{CONSTRAINTS.read_text()}"
    made_from, python = path / "made-from.txt", path / "bin" / "python"
    if not (made_from.exists() and made_from.read_text() == recipe):
        print(f"{name}: making {path}", file=sys.stderr, flush=True)
        shutil.rmtree(path, ignore_errors=True)
        _run(sys.executable, "-m", "venv", path)
        install = (python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS)
        _run(*install, *environment.packages.split())
        if environment.alone:
            _run(*install, "--no-deps", environment.alone)
        made_from.write_text(recipe)
    return python


def versions(python: Path, names: list[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    code = (
        "import sys, importlib.metadata as m\n"
        "for n in sys.argv[1:]:\n"
        "  try: print(n, m.version(n))\n"
        "  except m.PackageNotFoundError: pass"
    )
    done = subprocess.run([python, "-c", code, *names], check=True, capture_output=True, text=True)
    return dict(line.split() for line in done.stdout.splitlines())


def _run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
