"""How large and how quick the page of `heed inspect` is: a model of the paper's size, 40 pieces on both sides.

    python bench/inside.py [page.html]

Writes the page, opens it in a headless Chromium (Debian's `chromium`; `pip install playwright`), and prints its size,
the time to its first paint, and what each kind of interaction takes until the next frame: wall time, and CPU time of
the page's thread, which other programs on the machine change less. Of several loads it takes the best: what is slower
is the machine's other work.
"""

import sys
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright

from heed.config import DecodeConfig, ModelConfig
from heed.demo.grammar import corpus
from heed.engines.pytorch import PyTorchEngine
from heed.inside.document import document
from heed.inside.page import page
from heed.model.build import build_model
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator

PIECES = 40
ROUNDS = 7
CLICKS = (
    ("next head", "[data-head='encoder.3.5']"),
    ("all heads", ".heads button"),
    ("table", "input[value=table]"),
    ("lines", "input[value=lines]"),
    ("pieces", ".toggle input"),
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


def measure(tab: Page, url: str) -> dict[str, tuple[float, float]]:
    """Return wall time and CPU time of each interaction in one fresh load of the page, in milliseconds."""
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_ms() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    def timed(script: str, selector: str) -> tuple[float, float]:
        before = cpu_ms()
        return tab.evaluate(script, selector), cpu_ms() - before

    tab.goto(url)
    tab.wait_for_selector("html[data-ready]")
    paints = tab.evaluate("performance.getEntriesByType('paint').map((one) => [one.name, one.startTime])")
    found = {name: (at, cpu_ms()) for name, at in paints if name == "first-contentful-paint"}
    for name, selector in CLICKS:
        found[name] = timed(TIMED, selector)
    tab.goto(f"{url}#view=walk&stage=encoder.ff.inner")
    tab.wait_for_timeout(500)
    found["point at a cell"] = timed(MOVED, ".result .cells")
    return found


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp() + "/page.html")
    if not path.exists():
        write_page(path)
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB; the best of {ROUNDS} loads")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        rounds = []
        for _ in range(ROUNDS):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            rounds.append(measure(tab, path.resolve().as_uri()))
            tab.close()
        browser.close()
    for name in rounds[0]:
        wall, cpu = (min(one[name][which] for one in rounds) for which in (0, 1))
        print(f"{name:<24}{wall:6.0f} ms {cpu:6.0f} ms CPU")


if __name__ == "__main__":
    main()
