"""A small model of each kind of norm, one sentence inspected, and a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from heed.config import DecodeConfig
from heed.inside.document import document
from heed.inside.inspection import Inspection
from heed.inside.page import page
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator
from tests.conftest import EOS, small_config, torch_translator

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = "the quick brown fox jumps over the lazy dog"
SAMPLE = [(f"the quick fox {i}", f"der schnelle Fuchs {i}") for i in range(30)]


# Seed and scale of random models that write several hypotheses of TEXT to their ends.
FINISHING = {"post": (38, 2.5), "pre": (27, 1.5)}


def small_translator(tokenizer: Tokenizer, **changes: object) -> Translator:
    """A random model whose probabilities are not flat, so that hypotheses differ."""
    config = small_config(**changes)
    seed, scale = FINISHING[config.norm]
    torch.manual_seed(seed)
    model = Transformer(config, tokenizer.vocabulary).eval()
    model.embedding.weight.data *= scale
    model.embedding.weight.data[EOS] *= 2
    return torch_translator([model], tokenizer, DecodeConfig(beam=3, alpha=0.6, extra_length=4))


@pytest.fixture(scope="session", params=["post", "pre"])
def translator(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    return small_translator(tokenizer, norm=request.param)


@pytest.fixture(scope="session")
def inspection(translator: Translator) -> Inspection:
    return translator.inspect(TEXT, sample=SAMPLE, sample_name="thirty pairs", name="a small model")


@pytest.fixture(scope="session")
def one(tokenizer: Tokenizer) -> Inspection:
    """The inspection of the post-norm model, for what does not depend on the norm."""
    return small_translator(tokenizer).inspect(TEXT, sample=SAMPLE, sample_name="thirty pairs", name="a small model")


# --- a browser --------------------------------------------------------------------------------------------------


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: "Browser", tmp_path: Path) -> Iterator[Open]:
    """Open a page: open_page(inspection, "view=beam", width=390, dark=True). Any error in it fails the test."""
    pages, errors = [], []

    def opened(inspection: Inspection | Path, where: str = "", *, width: int = 1280, dark: bool = False) -> "Page":
        path = inspection
        if isinstance(inspection, Inspection):
            path = tmp_path / "page.html"
            path.write_text(page(document(inspection)), encoding="utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        tab.on("request", lambda one: errors.append(one.url) if not one.url.startswith(("file:", "data:")) else None)
        pages.append(tab)
        tab.goto(f"{path.as_uri()}#{where}")
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        return tab

    yield opened
    for tab in pages:
        tab.close()
    assert errors == []
