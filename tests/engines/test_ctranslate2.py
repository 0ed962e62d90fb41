"""The CTranslate2 engine gives the same translations as torch."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import ctranslate2
import pytest
import torch

from heed.config import Config, DecodeConfig
from heed.durable import MANIFEST, checksum, read_json, write_json, write_manifest
from heed.engines.ctranslate2 import CTranslate2Engine
from heed.errors import CheckpointError, ConfigError, DecodeError
from heed.export.ctranslate2 import write_ctranslate2
from heed.loading import load
from heed.lock import FolderLock
from heed.model.transformer import Transformer
from heed.options import Sampling
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation
from heed.translator import Translator
from tests.cli.conftest import ENVIRONMENT, TrainRun, exports, letters
from tests.conftest import EOS, PAD, UNK, torch_translator
from tests.export.conftest import TEXTS, random_model

pytestmark = pytest.mark.usefixtures("module_cache")

HARD = ["a b c d", "", "   ", "nul \x00 byte a b", "\u2028", "👩‍👩‍👧 é", "d c b a", "a", "a b, c d. " * 40, "ab" * 100]


@pytest.fixture(scope="module")
def translator(learnt: Path) -> Translator:
    return load(learnt)


def open_exported(path: Path, checkpoint: str = "best", int8: bool = False) -> Translator:
    return load(path, checkpoint=checkpoint, int8=int8, engine="ctranslate2")


@pytest.fixture(scope="module")
def exported(learnt: Path, module_cache: Path) -> Translator:
    return open_exported(learnt)


@pytest.fixture
def copy(learnt: Path, tmp_path: Path, cache: Path) -> Path:
    """A copy of a run that has no export yet, to be damaged."""
    return Path(shutil.copytree(learnt, tmp_path / "run"))


def without_pad_and_unk(translator: Translator, one: Translation) -> float:
    """Return its log-probability by one pass of torch, with PAD and UNK excluded from the softmax as in CTranslate2."""
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
def test_the_same_as_torch(exported: Translator, translator: Translator, beam: int, alpha: float) -> None:
    texts = letters(11, 150)
    found = exported.translate(texts, beam=beam, alpha=alpha)
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
def test_the_n_best(exported: Translator, translator: Translator, beam: int, n_best: int, alpha: float) -> None:
    """More than `beam` may finish, and then CTranslate2 drops some."""
    texts = letters(12, 200)
    found, expected = (one.translate(texts, beam=beam, n_best=n_best, alpha=alpha) for one in (exported, translator))
    assert all(len(one.alternatives) == n_best and one.alternatives[0].text == one.text for one in found)
    same = [
        [each.pieces for each in one.alternatives] == [each.pieces for each in other.alternatives]
        for one, other in zip(found, expected, strict=True)
    ]
    # Not all, because of near ties: in such a small model, PAD and UNK have a noticeable probability.
    assert sum(same) >= 0.95 * len(same)


def test_any_number_of_workers(learnt: Path, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*letters(14, 70), *(f"{line} {line} {line}" for line in letters(15, 70)), ""]
    expected = [one.text for one in translator.translate(texts)]
    for workers in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", workers)
        assert [one.text for one in open_exported(learnt).translate(texts)] == expected


def test_any_batch_size(learnt: Path, translator: Translator) -> None:
    """Results do not depend on `decode.batch_tokens`, down to one sentence at a time."""
    texts = letters(16, 40)
    exported = open_exported(learnt)
    engine = exported.engine
    assert isinstance(engine, CTranslate2Engine)
    for budget in (1, 20, 64):
        engine.config = replace(engine.config, decode=replace(engine.decode, batch_tokens=budget))
        assert [one.text for one in exported.translate(texts)] == [one.text for one in translator.translate(texts)]


def test_hard_lines_keep_count_and_order(exported: Translator, translator: Translator) -> None:
    found, expected = exported.translate(HARD), translator.translate(HARD, copy=False)  # CTranslate2 cannot force emoji
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.cuts for one in found] == [one.cuts for one in expected]
    assert [one.finished for one in found] == [one.finished for one in expected]
    assert any(len(one.cuts) > 1 for one in found)
    assert [found[i].text for i in (1, 2, 4)] == ["", "", ""]


@pytest.mark.parametrize("extra_length", [0, 1])
def test_at_the_length_limit(train_run: TrainRun, extra_length: int) -> None:
    """A barely trained model reaches the limit often: finished hypotheses come before unfinished ones."""
    run = train_run(train__max_steps=30, decode__extra_length=extra_length).path
    texts = letters(13, 60)
    found, expected = (one.translate(texts, n_best=3) for one in (open_exported(run), load(run)))
    assert {one.finished for one in expected} == {True, False}
    assert any(len({each.finished for each in one.alternatives}) == 2 for one in expected)
    for one, other in zip(found, expected, strict=True):
        assert [(each.text, each.finished) for each in one.alternatives] == [
            (each.text, each.finished) for each in other.alternatives
        ]


def test_learned_positions_bound_the_output(train_run: TrainRun) -> None:
    """A barely trained model continues until there is no position left."""
    changes = {"model__positions": "learned", "model__max_length": 6, "decode__extra_length": 50}
    run = train_run(train__max_steps=3, train__save_every=3, train__validate_every=3, **changes).path
    texts = ["a b c d a b", "a b c d a b c d a b c d a b c d"]
    found, expected = open_exported(run).translate(texts), load(run).translate(texts)
    assert [one.pieces for one in found] == [one.pieces for one in expected]
    assert len(expected[0].pieces) == 7 and not expected[0].finished


def both(model: Transformer, tokenizer: Tokenizer, decode: DecodeConfig, folder: Path) -> tuple[Translator, Translator]:
    write_ctranslate2(folder, model, tokenizer, decode)
    config = Config(model=model.config, decode=decode)
    exported = Translator(CTranslate2Engine(folder, config, tokenizer))
    return exported, torch_translator([model], tokenizer, decode)


@pytest.mark.parametrize("token", [PAD, UNK])
def test_tokens_that_are_never_written(token: int, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Not even by a model that gives them the highest probability."""
    model = random_model(tokenizer)
    last_norm = model.decoder[-1].feed_forward_residual.norm  # type: ignore[union-attr]
    model.embedding.weight.data[token] = 30 * last_norm.bias.data  # type: ignore[union-attr, operator]
    exported, translator = both(model, tokenizer, DecodeConfig(extra_length=5), tmp_path)
    (never,) = tokenizer.pieces([token])
    source = [tokenizer.pieces(ids) for ids in tokenizer.encode_ids(TEXTS)]
    plain = ctranslate2.Translator(str(tmp_path), intra_threads=1).translate_batch(source, max_decoding_length=9)
    assert any(never in one.hypotheses[0] for one in plain)
    for beam in (1, 4):
        for one in (*exported.translate(TEXTS, beam=beam), *translator.translate(TEXTS, beam=beam)):
            assert one.pieces and never not in one.pieces


