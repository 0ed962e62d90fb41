"""Define shared fixtures, and the environment that all tests run in.

The tests must not depend on how they are started: from a terminal, in the background of a script, by a scheduler.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from heed.config import DecodeConfig, ModelConfig
from heed.data.batch import Batch, batch_of_ids
from heed.engines.pytorch import PyTorchEngine
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.training.precision import bfloat16_fault
from heed.translator import Translator
from heed.vocabulary import Vocabulary
from tests.processes import all_left, forget_inherited_signals, left_since, mark_all_that_start, started_here

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Variables of a multi-process job that the tests may run in, and those that change how programs read and write text.
_NOT_OURS = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT"
_NOT_OURS += " SACREBLEU_SEED PYTHONUTF8 PYTHONIOENCODING PYTHONCOERCECLOCALE"
for name in _NOT_OURS.split():
    os.environ.pop(name, None)
os.environ["LC_ALL"] = "C.UTF-8"  # system messages in English, too
os.umask(0o022)
forget_inherited_signals()
mark_all_that_start()
torch.set_num_threads(1)  # the tests' tensors are small, and several test processes share the cores

VOCABULARY = 23  # tokens
PAD, EOS, UNK = 0, 1, 2  # ids in a vocabulary of heed's own


def small_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], first_pair: int = 0) -> Batch:
    return batch_of_ids(sources, targets, Vocabulary(VOCABULARY), first_pair)


@pytest.fixture(scope="session", autouse=True)
def no_process_outlives_the_tests() -> Iterator[None]:
    yield
    if left := all_left():
        pytest.fail("the tests have left processes behind:\n" + "\n".join(left))


@pytest.fixture(autouse=True)
def no_process_outlives_its_test(no_process_outlives_the_tests: None) -> Iterator[None]:
    """Kill processes that a test leaves behind, but not those of session fixtures."""
    before = started_here()
    yield
    if left := left_since(before):
        pytest.fail("this test has left processes behind:\n" + "\n".join(left))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return real text, which is not part of the project."""
    path = Path(os.environ.get("HEED_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"needs real text in {path}; name its folder with HEED_DATA")
    return path


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    lines = ["the quick brown fox jumps over the lazy dog", "der schnelle braune Fuchs springt über den faulen Hund"]
    return Tokenizer.learn([f"{line} {i}" for i in range(50) for line in lines], 400)


@pytest.fixture(scope="session")
def sixteen_bits() -> None:
    """Skip tests that multiply in 16 bits on virtual machines where that kills the process."""
    if (fault := bfloat16_fault(os.environ)) is not None:
        pytest.skip(f"a product in bfloat16 {fault} here; perhaps not with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16")


def small_config(**changes: object) -> ModelConfig:
    """Every letter of a shape has a different size, so that swapped dimensions are noticed."""
    sizes: dict[str, object] = dict(
        encoder_layers=2, decoder_layers=2, d_model=24, d_ff=40, h=2, d_k=7, d_v=9, dropout=0.0, max_length=60
    )
    return ModelConfig(**{**sizes, **changes})  # type: ignore[arg-type]


def torch_translator(
    models: Sequence[Transformer],
    tokenizer: Tokenizer,
    decode: DecodeConfig,
    int8: bool = False,
    weights: str = "the model",
) -> Translator:
    """Translate with models that are in no run folder."""
    return Translator(PyTorchEngine(models, tokenizer, decode, int8, weights))


@pytest.fixture(params=["post", "pre"])
def model(request: pytest.FixtureRequest) -> Transformer:
    """Return a random model in float64, so that "equal" can mean equal to many digits."""
    torch.manual_seed(3)
    made = Transformer(small_config(norm=request.param), Vocabulary(VOCABULARY)).double().eval()
    # Fresh models are nearly uniform; sharper ones tell hypotheses apart.
    made.embedding.weight.data *= 3
    return made


_SUFFIX = re.compile(r"_(?=1*[A-Z])([A-Z1]+)$")


@contextmanager
def shapes_checked(*packages: str, shrinking: tuple[str, ...] = ()) -> Iterator[set[str]]:
    """Check tensors named like `q_BHLK` whenever a function of a package returns; yields the functions seen.

    In the functions named `shrinking` the batch B shrinks from step to step, so only its dimension is checked.
    """
    seen: set[str] = set()

    def on_return(frame, event, arg):  # type: ignore[no-untyped-def]
        if event != "return" or not frame.f_globals.get("__name__", "").startswith(packages):
            return
        where, sizes = frame.f_code.co_qualname, {}
        seen.add(where)
        for name, value in frame.f_locals.items():
            suffix = _SUFFIX.search(name)
            if suffix is None or not isinstance(value, torch.Tensor):
                continue
            if value.ndim != len(suffix[1]):
                raise AssertionError(f"{where}: {name} has shape {tuple(value.shape)}")
            for letter, size in zip(suffix[1], value.shape, strict=True):
                if letter == "B" and where in shrinking:
                    continue
                if (letter == "1" and size != 1) or (size != 1 and sizes.setdefault(letter, size) != size):
                    raise AssertionError(f"{where}: {letter} is {sizes.get(letter, 1)} and {size} (at {name})")

    before = sys.getprofile()
    sys.setprofile(on_return)
    try:
        yield seen
    finally:
        sys.setprofile(before)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Debian's Chromium, without a screen. `.ci/run` sets HEED_BROWSER=required: there it must be there."""
    missing = pytest.fail if os.environ.get("HEED_BROWSER") == "required" else pytest.skip
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        missing("no Chromium to open the page with (apt install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing("playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        # Processes that Chromium starts ahead of need would seem to outlive the test that they start in.
        ahead = "--disable-features=SpareRendererForSitePerProcess"
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu", ahead])
        launched.new_page().close()
        yield launched
        launched.close()
