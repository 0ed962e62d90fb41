"""Take the pictures of docs/inside.md: each view of the page that `heed inspect` makes with the model in the box.

    python docs/screenshots.py [--out docs/images]

Needs Debian's `chromium` and `pip install playwright`.
"""

import argparse
import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import heed
from heed.box import default_model
from heed.inside.document import document
from heed.inside.page import page
from heed.inside.sample import boxed_pairs

TEXT = "The cat chased its tail."
# What each picture shows: the link, the width and height of the window, and whether it is dark.
PICTURES: dict[str, tuple[str, int, int, bool]] = {
    "attention": ("view=attention&kind=encoder&layer=4&head=4&word=3", 1280, 900, False),
    "attention-table": ("view=attention&kind=cross&layer=1&mode=table", 1280, 820, False),
    "beam": ("view=beam", 1280, 900, False),
    "walk": ("view=walk&stage=encoder.self.softmax&wlayer=4&whead=4&i=4&j=1", 1280, 980, False),
    "heads": ("view=heads", 1280, 900, False),
    "occlusion": ("view=occlusion", 1280, 760, False),
    "layers": ("view=layers", 1280, 620, False),
    "phone-dark": ("view=walk&stage=decoder.self.masked", 390, 1160, True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="folder to write")
    args = parser.parse_args()
    model = default_model()
    found = heed.load().inspect(
        TEXT, sample=boxed_pairs(model, 300), sample_name="sentences of heed demo", name=model.name
    )
    args.out.mkdir(parents=True, exist_ok=True)
    program = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(page(document(found)), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-lcd-text"])
        for name in PICTURES:
            print(args.out / f"inside-{name}.png", take(browser, file, name, args.out), file=sys.stderr)
        browser.close()


def take(browser: Browser, file: Path, name: str, out: Path) -> str:
    """Write one picture; return its size."""
    link, width, height, is_dark = PICTURES[name]
    tab = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if is_dark else "light", device_scale_factor=1
    )
    tab.goto(f"{file.as_uri()}#{link}")
    tab.wait_for_selector("html[data-ready]")
    tab.wait_for_timeout(300)
    path = out / f"inside-{name}.png"
    picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    # A palette that also keeps colours of which there is little, such as those of heads.
    picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    tab.close()
    return f"{path.stat().st_size / 1000:.0f} KB"


if __name__ == "__main__":
    main()
