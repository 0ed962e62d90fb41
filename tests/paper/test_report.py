"""The report of the paper's experiments: lines, JSON and one page, whatever has been run."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from heed.errors import HeedError
from heed.paper.chart import Axis, Series, chart
from heed.paper.report import Part, Table, lines, save, to_json

SVG = chart("A <title>", Axis("n", log=True), Axis("time"), [Series("a & b", [(1, 2), (10, 4), (100, 6)])])


def part(name: str) -> Part:
    rows = (("base", "65", "25.8"), ("<big>", "213", "26.4"))
    return Part(name, f"Title of {name}", (Table(("row", "M", "BLEU"), rows),), ("Words " * 40,), (SVG,), {"x": 1})


def test_numbers_stand_right_and_notes_are_wrapped() -> None:
    shown = lines(part("table3"))
    assert shown[2:6] == ["row      M  BLEU", "----------------", "base    65  25.8", "<big>  213  26.4"]
    assert all(len(line) <= 80 for line in shown)
    assert " ".join(shown).count("Words") == 40


def test_the_report_has_every_part_in_the_order_of_the_paper(tmp_path: Path) -> None:
    for name in ("question-bert", "question-state", "table3", "table1"):
        report = save(part(name), tmp_path / "paper")
    text = report.read_text(encoding="utf-8")
    assert re.findall(r'<section id="([\w-]+)"', text) == ["table1", "table3", "question-state", "question-bert"]
    assert "<big>" not in text and "&lt;big&gt;" in text
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert text.count("<svg") == 4


def test_a_part_run_again_replaces_the_old_one(tmp_path: Path) -> None:
    save(part("table1"), tmp_path)
    again = Part("table1", "Other", (Table(("a",), (("b",),)),))
    text = save(again, tmp_path).read_text()
    assert "Other" in text and "Title of table1" not in text


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "list.json").write_text("[1]")
    assert save(part("table1"), tmp_path).read_text().count("<section") == 1
    (tmp_path / "norm.json").write_text('{"name": "x"}')
    with pytest.raises(HeedError, match=r"norm\.json: is no part of the report; choose another --out"):
        save(part("table1"), tmp_path)


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    save(part("table1"), tmp_path)
    path = tmp_path / "table1.json"
    path.write_text(path.read_text().replace("25.8", "29.8"))
    with pytest.raises(HeedError, match=r"table1\.json.*run its experiment again"):
        save(part("table3"), tmp_path)


def test_json_has_the_values_and_no_pictures() -> None:
    found = json.loads(to_json(part("table1")))
    assert found["values"] == {"x": 1} and found["tables"][0]["rows"][1][2] == "26.4" and "charts" not in found


def test_a_chart_puts_equal_ratios_at_equal_distances() -> None:
    root = ElementTree.fromstring(SVG)
    space = "{http://www.w3.org/2000/svg}"
    (line,) = root.iter(f"{space}polyline")
    (x1, y1), (x2, y2), (x3, y3) = (map(float, point.split(",")) for point in line.attrib["points"].split())
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2) and y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    assert x1 < x2 and y1 > y2
    words = [text.text for text in root.iter(f"{space}text")]
    assert "A <title>" in words and "a & b" in words and "10" in words


def test_the_ticks_of_a_narrow_range_differ() -> None:
    svg = chart("t", Axis("FLOPs"), Axis("y"), [Series("a", [(2.05e13, 1), (2.2e13, 3)])])
    labels = re.findall(r">(\S+e\S+)</text>", svg)
    assert labels == ["2.05e13", "2.1e13", "2.15e13", "2.2e13"]
    assert "1e-4" in chart("t", Axis("x"), Axis("y"), [Series("a", [(0, 1), (4e-4, 3)])])


def test_a_logarithmic_axis_has_several_ticks() -> None:
    for top, expected in ((40, ["1", "2", "5", "10", "20"]), (1e5, ["1", "10", "100", "1,000", "10,000"])):
        svg = chart("t", Axis("x", log=True), Axis("y"), [Series("a", [(0.8, 0.1), (top, 0.3)])])
        labels = re.findall(r"<text [^>]*>([\d,]+)</text>", svg)
        assert labels[: len(expected)] == expected


def test_the_legend_tells_lines_of_one_colour_apart() -> None:
    svg = chart("t", Axis("x"), Axis("y"), [Series(f"s{i}", [(1, i), (2, i)]) for i in range(9)])
    samples = re.findall(r'<line [^>]*stroke="(#\w{6})"( stroke-dasharray="[\d ]+")? stroke-width', svg)
    assert samples[0][0] == samples[8][0] and len(set(samples)) == 9


def test_a_chart_leaves_out_what_its_axes_cannot_show() -> None:
    svg = chart("t", Axis("x", log=True), Axis("y"), [Series("a", [(0, 1), (1, float("nan")), (2, 3)])])
    assert svg.count('r="3"') == 1
    assert "<svg" in chart("t", Axis("x"), Axis("y"), [])
