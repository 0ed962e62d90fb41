"""CTranslate2 in the place of torch gives what torch gives, line for line."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ctranslate2
import pytest
import torch

from heed.config import Config, DecodeConfig
from heed.durable import MANIFEST, checksum, read_json, write_json, write_manifest
from heed.errors import CheckpointError, DecodeError
from heed.export.ctranslate2 import write_ctranslate2
from heed.export.engine import Engine
from heed.export.kept import open_engine
from heed.lock import FolderLock
from heed.model.transformer import Transformer
from heed.symbols import EOS, PAD, UNK
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation
from heed.translator import Translator, load
from tests.cli.conftest import TrainRun, letters
from tests.export.conftest import TEXTS, random_model

HARD = ["a b c d", "", "   ", "nul \x00 byte a b", "\u2028", "👩‍👩‍👧 é", "d c b a", "a", "a b, c d. " * 40, "ab" * 100]


@pytest.fixture(scope="module")
def translator(learnt: Path) -> Translator:
    return load(learnt)


@pytest.fixture(scope="module")
def engine(learnt: Path) -> Engine:
    return open_engine(learnt)


@pytest.fixture
def copy(learnt: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(learnt, tmp_path / "run", ignore=shutil.ignore_patterns("export")))


def without_pad_and_unk(translator: Translator, one: Translation) -> float:
    """Its log-probability by one pass of torch, where PAD and UNK have no share: CTranslate2 gives it to the others."""
    source, target = (
        [translator.tokenizer._processor.piece_to_id(p) for p in side] for side in (one.source_pieces, one.pieces)
    )
    gold = [*target, EOS] if one.finished else target
    with torch.no_grad():
        logits = translator.models[0](torch.tensor([[*source, EOS]]), torch.tensor([[PAD, *gold[:-1]]]))[0]
    logits[:, [PAD, UNK]] = -torch.inf
    return float(logits.double().log_softmax(-1)[range(len(gold)), gold].sum())


# --- the same translations --------------------------------------------------------------------------------


@pytest.mark.parametrize(("beam", "alpha"), [(1, 0.6), (4, 0.6), (4, 0.0), (4, 2.0), (7, 0.6)])
def test_the_same_as_torch(engine: Engine, translator: Translator, beam: int, alpha: float) -> None:
    texts = letters(11, 150)
    found = engine.translate(texts, beam=beam, alpha=alpha)
    expected = translator.translate(texts, beam=beam, alpha=alpha)
    assert len({one.text for one in expected}) > 50
    assert [one.text for one in found] == [one.text for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert (one.pieces, one.source_pieces, one.finished) == (other.pieces, other.source_pieces, other.finished)
        expected_log_probability = without_pad_and_unk(translator, one)
        assert one.log_probability == pytest.approx(expected_log_probability, abs=1e-5)
        length = len(one.pieces) + one.finished
        assert one.score == pytest.approx(expected_log_probability / ((5 + length) / 6) ** alpha, abs=1e-5)


@pytest.mark.parametrize(("beam", "n_best", "alpha"), [(4, 3, 0.6), (4, 4, 0.6), (4, 2, 2.0), (3, 3, 0.0), (6, 6, 0.6)])
def test_the_n_best(engine: Engine, translator: Translator, beam: int, n_best: int, alpha: float) -> None:
    """More than `beam` may have finished, of which CTranslate2 drops some."""
    texts = letters(12, 200)
    found, expected = (one.translate(texts, beam=beam, n_best=n_best, alpha=alpha) for one in (engine, translator))
    assert all(len(one.alternatives) == n_best and one.alternatives[0].text == one.text for one in found)
    same = [
        [each.pieces for each in one.alternatives] == [each.pieces for each in other.alternatives]
        for one, other in zip(found, expected, strict=True)
    ]
    # Near ties: a minute model leaves PAD and UNK a share that counts.
    assert sum(same) >= 0.95 * len(same)


def test_any_number_of_workers(learnt: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*letters(14, 70), *(f"{line} {line} {line}" for line in letters(15, 70)), ""]
    expected = [one.text for one in translator.translate(texts)]
    for workers in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", workers)
        assert [one.text for one in open_engine(learnt).translate(texts)] == expected


def test_a_small_budget(learnt: Path, translator: Translator) -> None:
    """`decode.batch_tokens`: down to a sentence at a time."""
    texts = letters(16, 40)
    engine = open_engine(learnt)
    for budget in (1, 20, 64):
        engine.config = replace(engine.config, decode=replace(engine.decode, batch_tokens=budget))
        assert [one.text for one in engine.translate(texts)] == [one.text for one in translator.translate(texts)]


def test_hard_lines_keep_count_and_order(engine: Engine, translator: Translator) -> None:
    found, expected = engine.translate(HARD), translator.translate(HARD)
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.cuts for one in found] == [one.cuts for one in expected]
    assert [one.finished for one in found] == [one.finished for one in expected]
    assert any(len(one.cuts) > 1 for one in found)
    assert [found[i].text for i in (1, 2, 4)] == ["", "", ""]


@pytest.mark.parametrize("extra_length", [0, 1])
def test_at_the_length_limit(train_run: TrainRun, extra_length: int) -> None:
    """Hardly trained and cut short: finished hypotheses go before unfinished ones."""
    run = train_run(train__max_steps=30, decode__extra_length=extra_length).path
    texts = letters(13, 60)
    found, expected = (one.translate(texts, n_best=3) for one in (open_engine(run), load(run)))
    assert {one.finished for one in expected} == {True, False}
    assert any(len({each.finished for each in one.alternatives}) == 2 for one in expected)
    for one, other in zip(found, expected, strict=True):
        assert [(each.text, each.finished) for each in one.alternatives] == [
            (each.text, each.finished) for each in other.alternatives
        ]


def test_learned_positions_end(train_run: TrainRun) -> None:
    """Hardly trained, it writes on until there is no position left."""
    changes = {"model__positions": "learned", "model__max_length": 6, "decode__extra_length": 50}
    run = train_run(train__max_steps=3, train__save_every=3, train__validate_every=3, **changes).path
    texts = ["a b c d a b", "a b c d a b c d a b c d a b c d"]
    found, expected = open_engine(run).translate(texts), load(run).translate(texts)
    assert [one.pieces for one in found] == [one.pieces for one in expected]
    assert len(expected[0].pieces) == 7 and not expected[0].finished


def both(model: Transformer, tokenizer: Tokenizer, decode: DecodeConfig, folder: Path) -> tuple[Engine, Translator]:
    write_ctranslate2(folder, model, tokenizer, decode)
    config = Config(model=model.config, decode=decode)
    return Engine(folder, config, tokenizer), Translator([model], tokenizer, decode)


@pytest.mark.parametrize("symbol", [PAD, UNK])
def test_what_is_never_written(symbol: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Not even by a model that would like nothing better."""
    model = random_model(tokenizer)
    last_norm = model.decoder[-1].feed_forward_residual.norm  # type: ignore[union-attr]
    model.embedding.weight.data[symbol] = 30 * last_norm.bias.data  # type: ignore[union-attr, operator]
    engine, translator = both(model, tokenizer, DecodeConfig(extra_length=5), tmp_path)
    (never,) = tokenizer.pieces([symbol])
    source = [tokenizer.pieces(ids) for ids in tokenizer.encode_ids(TEXTS)]
    plain = ctranslate2.Translator(str(tmp_path), intra_threads=1).translate_batch(source, max_decoding_length=9)
    assert any(never in one.hypotheses[0] for one in plain)
    for beam in (1, 4):
        for one in (*engine.translate(TEXTS, beam=beam), *translator.translate(TEXTS, beam=beam)):
            assert one.pieces and never not in one.pieces


