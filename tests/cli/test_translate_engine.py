"""`heed translate` and `heed evaluate` with --engine and --int8."""

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.lock import FolderLock
from tests.cli.conftest import (
    ENVIRONMENT,
    Trained,
    TrainRun,
    exports,
    heed,
    letters,
    without_ctranslate2,
    write_lines,
)

CTRANSLATE2 = ["--engine", "ctranslate2"]


@pytest.fixture(scope="session")
def learnt(train_run: TrainRun) -> Path:
    """Train a confident model: the tiny model's hypotheses nearly tie, so that rounding may decide."""
    return train_run(train__max_steps=400, train__warmup_steps=60, train__learning_rate_factor=1.0).path


# --- heed's own search -----------------------------------------------------------------------------------


def loaded(run: Path, *options: str) -> str:
    """Return the exit code, and whether torch and ctranslate2 were imported."""
    script = (
        "import sys; from heed.cli.main import main\n"
        f"code = main({['translate', '--model', str(run), *options]!r})\n"
        "print(code, 'torch' in sys.modules, 'ctranslate2' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input="a b\n", capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    return done.stdout.splitlines()[-1]


def test_by_default_torch_is_not_loaded_and_nothing_is_exported(trained: Trained, cache: Path) -> None:
    assert loaded(trained.path) == f"0 {library() is None} False"
    assert loaded(trained.path, "--engine", "torch") == "0 True False"
    assert exports(cache) == []


def test_eight_bits(trained: Trained, cache: Path) -> None:
    whole, eighth = (
        heed("translate", "--model", trained.path, "--scores", *options, given="a b c\nd c\n")
        for options in ([], ["--int8"])
    )
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, eighth)]
    assert scores[0] != scores[1]  # really other weights
    assert max(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.5  # but only slightly different
    assert heed("translate", "--model", trained.path, "--int8", "--sample", given="a b c\n").code == 0
    assert exports(cache) == []


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
    assert "--engine ctranslate2" in done.stderr


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
def test_bfloat16(trained: Trained, cache: Path) -> None:
    assert loaded(trained.path, "--bfloat16") == "0 False False"
    whole, half = (
        heed("translate", "--model", trained.path, "--scores", *options, given="a b c\nd c\n")
        for options in ([], ["--bfloat16"])
    )
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, half)]
    assert scores[0] != scores[1]  # really other weights
    assert max(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.1  # but only slightly different
    for engine in CTRANSLATE2, ["--int8"]:
        refused = heed("translate", "--model", trained.path, "--bfloat16", *engine, given="a b c\n")
        assert refused.code == 2 and "bfloat16 weights (--bfloat16, bfloat16=True) " in refused.err
    assert exports(cache) == []


def test_a_missing_run_folder_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], CTRANSLATE2):
        assert main(["translate", "--model", str(tmp_path / "none"), *options]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"heed translate: {tmp_path / 'none'}: no such run folder")


def test_no_engine_of_another_name(trained: Trained) -> None:
    done = heed("translate", "--model", trained.path, "--engine", "auto")
    assert done.code == 2 and "invalid choice: 'auto'" in done.err


# --- CTranslate2 ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("module_cache")
@pytest.mark.parametrize("options", [[], ["--greedy"], ["--n-best", "2"], ["--json"]], ids=" ".join)
def test_the_same_lines_as_torch(learnt: Path, options: list[str]) -> None:
    lines = [*letters(9, 12), "", "a b " * 40, "  ", "d"]
    given = "\n".join(lines)
    found, expected = (
        heed("translate", "--model", learnt, "--engine", engine, *options, given=given)
        for engine in ("ctranslate2", "torch")
    )
    assert found.code == expected.code == 0, found.err
    assert found.err == expected.err  # the long line's parts, unfinished translations
    if options == ["--json"]:
        both = [[json.loads(line) for line in done.lines] for done in (found, expected)]
        for one, other in zip(*both, strict=True):
            assert one.keys() == other.keys()
            for key in ("score", "log_probability"):
                assert one.pop(key) == pytest.approx(other.pop(key), rel=0.01, abs=0.01)
            assert one == other
    else:
        texts = [[line.split("\t")[-1] for line in done.lines] for done in (found, expected)]
        assert texts[0] == texts[1]


def test_torch_is_not_loaded_once_the_export_is_there(trained: Trained, cache: Path) -> None:
    assert [loaded(trained.path, *CTRANSLATE2) for _ in range(2)] == ["0 True True", "0 False True"]
    assert len(exports(cache)) == 1


