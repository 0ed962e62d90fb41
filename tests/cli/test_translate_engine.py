"""Who computes: `heed translate` and `heed evaluate` with --engine and --int8."""

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.lock import FolderLock
from tests.cli.conftest import ENVIRONMENT, Trained, heed, letters, write_lines


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained.path, tmp_path / "run", ignore=shutil.ignore_patterns("export")))


def exports(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "export").iterdir()) if (run / "export").exists() else []


def test_by_default_ctranslate2_translates_and_torch_is_not_loaded(run: Path) -> None:
    script = (
        "import sys; from heed.cli.main import main\n"
        f"code = main(['translate', '--model', {str(run)!r}])\n"
        "print(code, 'torch' in sys.modules, 'ctranslate2' in sys.modules)"
    )
    ends = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], input="a b\n", capture_output=True, text=True, env=ENVIRONMENT, check=True
        )
        ends.append(done.stdout.splitlines()[-1])
    assert ends == ["0 True True", "0 False True"]  # torch makes the export, once
    assert exports(run) == ["ctranslate2-float32"]


def test_eight_bits_beside_whole_weights(run: Path) -> None:
    given = "".join(f"{line}\n" for line in letters(5, 60))
    whole, eighth, again = (
        heed("translate", "--model", run, "--scores", *options, given=given) for options in ([], ["--int8"], [])
    )
    assert whole.code == eighth.code == 0, eighth.err
    assert whole.out == again.out  # both exports are kept
    assert exports(run) == ["ctranslate2-float32", "ctranslate2-int8"]
    files = [run / "export" / name / "model.bin" for name in exports(run)]
    assert b"weight_scale" not in files[0].read_bytes() and b"weight_scale" in files[1].read_bytes()
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, eighth)]
    assert scores[0] != scores[1]  # really other weights
    assert statistics.median(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.5  # not in kind


def test_eight_bits_by_torch(run: Path) -> None:
    """Where CTranslate2 is not wanted, or cannot do what is asked: nothing is exported."""
    whole, eighth = (
        heed("translate", "--model", run, "--engine", "torch", "--scores", *options, given="a b c\nd c\n")
        for options in ([], ["--int8"])
    )
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, eighth)]
    assert scores[0] != scores[1]  # really other weights
    assert max(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.5  # not in kind
    assert heed("translate", "--model", run, "--int8", "--sample", given="a b c\n").code == 0
    assert exports(run) == []


def test_while_another_process_makes_the_export(run: Path) -> None:
    beside = run / "export" / ".ctranslate2-float32.new"
    beside.mkdir(parents=True)
    with FolderLock.acquire(beside):
        auto, torch = (
            heed("translate", "--model", run, *options, given="a b\n") for options in ([], ["--engine", "torch"])
        )
        asked_for = heed("translate", "--model", run, "--engine", "ctranslate2", given="a b\n")
    assert (auto.code, auto.out) == (0, torch.out)
    assert "another process is making it" in auto.err and auto.err.endswith("translating with torch\n")
    assert torch.err == ""
    assert asked_for.code == 1 and asked_for.out == ""


def test_a_folder_that_is_none_is_complained_of_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "--model", str(tmp_path / "none")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"heed translate: {tmp_path / 'none'}: no such run folder")


def test_evaluation_says_who_translated(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "s", letters(6, 20))
    reference = write_lines(tmp_path / "r", [line[::-1] for line in letters(6, 20)])
    request = ["evaluate", "--model", run, "--source", source, "--reference", reference, "--json", "--resamples", 0]
    found = {}
    for name, options in {
        "torch": ["--engine", "torch"],
        "whole": ["--engine", "ctranslate2"],
        "auto": [],
        "eighth": ["--int8"],
    }.items():
        out = tmp_path / name
        assert main([*map(str, request), *options, "--output", str(out)]) == 0
        result = json.loads(capsys.readouterr().out)
        signatures = {one["signature"].split("|engine:")[1] for one in result["scores"]}
        found[name] = (signatures, result["perplexity"], out.read_text(encoding="utf-8"))
    assert found["torch"][0] == {"torch"}
    assert found["whole"][0] == found["auto"][0] == {"ctranslate2"}
    assert found["eighth"][0] == {"ctranslate2|weights:int8"}
    assert len({perplexity for _, perplexity, _ in found.values()}) == 1  # torch's, with whole weights
    assert found["torch"][2] == found["whole"][2] == found["auto"][2]
    assert exports(run) == ["ctranslate2-float32", "ctranslate2-int8"]


