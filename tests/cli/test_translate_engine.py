"""`heed translate` and `heed evaluate` with --engine and --int8."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.errors import ConfigError
from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.loading import load
from tests.cli.conftest import ENVIRONMENT, Trained, heed, letters, write_lines


def loaded(run: Path, *options: str) -> str:
    """Return the exit code, and whether torch was imported."""
    script = (
        "import sys; from heed.cli.main import main\n"
        f"code = main({['translate', '--model', str(run), *options]!r})\n"
        "print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input="a b\n", capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    return done.stdout.splitlines()[-1]


def test_by_default_torch_is_not_loaded(trained: Trained) -> None:
    assert loaded(trained.path) == f"0 {library() is None}"
    assert loaded(trained.path, "--engine", "torch") == "0 True"


def test_eight_bits(trained: Trained) -> None:
    whole, eighth = (
        heed("translate", "--model", trained.path, "--scores", *options, given="a b c\nd c\n")
        for options in ([], ["--int8"])
    )
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, eighth)]
    assert scores[0] != scores[1]  # really other weights
    assert max(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.5  # but only slightly different
    assert heed("translate", "--model", trained.path, "--int8", "--sample", given="a b c\n").code == 0


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"HEED_KERNELS": "off"}, "HEED_KERNELS=off is set; unset it"),
        ({"PATH": "/nowhere", "CC": "nothing"}, "there is no C compiler that can build them; install one, such as gcc"),
    ],
    ids=["switched off", "no compiler"],
)
def test_8_bits_with_torch_need_the_kernels(trained: Trained, environment: dict[str, str], reason: str) -> None:
    command = [sys.executable, "-m", "heed", "translate", "--model", str(trained.path), "--int8"]
    done = subprocess.run(
        command, input="a b\n", capture_output=True, env={**ENVIRONMENT, **environment}, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"8-bit weights with torch need heed's C kernels, but {reason}" in done.stderr


def bfloat16_without_kernels(run: Path, *options: str) -> str:
    """Return what is said if bfloat16 is asked for where there are no kernels."""
    command = [sys.executable, "-m", "heed", "translate", "--model", str(run), "--bfloat16", *options]
    environment = {**ENVIRONMENT, "HEED_KERNELS": "off"}
    done = subprocess.run(command, input="a b\n", capture_output=True, env=environment, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_bfloat16_needs_the_kernels(trained: Trained) -> None:
    needs = "heed translate: bfloat16 weights (--bfloat16, bfloat16=True) need the engine native"
    no_kernels = (
        "the C kernels are not available (HEED_KERNELS=off, or no C compiler that works: install one, such as gcc)"
    )
    assert bfloat16_without_kernels(trained.path) == f"{needs}, but {no_kernels}; leave them out\n"
    assert bfloat16_without_kernels(trained.path, "--engine", "torch") == (
        f"{needs}, not torch; leave out the one or the other\n"
    )


@pytest.mark.skipif(bf16_ways.chosen() is None, reason="needs a C compiler and a processor with AVX512-BF16")
def test_bfloat16(trained: Trained) -> None:
    assert loaded(trained.path, "--bfloat16") == "0 False"
    whole, half = (
        heed("translate", "--model", trained.path, "--scores", *options, given="a b c\nd c\n")
        for options in ([], ["--bfloat16"])
    )
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, half)]
    assert scores[0] != scores[1]  # really other weights
    assert max(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.1  # but only slightly different
    refused = heed("translate", "--model", trained.path, "--bfloat16", "--int8", given="a b c\n")
    assert refused.code == 2 and "bfloat16 weights (--bfloat16, bfloat16=True) " in refused.err


def test_a_missing_run_folder_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--engine", "torch"]):
        assert main(["translate", "--model", str(tmp_path / "none"), *options]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"heed translate: {tmp_path / 'none'}: no such run folder")


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("auto", "there is no engine 'auto'; there are: native, torch"),
        ("", "there is no engine ''; there are: native, torch"),
        (
            "ctranslate2",
            "there is no engine 'ctranslate2' any more; leave it out for heed's own search, the default (to use the "
            "model in CTranslate2 itself: heed export --to ctranslate2)",
        ),
    ],
)
@pytest.mark.parametrize("options", [[], ["--bfloat16"]], ids=["", "bfloat16"])
def test_no_engine_of_another_name(
    trained: Trained, capsys: pytest.CaptureFixture[str], options: list[str], engine: str, message: str
) -> None:
    assert main(["translate", "--model", str(trained.path), "--engine", engine, *options]) == 2
    assert capsys.readouterr().err == f"heed translate: {message}\n"
    with pytest.raises(ConfigError) as caught:
        load(trained.path, engine=engine, bfloat16=bool(options))
    assert str(caught.value) == message


def test_evaluate_names_the_engine(trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_lines(tmp_path / "s", letters(6, 20))
    reference = write_lines(tmp_path / "r", [line[::-1] for line in letters(6, 20)])
    request = ["evaluate", "--model", trained.path, "--source", source, "--reference", reference, "--json"]
    own, found = "torch" if library() is None else "native", {}
    in_bfloat16 = {} if bf16_ways.chosen() is None else {"in bfloat16": ["--bfloat16"]}
    for name, options in {
        "default": [],
        "torch": ["--engine", "torch"],
        "eighth by default": ["--int8"],
        "eighth of torch": ["--engine", "torch", "--int8"],
        **in_bfloat16,
    }.items():
        out = tmp_path / name
        assert main([*map(str, request), "--resamples", "0", *options, "--output", str(out)]) == 0
        result = json.loads(capsys.readouterr().out)
        (signature,) = {one["signature"].split("|engine:")[1] for one in result["scores"]}
        found[name] = (signature, result["perplexity"], out.read_text(encoding="utf-8"))
    assert {name: signature for name, (signature, _, _) in found.items()} == {
        "default": own,
        "torch": "torch",
        "eighth by default": f"{own}|weights:int8",
        "eighth of torch": "torch|weights:int8",
        **dict.fromkeys(in_bfloat16, "native|weights:bfloat16"),
    }
    perplexities = [perplexity for _, perplexity, _ in found.values()]
    assert perplexities == pytest.approx([perplexities[0]] * len(found), rel=1e-5)  # always with full weights
    assert found["default"][2] == found["torch"][2]