def test_no_input_is_cut(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """CTranslate2 cuts at 1,024 pieces by default."""
    model = random_model(tokenizer, max_length=1200)
    text = "dog " * 1024 + "fox " * 150
    assert len(tokenizer.encode_ids([text])[0]) == 1174
    exported, translator = both(model, tokenizer, DecodeConfig(extra_length=0), tmp_path)
    found, expected, cut = (
        one.translate([text], beam=1)[0].log_probability
        for one, text in ((exported, text), (translator, text), (translator, "dog " * 1024))
    )
    assert found == pytest.approx(expected, rel=0.01)
    assert cut != pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"alpha": -1.0}, {"n_best": 0}, {"beam": 2, "n_best": 3}])
def test_invalid_options(exported: Translator, translator: Translator, wrong: dict[str, int]) -> None:
    messages = []
    for one in (exported, translator):
        with pytest.raises(DecodeError) as caught:
            one.translate(["a"], **wrong)  # type: ignore[arg-type]
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


UNSUPPORTED = {
    "sampling": ({"sampling": Sampling()}, "its random samples differ from torch's"),
    "prefixes": ({"prefixes": [""]}, "it does not force prefixes piece by piece"),
    "attention": ({"attention": True}, "it does not return attention weights"),
    "trace": ({"trace": True}, "it does not return traces"),
    "deadline": ({"seconds": 60.0}, "it does not support deadlines"),
    "cancelling": ({"is_cancelled": lambda: False}, "it cannot be cancelled"),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_unsupported_options_are_refused(exported: Translator, case: str) -> None:
    asked, reason = UNSUPPORTED[case]
    with pytest.raises(DecodeError, match=f"engine ctranslate2 cannot do this: {reason}; use heed's own search"):
        exported.translate(["a"], **asked)  # type: ignore[arg-type]


def test_what_only_torch_can_do_is_refused(exported: Translator) -> None:
    assert repr(exported) == f"<Translator: ctranslate2, vocabulary of {len(exported.tokenizer)}>"
    with pytest.raises(DecodeError, match="ctranslate2, .* cannot do this; load the model without engine="):
        exported.score(["a"], ["b"])
    with pytest.raises(DecodeError, match="load the model without engine="):
        exported.models  # noqa: B018


def test_an_ensemble_is_refused(learnt: Path) -> None:
    with pytest.raises(ConfigError, match="engine ctranslate2: it does not support ensembles"):
        load(learnt, learnt, engine="ctranslate2")


def test_an_unknown_engine(learnt: Path) -> None:
    with pytest.raises(ConfigError, match="there is no engine 'auto'; there are: native, torch, ctranslate2"):
        load(learnt, engine="auto")


# --- the export in the cache folder -----------------------------------------------------------------------


def made(cache: Path) -> dict[str, int]:
    """Return each export with its inode, which changes when it is made again."""
    return {folder.name: (folder / "model.bin").stat().st_ino for folder in exports(cache)}


def state(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in (folder, *folder.rglob("*"))}


def test_the_run_folder_is_not_changed(copy: Path, cache: Path) -> None:
    before = state(copy)
    open_exported(copy).translate(letters(3, 5))
    open_exported(copy, int8=True).translate(letters(3, 5))
    assert state(copy) == before
    assert len(exports(cache)) == 2


def test_one_export_for_every_copy_of_a_run(copy: Path, cache: Path, tmp_path: Path) -> None:
    """An export belongs to weights and vocabulary, wherever they are."""
    open_exported(copy)
    before = made(cache)
    shutil.move(copy, tmp_path / "moved")
    open_exported(tmp_path / "moved")
    assert made(cache) == before and len(before) == 1


def flip_a_bit(folder: Path) -> None:
    content = bytearray((folder / "model.bin").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.bin").write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        flip_a_bit,
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "shared_vocabulary.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{}"),
    ],
    ids=["a flipped bit", "no manifest", "a file gone", "another manifest"],
)
def test_made_once_and_again_when_damaged(copy: Path, cache: Path, damage: Callable[[Path], None]) -> None:
    expected = [one.text for one in open_exported(copy).translate(letters(3, 5))]
    first = made(cache)
    open_exported(copy)
    assert made(cache) == first
    (folder,) = exports(cache)
    damage(folder)
    assert [one.text for one in open_exported(copy).translate(letters(3, 5))] == expected
    again = made(cache)
    assert again.keys() == first.keys()  # replaced, and nothing else left behind
    open_exported(copy)
    assert made(cache) == again  # it is intact


