"""`heed shortlist`, and translating and evaluating with it."""

import json
import shutil
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.text.tokenizer import Tokenizer
from tests.cli.conftest import Trained, heed, letters, write_lines


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("export", "shortlist")
    return Path(shutil.copytree(trained.path, tmp_path / "run", ignore=ignored))


def test_from_run_to_translation(run: Path, corpus: Path) -> None:
    missing = heed("translate", "--model", run, "--shortlist", given="a b\n")
    assert missing.code == 1
    assert missing.err == f"heed translate: {run}: has no shortlist yet; make it with: heed shortlist --model {run}\n"
    done = heed("shortlist", "--model", run)
    assert done.code == 0, done.err
    assert done.lines[0] == f"{run / 'shortlist'}: learnt from 300 pairs"
    found = json.loads(heed("shortlist", "--model", run, "--json").out)
    tokenizer = Tokenizer.load(run / "tokenizer.model")
    assert found["pairs"] == 300 and found["vocabulary"] == len(tokenizer)
    assert found["covered"] == 1.0  # four letters: all of them are frequent
    assert 3 + 4 <= found["mean_length"] < 60
    given = "".join(f"{line}\n" for line in letters(5, 20))
    listed = heed("translate", "--model", run, "--shortlist", given=given)
    assert listed.code == 0, listed.err
    assert len(listed.lines) == 20 and set("".join(listed.lines)) <= set("abcd ")
    assert heed("translate", "--model", run, "--shortlist", "--int8", given="a b\n").code == 0
    assert not (run / "export").exists()  # torch has translated


def test_what_does_not_go_together(run: Path, tmp_path: Path) -> None:
    assert heed("shortlist", "--model", run).code == 0
    engine = heed("translate", "--model", run, "--shortlist", "--engine", "ctranslate2", given="a\n")
    assert engine.code == 2 and "--engine ctranslate2: it has no --shortlist" in engine.err
    phrases = write_lines(tmp_path / "p", ["a b"])
    ahead = heed("translate", "--model", run, "--shortlist", "--greedy", "--phrases", phrases, given="a\n")
    assert ahead.code == 2 and "--phrases does not go with --shortlist" in ahead.err


def test_evaluation_says_so(run: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shortlist", "--model", str(run)]) == 0
    capsys.readouterr()
    words = ["evaluate", "--model", run, "--source", corpus / "valid.src", "--reference", corpus / "valid.tgt"]
    perplexities = set()
    for options, end in ((["--shortlist"], "engine:torch|shortlist:yes"), (["--engine", "torch"], "engine:torch")):
        assert main([*map(str, words), "--json", "--resamples", "0", *options]) == 0
        result = json.loads(capsys.readouterr().out)
        assert all(one["signature"].endswith(end) for one in result["scores"])
        perplexities.add(result["perplexity"])
    assert len(perplexities) == 1  # of the whole model


def test_without_validation_text(train_arguments: list[object], tmp_path: Path) -> None:
    from tests.cli.conftest import settings

    words = train_arguments[:5] + train_arguments[9:]
    assert heed(*words, "--out", tmp_path / "run", *settings(train__max_steps=1)).code == 0
    done = heed("shortlist", "--model", tmp_path / "run")
    assert done.code == 0 and "no validation text" in done.err
    assert "covered" not in json.loads(heed("shortlist", "--model", tmp_path / "run", "--json").out)