def test_no_input_is_cut(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """CTranslate2 cuts at 1,024 pieces unless told otherwise."""
    model = random_model(tokenizer, max_length=1200)
    text = "dog " * 1024 + "fox " * 150
    assert len(tokenizer.encode_ids([text])[0]) == 1174
    engine, translator = both(model, tokenizer, DecodeConfig(extra_length=0), tmp_path)
    found, expected, cut = (
        one.translate([text], beam=1)[0].log_probability
        for one, text in ((engine, text), (translator, text), (translator, "dog " * 1024))
    )
    assert found == pytest.approx(expected, rel=0.01)
    assert cut != pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"alpha": -1.0}, {"n_best": 0}, {"beam": 2, "n_best": 3}])
def test_requests_that_cannot_be(engine: Engine, translator: Translator, wrong: dict[str, int]) -> None:
    messages = []
    for one in (engine, translator):
        with pytest.raises(DecodeError) as caught:
            one.translate(["a"], **wrong)  # type: ignore[arg-type]
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


# --- the export a run keeps -------------------------------------------------------------------------------


def made(run: Path) -> int:
    """Changes whenever the export is made anew."""
    return (run / "export" / "ctranslate2-float32" / "model.bin").stat().st_ino


def damage(folder: Path) -> None:
    content = bytearray((folder / "model.bin").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.bin").write_bytes(content)


@pytest.mark.parametrize(
    "harm",
    [
        damage,
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "shared_vocabulary.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{}"),
    ],
    ids=["a flipped bit", "no manifest", "a file gone", "another manifest"],
)
def test_made_once_and_again_when_damaged(copy: Path, harm: Callable[[Path], None]) -> None:
    expected = [one.text for one in open_engine(copy).translate(letters(3, 5))]
    first = made(copy)
    open_engine(copy)
    assert made(copy) == first
    harm(copy / "export" / "ctranslate2-float32")
    assert [one.text for one in open_engine(copy).translate(letters(3, 5))] == expected
    open_engine(copy)  # whole again: would raise or be made again otherwise
    assert sorted(path.name for path in (copy / "export").iterdir()) == ["ctranslate2-float32"]