def test_each_checkpoint_has_its_own_export(copy: Path) -> None:
    texts = letters(3, 40)
    names = sorted(path.name for path in (copy / "checkpoints").glob("step-*"))
    for name in (names[0], names[-1], "last", "best"):
        found, expected = open_exported(copy, name).translate(texts), load(copy, checkpoint=name).translate(texts)
        assert [one.text for one in found] == [one.text for one in expected]
    texts_of = [[one.text for one in load(copy, checkpoint=name).translate(texts)] for name in (names[0], names[-1])]
    assert texts_of[0] != texts_of[1]


def test_made_again_for_longer_translations(copy: Path, cache: Path) -> None:
    """The table of positions in the export is as long as the longest translation."""
    open_exported(copy)
    first = made(cache)
    settings = read_json(copy / "config.json")
    settings["decode"]["extra_length"] += 5000
    write_json(copy / "config.json", settings)
    found, expected = open_exported(copy), load(copy)
    assert len(made(cache)) == 2 and made(cache).items() > first.items()
    texts = letters(3, 5)
    assert [one.text for one in found.translate(texts)] == [one.text for one in expected.translate(texts)]


def sign_export(folder: Path) -> None:
    """Write correct checksums into the manifest."""
    manifest = read_json(folder / MANIFEST)
    sums = {name: checksum((folder / name).read_bytes()) for name in manifest["sha256"]}
    write_manifest(folder, {**manifest, "sha256": sums})


