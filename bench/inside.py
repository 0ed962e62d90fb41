"""How large and how quick the page of `heed inspect` is: a model of the paper's size, 40 pieces on both sides.

    python bench/inside.py [page.html]

Writes the page, opens it in a headless Chromium (Debian's `chromium`; `pip install playwright`), and prints its size,
the time to its first paint, and what each kind of interaction takes until the next frame: wall time, and CPU time of
the page's thread, which other programs on the machine do not change.
"""

import sys
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

from heed.config import DecodeConfig, ModelConfig
from heed.demo.grammar import corpus
from heed.engines.pytorch import PyTorchEngine
from heed.inside.document import document
from heed.inside.page import page
from heed.model.build import build_model
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator

PIECES = 40
CLICKS = (
    ("next head", "[data-head='encoder.3.5']"),
    ("all heads", ".heads button"),
    ("table", "input[value=table]"),
    ("beam", "#tab-beam"),
    ("alpha", "#alpha"),
    ("walk", "#tab-walk"),
    ("mask", "[data-stage='decoder.self.masked']"),
    ("next stage", "[data-key=next]"),
    ("heads off", "#tab-heads"),
    ("occlusion", "#tab-occlusion"),
    ("layers", "#tab-layers"),
)

TIMED = """async (selector) => {
  const node = document.querySelector(selector);
  const begin = performance.now();
  if (node.type === "range") { node.value = node.max / 2; node.dispatchEvent(new Event("input")); }
  else node.click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""

MOVED = """async (selector) => {
  const node = document.querySelector(selector);
  const box = node.getBoundingClientRect();
  const begin = performance.now();
  node.dispatchEvent(new PointerEvent("pointermove", { clientX: box.x + 40, clientY: box.y + 40, bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""


def write_page(path: Path) -> None:
    torch.manual_seed(1)
    pairs = corpus().train[:2000]
    tokenizer = Tokenizer.learn([text for pair in pairs for text in (pair.source, pair.target)], 8000)
    model = build_model(ModelConfig(), tokenizer.vocabulary).eval()
    model.embedding.weight.data *= 3  # type: ignore[union-attr, operator]
    translator = Translator(PyTorchEngine([model], tokenizer, DecodeConfig(extra_length=0)))
    words = " ".join(pair.source for pair in pairs[:20]).split()
    n = next(n for n in range(1, len(words)) if len(tokenizer.encode_ids([" ".join(words[:n])])[0]) >= PIECES - 1)
    path.write_text(page(document(translator.inspect(" ".join(words[:n]), name="random base model"))), encoding="utf-8")


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp() + "/page.html")
    if not path.exists():
        write_page(path)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def cpu_ms() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")

        tab.goto(path.resolve().as_uri())
        tab.wait_for_selector("html[data-ready]")
        for name, at in tab.evaluate("performance.getEntriesByType('paint').map((one) => [one.name, one.startTime])"):
            print(f"{name:<24}{at:6.0f} ms")
        print(f"{'loading':<24}{'':9} {cpu_ms():6.0f} ms CPU")
        for name, selector in CLICKS:
            before = cpu_ms()
            print(f"{name:<24}{tab.evaluate(TIMED, selector):6.0f} ms {cpu_ms() - before:6.0f} ms CPU")
        tab.goto(path.resolve().as_uri() + "#view=walk&stage=encoder.ff.inner")
        tab.wait_for_timeout(500)
        before = cpu_ms()
        print(f"{'point at a cell':<24}{tab.evaluate(MOVED, '.result .cells'):6.0f} ms {cpu_ms() - before:6.0f} ms CPU")
        browser.close()


if __name__ == "__main__":
    main()
