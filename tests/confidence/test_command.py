"""`heed confidence`, and `heed translate --confidence` and `--min-confidence`."""

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import heed as heed_package
from heed.cli.main import main
from heed.run import CONFIDENCE
from tests.cli.conftest import heed, letters, write_lines
from tests.confidence.conftest import OLD_RUN, Calibrated

LINES = [*letters(9, 30), "", "a"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "in.txt", LINES)


# --- fitting ----------------------------------------------------------------------------------------------


def test_the_report_says_what_the_number_means_and_how_good_it_is(calibrated: Calibrated) -> None:
    lines = calibrated.done.lines
    assert " ".join(lines[:3]).startswith(
        "confidence: the chance that a translation has a chrF2 of at least 50 against a reference translation; of a "
        "word, that the reference has it"
    )
    saved = json.loads((calibrated.run / CONFIDENCE).read_bytes())
    table = {line.split()[0]: line.split() for line in lines if line.startswith(("sentences  ", "words  "))}
    for name, kind in (("sentences", "sentence"), ("words", "word")):
        test = saved[kind]["test"]
        n, good, _, auc, error = table[name][1:]
        assert int(n.replace(",", "")) == test["n"]
        assert float(good) == pytest.approx(100 * test["good"], abs=0.05)
        assert float(auc) == pytest.approx(test["auc"], abs=0.0005)
        assert float(error) == pytest.approx(test["calibration_error"], abs=0.0005)
        assert test["auc"] > 0.5
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1] == f"saved in {calibrated.run / CONFIDENCE}"
    assert saved["n_fitted"] + saved["sentence"]["test"]["n"] == 700  # two lines have a blank side, one both


def test_the_figure_is_svg_with_a_point_for_each_bin(calibrated: Calibrated) -> None:
    saved = json.loads((calibrated.run / CONFIDENCE).read_bytes())
    root = ElementTree.parse(calibrated.plot).getroot()
    filled = [one for kind in ("sentence", "word") for one in saved[kind]["test"]["bins"] if one["n"]]
    assert len(root.findall("{*}circle")) == len(filled)


def test_json_and_another_limit(calibrated: Calibrated, tmp_path: Path) -> None:
    run = shutil.copytree(OLD_RUN, tmp_path / "run")
    files = ["--source", calibrated.source, "--reference", calibrated.reference]
    done = heed("confidence", "--model", run, *files, "--good", 30, "--json", "--checkpoint", "step-00000300")
    assert done.code == 0, done.err
    found, before = json.loads(done.out), json.loads((calibrated.run / CONFIDENCE).read_bytes())
    assert found["good"] == {"metric": "chrF2", "at_least": 30}
    assert found["sentence"]["test"]["good"] > before["sentence"]["test"]["good"]
    assert found["word"] == before["word"]
    assert json.loads((run / CONFIDENCE).read_bytes())["checkpoint"] == "step-00000300"


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--good", "0"], 2, "--good must be above 0 and at most 100, not 0"),
        (["--good", "101"], 2, "--good must be above 0"),
        (["--good", "nan"], 2, "--good must be above 0"),
        (["--plot", "x.png"], 2, "--plot x.png: the name must end in .svg"),
        (["--plot", "no/such/folder.svg"], 2, "--plot no/such/folder.svg: the folder no/such does not exist"),
        (["--source", "-", "--reference", "-"], 2, "standard input can be used for one of the files only"),
        (["--source", "EMPTY", "--reference", "EMPTY"], 1, "is empty; name a file with held-out text"),
        (["--source", "FEW"], 1, "has 3 lines, but"),
        (["--source", "FEW", "--reference", "FEW"], 1, "2 sentences with a reference, but at least 200 are needed"),
        (["--reference", "SOURCE", "--good", "100"], 1, "good translation"),
        (["--source", "no-such-file"], 1, "no-such-file: no such file"),
    ],
)
def test_bad_input(
    calibrated: Calibrated,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    complaint: str,
) -> None:
    run = shutil.copytree(OLD_RUN, tmp_path / "run")
    named = {
        "EMPTY": write_lines(tmp_path / "empty", []),
        "FEW": write_lines(tmp_path / "few", ["a b", "", "c"]),
        "SOURCE": calibrated.source,
    }
    files = ["--source", calibrated.source, "--reference", calibrated.reference]
    words = ["confidence", "--model", run, *files, *(named.get(word, word) for word in options)]
    assert main(list(map(str, words))) == code
    shown = capsys.readouterr()
    assert complaint in shown.err and shown.out == ""
    assert not (run / CONFIDENCE).exists()


