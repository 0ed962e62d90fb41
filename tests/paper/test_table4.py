"""Table 4: the published rows, and ours beside them."""

import json
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.paper.table4 import ROWS, measure


def test_the_published_rows() -> None:
    own = {(row.training, row.f1) for row in ROWS if row.is_papers_own}
    assert own == {("WSJ only, discriminative", 91.3), ("semi-supervised", 92.7)}
    assert [row.f1 for row in ROWS] == [88.3, 90.4, 90.4, 91.7, 91.3, 91.3, 91.3, 92.1, 92.1, 92.7, 93.0, 93.3]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    gold, parsed = tmp_path / "gold.mrg", tmp_path / "parsed.mrg"
    gold.write_text("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)))\n(S (NP (NN rain)) (VP (VBZ falls)))\n")
    parsed.write_text("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)))\n(S (NP (NN rain)) (NP (VBZ falls)))\n")
    return str(gold), str(parsed)


def test_our_row(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "paper")]
    # 5 of 6 brackets of each side are the same.
    assert measure(*files).every_sentence == pytest.approx(100 * 5 / 6)
    assert main(["paper", "table4", *out, "--gold", files[0], "--parsed", files[1]]) == 0
    shown = capsys.readouterr().out
    assert "91.3" in shown and "83.3" in shown and "section 23" in shown
    assert all(len(line) <= 80 or files[0] in line for line in shown.splitlines())
    assert main(["paper", "table4", *out, "--json", "--gold", files[0], "--parsed", files[1]]) == 0
    assert json.loads(capsys.readouterr().out)["values"]["ours"]["sentences"] == 2
    assert "83.3" in (tmp_path / "paper" / "report.html").read_text()


def test_half_a_row_is_refused(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table4", "--gold", files[0]]) == 2
    assert "--parsed" in capsys.readouterr().err
    Path(files[1]).write_text("(S (NN x))\n")
    assert main(["paper", "table4", "--gold", files[0], "--parsed", files[1]]) == 1
    assert "has 2 trees" in capsys.readouterr().err
