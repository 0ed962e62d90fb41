"""`heed export`."""

import json
import math
import shutil
from pathlib import Path

import ctranslate2
import pytest
from safetensors import safe_open

from heed.checkpoint import read_all_tensors, read_manifest, write_checkpoint
from heed.text.tokenizer import Tokenizer
from tests.cli.conftest import Trained, heed, letters, settings, without_ctranslate2

MARIAN = [
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "vocab.json",
]


def test_for_hugging_face(trained: Trained, tmp_path: Path) -> None:
    """tests/export/test_huggingface.py checks the model itself with `transformers`."""
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


def test_an_existing_folder_is_not_overwritten(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = heed("export", "--model", trained.path, "--to", "huggingface", "--out", tmp_path / "mine")
    assert done.code == 2 and "exists already" in done.err
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--to", "huggingface", "--int8"], 2, "--int8 needs --to ctranslate2"),
        (["--to", "huggingface", "--checkpoint", "none"], 1, 'no checkpoint "none"'),
        (["--to", "onnx"], 2, "invalid choice"),
    ],
)
def test_invalid_options_are_refused(
    trained: Trained, tmp_path: Path, options: list[str], code: int, message: str
) -> None:
    done = heed("export", "--model", trained.path, "--out", tmp_path / "out", *options)
    assert done.code == code and message in done.err
    assert not any(tmp_path.iterdir())


def test_without_ctranslate2_it_says_what_to_install(trained: Trained, tmp_path: Path) -> None:
    done = without_ctranslate2("export", "--model", trained.path, "--to", "ctranslate2", "--out", tmp_path / "out")
    assert done.returncode == 2 and "pip install 'heed[ctranslate2]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_not_finite_are_refused_for_ctranslate2(trained: Trained, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained.path, tmp_path / "run"))
    best = run / "checkpoints" / json.loads((run / "best.json").read_text())["checkpoint"]
    tensors, info = read_all_tensors(best), read_manifest(best)
    tensors["model"]["embedding.weight"][5, 0] = math.nan
    shutil.rmtree(best)
    write_checkpoint(best, tensors, {key: value for key, value in info.items() if key not in ("sha256", "checksum")})
    done = heed("export", "--model", run, "--to", "ctranslate2", "--out", tmp_path / "out")
    assert done.code == 1 and done.err.startswith(f"heed export: no finite score: the weights of {best} are not finite")
    assert list(tmp_path.iterdir()) == [run]


def test_to_ship_and_to_fine_tune(trained: Trained, train_arguments: list[object], tmp_path: Path) -> None:
    """tests/export/test_shipped.py checks the folder itself."""
    out = tmp_path / "deep" / "shipped"
    done = heed("export", "--model", trained.path, "--to", "heed", "--out", out)
    assert done.code == 0 and done.err.startswith(f"{out}: "), done.err
    refused = heed("train", "--resume", out)
    assert refused.code == 1 and "a shipped model" in refused.err
    more = settings(train__max_steps=5, train__init_from=out)
    tuned = heed(*train_arguments, "--out", tmp_path / "tuned", *more)
    assert tuned.code == 0, tuned.err
    assert heed("translate", "--model", tmp_path / "tuned", given="a b\n").code == 0
