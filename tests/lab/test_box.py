"""The lab with the model in the box: known by name, wide enough to need room, without a record of its training."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heed.box import DEFAULT, names
from tests.lab.conftest import Open, RunningLab, running_lab

pytestmark = pytest.mark.skipif(DEFAULT not in names(), reason="no model in the box")

OVERLAPS = """(selector) => {
  const boxes = [...document.querySelectorAll(selector)].map((one) => {
    const own = one.getBoundingClientRect();
    const isCut = getComputedStyle(one.parentNode).overflowX !== "visible"; // what is scrolled out is not seen
    const right = isCut ? Math.min(own.right, one.parentNode.getBoundingClientRect().right) : own.right;
    return { left: own.left, right, top: own.top, bottom: own.bottom };
  });
  let n = 0;
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    n += a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  }));
  return [boxes.length, n];
}"""


@pytest.fixture(scope="module")
def boxed() -> Iterator[RunningLab]:
    with running_lab(Path(DEFAULT)) as started:
        yield started


@pytest.mark.parametrize("width", [1280, 1000, 390])
def test_its_switches_do_not_overlap(boxed: RunningLab, open_lab: Open, width: int) -> None:
    tab = open_lab(boxed, "positions=0", width=width)
    count, bad = tab.evaluate(OVERLAPS, "#switches .switch")
    assert count == 6 * 9 + 2 * 9 + 2 * 8 and bad == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_it_is_called_by_its_name_and_its_heads_by_their_roles(boxed: RunningLab, open_lab: Open) -> None:
    (model,) = boxed.get("/api/models").json["models"]
    assert model["name"] == DEFAULT and not model["problem"]
    tab = open_lab(boxed, "view=training")
    tab.wait_for_selector("#run-state:has-text('shipped')")
    assert "exported to be shipped" in tab.inner_text("main")
    for _ in range(100):
        summary = boxed.inspect("The cat chased its tail.").summary
        if summary["roles"] is not None:
            break
        tab.wait_for_timeout(200)
    assert summary["roles"]["sample"] == "sentences of heed demo"
    assert "aligned" in {name for layer in summary["roles"]["names"]["cross"] for name in layer}