def test_made_again_for_another_checkpoint(copy: Path) -> None:
    texts = letters(3, 40)
    names = sorted(path.name for path in (copy / "checkpoints").glob("step-*"))
    for name in (names[0], names[-1], "last", "best"):
        found, expected = open_engine(copy, name).translate(texts), load(copy, checkpoint=name).translate(texts)
        assert [one.text for one in found] == [one.text for one in expected]
    texts_of = [[one.text for one in load(copy, checkpoint=name).translate(texts)] for name in (names[0], names[-1])]
    assert texts_of[0] != texts_of[1]


def test_made_again_for_longer_translations(copy: Path) -> None:
    """The table of positions in it reaches as far as the longest."""
    open_engine(copy)
    first = made(copy)
    settings = read_json(copy / "config.json")
    settings["decode"]["extra_length"] += 5000
    write_json(copy / "config.json", settings)
    found, expected = open_engine(copy), load(copy)
    assert made(copy) != first
    texts = letters(3, 5)
    assert [one.text for one in found.translate(texts)] == [one.text for one in expected.translate(texts)]


def sign_export(folder: Path) -> None:
    """Make the checksums right again."""
    manifest = read_json(folder / MANIFEST)
    sums = {name: checksum((folder / name).read_bytes()) for name in manifest["sha256"]}
    write_manifest(folder, {**manifest, "sha256": sums})


def other_vocabulary(folder: Path) -> None:
    pieces = json.loads((folder / "shared_vocabulary.json").read_bytes())
    (folder / "shared_vocabulary.json").write_text(json.dumps([f"other-{piece}" for piece in pieces]))


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "model.bin").write_bytes(b""),
        lambda folder: (folder / "model.bin").write_bytes((folder / "model.bin").read_bytes()[:5000]),
        lambda folder: (folder / "model.bin").write_bytes(bytes(10_000)),
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: (folder / "shared_vocabulary.json").write_text("[]"),
        lambda folder: (folder / "shared_vocabulary.json").write_text("[5]"),
        other_vocabulary,
    ],
    ids=["empty", "cut", "zeros", "no config", "no vocabulary", "numbers", "another vocabulary"],
)
def test_damage_with_right_checksums_is_named(copy: Path, harm: Callable[[Path], None]) -> None:
    open_engine(copy)
    folder = copy / "export" / "ctranslate2-float32"
    harm(folder)
    sign_export(folder)
    with pytest.raises(CheckpointError, match=f"{folder}: CTranslate2 cannot use it .* delete the folder"):
        open_engine(copy).translate(letters(3, 5))


def test_a_run_that_cannot_be_written_to_is_said_by_name(copy: Path) -> None:
    (copy / "export").write_text("a file in the way")
    with pytest.raises(CheckpointError, match=f"{copy}/export: cannot be written") as caught:
        open_engine(copy)
    assert ".new" not in str(caught.value) and "Errno" not in str(caught.value)


def test_the_wrong_vocabulary_is_noticed(copy: Path, tokenizer: Tokenizer) -> None:
    open_engine(copy)
    (copy / "tokenizer.model").write_bytes(tokenizer.model)
    with pytest.raises(CheckpointError, match="another vocabulary"):
        open_engine(copy)


def test_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such run folder"):
        open_engine(tmp_path / "none")
    with pytest.raises(CheckpointError, match="not a run folder"):
        open_engine(tmp_path)


def test_no_such_checkpoint(copy: Path) -> None:
    with pytest.raises(CheckpointError, match='no checkpoint "nonsense"; there are: best, last'):
        open_engine(copy, "nonsense")


def test_two_do_not_make_it_at_once(copy: Path) -> None:
    beside = copy / "export" / ".ctranslate2-float32.new"
    beside.mkdir(parents=True)
    with FolderLock.acquire(beside), pytest.raises(CheckpointError, match="another process is making it"):
        open_engine(copy)
    open_engine(copy)


def test_eight_bits_have_an_export_of_their_own(copy: Path) -> None:
    texts = letters(3, 40)
    whole, eighth = open_engine(copy), open_engine(copy, int8=True)
    assert sorted(path.name for path in (copy / "export").iterdir()) == ["ctranslate2-float32", "ctranslate2-int8"]
    before, scores = ([one.score for one in engine.translate(texts)] for engine in (whole, eighth))
    assert before != scores and scores == pytest.approx(before, abs=0.5)
    assert [one.score for one in open_engine(copy, int8=True).translate(texts)] == scores
