import argparse
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from heed.cli import score
from heed.cli.main import main
from heed.errors import ConfigError, DataError
from tests.cli.conftest import on_a_terminal

REFERENCE = ["Das Haus steht am See .", "Der Hund schläft heute lange .", "Wir sehen uns morgen früh ."]
GOOD = ["Das Haus steht am See .", "Der Hund schläft heute lange .", "Wir sehen uns heute früh ."]
POOR = ["Haus am See", "Der Hund schläft", "Wir sehen uns heute früh ."]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("reference", REFERENCE), ("good", GOOD), ("poor", POOR)):
        (tmp_path / name).write_bytes("".join(line + "\n" for line in lines).encode())
    return tmp_path


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="heed score", formatter_class=argparse.RawDescriptionHelpFormatter)
    score.configure(parser)
    return score.run(parser.parse_args(arguments))


def printed_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def test_the_number_comes_before_the_signature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hypotheses", "good", "--reference", "reference") == 0
    out, err = capsys.readouterr()
    assert err == ""
    bleu, chrf, exact, cer, wer = out.splitlines()
    assert " BLEU|nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:" in bleu
    assert " chrF2|nrefs:1|bs:1000|" in chrf
    assert "hyp_len = 18 ref_len = 18) " in bleu
    for line, name in zip((bleu, chrf, exact, cer, wer), ("BLEU", "chrF2", "exact", "CER", "WER"), strict=True):
        match = re.match(rf"{name} = ([\d.]+) \[([\d.]+), ([\d.]+)\] .*{name}\|nrefs:1\|bs:1000\|", line)
        assert match, line
        value, low, high = (float(number) for number in match.groups())
        assert low <= value <= high
    # Two lines of three are right. `heute` for `morgen` is one word of 18, and 5 characters of 80: four substituted
    # before the common e, and an n missing after it.
    assert exact.startswith("exact = 66.67 ") and wer.startswith("WER = 5.56 ") and cer.startswith("CER = 6.25 ")


def test_a_terminal_shows_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--hypotheses", "good", "--reference", "reference", "--baseline", "poor", "--target-language", "de"]
    shown = on_a_terminal("score", *files)
    assert max(map(len, shown)) <= 80
    run(*files, "--json")
    found = printed_json(capsys)
    header, *rows = shown[: shown.index("")]
    assert header.split() == ["score", "95", "%", "interval"]
    for row, one in zip(rows, found["scores"], strict=True):
        match = re.fullmatch(r"(\w+) +([\d.]+)  \[ *([\d.]+), +([\d.]+)\](  lower is better)?", row)
        assert match, row
        assert match.groups()[:2] == (one["name"], f"{one['score']:.2f}")
        assert float(match[3]) == pytest.approx(one["confidence"]["low"], abs=0.0051)
        assert float(match[4]) == pytest.approx(one["confidence"]["high"], abs=0.0051)
        assert bool(match[5]) is one["lower_is_better"]
    rest = shown[shown.index("") + 1 :]
    header, *rows = (re.split(r"\s{2,}", line.strip()) for line in rest[: rest.index("")])
    assert header == ["score", "baseline", "difference", "p"]
    assert [row[0] for row in rows] == ["BLEU", "chrF2", "paperBLEU", "exact", "CER", "WER"]
    assert all(row[-1] == "better" for row in rows)
    signatures = "".join(line.removeprefix("  ") for line in rest[rest.index("") + 1 :])
    for one in found["scores"]:
        assert f"{one['name']}|{one['signature']}" in signatures


def test_a_table_without_intervals(folder: Path) -> None:
    shown = on_a_terminal("score", "--hypotheses", "good", "--reference", "reference", "--resamples", "0")
    assert [line.split() for line in shown[:2]] == [["score"], ["BLEU", "79.98"]]


