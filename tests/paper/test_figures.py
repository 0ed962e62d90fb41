"""The paper's figures: the module tree of any model, and SVG whose boxes do not overlap."""

import json
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from torch import nn

from heed.cli.main import main
from heed.config import ModelConfig
from heed.model.build import build_model
from heed.paper import figure1, figure2
from heed.paper.tree import Box, find, lines, tree
from heed.presets import preset
from heed.vocabulary import Vocabulary

SVG = "{http://www.w3.org/2000/svg}"


def model_of(**changes) -> nn.Module:
    sizes = {"encoder_layers": 3, "decoder_layers": 2, "d_model": 24, "d_ff": 40, "h": 2, "d_k": 5, "d_v": 7}
    return build_model(ModelConfig(**{**sizes, **changes}), Vocabulary(300))


class Pair(nn.Module):
    """A model of another kind: two unequal layers, and a recurrent one."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 5, bias=False), nn.Linear(4, 5, bias=False)])
        self.memory = nn.LSTM(5, 6)


def test_equal_layers_are_shown_once_and_counted() -> None:
    root = tree(model_of())
    encoder, decoder = find(root, "encoder"), find(root, "decoder")
    assert [(part.name, part.times) for part in encoder.parts] == [("0-2", 3)]
    assert [(part.name, part.times) for part in decoder.parts] == [("0-1", 2)]
    assert root.n_parameters == sum(weight.numel() for weight in model_of().parameters())
    assert sum(part.n_parameters for part in root.parts) == root.n_parameters


def test_shapes_are_those_of_the_weights() -> None:
    root = tree(model_of())
    assert find(root, "w_q").detail == "24 → 10" and find(root, "w_v").detail == "24 → 14"
    assert find(root, "w_o").detail == "14 → 24" and find(root, "w_1").detail == "24 → 40 + bias"
    assert find(root, "embedding").detail == "300 × 24" and find(root, "norm").detail == "24"
    assert find(root, "nothing") is None


def test_unequal_layers_stay_apart() -> None:
    layers = find(tree(Pair()), "layers")
    assert [(part.name, part.times, part.detail) for part in layers.parts] == [
        ("0", 1, "3 → 4 + bias"),
        ("1-2", 2, "4 → 5"),
    ]
    assert "weight_ih_l0 24 × 5" in find(tree(Pair()), "memory").detail


def test_the_tree_fits_the_terminal_and_names_every_module() -> None:
    model = model_of()
    shown = lines(tree(model))
    assert all(len(line) <= 80 for line in shown)
    names = {name.rpartition(".")[2] for name, _ in model.named_modules() if not name.rpartition(".")[2].isdigit()}
    assert names - {""} <= {word for line in shown for word in line.split()}
    deep = Box("x" * 90, "Linear", "1 → 2", 7)
    assert [len(line) for line in lines(deep)] == [80]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    rects = [one for one in ElementTree.fromstring(svg).iter(f"{SVG}rect") if one.get("rx") == "6"]
    return [tuple(float(one.attrib[key]) for key in ("x", "y", "width", "height")) for one in rects]


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def figures() -> list[str]:
    found = [figure1.draw(tree(model_of(norm=norm)), "embedding.weight") for norm in ("post", "pre")]
    found += [figure1.draw(tree(build_model(preset("parsing").model, Vocabulary(300))), "embedding.weight")]
    found += [figure1.draw(tree(Pair()), ""), figure2.draw(preset("big").model, 30)]
    return found


@pytest.mark.parametrize("number", range(5))
def test_no_two_boxes_overlap_and_all_is_on_the_page(number: int) -> None:
    svg = figures()[number]
    root = ElementTree.fromstring(svg)
    width, height = (float(n) for n in root.attrib["viewBox"].split()[2:])
    found = boxes(svg)
    assert len(found) >= 3
    assert not any(overlap(a, b) for a, b in combinations(found, 2))
    assert all(x >= 0 and y >= 30 and x + w <= width and y + h <= height for x, y, w, h in found)
    for text in root.iter(f"{SVG}text"):
        size = float(text.attrib["font-size"])
        half = 0.62 * size * len(text.text or "") / 2
        middle = float(text.attrib["x"]) + (half if text.attrib["text-anchor"] == "start" else 0)
        assert -20 <= middle - half and middle + half <= width + 20, text.text
        assert 0 < float(text.attrib["y"]) < height


def words(svg: str) -> str:
    return "\n".join(text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text"))


def test_figure_1_has_the_papers_sub_layers() -> None:
    post, pre = (words(svg) for svg in figures()[:2])
    assert "3 × EncoderLayer" in post and "2 × DecoderLayer" in post
    # 2 in an encoder layer and 3 in a decoder layer.
    assert post.count("add and norm") == 5 and "encoder_norm" not in post
    assert len(re.findall("^add$", pre, re.MULTILINE)) == 5 and "encoder_norm" in pre
    assert "w_q w_k: 24 → 10" in post and "hidden · embedding.weightᵀ (300 × 24)" in post


def test_figure_2_has_the_shapes_of_the_products() -> None:
    shown = words(figure2.draw(ModelConfig(d_model=24, h=2, d_k=5, d_v=7), 9))
    assert "Q Kᵀ: 9 × 5 by 5 × 9 = 9 × 9" in shown and "÷ √5 = 2.24" in shown
    assert "weights by V: 9 × 9 by 9 × 7 = 9 × 7" in shown and "14 to 24: 9 × 24" in shown


def test_all_figures_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "p")
    assert main(["paper", "figures", "--word", "its", "--out", out]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines() if "/" not in line)
    names = sorted(path.name for path in (tmp_path / "p" / "figures").iterdir())
    assert names == [f"figure{n}.svg" for n in range(1, 6)]
    for name in names:
        ElementTree.parse(tmp_path / "p" / "figures" / name)
    assert (tmp_path / "p" / "report.html").read_text().count("data:image/svg+xml;base64,") == 5
    assert main(["paper", "figures", "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"]["files"].keys() == {f"figure{n}" for n in range(1, 6)}


def test_a_word_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "figures", "--word", "dog", "--out", str(tmp_path)]) == 2
    assert "dog" in capsys.readouterr().err
