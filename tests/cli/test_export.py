"""`heed export`, and `heed translate --engine`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
import pytest
from safetensors import safe_open

from heed.text.tokenizer import Tokenizer
from tests.cli.conftest import ENVIRONMENT, Trained, TrainRun, heed, letters

MARIAN = [
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "vocab.json",
]


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained.path, tmp_path / "run", ignore=shutil.ignore_patterns("export")))


@pytest.fixture(scope="session")
def learnt(train_run: TrainRun) -> Path:
    """A run that knows what it writes: the minute model's guesses are near equals; rounding may decide."""
    return train_run(train__max_steps=400, train__warmup_steps=60, train__learning_rate_factor=1.0).path


# --- heed export ------------------------------------------------------------------------------------------


def test_for_hugging_face(trained: Trained, tmp_path: Path) -> None:
    """What `transformers` makes of it is in tests/export/test_huggingface.py."""
    out = tmp_path / "deep" / "marian"
    done = heed("export", "--model", trained.path, "--to", "huggingface", "--out", out)
    assert done.code == 0, done.err
    assert done.out == "" and str(out) in done.err
    assert sorted(path.name for path in out.iterdir()) == MARIAN
    vocabulary = json.loads((out / "vocab.json").read_text(encoding="utf-8"))
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert (vocabulary["<pad>"], vocabulary["</s>"], vocabulary["<unk>"]) == (0, 1, 2)
    assert config["vocab_size"] == len(vocabulary)
    with safe_open(out / "model.safetensors", "numpy") as file:
        assert file.metadata() == {"format": "pt"}


def test_for_ctranslate2(trained: Trained, tmp_path: Path) -> None:
    sizes = {}
    for name, options in (("whole", []), ("small", ["--int8"])):
        done = heed("export", "--model", trained.path, "--to", "ctranslate2", "--out", tmp_path / name, *options)
        assert done.code == 0, done.err
        translator = ctranslate2.Translator(str(tmp_path / name), intra_threads=1)
        tokenizer = Tokenizer.load(tmp_path / name / "tokenizer.model")
        source = [tokenizer.pieces(ids) for ids in tokenizer.encode_ids(letters(9, 3))]
        assert len(translator.translate_batch(source)) == 3
        sizes[name] = (tmp_path / name / "model.bin").stat().st_size
    assert sizes["small"] < sizes["whole"]


def test_of_a_named_checkpoint(trained: Trained, tmp_path: Path) -> None:
    contents = []
    for name in ("step-00000020", "step-00000040"):
        done = heed(
            "export", "--model", trained.path, "--to", "ctranslate2", "--out", tmp_path / name, "--checkpoint", name
        )
        assert done.code == 0 and name in done.err
        contents.append((tmp_path / name / "model.bin").read_bytes())
    assert contents[0] != contents[1]


def test_nothing_is_written_over(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = heed("export", "--model", trained.path, "--to", "huggingface", "--out", tmp_path / "mine")
    assert done.code == 2 and "exists already" in done.err
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--to", "huggingface", "--int8"], 2, "--int8 goes with --to ctranslate2 only"),
        (["--to", "huggingface", "--checkpoint", "none"], 1, 'no checkpoint "none"'),
        (["--to", "onnx"], 2, "invalid choice"),
    ],
)
def test_wrong_requests(trained: Trained, tmp_path: Path, options: list[str], code: int, message: str) -> None:
    done = heed("export", "--model", trained.path, "--out", tmp_path / "out", *options)
    assert done.code == code and message in done.err
    assert not any(tmp_path.iterdir())


# --- heed translate --engine ------------------------------------------------------------------------------


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


def test_torch_is_not_loaded(run: Path) -> None:
    """Once the export is there."""
    script = (
        "import sys; from heed.cli.main import main\n"
        f"code = main(['translate', '--engine', 'ctranslate2', '--model', {str(run)!r}])\n"
        "print(code, 'torch' in sys.modules)"
    )
    ends = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], input="a b\n", capture_output=True, text=True, env=ENVIRONMENT, check=True
        )
        ends.append(done.stdout.splitlines()[-1])
    assert ends == ["0 True", "0 False"]


BEYOND = {
    "sampling": (["--sample"], "--sample would draw other samples"),
    "prefixes": (["--prefixes"], "--prefixes are not forced piece by piece"),
    "ensemble": (["--model"], "several models make no ensemble"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_what_it_cannot_do_is_refused_or_done_by_torch(run: Path, tmp_path: Path, case: str) -> None:
    options, reason = BEYOND[case]
    (tmp_path / "prefixes").write_text("b\n")
    values: list[object] = {"sampling": [], "prefixes": [tmp_path / "prefixes"], "ensemble": [run]}[case]
    request = ["translate", "--model", run, *options, *values]
    refused = heed(*request, "--engine", "ctranslate2", given="a b\n")
    assert refused.code == 2 and reason in refused.err and refused.out == ""
    auto, torch = (heed(*request, "--engine", engine, given="a b\n") for engine in ("auto", "torch"))
    assert auto.code == torch.code == 0, auto.err
    assert (auto.out, auto.err) == (torch.out, torch.err)
    assert not (run / "export").exists()


def test_auto_uses_it_where_it_can(run: Path) -> None:
    done = heed("translate", "--model", run, "--engine", "auto", given="a b\n\n")
    assert done.code == 0 and len(done.lines) == 2
    assert (run / "export" / "ctranslate2-float32").is_dir()


def test_where_no_export_can_be_written(run: Path) -> None:
    (run / "export").write_text("in the way")
    refused = heed("translate", "--model", run, "--engine", "ctranslate2", given="a b\n")
    assert refused.code == 1 and "export" in refused.err and refused.out == ""
    auto, torch = (heed("translate", "--model", run, "--engine", engine, given="a b\n") for engine in ("auto", "torch"))
    assert auto.code == 0 and "translating with torch" in auto.err
    assert auto.out == torch.out


def test_where_it_is_not_installed(run: Path, tmp_path: Path) -> None:
    def without(*arguments: object) -> subprocess.CompletedProcess[str]:
        script = "import sys; sys.modules['ctranslate2'] = None; from heed.cli.main import main; sys.exit(main({}))"
        script = script.format([*map(str, arguments)])
        return subprocess.run(
            [sys.executable, "-c", script], input="a b\n", capture_output=True, text=True, env=ENVIRONMENT
        )

    request = ("translate", "--model", run, "--engine")
    for done in (
        without(*request, "ctranslate2"),
        without("export", "--model", run, "--to", "ctranslate2", "--out", tmp_path / "out"),
    ):
        assert done.returncode == 2 and "pip install 'heed[ctranslate2]'" in done.stderr
    auto, torch = without(*request, "auto"), without(*request, "torch")
    assert auto.returncode == 0 and auto.stdout == torch.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["run"] and not (run / "export").exists()
