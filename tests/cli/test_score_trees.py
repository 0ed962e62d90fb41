"""`heed score --trees` as it is called."""

import json
from pathlib import Path

import pytest

from heed.cli.main import main
from tests.cli.conftest import on_a_terminal

GOLD = """\
(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))
(TOP (S (NP (PRP It)) (VP (VBZ rains))))
"""
PREDICTED = """\
(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))
(S (VP (PRP It)) (VP (VBZ rains)))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_text(GOLD, encoding="utf-8")
    (tmp_path / "predicted").write_text(PREDICTED, encoding="utf-8")
    return tmp_path


def test_a_table_of_80_columns(folder: Path) -> None:
    lines = on_a_terminal("score", "--trees", "gold", "predicted", "--sentences", "--cutoff", "3")
    assert max(map(len, lines)) <= 80
    assert lines[3] == "   1    4    0  100.00 100.00     3      3    3      0      3     3   100.00"
    assert lines[4] == "   2    2    0   66.67  66.67     2      3    3      0      2     2   100.00"
    table = {line[:20].strip(): line[20:].split() for line in lines[8:]}
    assert table["sentences"] == ["2", "1", "2", "1"]
    assert table["F1"] == ["83.33", "66.67"] * 2
    assert table["exact match"] == ["50.00", "0.00"] * 2


def test_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two NPs one is right; the other has become a VP, so there are three of these and two are right."""
    lines = on_a_terminal("score", "--trees", "gold", "predicted", "--labels")
    assert max(map(len, lines)) <= 80
    begin = next(number for number, line in enumerate(lines) if line.startswith("label"))
    table = {line.split()[0]: line.split()[1:] for line in lines[begin + 1 :] if line}
    assert table["NP"] == ["2", "1", "1", "50.00", "100.00", "66.67", "1"]
    assert table["VP"] == ["2", "3", "2", "100.00", "66.67", "80.00", "0"]
    assert table["S"] == ["2", "2", "2", "100.00", "100.00", "100.00", "0"]
    assert main(["score", "--trees", "gold", "predicted", "--labels", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"]["NP"]["matched"] == 1


def test_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = on_a_terminal("score", "--trees", "gold", "predicted", "--errors")
    assert max(map(len, lines)) <= 80
    begin = next(number for number, line in enumerate(lines) if line.startswith("gold"))
    assert lines[begin + 1].split() == ["NP", "VP", "1"]
    rest = [" ".join(line.split()) for line in lines[begin + 4 :]]
    assert rest[:4] == ["wrong label 1 NP 1", "sentence 2:", "gold [NP It] rains", "predicted [VP It] rains"]
    assert rest[4:7] == ["missing 0", "crossing 0", "spurious 0"]
    assert main(["score", "--trees", "gold", "predicted", "--errors", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["every_sentence"]["all"]["matched"] == 5
    assert found["confusions"] == [{"gold": "NP", "predicted": "VP", "count": 1}]
    assert found["errors"]["wrong label"]["example"]["sentence"] == 2 and found["errors"]["missing"]["count"] == 0


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "predicted").write_text(PREDICTED.replace("rains", "snows"), encoding="utf-8")
    assert main(["score", "--trees", "gold", "predicted", "--json", "--sentences"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cutoff"] == 40
    assert found["every_sentence"]["all"]["f1"] == 50 and found["evalb"]["all"]["f1"] == 100
    assert found["evalb"]["up_to_cutoff"]["words_differ"] == 1
    (problem,) = found["not_counted_by_evalb"]
    assert problem == {"sentence": 2, "problem": 'the word "rains" is "snows" in the predicted tree'}
    assert [one["status"] for one in found["sentences"]] == [0, 1]
    assert main(["score", "--trees", "gold", "predicted"]) == 0
    assert 'sentence 2: the word "rains" is "snows" in the predicted tree' in capsys.readouterr().out


def test_parameters_of_evalb(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.prm").write_text("LABELED 0\nDELETE_LABEL TOP\nCUTOFF_LEN 7\n", encoding="utf-8")
    assert main(["score", "--trees", "gold", "predicted", "-p", "x.prm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cutoff"] == 7 and found["evalb"]["all"]["f1"] == 100


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--trees", "gold", "bad"], 1, 'bad, line 2, column 16: a ")" that closes nothing'),
        (["--trees", "gold", "short"], 1, "gold has 2 trees but short has 1"),
        (["--trees", "gold", "absent"], 1, "absent: no such file"),
        (["--trees", "gold", "predicted", "--reference", "gold"], 2, "--reference is for translations"),
        (["--reference", "gold", "--sentences"], 2, "--sentences is for trees"),
        (["--trees", "gold", "predicted", "--cutoff", "0"], 2, "--cutoff 0 must be at least 1"),
        (["--trees", "-", "-"], 2, "standard input (-) can be read for one of the files only"),
        ([], 2, "give the right translations with --reference, or trees with --trees"),
    ],
)
def test_what_is_wrong_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    (folder / "bad").write_text("(S (NN a))\n(S (NP (NN a))))\n", encoding="utf-8")
    (folder / "short").write_text("(S (NN a))\n", encoding="utf-8")
    assert main(["score", *arguments]) == code
    assert message in capsys.readouterr().err