def test_hypotheses_from_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("--hypotheses", "good", "--reference", "reference")
    from_file = capsys.readouterr().out
    for arguments in ([], ["--hypotheses", "-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / "good").read_bytes())))
        run(*arguments, "--reference", "reference")
        assert capsys.readouterr().out == from_file


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--hypotheses", "good", "--reference", "reference", "--json")
    found = printed_json(capsys)
    assert list(found) == ["hypotheses", "references", "lines", "scores"]
    assert (found["hypotheses"], found["references"], found["lines"]) == ("good", ["reference"], 3)
    assert [one["name"] for one in found["scores"]] == ["BLEU", "chrF2", "exact", "CER", "WER"]
    # Of 18 words 17 agree, of 15 pairs 13, of 12 triples 9, of 9 runs of four 6.
    assert found["scores"][0]["correct"] == [17, 13, 9, 6]
    assert found["scores"][0]["score"] == pytest.approx(100 * (17 / 18 * 13 / 15 * 9 / 12 * 6 / 9) ** 0.25)


def test_paper_bleu_is_for_a_language(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--hypotheses", "good", "--reference", "reference", "--target-language", "de", "--json")
    paper = printed_json(capsys)["scores"][2]
    assert paper["name"] == "paperBLEU"
    assert "|punct:ascii|tok:moses-de|" in paper["signature"]
    assert paper["correct"] == [17, 13, 9, 6]


def test_baseline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--hypotheses", "good", "--reference", "reference", "--baseline", "poor")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" = ")[0] for line in lines] == ["BLEU", "chrF2", "exact", "CER", "WER"] * 2
    assert all(" against " in line and " p = " in line and "significantly better" in line for line in lines[5:])

    run("--hypotheses", "good", "--reference", "reference", "--baseline", "poor", "--json")
    found = printed_json(capsys)
    assert found["baseline"] == "poor"
    for one, test in zip(found["scores"], found["comparisons"], strict=True):
        assert (test["name"], test["score"]) == (one["name"], one["score"])
        assert test["difference"] == test["score"] - test["baseline"]
        assert (test["difference"] < 0) is test["lower_is_better"]


def test_baseline_that_is_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--hypotheses", "good", "--reference", "reference", "--baseline", "good", "--json")
    assert [test["p_value"] for test in printed_json(capsys)["comparisons"]] == [1] * 5


def test_several_references_and_gzip(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gzip.open("second.gz", "wb") as file:
        file.write((folder / "good").read_bytes())
    run("--hypotheses", "good", "--reference", "reference", "--reference", "second.gz", "--json")
    found = printed_json(capsys)
    assert found["references"] == ["reference", "second.gz"]
    assert [one["score"] for one in found["scores"]] == pytest.approx([100, 100, 100, 0, 0])
    assert all("nrefs:2" in one["signature"] for one in found["scores"])


def test_settings_reach_the_metrics(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--hypotheses", "good", "--reference", "reference"]
    run(*files, "--target-language", "en", "--tokenize", "char", "--resamples", "0", "--json")
    bleu, chrf, paper, *_ = printed_json(capsys)["scores"]
    assert "|tok:char|" in bleu["signature"]
    assert "|tok:moses-en|" in paper["signature"]
    assert not any("confidence" in one for one in (bleu, chrf, paper, *_))
    run(*files, "--resamples", "200", "--json")
    assert all("|bs:200|" in one["signature"] for one in printed_json(capsys)["scores"])


def test_text_that_looks_tokenised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in (("tokenised", 100), ("few", 99)):
        (folder / name).write_text("Das ist gut .\n" * lines)
    run("--hypotheses", "tokenised", "--reference", "tokenised", "--resamples", "0")
    warning = capsys.readouterr().err
    assert warning.startswith("warning: tokenised looks tokenised: 100 lines or more end in ' .'.")
    assert warning.endswith("give --tokenize none.\n") and all(len(line) <= 80 for line in warning.splitlines())
    run("--hypotheses", "few", "--reference", "few", "--resamples", "0")
    run("--hypotheses", "tokenised", "--reference", "tokenised", "--resamples", "0", "--tokenize", "none")
    assert capsys.readouterr().err == ""


def test_files_of_unequal_length(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("short").write_bytes(b"eins\nzwei\n")
    with pytest.raises(DataError, match="^short has 2 lines, but reference has 3;"):
        run("--hypotheses", "short", "--reference", "reference")
    with pytest.raises(DataError, match="^good has 3 lines, but short has 2;"):
        run("--hypotheses", "good", "--reference", "reference", "--baseline", "short")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"eins\n")))
    with pytest.raises(DataError, match="^standard input has 1 line, but reference has 3;"):
        run("--reference", "reference")


def test_nothing_to_score(folder: Path) -> None:
    Path("empty").write_bytes(b"")
    with pytest.raises(DataError, match="no hypotheses to score"):
        run("--hypotheses", "empty", "--reference", "empty")


def test_missing_file_is_named(folder: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.de"):
        run("--hypotheses", "good", "--reference", "nowhere.de")


def test_standard_input_only_once(folder: Path) -> None:
    with pytest.raises(ConfigError, match="standard input .* for one of the files only"):
        run("--reference", "-")
    with pytest.raises(ConfigError, match="standard input .* for one of the files only"):
        run("--hypotheses", "good", "--reference", "-", "--baseline", "-")


def test_invalid_settings_are_refused(folder: Path) -> None:
    files = ["--hypotheses", "good", "--reference", "reference"]
    with pytest.raises(ConfigError, match='language "xx"'):
        run(*files, "--target-language", "xx")
    with pytest.raises(ConfigError, match="0 resamples are too few"):
        run(*files, "--baseline", "poor", "--resamples", "0")


@pytest.mark.parametrize("command", ["score", "evaluate", "runs", "plot"])
def test_help_fits_80_columns(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count(f"  heed {command}") >= 2  # examples
    assert ("paperBLEU" in out) is (command in ("score", "evaluate"))  # and the option it needs