def other_vocabulary(folder: Path) -> None:
    pieces = json.loads((folder / "shared_vocabulary.json").read_bytes())
    (folder / "shared_vocabulary.json").write_text(json.dumps([f"other-{piece}" for piece in pieces]))


@pytest.mark.parametrize(
    "damage",
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
def test_damage_with_correct_checksums_is_reported(copy: Path, cache: Path, damage: Callable[[Path], None]) -> None:
    open_exported(copy)
    (folder,) = exports(cache)
    damage(folder)
    sign_export(folder)
    with pytest.raises(CheckpointError, match=f"{folder}: CTranslate2 cannot use it .* delete the folder"):
        open_exported(copy).translate(letters(3, 5))


def test_a_cache_that_cannot_be_written_is_reported(copy: Path, cache: Path) -> None:
    (cache / "heed" / "exports").write_text("a file in the way")
    with pytest.raises(CheckpointError, match=f"{cache}/heed/exports: cannot be written") as caught:
        open_exported(copy)
    assert ".new" not in str(caught.value) and "Errno" not in str(caught.value)


def test_without_a_cache_folder_the_export_is_temporary(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "temporary").mkdir()
    script = (
        "import heed, sys\n"
        "print(heed.load(sys.argv[1], engine='ctranslate2').translate(['a b c'])[0].text)\n"
        "print(next(__import__('pathlib').Path(sys.argv[2]).glob('heed-*/ctranslate2-*')).name)"
    )
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-c", script, str(copy), str(tmp_path / "temporary")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == load(copy).translate(["a b c"])[0].text
    assert list((tmp_path / "temporary").glob("heed-*")) == []


def test_the_wrong_vocabulary_is_noticed(copy: Path, tokenizer: Tokenizer) -> None:
    open_exported(copy)
    (copy / "tokenizer.model").write_bytes(tokenizer.model)
    with pytest.raises(CheckpointError, match="another vocabulary"):
        open_exported(copy)


def test_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such run folder"):
        open_exported(tmp_path / "none")
    with pytest.raises(CheckpointError, match="not a run folder"):
        open_exported(tmp_path)


def test_no_such_checkpoint(copy: Path) -> None:
    with pytest.raises(CheckpointError, match='no checkpoint "nonsense"; there are: best, last'):
        open_exported(copy, "nonsense")


def test_two_processes_do_not_export_at_once(copy: Path, cache: Path) -> None:
    open_exported(copy)
    (folder,) = exports(cache)
    shutil.rmtree(folder)
    unfinished = folder.with_name(f".{folder.name}.new")
    unfinished.mkdir()
    with FolderLock.acquire(unfinished), pytest.raises(CheckpointError, match="another process is creating it"):
        open_exported(copy)
    open_exported(copy)
    assert exports(cache) == [folder]


def test_8_bits_have_their_own_export(copy: Path, cache: Path) -> None:
    texts = letters(3, 40)
    float32, int8 = open_exported(copy), open_exported(copy, int8=True)
    before, scores = ([one.score for one in some.translate(texts)] for some in (float32, int8))
    assert before != scores and scores == pytest.approx(before, abs=0.5)
    kept = made(cache)
    assert len(kept) == 2
    assert [one.score for one in open_exported(copy, int8=True).translate(texts)] == scores
    assert made(cache) == kept
