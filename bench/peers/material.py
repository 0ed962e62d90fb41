"""Make the job of the peers: the same text, pieces, batches and weights for all."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heed.config import Config
from heed.data.batch import Batch, make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.model.size import update_operations
from heed.model.transformer import Transformer
from heed.presets import preset
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary

VOCABULARY = 8_000
SEED = 1
ONE_BY_ONE = 40  # sentences, of which the median counts; a quarter of them for untrained models, which are larger
# For untrained models: the number of tokens that every peer writes, and of source pieces.
EXACT_TOKENS, SOURCE_PIECES = 25, 12


def write_job(job: dict[str, Any], folder: Path) -> Path:
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


def shape(name: str) -> Config:
    """Return a preset, or "6+2": the shape of small translators for everyday use, 6+2 layers of width 256."""
    if name != "6+2":
        return preset(name)
    config = preset("swift")
    return replace(config, model=replace(config.model, d_model=256, d_ff=1536, h=8))


def training_job(data: Path, name: str, batch_tokens: int, updates: int, folder: Path) -> dict[str, Any]:
    """Encode Multi30k; write batches for peers that take them and pieces for peers that read text."""
    config = shape(name)
    text = ParallelText(str(data / "multi30k" / "train.en"), str(data / "multi30k" / "train.de"))
    tokenizer = Tokenizer.learn((line for pair in text for line in pair), VOCABULARY)
    store = prepare(text, tokenizer, folder / "store")
    plan = BatchPlan(store.source.lengths, store.target.lengths, batch_tokens, SEED, config.model.max_length)
    batches = [make_batch(store, plan.batch(0, i), tokenizer.vocabulary) for i in range(updates)]
    arrays = {}
    for i, batch in enumerate(batches):
        arrays |= {f"src{i}": batch.src_BS, f"tgt_in{i}": batch.tgt_in_BT, f"tgt_out{i}": batch.tgt_out_BT}
    np.savez(folder / "batches.npz", **{key: tensor.numpy() for key, tensor in arrays.items()})
    return {
        "folder": str(folder),
        "config": config.to_dict(),
        "vocabulary_size": len(tokenizer),
        "batch_tokens": batch_tokens,
        "updates": updates,
        "batches": str(folder / "batches.npz"),
        "flops_per_target_token": sum(training_flops(config, len(tokenizer), batches))
        / sum(b.n_tokens for b in batches),
        "text": _pieces(data, tokenizer, folder),
    }


def training_flops(config: Config, vocabulary: int, batches: list[Batch]) -> list[int]:
    """Floating-point operations of the matrix products to train on each batch, over real tokens: padding is no work."""
    lengths = [[ids.ne(batch.pad).sum(1).numpy() for ids in (batch.src_BS, batch.tgt_out_BT)] for batch in batches]
    return [update_operations(config.model, Vocabulary(vocabulary), *both) for both in lengths]


def _pieces(data: Path, tokenizer: Tokenizer, folder: Path) -> dict[str, str]:
    """Write files of space-separated pieces, and the vocabulary without special tokens: every toolkit has its own."""
    files = {}
    for part, name in (("train", "train"), ("valid", "val")):
        for side, ending, here in (("source", "en", "src"), ("target", "de", "tgt")):
            lines = (data / "multi30k" / f"{name}.{ending}").read_text(encoding="utf-8").splitlines()
            path = folder / f"{part}.{here}"
            written = (" ".join(tokenizer.pieces(ids)) for ids in tokenizer.encode_ids(lines))
            path.write_text("\n".join(written) + "\n", encoding="utf-8")
            files[f"{part}_{side}"] = str(path)
    pieces = tokenizer.pieces(range(3, len(tokenizer)))
    path = folder / "vocabulary"
    path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return {**files, "vocabulary": str(path)}


def translation_job(
    data: Path, run: Path | None, untrained: str | None, sentences: int | None, folder: Path
) -> dict[str, Any]:
    """Export one run folder for all peers, and write the sentences to translate."""
    if untrained:
        run = _untrained_run(data, preset(untrained), folder / "run")
        sources = _sources_of_one_length(data, RunFolder.open(run).tokenizer, sentences or 128)
        references = None
    else:
        test = [data / "multi30k" / f"test_2016_flickr.{ending}" for ending in ("en", "de")]
        sources, references = (path.read_text(encoding="utf-8").splitlines()[:sentences] for path in test)
        run = run.resolve()  # the peers run in another folder
    (folder / "sources.txt").write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
    for name, options in (
        ("huggingface", ["--to", "huggingface"]),
        ("ctranslate2", ["--to", "ctranslate2"]),
        ("int8", ["--to", "ctranslate2", "--int8"]),
    ):
        export = [sys.executable, "-m", "heed", "export", "--model", run, "--out", folder / name, *options]
        subprocess.run(export, check=True, capture_output=True)
    config = RunFolder.open(run).config
    return {
        "folder": str(folder),
        "run": str(run),
        "sources": str(folder / "sources.txt"),
        "references": references,
        "one_by_one": ONE_BY_ONE // 4 if untrained else ONE_BY_ONE,
        "beam": config.decode.beam,
        "alpha": config.decode.alpha,
        "extra_length": config.decode.extra_length,
        "exact_tokens": EXACT_TOKENS if untrained else None,
        "model": asdict(config.model),
        "preset": config.preset,
        **{name: str(folder / name) for name in ("huggingface", "ctranslate2", "int8")},
    }


def _untrained_run(data: Path, config: Config, path: Path) -> Path:
    """Make a run of fresh weights that never end a sentence, so that every peer writes up to the limit."""
    text = ParallelText(str(data / "multi30k" / "train.en"), str(data / "multi30k" / "train.de"))
    tokenizer = Tokenizer.learn((line for pair in text for line in pair), VOCABULARY)
    config = replace(config, decode=replace(config.decode, extra_length=EXACT_TOKENS - SOURCE_PIECES))
    torch.manual_seed(SEED)
    model = Transformer(config.model, tokenizer.vocabulary)
    # Its logit is 0 then, while the best of thousands are well above.
    model.embedding.weight.data[tokenizer.vocabulary.end] = 0.0
    RunFolder.create(path, config, tokenizer).save_step(0, {"model": model.state_dict()}, {})
    return path


def _sources_of_one_length(data: Path, tokenizer: Tokenizer, count: int) -> list[str]:
    """Return the first training sentences of SOURCE_PIECES pieces: heed's length limit depends on the source length."""
    lines = (data / "multi30k" / "train.en").read_text(encoding="utf-8").splitlines()
    fitting = [line for line, ids in zip(lines, tokenizer.encode_ids(lines), strict=True) if len(ids) == SOURCE_PIECES]
    return fitting[:count]