def test_exports_with_8_bit_and_full_weights_coexist(trained: Trained, cache: Path) -> None:
    given = "".join(f"{line}\n" for line in letters(5, 60))
    whole, eighth, again = (
        heed("translate", "--model", trained.path, *CTRANSLATE2, "--scores", *options, given=given)
        for options in ([], ["--int8"], [])
    )
    assert whole.code == eighth.code == 0, eighth.err
    assert whole.out == again.out  # both exports are kept
    has_scales = [b"weight_scale" in (folder / "model.bin").read_bytes() for folder in exports(cache)]
    assert sorted(has_scales) == [False, True]
    scores = [[float(line.split("\t")[0]) for line in done.lines] for done in (whole, eighth)]
    assert scores[0] != scores[1]  # really other weights
    assert (
        statistics.median(abs(one - other) for one, other in zip(*scores, strict=True)) < 0.5
    )  # but only slightly different


def test_while_another_process_makes_the_export(trained: Trained, cache: Path) -> None:
    assert heed("translate", "--model", trained.path, *CTRANSLATE2, given="a b\n").code == 0
    (folder,) = exports(cache)
    shutil.rmtree(folder)
    beside = folder.with_name(f".{folder.name}.new")
    beside.mkdir()
    with FolderLock.acquire(beside):
        asked_for, torch = (
            heed("translate", "--model", trained.path, *options, given="a b\n") for options in (CTRANSLATE2, [])
        )
    assert asked_for.code == 1 and asked_for.out == ""
    assert "another process is creating it" in asked_for.err
    assert (torch.code, len(torch.lines), torch.err) == (0, 1, "")


BEYOND: dict[str, tuple[list[str], str]] = {
    "sampling": (["--sample"], "its random samples differ from torch's"),
    "prefixes": (["--prefixes"], "it does not force prefixes piece by piece"),
    "ensemble": (["--model"], "it does not support ensembles"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_unsupported_options_are_refused_and_torch_supports_them(
    trained: Trained, cache: Path, tmp_path: Path, case: str
) -> None:
    options, reason = BEYOND[case]
    (tmp_path / "prefixes").write_text("b\n")
    values: list[object] = {"sampling": [], "prefixes": [tmp_path / "prefixes"], "ensemble": [trained.path]}[case]
    request = ["translate", "--model", trained.path, *options, *values]
    refused = heed(*request, *CTRANSLATE2, given="a b\n")
    assert refused.code == 2 and reason in refused.err and refused.out == ""
    assert "use heed's own search, the default" in refused.err
    assert exports(cache) == []  # refused before anything is loaded or made
    done = heed(*request, given="a b\n")
    assert (done.code, len(done.lines)) == (0, 1), done.err
    assert "ctranslate2" not in done.err and exports(cache) == []


def test_an_export_that_cannot_be_written_is_an_error(trained: Trained, cache: Path) -> None:
    (cache / "heed" / "exports").write_text("in the way")
    refused = heed("translate", "--model", trained.path, *CTRANSLATE2, given="a b\n")
    assert refused.code == 1 and refused.out == ""
    what, remedy = "cannot be written (File exists)", "make it a writable folder, or set XDG_CACHE_HOME"
    assert refused.err == f"heed translate: {cache}/heed/exports: {what}; {remedy}\n"


def test_without_ctranslate2_it_says_what_to_install(trained: Trained, cache: Path) -> None:
    request = ("translate", "--model", trained.path)
    refused = without_ctranslate2(*request, *CTRANSLATE2)
    assert refused.returncode == 2 and "pip install 'heed[ctranslate2]'" in refused.stderr
    done = without_ctranslate2(*request)
    assert done.returncode == 0 and done.stdout == heed(*request, given="a b\n").out
    assert exports(cache) == []


# --- heed evaluate ----------------------------------------------------------------------------------------


def test_evaluate_names_the_engine(
    trained: Trained, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
        "whole": CTRANSLATE2,
        "eighth": [*CTRANSLATE2, "--int8"],
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
        "whole": "ctranslate2",
        "eighth": "ctranslate2|weights:int8",
        **dict.fromkeys(in_bfloat16, "native|weights:bfloat16"),
    }
    perplexities = [perplexity for _, perplexity, _ in found.values()]
    assert perplexities == pytest.approx([perplexities[0]] * len(found), rel=1e-5)  # always with full weights
    assert found["default"][2] == found["torch"][2] == found["whole"][2]
    assert len(exports(cache)) == 2
