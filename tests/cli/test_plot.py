"""`heed plot`, in the terminal and to files."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from .conftest import COMMAND, ENVIRONMENT, Trained, heed

STEPS = range(100, 1001, 100)


def make_run(run: Path, *, slope: float = 1e-6, validated: bool = True) -> Path:
    """A run whose learning rate is a straight line through the origin."""
    events: list[dict[str, object]] = [{"event": "start", "step": 0}]
    for step in STEPS:
        values = {"loss": 9 - step / 200, "perplexity": 5000 / step, "learning_rate": slope * step}
        events.append({"event": "step", "step": step, **values})
        if validated and step % 500 == 0:
            of = f"step {step:,}"
            events.append({"event": "validation", "step": step, "of": of, "perplexity": 7000 / step, "bleu": step / 50})
    run.mkdir(parents=True)
    (run / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return run


def panels(text: str) -> dict[str, list[str]]:
    """Return the lines of each plot, by the first words of its title."""
    found = {}
    for block in text.split("\n\n"):
        title, *lines = block.splitlines()
        found[title.split(" (")[0]] = lines
    return found


def plotted(*arguments: object, encoding: str = "utf-8", columns: int = 80) -> str:
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": encoding, "COLUMNS": str(columns)}
    done = subprocess.run([COMMAND, "plot", *map(str, arguments)], capture_output=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(encoding)


@pytest.mark.parametrize("columns", [40, 80, 131])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_plots_fit_the_width_and_the_encoding(tmp_path: Path, encoding: str, columns: int) -> None:
    text = plotted(make_run(tmp_path / "x"), make_run(tmp_path / "ü"), encoding=encoding, columns=columns)
    for lines in list(panels(text).values())[:-1]:
        assert columns - 1 <= max(map(len, lines)) <= columns
    assert ("⠉" in text or "⠒" in text) is (encoding == "utf-8")
    assert ("\\xfc" in text) is (encoding == "ascii")  # the name of a run is never a reason to fail


def test_axes_and_curves_agree(tmp_path: Path) -> None:
    """The learning rate is slope × step: in the row of a labelled rate the line crosses the column of that step."""
    lines = panels(plotted(make_run(tmp_path / "x", slope=1e-6), encoding="ascii"))["Learning rate"]
    *rows, rule, numbers = lines
    corner = rule.index("+")
    column_of = {}
    for match in re.finditer(r"[\d,]+", numbers):
        column_of[int(match[0].replace(",", ""))] = next(
            column for column in range(match.start(), match.end()) if rule[column] == "+" and column > corner
        )
    assert column_of.keys() >= {0, 200, 400, 600, 800, 1000}
    assert column_of[0] == corner + 1 and column_of[1000] == rows[0].index("a", corner)  # both ends of the axis
    n_checked = 0
    for row in rows:
        label = row[:corner].strip()
        if label:
            step = round(float(label) / 1e-6)
            drawn = {column for column in range(corner + 1, len(row)) if row[column] != " "}
            assert min(abs(column - column_of[step]) for column in drawn) <= len(rule) / len(rows) / 2, (label, row)
            n_checked += 1
    assert n_checked >= 4
    assert rows[0].endswith("a")  # the run's letter at the end of its line


def test_validation_is_shown_as_letters_and_runs_differ_without_colour(tmp_path: Path) -> None:
    names = [make_run(tmp_path / name, slope=slope) for name, slope in (("x", 1e-6), ("y", 2e-6))]
    for encoding in ("utf-8", "ascii"):
        text = plotted(*names, encoding=encoding)
        found = panels(text)
        assert "\x1b" not in text  # no colours if standard output is not a terminal
        # Two validations: the second run's letters cover the first run's equal ones; and two lines end.
        assert sum(line.count("b") for line in found["Perplexity"][:-2]) == 3
        assert sum(line.count("b") for line in found["Validation BLEU"][:-2]) == 2
        x, y = (line.split() for line in text.splitlines()[-2:])
        assert (x[0], x[-1], y[0], y[-1]) == ("a", str(names[0]), "b", str(names[1]))
        assert x[1:-1] != y[1:-1]


def test_validation_perplexity_is_marks_only_and_bleu_a_line(tmp_path: Path) -> None:
    events = [{"event": "step", "step": step, "perplexity": 2.0} for step in (1, 100)]
    events += [{"event": "validation", "step": step, "perplexity": 30.0, "bleu": 1.0} for step in (1, 100)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    found = panels(plotted(tmp_path, encoding="ascii"))
    # The letters of validation are alone in the top row, the line of training in the bottom row.
    assert re.fullmatch(r"[ \d]*[|+]a +a", found["Perplexity"][0])
    assert re.fullmatch(r"[ \d]*[|+]\.+a", found["Perplexity"][-3])
    assert any(re.fullmatch(r"[ \d]*[|+]a\.+a", row) for row in found["Validation BLEU"])


def test_perplexity_over_decades_has_a_logarithmic_axis(tmp_path: Path) -> None:
    """From 50 to 5, equal ratios are equal distances, so 20 is nearly 4 of 10 rows below 50."""
    text = plotted(make_run(tmp_path / "x"), encoding="ascii")
    rows = panels(text)["Perplexity"][:-2]
    labels = {line.split("+")[0].strip(): row for row, line in enumerate(rows) if line.split("|")[0].count("+")}
    assert "log scale" in text
    assert labels["50"] == 0
    assert labels["5"] == 9
    assert abs(labels["20"] - 3.98) <= 1 and abs(labels["10"] - 6.99) <= 1  # 10 rows × log10(50 / value)


def test_a_run_without_validation_has_no_panel_for_it(tmp_path: Path) -> None:
    assert list(panels(plotted(make_run(tmp_path / "x", validated=False))))[:-1] == [
        "Training loss",
        "Perplexity",
        "Learning rate",
    ]


def test_a_single_point_and_a_level_line_can_be_drawn(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "step", "step": 1, "loss": 0, "perplexity": 1.0}\n')
    assert plotted(tmp_path).count("a") >= 2
    with open(tmp_path / "events.jsonl", "a") as events:
        events.write('{"event": "step", "step": 2, "loss": 0, "perplexity": 1.0}\n')
    assert plotted(tmp_path).count("a") >= 2


def test_a_real_run(trained: Trained) -> None:
    found = panels(plotted(trained.path))
    assert list(found)[:-1] == ["Training loss", "Perplexity", "Validation BLEU", "Learning rate"]


def test_the_figure_has_every_point_in_its_place(tmp_path: Path) -> None:
    """SVG is text: the drawn path of the learning rate is read back and is the straight line that was put in."""
    names = [make_run(tmp_path / name, slope=slope) for name, slope in (("x", 1e-6), (r"_$\bad$", 3e-6))]
    done = heed("plot", *names, "--out", tmp_path / "curves.svg")
    assert (done.code, done.out) == (0, ""), done.err
    content = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    for text in (
        "Training loss",
        "Perplexity",
        "Validation BLEU",
        "Learning rate",
        "step",
        "log scale",
        *map(str, names),
    ):
        assert text in content, text
    assert "DejaVuSans-24" in content  # a dollar sign in a name is drawn (character 24 hex) and not taken for a formula
    tree = ElementTree.fromstring(content)
    paths = [
        [tuple(map(float, point)) for point in re.findall(r"[ML] (-?[\d.]+) (-?[\d.]+)", path.attrib.get("d", ""))]
        for path in tree.iter("{http://www.w3.org/2000/svg}path")
        if "stroke: #0072b2" in path.attrib.get("style", "")
    ]
    curves = [path for path in paths if len(path) == len(STEPS)]
    assert len(curves) == 3  # loss, perplexity, learning rate
    rate = curves[-1]
    (x0, y0), (x1, y1) = rate[0], rate[-1]
    for i, (x, y) in enumerate(rate):
        assert x == pytest.approx(x0 + i / 9 * (x1 - x0), abs=0.01)
        assert y == pytest.approx(y0 + i / 9 * (y1 - y0), abs=0.01)
    logarithmic = [y for _, y in curves[1]]  # perplexity is 5000 / step: halved from 100 to 200, from 200 to 400 ...
    assert logarithmic[1] - logarithmic[0] == pytest.approx(logarithmic[3] - logarithmic[1], abs=0.01)
    assert logarithmic[1] - logarithmic[0] == pytest.approx(logarithmic[7] - logarithmic[3], abs=0.01)


def test_figures_of_other_kinds(tmp_path: Path) -> None:
    names = [make_run(tmp_path / name, slope=slope) for name, slope in (("x", 1e-6), ("y", 3e-6))]
    done = heed("plot", *names, "--out", tmp_path / "curves.png")
    assert done.code == 0, done.err
    with Image.open(tmp_path / "curves.png") as image:
        colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 24)}  # type: ignore[union-attr]
    assert {(0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)} <= colours  # the first two of Okabe and Ito's, as used here
    assert heed("plot", *names, "--out", tmp_path / "curves.pdf").code == 0
    assert (tmp_path / "curves.pdf").read_bytes().startswith(b"%PDF-")


def test_errors_say_what_cannot_be_drawn(tmp_path: Path) -> None:
    run = make_run(tmp_path / "x")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "events.jsonl").write_text('{"event": "start", "step": 0}\n{"event": "st')
    for arguments, code, message in (
        ([tmp_path], 1, f"{tmp_path}: has no events.jsonl"),
        ([tmp_path / "new"], 1, "nothing to draw yet"),
        ([run, "--out", "curves.gif"], 2, "--out curves.gif: the name must end in .png, .svg or .pdf"),
        ([run, "--out", tmp_path / "nowhere" / "c.png"], 1, "No such file or directory"),
    ):
        done = heed("plot", *arguments)
        assert (done.code, done.out) == (code, ""), done.err
        assert message in done.err and "Traceback" not in done.err
    assert f"{tmp_path / 'new'}/events.jsonl: skipped damaged line 2" in heed("plot", tmp_path / "new", run).err


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path) -> None:
    run = make_run(tmp_path / "x")
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"  # makes the import fail
        "from heed.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", script, "plot", str(run)]
    done = subprocess.run([*command, "--out", str(tmp_path / "c.png")], capture_output=True, text=True)
    assert done.returncode == 2
    assert 'pip install "heed[plot]"' in done.stderr
    assert subprocess.run(command, capture_output=True).returncode == 0  # drawing in the terminal does not need it