@pytest.mark.parametrize("beam", [1, 4])
def test_guessing_ahead_changes_nothing(run: Path, tmp_path: Path, beam: int) -> None:
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("c b a\nb a\nd d c\n", encoding="utf-8")
    asked = ["translate", "--model", run, "--beam", beam, "--n-best", beam]
    plain = heed(*asked, "--engine", "torch", given="a b c\n")
    for options in (["--phrases", phrases], ["--draft", run]):
        ahead = heed(*asked, *options, given="a b c\n")
        assert (ahead.code, ahead.out) == (0, plain.out)


def test_guesses_that_cannot_be_are_refused(run: Path, trained: Trained, tmp_path: Path) -> None:
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("c b a\n", encoding="utf-8")
    for options, said in [
        (["--phrases", phrases, "--draft", run], "give one of them"),
        (["--phrases", phrases, "--sample"], "--phrases does not go with --sample"),
        (["--draft", run, "--engine", "ctranslate2"], "cannot guess ahead by --draft"),
        (["--draft", tmp_path], str(tmp_path)),
    ]:
        refused = heed("translate", "--model", run, *options, given="a b c\n")
        assert refused.code != 0 and said in refused.err, refused.err


@pytest.mark.parametrize("by", ["file", "redirection"])
def test_much_text_goes_to_torch(run: Path, tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless CTranslate2 is asked for. The lines are the same."""
    source = write_lines(tmp_path / "s", letters(6, 20))
    outputs = []
    for much, options, expected in (
        (0, ["--engine", "ctranslate2"], ["ctranslate2-float32"]),
        (0, [], []),
        (1e300, [], ["ctranslate2-float32"]),
    ):
        shutil.rmtree(run / "export", ignore_errors=True)
        monkeypatch.setattr("heed.cli.translate._MUCH", much)
        out = tmp_path / "out"
        with open(source, encoding="utf-8") as lines:
            monkeypatch.setattr("sys.stdin", lines)
            named = ["--input", str(source)] if by == "file" else []
            assert main(["translate", "--model", str(run), "--output", str(out), *named, *options]) == 0
        assert exports(run) == expected
        outputs.append(out.read_text(encoding="utf-8"))
    assert outputs[0] == outputs[1] == outputs[2] != ""


def test_without_kernels_much_text_stays_with_ctranslate2(run: Path, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "s", letters(6, 20))
    script = (
        "from heed.cli import translate; translate._MUCH = 0\n"
        "from heed.cli.main import main\n"
        f"main(['translate', '--model', {str(run)!r}, '--input', {str(source)!r}])"
    )
    environment = {**ENVIRONMENT, "HEED_KERNELS": "off"}
    subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, check=True)
    assert exports(run) == ["ctranslate2-float32"]


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"HEED_KERNELS": "off"}, "HEED_KERNELS=off is set; unset it"),
        ({"PATH": "/nowhere", "CC": "nothing"}, "there is no C compiler that can make them; install one, such as gcc"),
    ],
    ids=["switched off", "no compiler"],
)
def test_8_bits_with_torch_need_the_kernels(run: Path, environment: dict[str, str], reason: str) -> None:
    command = [sys.executable, "-m", "heed", "translate", "--model", str(run), "--engine", "torch", "--int8"]
    done = subprocess.run(
        command, input="a b\n", capture_output=True, env={**ENVIRONMENT, **environment}, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"8-bit weights with torch need heed's C kernels, but {reason}" in done.stderr
    assert "--engine ctranslate2" in done.stderr