# --- translating ------------------------------------------------------------------------------------------


def test_columns(calibrated: Calibrated, source: Path) -> None:
    done = heed("translate", "--model", calibrated.run, "--confidence", "--scores", "--input", source)
    assert done.code == 0, done.err
    assert done.err.startswith("confidence: the chance that a translation has a chrF2 of at least 50")
    expected = heed_package.load(calibrated.run).translate(LINES, confidence=True)
    for line, one in zip(done.lines, expected, strict=True):
        score, confidence, text, words = line.split("\t")
        assert text == one.text
        assert float(score) == pytest.approx(one.score, abs=1e-3)
        assert one.confidence is not None and float(confidence) == pytest.approx(one.confidence, abs=0.011)
        assert [float(word) for word in words.split()] == pytest.approx([w.confidence for w in one.words], abs=0.011)


def test_json(calibrated: Calibrated, source: Path) -> None:
    done = heed("translate", "--model", calibrated.run, "--confidence", "--json", "--n-best", 2, "--input", source)
    assert done.code == 0 and done.err == ""
    for line in map(json.loads, done.lines):
        assert 0 <= line["confidence"] <= 1
        assert " ".join(word["text"] for word in line["words"]) == line["text"]
        assert all({"confidence", "words"} <= one.keys() for one in line.get("alternatives", []))
        assert "abstained" not in line


def test_below_the_least_confidence_stands_a_marker(calibrated: Calibrated, source: Path) -> None:
    expected = heed_package.load(calibrated.run).translate(LINES, confidence=True)
    confidences = [one.confidence for one in expected if one.confidence is not None]
    least = sorted(confidences)[10] + 1e-6
    done = heed("translate", "--model", calibrated.run, "--min-confidence", least, "--input", source)
    assert done.code == 0
    assert done.lines == [
        one.text if confidence >= least else "<unsure>" for one, confidence in zip(expected, confidences, strict=True)
    ]
    n = done.lines.count("<unsure>")
    assert n == sum(one < least for one in confidences) >= 11
    assert done.lines[-2] == ""  # a blank line stays blank
    assert f"{n} of 32 lines ({100 * n / 32:.1f} %) below confidence" in done.err

    as_json = heed("translate", "--model", calibrated.run, "--min-confidence", least, "--json", "--input", source)
    for line, one, shown in zip(map(json.loads, as_json.lines), expected, done.lines, strict=True):
        assert (line["text"], line["abstained"]) == (shown, shown == "<unsure>")
        assert line["pieces"] == one.pieces


@pytest.mark.parametrize(("least", "n"), [("0", 0), ("1", 31)])
def test_the_least_confidence_may_be_none_or_all(calibrated: Calibrated, source: Path, least: str, n: int) -> None:
    done = heed("translate", "--model", calibrated.run, "--min-confidence", least, "--input", source)
    assert done.lines.count("<unsure>") == n and len(done.lines) == 32


@pytest.mark.parametrize(
    ("options", "code", "complaint"),
    [
        (["--min-confidence", "0.5"], 1, "its confidence is not calibrated; to do so: heed confidence --model"),
        (["--confidence"], 1, "its confidence is not calibrated; to do so: heed confidence --model"),
        (["--min-confidence", "1.5"], 2, "--min-confidence must be from 0 to 1, not 1.5"),
        (["--min-confidence", "nan"], 2, "--min-confidence must be from 0 to 1, not nan"),
        (["--min-confidence", "0.5", "--n-best", "2"], 2, "drop it, or --n-best"),
        (["--confidence", "--model", str(OLD_RUN)], 1, "an ensemble of 2"),
    ],
)
def test_refused(
    source: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, complaint: str
) -> None:
    assert main(["translate", "--model", str(OLD_RUN), "--input", str(source), *options]) == code
    shown = capsys.readouterr()
    assert complaint in shown.err and shown.out == ""
