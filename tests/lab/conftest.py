"""A run folder with two checkpoints, a real lab on a free port, and a real browser."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from heed.config import Config
from heed.loading import load
from heed.model.transformer import Transformer
from heed.run import RunFolder
from heed.settings import build_config
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator
from tests.cli.conftest import COMMAND, ENVIRONMENT, write_lines
from tests.conftest import EOS, small_config
from tests.processes import Started

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


TEXT = "the quick brown fox jumps over the lazy dog"
SEEDS = {5: 38, 10: 27}  # of the checkpoints


def make_run(path: Path, tokenizer: Tokenizer, valid: Path) -> RunFolder:
    """A run folder of random models whose probabilities are not flat."""
    model = {name: value for name, value in asdict(small_config()).items() if name not in ("kind",)}
    config = build_config(
        Config(),
        ("test", {"model": model, "data": {"valid_source": f"{valid}.en", "valid_target": f"{valid}.de"}}),
        ("test", {"decode": {"beam": 3, "extra_length": 4}}),
    )
    run = RunFolder.create(path, config, tokenizer)
    for step, seed in SEEDS.items():
        torch.manual_seed(seed)
        made = Transformer(config.model, tokenizer.vocabulary)
        made.embedding.weight.data *= 2.5
        made.embedding.weight.data[EOS] *= 2
        run.save_step(step, {"model": dict(made.state_dict())}, {"step": step})
    run.set_best({"checkpoint": "step-00000005"})
    events = [{"event": "start", "step": 0, "metric": "bleu", "time": 1.0}]
    events += [{"event": "step", "step": step, "loss": 9.0 - step / 2} for step in SEEDS]
    events += [{"event": "validation", "step": 10, "bleu": 12.5, "perplexity": 7.0}]
    events += [{"event": "end", "step": 10, "time": 2.0}]
    run.events_path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return run


@pytest.fixture(scope="session")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("valid")
    write_lines(folder / "valid.en", ["the quick fox", "the lazy dog jumps", "the brown dog", "the fox"])
    write_lines(folder / "valid.de", ["der schnelle Fuchs", "der faule Hund springt", "der braune Hund", "der Fuchs"])
    return folder / "valid"


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, valid: Path) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", tokenizer, valid).path


@pytest.fixture(scope="session")
def translator(run: Path) -> Translator:
    return load(run, engine="torch")


# --- a lab ------------------------------------------------------------------------------------------------------


@dataclass
class Answer:
    status: int
    headers: Any
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def summary(self) -> Any:
        """The JSON of an inspection."""
        assert self.status == 200, self.content
        length = int.from_bytes(self.content[:4], "little")
        return json.loads(self.content[4 : 4 + length])


@dataclass
class RunningLab:
    process: "Started[str]"
    address: str  # http://127.0.0.1:PORT

    def get(self, path: str, **headers: str) -> Answer:
        return self._send(urllib.request.Request(f"{self.address}{path}", headers=headers))

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        return self._send(urllib.request.Request(f"{self.address}{path}", content, headers))

    def inspect(self, text: str = TEXT, **more: Any) -> Answer:
        return self.post("/api/inspect", {"client": "test", "text": text, **more})

    def _send(self, request: urllib.request.Request) -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def stop(self) -> tuple[int, str]:
        """Press Ctrl-C; return the exit code and what the terminal showed."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@contextmanager
def running_lab(*paths: Path) -> Iterator[RunningLab]:
    models = [word for path in paths for word in ("--model", str(path))]
    command = [COMMAND, "lab", *models, "--port", "0"]
    with Started(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip().rstrip("/")
        if not address:
            process.wait(60)
            raise AssertionError(process.stderr.read())
        lab = RunningLab(process, address)
        try:
            yield lab
        finally:
            if process.poll() is None:
                lab.stop()


@pytest.fixture(scope="session")
def lab(run: Path) -> Iterator[RunningLab]:
    with running_lab(run) as started:
        yield started


Open = Callable[..., "Page"]


@pytest.fixture
def open_lab(browser: "Browser") -> Iterator[Open]:
    """Open the page: open_lab(lab, "view=why", width=390, dark=True). Any error in it fails the test.

    `refusals`: whether answers of 4xx, which the browser's console reports as errors, are part of the test.
    """
    pages, errors = [], []

    def opened(
        lab: RunningLab, where: str = "", *, width: int = 1280, dark: bool = False, refusals: bool = False
    ) -> "Page":
        tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on(
            "console",
            lambda said: (
                errors.append(said.text)
                if said.type == "error" and not (refusals and "the server responded with a status of 4" in said.text)
                else None
            ),
        )
        ours = (lab.address, "data:")
        tab.on("request", lambda one: errors.append(one.url) if not one.url.startswith(ours) else None)
        pages.append(tab)
        tab.goto(f"{lab.address}/#{where}")
        tab.wait_for_selector("html[data-answered]", timeout=60_000)
        return tab

    yield opened
    for tab in pages:
        tab.close()
    assert errors == []
