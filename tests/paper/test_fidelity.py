"""The decisions of the paper: every line and every test that the table names exists."""

import ast
import json
from pathlib import Path

import pytest

import heed
from heed.cli.main import main
from heed.paper.fidelity import DECISIONS, Decision, line_of

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda one: one.what[:30])
def test_the_line_and_the_test_exist(decision: Decision) -> None:
    lines = (Path(heed.__file__).parent / decision.file).read_text(encoding="utf-8").splitlines()
    assert decision.marker in lines[line_of(decision) - 1]
    assert sum(decision.marker in line for line in lines) <= 2  # the same decision in both stacks, at most
    file, _, name = decision.test.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_a_line_that_is_gone_is_an_error() -> None:
    with pytest.raises(LookupError, match="no line with"):
        line_of(Decision("3", "x", "model/attention.py", "no such line", "x::y"))


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "fidelity", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert f"attention.py:{line_of(DECISIONS[3])}" in shown
    assert main(["paper", "fidelity", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]["decisions"]
    assert len(found) == len(DECISIONS) and found[3]["line"] == line_of(DECISIONS[3])
