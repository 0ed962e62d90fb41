"""CTranslate2 computes the same with an exported model as the model itself."""

import json
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import torch

from heed.config import DecodeConfig
from heed.export.ctranslate2 import write_ctranslate2
from heed.model.transformer import Transformer
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from tests.cli.conftest import letters
from tests.conftest import PAD, UNK, small_batch, torch_translator
from tests.export.conftest import BUILDS, TEXTS, faint_model, random_model

DECODE = DecodeConfig()


def theirs(folder: Path, tokenizer: Tokenizer, sources: list[str], targets: list[str]) -> list[list[float]]:
    """Return CTranslate2's log-probabilities of each target piece and the end token."""
    pieces = [[tokenizer.pieces(ids) for ids in tokenizer.encode_ids(side)] for side in (sources, targets)]
    scored = ctranslate2.Translator(str(folder), intra_threads=1).score_batch(*pieces, max_input_length=0)
    return [one.log_probs for one in scored]


@torch.inference_mode()
def ours(model: Transformer, tokenizer: Tokenizer, sources: list[str], targets: list[str]) -> list[list[float]]:
    found = []
    for source, target in zip(*map(tokenizer.encode_ids, (sources, targets)), strict=True):
        batch = small_batch([source], [target])
        logprobs_BTV = model(batch.src_BS, batch.tgt_in_BT).log_softmax(-1)
        found.append(logprobs_BTV[0].gather(-1, batch.tgt_out_BT[0].unsqueeze(-1)).squeeze(-1).tolist())
    return found


def assert_close(some: list[list[float]], others: list[list[float]], within: float) -> None:
    assert [len(one) for one in some] == [len(one) for one in others]
    for one, other in zip(some, others, strict=True):
        np.testing.assert_allclose(one, other, atol=within, rtol=0)


@pytest.mark.parametrize("build", BUILDS)
def test_the_same_probabilities(build: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = random_model(tokenizer, **BUILDS[build])
    write_ctranslate2(tmp_path, model, tokenizer, DECODE)
    targets = TEXTS[::-1]
    assert_close(theirs(tmp_path, tokenizer, TEXTS, targets), ours(model, tokenizer, TEXTS, targets), 2e-5)


def test_the_same_epsilon(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = faint_model(tokenizer)
    write_ctranslate2(tmp_path, model, tokenizer, DECODE)
    assert_close(theirs(tmp_path, tokenizer, TEXTS, TEXTS), ours(model, tokenizer, TEXTS, TEXTS), 2e-5)


def test_far_positions(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The model was built for 60 positions; its sinusoids continue, and so does the table."""
    model = random_model(tokenizer)
    write_ctranslate2(tmp_path, model, tokenizer, DECODE)
    long = ["dog " * 700]
    assert_close(theirs(tmp_path, tokenizer, long, long), ours(model, tokenizer, long, long), 1e-4)


def test_the_position_table_covers_the_longest_translation(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = random_model(tokenizer)
    write_ctranslate2(tmp_path, model, tokenizer, DecodeConfig(extra_length=5000))
    result = ctranslate2.Translator(str(tmp_path), intra_threads=1).translate_batch(
        [["\u2581"]], beam_size=1, max_decoding_length=5001, min_decoding_length=5001
    )
    assert len(result[0].hypotheses[0]) == 5001


@pytest.mark.parametrize("token", [PAD, UNK])
def test_tokens_that_are_never_written(token: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """CTranslate2 writes them for a model that prefers them, unless the options of docs/export.md forbid it."""
    model = random_model(tokenizer)
    last_norm = model.decoder[-1].feed_forward_residual.norm  # type: ignore[union-attr]
    model.embedding.weight.data[token] = 30 * last_norm.bias.data  # type: ignore[union-attr, operator]
    write_ctranslate2(tmp_path, model, tokenizer, DECODE)
    translator = ctranslate2.Translator(str(tmp_path), intra_threads=1)
    source, (never,) = [tokenizer.pieces(ids) for ids in tokenizer.encode_ids(TEXTS)], tokenizer.pieces([token])
    plain = translator.translate_batch(source, max_decoding_length=9)
    forbidden = translator.translate_batch(
        source, max_decoding_length=9, disable_unk=True, suppress_sequences=[["<pad>"]]
    )
    assert any(never in one.hypotheses[0] for one in plain)
    assert all(one.hypotheses[0] and never not in one.hypotheses[0] for one in forbidden)
    for found in torch_translator([model], tokenizer, DecodeConfig(extra_length=5)).translate(TEXTS):
        assert found.pieces and never not in found.pieces


def test_input_is_cut_unless_forbidden(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """CTranslate2 cuts at 1,024 pieces by default."""
    model = random_model(tokenizer, max_length=1200)
    write_ctranslate2(tmp_path, model, tokenizer, DECODE)
    source, target = ["dog " * 1024 + "fox " * 150], ["fox dog"]
    assert len(tokenizer.encode_ids(source)[0]) == 1174
    whole = theirs(tmp_path, tokenizer, source, target)
    assert_close(whole, ours(model, tokenizer, source, target), 1e-4)
    pieces = [[tokenizer.pieces(ids) for ids in tokenizer.encode_ids(side)] for side in (source, target)]
    (cut,) = ctranslate2.Translator(str(tmp_path), intra_threads=1).score_batch(*pieces)
    assert max(abs(one - other) for one, other in zip(whole[0], cut.log_probs, strict=True)) > 1e-3


def test_eight_bits(learnt: Path, tmp_path: Path) -> None:
    run = RunFolder.open(learnt)
    model = run.load_model()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    for name, int8 in (("float32", False), ("int8", True)):
        (tmp_path / name).mkdir()
        write_ctranslate2(tmp_path / name, model, run.tokenizer, run.config.decode, int8)
    # CTranslate2 quantises in place, but a copy.
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    variables = [(tmp_path / name / "model.bin").read_bytes() for name in ("float32", "int8")]
    assert b"weight_scale" not in variables[0] and b"weight_scale" in variables[1]
    texts = letters(7, 40)
    pairs = (texts, [text[::-1] for text in texts])
    exact, rough = (theirs(tmp_path / name, run.tokenizer, *pairs) for name in ("float32", "int8"))
    assert exact != rough
    assert_close(exact, ours(model, run.tokenizer, *pairs), 2e-5)
    assert_close(rough, exact, 0.5)  # not where MKL has AVX2 only: CTranslate2's products overflow (docs/export.md)


def test_the_folder(tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_ctranslate2(tmp_path, random_model(tokenizer), tokenizer, DECODE)
    assert ctranslate2.contains_model(str(tmp_path))
    vocabulary = json.loads((tmp_path / "shared_vocabulary.json").read_text(encoding="utf-8"))
    assert vocabulary == tokenizer.pieces(range(len(tokenizer)))
    assert (tmp_path / "tokenizer.model").read_bytes() == tokenizer.model
