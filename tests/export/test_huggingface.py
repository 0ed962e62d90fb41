"""`transformers` computes the same with an exported model as the model itself."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from heed.config import DecodeConfig
from heed.errors import ConfigError
from heed.export.huggingface import check_marian_supports, write_huggingface
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from tests.cli.conftest import letters
from tests.conftest import EOS, PAD, small_config, torch_translator
from tests.export.conftest import TEXTS, random_model

DECODE = DecodeConfig()
# The queries of narrow heads are rescaled, in float32.
HEADS: dict[str, tuple[dict[str, object], float]] = {
    "as published": ({"d_k": None, "d_v": None}, 1e-10),
    "narrow": ({}, 1e-4),
}


@pytest.fixture(scope="module")
def transformers() -> Any:
    return pytest.importorskip(
        "transformers", reason="transformers is not a dependency of heed; `make test-export` installs it"
    )


def loaded(transformers: Any, folder: Path) -> tuple[Any, Any]:
    model, info = transformers.MarianMTModel.from_pretrained(folder, output_loading_info=True)
    assert not any(info.values()), info  # nothing missing, unexpected or of another shape
    return model.eval(), transformers.MarianTokenizer.from_pretrained(folder)


def same_epsilon(marian: nn.Module) -> None:
    """Set our epsilon in Marian's norms, which have no setting for it, to compare everything else."""
    for module in marian.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 1e-6


@torch.inference_mode()
def logits(marian: Any, batch: Any, tgt_in_BT: Tensor) -> Tensor:
    found: Tensor = marian(**batch, decoder_input_ids=tgt_in_BT).logits
    return found


@pytest.mark.parametrize("heads", HEADS)
def test_the_same_logits(transformers: Any, heads: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Compare in float64, to many digits."""
    build, within = HEADS[heads]
    model = random_model(tokenizer, **build)
    write_huggingface(tmp_path, model, tokenizer, DECODE)
    marian, theirs = loaded(transformers, tmp_path)
    same_epsilon(marian)
    batch = theirs(TEXTS, return_tensors="pt", padding=True)
    tgt_in_BT = torch.randint(3, len(tokenizer), (len(TEXTS), 70))
    tgt_in_BT[:, 0] = PAD
    with torch.inference_mode():
        expected = model.double()(batch.input_ids, tgt_in_BT)
    torch.testing.assert_close(logits(marian.double(), batch, tgt_in_BT), expected, atol=within, rtol=0)

    # Saved again by `transformers`, it is still the same model: nothing depends on a table that is not saved.
    marian.float().save_pretrained(tmp_path / "again")
    theirs.save_pretrained(tmp_path / "again")
    again, _ = loaded(transformers, tmp_path / "again")
    same_epsilon(again)
    torch.testing.assert_close(logits(again.double(), batch, tgt_in_BT), expected, atol=within, rtol=0)


def test_the_epsilon_makes_little_difference(transformers: Any, learnt: Path, tmp_path: Path) -> None:
    run = RunFolder.open(learnt)
    model = run.load_model()
    write_huggingface(tmp_path, model, run.tokenizer, run.config.decode)
    marian, theirs = loaded(transformers, tmp_path)
    batch = theirs(letters(7, 40), return_tensors="pt", padding=True)
    tgt_in_BT = torch.randint(3, len(run.tokenizer), (40, 10))
    tgt_in_BT[:, 0] = PAD
    with torch.inference_mode():
        expected = model(batch.input_ids, tgt_in_BT)
    torch.testing.assert_close(logits(marian, batch, tgt_in_BT), expected, atol=1e-3, rtol=0)


@pytest.mark.parametrize("text", [*TEXTS, "", "ein 👩‍👩‍👧 und ½ ﬁ", "<0x41> a", "don't « stop » , now .", "שלום"])
def test_the_same_ids_and_texts(transformers: Any, text: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_huggingface(tmp_path, random_model(tokenizer), tokenizer, DECODE)
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path)
    ids = theirs(text).input_ids
    assert ids == theirs(text_target=text).input_ids == [*tokenizer.encode_ids([text])[0], EOS]
    assert theirs.decode(ids, skip_special_tokens=True) == text


def test_the_same_translations(transformers: Any, learnt: Path, tmp_path: Path) -> None:
    run = RunFolder.open(learnt)
    model = run.load_model()
    write_huggingface(tmp_path, model, run.tokenizer, run.config.decode)
    marian, theirs = loaded(transformers, tmp_path)
    texts = letters(7, 40)
    batch = theirs(texts, return_tensors="pt", padding=True)
    ids = marian.generate(**batch, num_beams=1, early_stopping=False, length_penalty=1.0)
    expected = theirs.batch_decode(ids, skip_special_tokens=True)
    found = torch_translator([model], run.tokenizer, run.config.decode).translate(texts, beam=1)
    # Ours stops at source length + 5 here; `generate` has one limit for the whole batch.
    pairs = [(one.text, other) for one, other in zip(found, expected, strict=True) if one.finished]
    assert len(pairs) > 30 and len({text for text, _ in pairs}) > 20
    assert [text for text, _ in pairs] == [other for _, other in pairs]


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        ({"norm": "pre"}, 'model.norm = "pre"'),
        ({"positions": "learned"}, 'model.positions = "learned"'),
        ({"d_k": 13}, "model.d_k = 13 is more than d_model / h = 12"),
        ({"d_v": 13}, "model.d_v = 13 is more than d_model / h = 12"),
        ({"d_model": 25, "positions": "learned"}, "model.d_model = 25 is not a multiple of model.h = 2"),
    ],
)
def test_models_marian_cannot_represent_are_refused(
    build: dict[str, object], reason: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    check_marian_supports(small_config())
    with pytest.raises(ConfigError, match="--to ctranslate2") as caught:
        write_huggingface(tmp_path, random_model(tokenizer, **build), tokenizer, DECODE)
    assert reason in str(caught.value)
    assert not any(tmp_path.iterdir())
